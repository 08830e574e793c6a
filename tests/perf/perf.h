/* What the benchmarks share: a data set in a folder of its own, a pipeline set up as the program
 * sets it up, and two ways of doing the same work timed in turns.
 *
 * Nothing here asserts a time. Each comparison prints a ratio beside the one that it should reach;
 * ratios are of medians over rounds, and a round runs both ways back to back, in changing order, so
 * that drift of the machine cancels. A failure prints and exits: these programs are run by hand. */
#ifndef DLB_TESTS_PERF_PERF_H
#define DLB_TESTS_PERF_PERF_H

#include "core/base/shm.h"
#include "formats/dataset.h"
#include "loaders/loader.h"
#include "scenarios/spec/spec.h"

#include <stddef.h>
#include <stdint.h>

/* "name: text" on stderr, and out. */
_Noreturn void perf_die(const char *what, const struct dlb_err *err);

/* Options as after --set, ending with NULL, on top of the defaults and of a prefetch_factor of 8.
 */
void perf_spec(struct dlb_spec *spec, const char *const *settings);

/* Makes a new folder below $DLB_PERF_DIR (default /var/tmp: on a disk), which is removed at exit,
 * and writes its path. */
void perf_folder(char *path, size_t n_path);

/* Writes the spec's data set into such a folder, and puts its path into the spec. Its pages are in
 * the page cache afterwards. */
void perf_generate(struct dlb_spec *spec);

/* A started loader on an open data set. */
struct perf_pipeline {
    struct dlb_spec spec;
    struct dlb_dataset dataset;
    struct dlb_job job;
    const struct dlb_loader *loader;
    void *state;
    uint32_t epoch;
};
void perf_pipeline_open(struct perf_pipeline *pipe, const struct dlb_spec *spec);
/* One epoch as fast as it goes: every batch is taken and given back. Returns seconds from
 * begin_epoch to its end. */
double perf_pipeline_epoch(struct perf_pipeline *pipe);
/* Stops the loader; `stats` may be NULL. */
void perf_pipeline_close(struct perf_pipeline *pipe, struct dlb_loader_stats *stats);

/* A baseline: `n` threads, each with slots of its own laid out as the loader's; body does the
 * thread's share of one epoch. */
struct perf_thread {
    uint32_t number, n; /* this one, of how many */
    const struct dlb_dataset *dataset;
    uint32_t batch_size;
    uint8_t *slots; /* n_slots times slot_bytes, populated, reused */
    size_t slot_bytes;
    uint32_t n_slots;
    uint64_t n_samples, n_bytes; /* done, for the check that both ways did the same work */
    void *ctx;
};
typedef void perf_body(struct perf_thread *thread);

/* Threads are started before the clock is and wait for it, as a loader's workers do with
 * persistent_workers. */
struct perf_team;
struct perf_team *perf_team_open(const struct perf_pipeline *like, uint32_t n_threads,
                                 perf_body *body, void *ctx);
double perf_team_epoch(struct perf_team *team); /* seconds */
/* Samples and bytes of the last epoch, over all threads. */
void perf_team_done(const struct perf_team *team, uint64_t *n_samples, uint64_t *n_bytes);
void perf_team_close(struct perf_team *team);

/* Two ways of doing `units` of work in a call, each returning its seconds. */
struct perf_way {
    const char *name;
    double (*run)(void *ctx);
    void *ctx;
};
struct perf_comparison {
    const char *name, *unit; /* "files + raw, 2 threads", "files" */
    double units;            /* per call */
    double should_reach;     /* ratio of rates ours / base */
    uint32_t rounds;         /* 0: 11 */
};
/* One warm-up call each, then the rounds; prints rates, ratio, and its spread, also as JSON
 * (row.h). Returns the ratio. */
double perf_compare(const struct perf_comparison *what, const struct perf_way *ours,
                    const struct perf_way *base);

/* The usual benchmark whole: the pipeline of `spec` against as many threads that run `body`. Says
 * so when the two did not move the same samples and bytes. Returns the ratio. */
struct perf_match {
    const char *name, *unit, *base_name; /* "files + raw", "files", "open/read/close" */
    double should_reach;
    uint32_t epochs; /* in a call, for some tenths of a second */
    perf_body *body;
    void *ctx;
    const struct dlb_spec *layout; /* whose slots the baseline fills; NULL: those of `spec` */
};
double perf_match(const struct dlb_spec *spec, const struct perf_match *match);

/* Threads to measure with: "1 2" by default, or $DLB_PERF_THREADS. Returns how many. */
uint32_t perf_thread_counts(uint32_t counts[8]);

/* CPU time of the calling thread, ns. */
uint64_t perf_thread_cpu_ns(void);

#endif
