/* Verbs: `dlbench <verb> ...`. One const table, one file, one line in verbs.def.
 *
 * Floor 5. Only this folder prints, and picks exit codes. */
#ifndef DLB_BENCH_CLI_VERB_H
#define DLB_BENCH_CLI_VERB_H

#include "core/base/config.h"
#include "core/base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum dlb_exit {
    DLB_EXIT_OK = 0,
    DLB_EXIT_NO = 1,     /* the answer is no */
    DLB_EXIT_USAGE = 2,  /* wrong usage or configuration */
    DLB_EXIT_FAILED = 3, /* it could not be done */
    DLB_EXIT_INTERRUPTED = 130,
};

/* Flags that a verb may take beside the option tables' --section.key flags. */
enum {
    DLB_FLAG_CONFIG = 1 << 0,  /* --config FILE, --set key=value, --<section>.<key> value (also
                                  --<section>.<key>=value) */
    DLB_FLAG_RESULTS = 1 << 1, /* --results DIR, --run-name NAME, --overwrite, --drop-caches */
    DLB_FLAG_JSON = 1 << 2,    /* --json: the document on stdout, nothing else */
    DLB_FLAG_PATH = 1 << 3,    /* one positional PATH */
    DLB_FLAG_TARGET =
        1 << 5, /* a second PATH, to write to: --format, --from, --overwrite, --drop-caches */
    DLB_FLAG_WORKLOAD = 1 << 6, /* --workload NAME, --path FOLDER */
    DLB_FLAG_STORAGE = 1 << 7,  /* --accelerator NAME, --baseline PROGRAM, --dry-run */
    DLB_FLAG_HIDDEN = 1 << 4,   /* not in the help: what dlbench calls itself by */
};

struct dlb_args {
    struct dlb_config *cfg;  /* with the file and every --set applied; owned by main */
    const char *config_path; /* or NULL */
    const char *results_dir; /* "results" by default */
    const char *run_name;    /* or NULL: the verb chooses */
    const char *path;        /* positional, or NULL */
    const char *target;      /* the second one, or NULL */
    const char *format;      /* of the target, as it was said; or NULL */
    const char *from;        /* of the source, as it was said; or NULL */
    bool overwrite, json, dry_run;
    int argc; /* what is left, for hidden verbs */
    char **argv;
};

struct dlb_verb {
    const char *name, *summary;
    const char *usage;   /* "dlbench sweep --config FILE [--set key=value ...]" */
    const char *details; /* paragraphs for --help and the man page */
    uint32_t flags;
    const struct dlb_opt_group *const *groups; /* what files and --set may say, up to NULL; NULL:
                                                  what a run takes (dlb_spec_groups) */
    const char *section; /* of these groups, the one whose keys are flags by themselves:
                            --batch-size for <section>.batch_size; or NULL */
    int (*run)(const struct dlb_args
                   *args); /* returns enum dlb_exit; prints its own errors through dlb_print_err */
};

extern const struct dlb_verb *const dlb_verbs[]; /* ends with NULL; in the order of verbs.def */

/* "dlbench: <text>" on stderr; returns the exit code that the status calls for (CONFIG, MISSING
 * module: 2; CANCELLED: 130; else 3). */
int dlb_print_err(const struct dlb_err *err);

/* Set by SIGINT and SIGTERM once dlb_catch_interrupts was called; a second signal kills. */
#include <stdatomic.h>
extern atomic_bool dlb_interrupted;
void dlb_catch_interrupts(void);

#endif
