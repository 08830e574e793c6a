/* Recognises samples that training programs decode, and the chosen codec does not: a measurement of
 * their bytes alone says that loading is cheap, which is wrong.
 *
 * Floor 2. Any thread. */
#ifndef DLB_FORMATS_UNDECODED_H
#define DLB_FORMATS_UNDECODED_H

#include "formats/dataset.h"

/* "MP4 video", by the first bytes and, for text, the extension. `name`: of the field or file. NULL:
 * nothing that is known. Images and audio count: with codec raw they are not decoded. */
const char *dlb_undecoded_kind(const char *name, const uint8_t *data, size_t n_bytes);

/* By a file's extension alone. */
const char *dlb_undecoded_name(const char *name);

/* The codec of this build that decodes the kind; NULL: none does. */
const struct dlb_codec *dlb_undecoded_codec(const char *kind);

/* DLB_E_FORMAT: why data of this kind are refused, and what to do instead: the codec that decodes
 * them is named, if one does. */
int dlb_undecoded_fail(struct dlb_err *err, const char *path, const char *kind);

/* Of a sample's fields the first that is known; text only if nothing else is there. NULL: none. */
const char *dlb_undecoded_sample(const struct dlb_sample *sample);

/* Sets shape.undecoded by the first sample of an open data set whose codec passes bytes as they
 * are. What cannot be read is not known. Reads in this process. */
void dlb_undecoded_look(struct dlb_dataset *ds);

#endif
