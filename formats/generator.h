/* What one generation is made of: its options, its threads' scratch, growable byte strings.
 *
 * Floor 2. Read-only while threads generate; a struct dlb_gen_worker belongs to its thread. The
 * content of a sample comes from the seed and its index alone. The driver is formats/generate. */
#ifndef DLB_FORMATS_GENERATOR_H
#define DLB_FORMATS_GENERATOR_H

#include "core/base/err.h"
#include "core/base/opt.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_format;
struct dlb_codec;

/* The `generate` section. */
struct dlb_generate_opts {
    int64_t samples;
    int64_t sample_bytes; /* mean; jpeg spreads around it as photographs do, raw is exact */
    int64_t seed;
    int64_t classes; /* labels: index mod classes, shuffled by the seed */
};
extern const struct dlb_opt_group dlb_generate_group;

/* A growable byte string; zeroed is empty; owned by its holder. */
struct dlb_bytes {
    uint8_t *data;
    size_t len_bytes, cap_bytes;
};
int dlb_bytes_append(struct dlb_bytes *bytes, const void *data, size_t n_bytes,
                     struct dlb_err *err);
void dlb_bytes_free(struct dlb_bytes *bytes);

/* One generation, shared read-only by its threads. */
struct dlb_gen {
    const struct dlb_generate_opts *opts;
    const struct dlb_format *format;
    const struct dlb_codec *codec;
    const void *format_opts; /* the format's own, or NULL */
    const char *path;
    bool rewrite; /* set by the driver: what lies there may be damaged (the machine went down), so
                     every unit is written anew */
};

/* One thread's scratch and its share of the progress. */
struct dlb_gen_worker {
    struct dlb_bytes sample;
    const atomic_bool
        *stop; /* gen_unit looks at it between samples and leaves with DLB_E_CANCELLED */
    _Atomic uint64_t n_samples; /* there now, whether written or found */
    _Atomic uint64_t n_written;
    _Atomic uint64_t n_bytes; /* written, files as they are on disk */
};

/* Label of a sample of generated data. */
uint32_t dlb_gen_label(const struct dlb_generate_opts *opts, uint64_t index);

/* What gen will write in all, about. */
uint64_t dlb_gen_total_bytes(const struct dlb_gen *gen);

#endif
