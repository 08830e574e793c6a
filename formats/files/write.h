/* Converting to files: class_000007/00001234.jpg.
 *
 * Floor 2. One thread. A class's folder bears its number, for its name does not come with a sample;
 * folders that stay empty keep the numbers of the classes behind them. A file bears its sample's
 * number and the field's name; fields of one sample share the number. A field that only repeats the
 * label is left out: the folder says it. */
#ifndef DLB_FORMATS_FILES_WRITE_H
#define DLB_FORMATS_FILES_WRITE_H

#include "formats/format.h"

#include <stddef.h>
#include <stdint.h>

struct dlb_files_writer {
    const char *root; /* borrowed from struct dlb_write */
    char *path;       /* scratch: of the last file */
    size_t path_cap;
    uint64_t n_classes; /* folders made: 0 to n_classes - 1 */
    int n_digits;       /* of a sample's number */
};

int dlb_files_writer_open(void *wr, const struct dlb_write *how, struct dlb_err *err);
int dlb_files_writer_add(void *wr, const struct dlb_sample *sample, struct dlb_err *err);
int dlb_files_writer_finish(void *wr, struct dlb_err *err);
void dlb_files_writer_close(void *wr);

#endif
