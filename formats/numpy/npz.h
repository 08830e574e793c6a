/* An array in a .npz file: which one, where its rows lie; and writing such a file.
 *
 * Floor 2. Found on the control thread, read-only afterwards. */
#ifndef DLB_FORMATS_NUMPY_NPZ_H
#define DLB_FORMATS_NUMPY_NPZ_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "core/base/opt.h"
#include "formats/format.h"
#include "formats/numpy/npy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The `npz` section. */
struct dlb_npz_opts {
    char array[DLB_OPT_STRING_CAP]; /* with or without ".npy"; empty: the first */
};
extern const struct dlb_opt_group dlb_npz_group;

struct dlb_npz_array {
    char *name; /* of the member; owned */
    bool deflated;
    uint32_t crc;
    uint64_t data_at;      /* of the member's bytes in the file */
    uint64_t stored_bytes; /* of the member in the file */
    uint64_t n_bytes;      /* of the member, inflated */
    struct dlb_npy npy;    /* data_at in it counts in the member */
    uint64_t n_rows, row_bytes;
};

/* Adds to shape->odd what else is in the file, and that an array is deflated. DLB_E_FORMAT,
 * DLB_E_CONFIG for a name that is not there, DLB_E_MISSING for a deflated one without zlib. Free it
 * in any case. */
int dlb_npz_find(struct dlb_npz_array *array, const struct dlb_io *io, int64_t handle,
                 const char *path, const char *wanted, struct dlb_shape *shape,
                 struct dlb_err *err);
void dlb_npz_free(struct dlb_npz_array *array);

/* Inflates the whole member into malloced memory and checks its CRC; the caller frees. */
int dlb_npz_inflate(const struct dlb_npz_array *array, const struct dlb_io *io, int64_t handle,
                    const char *path, uint8_t **out, struct dlb_err *err);

/* The .npz file that `path` names or, for a folder, the only one in it; malloced. */
int dlb_npz_path(const char *path, const struct dlb_io *io, char **out, struct dlb_err *err);
int dlb_npz_probe(const char *path, const struct dlb_io *io);

uint64_t dlb_npz_gen_units(const struct dlb_gen *gen);
int dlb_npz_gen_prepare(const struct dlb_gen *gen, struct dlb_err *err);
int dlb_npz_gen_unit(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                     struct dlb_err *err);

#endif
