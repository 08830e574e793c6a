/* Writing samples into a new LMDB database, for gen and convert. Keys are decimal numbers with
 * leading zeros, so that their order is that of the samples. They count what is written: readers
 * expect consecutive keys, so that samples which convert leaves out leave no gap.
 *
 * Floor 2. formats/format.h says when each function is called. */
#ifndef DLB_FORMATS_LMDB_WRITE_H
#define DLB_FORMATS_LMDB_WRITE_H

#include "formats/format.h"
#include "formats/generator.h"
#include "formats/lmdb/lmdb.h"

#include <stdbool.h>
#include <stdint.h>

/* LMDB has no place for labels. They are stored, as u32 little-endian each, in the value of this
 * key, which comes after all numbers and is not a sample. The key is missing when the samples have
 * no labels, or gen made all of them 0. */
#define DLB_LMDB_LABELS_KEY "__labels__"
/* Beside it, what its numbers are, because other programs may use that key for something else. It
 * is missing in databases of before it was written. */
#define DLB_LMDB_LABELS_TYPE_KEY "__labels_type__"
#define DLB_LMDB_LABELS_TYPE "u32"
/* A value has less than 4 GiB. */
#define DLB_LMDB_MAX_LABELS (UINT64_C(0xffffffff) / sizeof(uint32_t))

struct dlb_lmdb_samples {
    struct dlb_lmdb_writer *writer;
    uint64_t n, n_most; /* written so far; of the source */
    int n_digits;
    struct dlb_bytes labels;
    bool labelled; /* the labels are written */
};

uint64_t dlb_lmdb_gen_units(const struct dlb_gen *gen);
int dlb_lmdb_gen_prepare(const struct dlb_gen *gen, struct dlb_err *err);
int dlb_lmdb_gen_unit(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                      struct dlb_err *err);

int dlb_lmdb_writer_open(void *wr, const struct dlb_write *how, struct dlb_err *err);
int dlb_lmdb_writer_add(void *wr, const struct dlb_sample *sample, struct dlb_err *err);
int dlb_lmdb_writer_finish(void *wr, struct dlb_err *err);
void dlb_lmdb_writer_close(void *wr);

#endif
