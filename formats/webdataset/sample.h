/* Assembles a sample from members: where its fields are stored, its label, and the field that the
 * codec decodes.
 *
 * Floor 2. One worker. */
#ifndef DLB_FORMATS_WEBDATASET_SAMPLE_H
#define DLB_FORMATS_WEBDATASET_SAMPLE_H

#include "formats/format.h"
#include "formats/webdataset/index.h"

#include <stdbool.h>

/* Where a sample's fields are stored, back to back: at the loader's destination, or in the reader's
 * buffer once they do not fit there. */
struct dlb_wds_place {
    struct dlb_dest dest;
    struct dlb_bytes *buffer; /* the reader's */
    size_t len_bytes;
    bool moved;
};

struct dlb_wds_place dlb_wds_place(struct dlb_dest dest, struct dlb_bytes *buffer);
uint8_t *dlb_wds_place_data(const struct dlb_wds_place *place);

/* Makes room for n_bytes behind the fields so far. */
int dlb_wds_place_room(struct dlb_wds_place *place, uint64_t n_bytes, const char *path,
                       struct dlb_err *err);

/* Once all fields are read: sets the label from the field "cls" (0 without one; labelled: all of
 * the field is a class number), and moves the
 * field that the codec decodes to the front. */
void dlb_wds_sample_finish(struct dlb_sample *sample, const struct dlb_codec *codec);

/* Small fields that lie near are read together with the field before them, including the headers in
 * between: copying a page costs less than a system call. Returns the index after the last field
 * that is read with where[i], in at most `room` bytes; *end_bytes: where they end in the archive.
 */
uint32_t dlb_wds_run(const struct dlb_wds_where *where, uint32_t n, uint32_t i, uint64_t room,
                     uint64_t *end_bytes);

/* Reads the out->n_fields fields to `place`, which has room for them, back to back. Adds to
 * out->io_bytes; out->path is for messages. */
int dlb_wds_read_fields(const struct dlb_io *io, int64_t handle, const struct dlb_wds_where *where,
                        struct dlb_wds_place *place, struct dlb_sample *out, struct dlb_err *err);

#endif
