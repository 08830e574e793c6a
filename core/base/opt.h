/* Option tables: the only configuration mechanism.
 *
 * Floor 0. Tables are const; filling structs is single-threaded. One table gives the TOML key, the
 * flag, --help, the man page, the range check and the JSON echo, and makes the key sweepable. */
#ifndef DLB_CORE_BASE_OPT_H
#define DLB_CORE_BASE_OPT_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dlb_opt_type {
    DLB_OPT_BOOL,   /* bool */
    DLB_OPT_INT,    /* int64_t in [min, max] */
    DLB_OPT_FLOAT,  /* double in [min, max] */
    DLB_OPT_BYTES,  /* int64_t in [min, max]; "64 MiB", "1.5GB" or a plain number */
    DLB_OPT_CHOICE, /* int: the place in choices[] */
    DLB_OPT_STRING, /* char[DLB_OPT_STRING_CAP] */
};

#define DLB_OPT_STRING_CAP 1024

struct dlb_opt {
    const char *key; /* without its section: "num_workers" */
    enum dlb_opt_type type;
    size_t offset; /* of the field in the group's struct */
    int64_t min, max;
    const char *def;            /* as it would be typed after --set key= */
    const char *unit;           /* "ms", "samples"; NULL: none */
    const char *help;           /* one sentence, no full stop */
    const char *const *choices; /* NULL-terminated; CHOICE only */
};

/* One section of the configuration ("loader") and the struct that it fills. */
struct dlb_opt_group {
    const char *section;
    const char *title;          /* a line for --help and the man page */
    const struct dlb_opt *opts; /* ends with key == NULL */
    size_t n_bytes;             /* of the struct */
};

#define DLB_OPT_END                                                                                \
    {                                                                                              \
        .key = NULL                                                                                \
    }

#endif
