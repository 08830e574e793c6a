/* How gen and convert write files: class_0007/00001234.jpg, or sample_00001234.jpg without labels.
 *
 * Floor 2. Threads as in formats/generator.h and formats/writer.h. A unit of gen is a file.
 *
 * For convert a folder is named after its class number, because samples carry no class
 * names. Folders are made for classes without samples too, so that later classes keep their
 * numbers. A file is named after its sample's number and its field; fields of a sample share the
 * number. A field that only repeats the label is not written. */
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
    bool shared;        /* another process may have made a folder */
};

int dlb_files_writer_open(void *wr, const struct dlb_write *how, struct dlb_err *err);
int dlb_files_writer_add(void *wr, const struct dlb_sample *sample, struct dlb_err *err);
int dlb_files_writer_finish(void *wr, struct dlb_err *err);
void dlb_files_writer_close(void *wr);
uint64_t dlb_files_writer_unit_samples(const void *opts);

uint64_t dlb_files_gen_units(const struct dlb_gen *gen);
bool dlb_files_gen_makes(const struct dlb_gen *gen, const char *name);
int dlb_files_gen_prepare(const struct dlb_gen *gen, struct dlb_err *err);
int dlb_files_gen_unit(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                       struct dlb_err *err);
uint64_t dlb_files_gen_number(const struct dlb_sample *sample);

#endif
