/* Verbs: `dlbench <verb> ...`. A verb is one file, bench/verbs/verb_<name>.c, which ends with a
 * const table of this type, and one line in verbs.def. main.c looks the verb up and calls its
 * run().
 *
 * Floor 5. Only bench/ prints and picks exit codes. */
#ifndef DLB_BENCH_CLI_VERB_H
#define DLB_BENCH_CLI_VERB_H

#include "core/base/config.h"
#include "core/base/err.h"
#include "scenarios/rules/rule.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum dlb_exit {
    DLB_EXIT_OK = 0,
    DLB_EXIT_NO = 1,     /* a rule of --fail-on failed, or a check of doctor found a problem */
    DLB_EXIT_USAGE = 2,  /* wrong usage or configuration */
    DLB_EXIT_FAILED = 3, /* the work could not be done */
    DLB_EXIT_INTERRUPTED = 130,
};

/* Flags that a verb may take beside the option tables' --section.key flags. */
enum {
    DLB_FLAG_CONFIG = 1 << 0,  /* --config FILE, --set key=value, --<section>.<key> value (also
                                  --<section>.<key>=value) */
    DLB_FLAG_RESULTS = 1 << 1, /* --results DIR, --run-name NAME, --overwrite, --drop-caches,
                                  --verbose */
    DLB_FLAG_JSON = 1 << 2,    /* --json: the document on stdout, nothing else */
    DLB_FLAG_PATH = 1 << 3,    /* one positional PATH */
    DLB_FLAG_TARGET =
        1 << 5, /* a second PATH, to write to: --format, --from, --overwrite, --drop-caches */
    DLB_FLAG_WORKLOAD = 1 << 6, /* --workload NAME, --path FOLDER */
    DLB_FLAG_STORAGE = 1 << 7,  /* --accelerator NAME, --baseline PROGRAM, --dry-run */
    DLB_FLAG_PLAN = 1 << 8,     /* --dry-run: the plan */
    DLB_FLAG_SWEEP = 1 << 9,    /* --exhaustive */
    DLB_FLAG_WRITE = 1 << 10,   /* --write FILE, --overwrite */
    DLB_FLAG_BESIDE = 1 << 11,  /* further PATHs; --verbose */
    DLB_FLAG_RESUME = 1 << 12,  /* --resume DIR */
    DLB_FLAG_RULES = 1 << 13,   /* --fail-on RULE, --strict, --junit FILE */
    DLB_FLAG_COMPARE = 1 << 14, /* --also-a PATH, --also-b PATH, --smallest SHARE, --between SHARE,
                                   --run, --format */
    DLB_FLAG_TRACEML = 1 << 15, /* --traceml FILE */
    DLB_FLAG_QUIET = 1 << 20,   /* --quiet: no progress on stderr */
    DLB_FLAG_REPORT = 1 << 16,  /* --format, --prometheus FILE */
    DLB_FLAG_TRACE = 1 << 17,   /* --trace FILE */
    DLB_FLAG_RANKS = 1 << 18,   /* under a launcher it measures on all ranks; takes no argument */
    DLB_FLAG_HIDDEN = 1 << 4,   /* not in the help: dlbench starts its child processes with it */
};

#define DLB_MAX_BESIDE 64
#define DLB_ALSO_MAX 32

struct dlb_args {
    struct dlb_config *cfg;  /* with the file and every --set applied; owned by main */
    const char *config_path; /* or NULL */
    const char *results_dir; /* "results" by default */
    bool results_named;      /* the user gave it */
    const char *run_name;    /* or NULL: the verb chooses */
    const char *resume;      /* a result's folder, or NULL */
    const char *path;        /* positional, or NULL */
    const char *target;      /* the second one, or NULL */
    const char *beside[DLB_MAX_BESIDE];
    uint32_t n_beside;      /* further ones, of a verb with DLB_FLAG_BESIDE */
    const char *format;     /* of the target or the report, as the user wrote it; or NULL */
    const char *prometheus; /* a file to write, or NULL */
    const char *write;      /* a file to write, or NULL */
    const char *from;       /* of the source, as the user wrote it; or NULL */
    bool overwrite, json, verbose, quiet, dry_run;
    struct dlb_rule rules[DLB_RULES_MAX]; /* [n_rules] */
    uint32_t n_rules;
    bool strict;
    const char *junit, *traceml, *trace; /* files, or NULL */
    const char *also[2][DLB_ALSO_MAX];   /* [n_also[side]] repeats of A and of B */
    uint32_t n_also[2];
    const char *smallest, *between; /* as the user wrote them, or NULL */
    bool measures;                  /* compare --run: the paths are configurations */
    const struct dlb_config *cfg_b; /* that of B; NULL: nothing is measured beside cfg */
    int argc;                       /* all arguments after the verb */
    char **argv;
};

struct dlb_verb {
    const char *name, *summary;
    const char *usage;   /* "dlbench sweep --config FILE [--set key=value ...]" */
    const char *details; /* paragraphs for the man page and `dlbench help VERB --full` */
    uint32_t flags;
    /* For --help, one screen (bench/cli/page.h): commands, and the keys that matter most. Verbs
     * without commands show all of their help. Both end with NULL. */
    const char *examples[4];
    const char *keys[11];
    /* Option groups that files and --set may fill, up to NULL. NULL: those of a run,
     * dlb_spec_groups(). */
    const struct dlb_opt_group *const *groups;
    /* The group whose keys are flags by themselves: --batch-size for <section>.batch_size. Or NULL.
     */
    const char *section;
    /* Returns enum dlb_exit. Prints its own errors through dlb_print_err. */
    int (*run)(const struct dlb_args *args);
};

extern const struct dlb_verb *const dlb_verbs[]; /* ends with NULL; in the order of verbs.def */

/* The enum dlb_exit that a status calls for. CONFIG and MISSING: 2; CANCELLED: 130; others: 3. */
int dlb_exit_code(enum dlb_status status);

/* Prints "dlbench: <text> [E_NAME]" on stderr and returns dlb_exit_code of its status. With --json
 * main.c also prints the first error as a document (dlb_print_error_json). */
int dlb_print_err(const struct dlb_err *err);

/* Set by SIGINT, SIGTERM and SIGHUP after dlb_catch_interrupts; a second signal kills. */
extern atomic_bool dlb_interrupted;
void dlb_catch_interrupts(void);

/* From then on no signal kills: a rank's runner gets a scheduler's signal twice, once from its
 * speaker. Before dlb_catch_interrupts. */
void dlb_interrupts_only_ask(void);

#endif
