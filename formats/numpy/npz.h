/* Arrays in a .npz file: choosing one, finding its rows, and writing such a file.
 *
 * Floor 2. Found on the control thread, read-only afterwards. */
#ifndef DLB_FORMATS_NUMPY_NPZ_H
#define DLB_FORMATS_NUMPY_NPZ_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "core/base/opt.h"
#include "formats/format.h"
#include "formats/numpy/npy.h"
#include "formats/numpy/zip.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The `npz` section. */
struct dlb_npz_opts {
    char array[DLB_OPT_STRING_CAP]; /* its name, with or without ".npy"; empty: the first array */
};
extern const struct dlb_opt_group dlb_npz_group;

struct dlb_npz_array {
    char *name; /* of the archive's member; owned */
    bool deflated;
    uint32_t crc;
    uint64_t data_at;      /* offset of the member in the file */
    uint64_t stored_bytes; /* of the member in the file */
    uint64_t n_bytes;      /* of the member after inflating */
    struct dlb_npy npy;    /* npy.data_at is an offset in the inflated member */
    uint64_t n_rows, row_bytes;
};

/* Finds the array `wanted`. Notes in shape->odd which arrays are ignored, and whether this one is
 * deflated. DLB_E_FORMAT; DLB_E_CONFIG when there is no such array; DLB_E_MISSING when it is
 * deflated and this build lacks zlib. Free *array in any case. */
int dlb_npz_find(struct dlb_npz_array *array, const struct dlb_zip_file *file, const char *wanted,
                 struct dlb_shape *shape, struct dlb_err *err);
void dlb_npz_free(struct dlb_npz_array *array);

/* Inflates the whole member and checks its CRC. *out is malloced; the caller frees it. */
int dlb_npz_inflate(const struct dlb_npz_array *array, const struct dlb_zip_file *file,
                    uint8_t **out, struct dlb_err *err);

/* The file at `path`, or the only .npz file in the folder at `path`. Malloced. Adds what is left
 * out of the folder to *shape. NULL: a probe asks. */
int dlb_npz_path(const char *path, const struct dlb_io *io, char **out, struct dlb_shape *shape,
                 struct dlb_err *err);
int dlb_npz_probe(const char *path, const struct dlb_io *io);

uint64_t dlb_npz_gen_units(const struct dlb_gen *gen);
int dlb_npz_gen_prepare(const struct dlb_gen *gen, struct dlb_err *err);
int dlb_npz_gen_unit(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                     struct dlb_err *err);

#endif
