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
    DLB_OPT_TABLE,  /* char[DLB_OPT_TABLE_CAP], as JSON with sorted keys (core/base/opt_table.h) */
};

#define DLB_OPT_STRING_CAP 1024
#define DLB_OPT_TABLE_CAP 4096

/* Whether cells that differ in an option may be compared. The default is OTHER: an unclassified
 * option is never compared. */
enum dlb_opt_work {
    DLB_WORK_OTHER,    /* changes what is done; compared cells must agree on it */
    DLB_WORK_SAME,     /* changes only how it is done, which is what a sweep compares */
    DLB_WORK_PER_STEP, /* OTHER if device.step_ms > 0 (the step then trains on a different number of
                          samples), else SAME */
};

/* Under which other settings an option has a meaning. scenarios/spec/meaning.c has the
 * conditions and their wording for users. */
enum dlb_opt_needs {
    DLB_NEEDS_NOTHING,
    DLB_NEEDS_WORKERS,           /* loader.num_workers > 0 */
    DLB_NEEDS_STORED_BYTES,      /* a format that reads something */
    DLB_NEEDS_PINNING,           /* loader.pin_memory */
    DLB_NEEDS_MANY_READS,        /* loader.io = "io_uring" or "auto" */
    DLB_NEEDS_COLD_RUN,          /* run.cache = "cold", of stored bytes */
    DLB_NEEDS_MANY_ACCELERATORS, /* accelerators.count > 1 */
    DLB_NEEDS_STEPS_TOGETHER,    /* ... or run.world > 1 */
    DLB_NEEDS_SHUFFLED_SHARDS,   /* iterable data with loader.shuffle */
    DLB_NEEDS_VARIED_STEPS,      /* a device.step_dist other than "constant" */
    DLB_NEEDS_EPOCH_BORDERS,     /* enough run.epochs to measure a border between epochs */
    DLB_NEEDS_TORCH,             /* loader.kind = "torch" */
    DLB_NEEDS_OWN_COPIES, /* another loader.kind than "torch": torch pins only for an accelerator */
    DLB_NEEDS_OWN_FORMAT, /* dataset.format is the format of this section; never written in a row;
                             implied for every row of a format's section */
    DLB_N_NEEDS
};

struct dlb_opt {
    const char *key; /* without its section: "num_workers" */
    enum dlb_opt_type type;
    size_t offset; /* of the field in the group's struct */
    int64_t min, max;
    const char *def;            /* as it would be typed after --set key= */
    const char *unit;           /* "ms", "samples"; NULL: none */
    const char *help;           /* one sentence, no full stop */
    const char *const *choices; /* NULL-terminated; CHOICE only */
    enum dlb_opt_work work;
    enum dlb_opt_needs needs; /* if unmet, the option has no meaning; a cell's echo has null */
    enum dlb_opt_needs
        shows_with;  /* if unmet, values make no difference, so the sweep skips them */
    bool reads_only; /* of a format: nothing that gen writes depends on it */
    bool native;     /* without meaning where loader.kind = "torch" loads */
    bool stays;      /* always among the settings to paste: what training gets, or is asked about */
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
