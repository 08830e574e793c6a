/* What one repetition of one cell measured.
 *
 * Floor 4. Plain data with an owner; any thread. The cell's process fills one in and writes it as
 * JSON, the runner reads it back, scenarios judge it, and summary.json shows parts of it.
 * dlb_cell_result_to_json and _from_json convert it; summary.c copies some of its parts as JSON.
 *
 * A figure that was not measured is DLB_NOT_MEASURED, NaN or "", and null in JSON. Times are
 * nanoseconds. Counts and stages are those of all accelerators of the cell together, times those of
 * a mean one (loaders/train/consumer.h). */
#ifndef DLB_SCENARIOS_CELL_CELL_RESULT_H
#define DLB_SCENARIOS_CELL_CELL_RESULT_H

#include "core/base/err.h"
#include "core/base/json.h"
#include "core/measure/au.h"
#include "core/measure/cache_label.h"
#include "core/measure/disturbed.h"
#include "core/measure/meters.h"
#include "core/measure/pace.h"
#include "loaders/train/consumer.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum dlb_rep_status {
    DLB_REP_OK,
    DLB_REP_FAILED,
    DLB_REP_CANCELLED,    /* by the user; holds what was measured until then */
    DLB_REP_SKIPPED,      /* a warm pass over data that do not fit into memory */
    DLB_REP_NOT_MEASURED, /* another program could not measure (no PyTorch, for example) */
};

/* One stage, or the reads, of a run. */
struct dlb_stage_result {
    uint64_t count, sum_ns;
    uint64_t p50_ns, p99_ns, p999_ns, max_ns; /* DLB_NOT_MEASURED if count is 0 */
};

enum dlb_io_way { DLB_IO_USED_SYNC, DLB_IO_USED_MIXED, DLB_IO_USED_URING };

/* How workers read (loader.io). Figures: of io_uring's requests alone. */
struct dlb_io_result {
    enum dlb_read_io asked;
    enum dlb_io_way used; /* mixed: some workers read synchronously, or a worker in both ways */
    char reason[300];     /* why some reads did not use the requested method; "": all did; of
                             "auto" what was chosen by */
    uint64_t depth, max_in_flight, n_requests, n_resubmitted, n_bytes;
    uint64_t sum_ns, p50_ns, p99_ns, p999_ns, max_ns; /* of a request, as in struct dlb_io_meters */
    bool registered_buffers;
};

struct dlb_memory_result {
    uint64_t peak_pss_bytes, slots_bytes, pinned_bytes;
    bool huge_pages;
    /* Of this process and its descendants, without what is shared: early in the run, and at its
     * end. NaN: the run was too short to tell. */
    double early_bytes, recent_bytes;
    char growth[8]; /* core/measure/traceml.h; "": none */
};

/* What the kernel accounts for the process and its workers, over the loop. */
struct dlb_os_result {
    uint64_t utime_ns, stime_ns, minor_faults, major_faults, voluntary_switches,
        involuntary_switches, read_chars, read_device_bytes;
};

#define DLB_CACHE_LIMITS 8        /* the most sentences ... */
#define DLB_CACHE_LIMIT_BYTES 300 /* ... and the bytes of each */

/* The page cache: the requested state, and the state that the bytes read show
 * (core/measure/cache_label.h). */
struct dlb_cache_result {
    int asked; /* enum dlb_run_cache */
    enum dlb_cache_label label, metadata;
    char why[300];
    double resident_before_frac, resident_after_frac; /* of the data */
    /* Read by the process; read from the device; delivered to the loop. */
    uint64_t process_bytes, device_bytes, delivered_bytes;
    char filesystem[64], device[64];                      /* "": not known */
    char residency_by[24];                                /* the system call that was used */
    char limits[DLB_CACHE_LIMITS][DLB_CACHE_LIMIT_BYTES]; /* what cannot be seen from here */
    uint32_t n_limits;
};

/* The device as it was opened. */
struct dlb_device_result {
    char kind[16], name[96], why[160];
    json_t *gpu; /* of a GPU: what dlb_device.describe wrote, with `run`, `numa` and `nvml`; owned;
                    NULL: emulated */
    double step_asked_ns, step_read_ns, step_measured_ns; /* from device.gpu.step; NaN without */
};

/* Another program's reads of the same files (fio). */
struct dlb_baseline_result {
    char *command; /* as a shell command; owned; NULL: it was not started */
    double bytes_per_s, iops, p50_ns, p99_ns, p999_ns;
};

/* What the training loop measured. */
struct dlb_loop_result {
    struct dlb_share total; /* of all accelerators; window_ns 0: no complete window */
    struct dlb_pace pace;   /* likewise */
    struct dlb_au lowest;   /* lowest over accelerators; total.au is the mean */
    uint64_t n_batches;     /* that the loop took, warm-up included */
    uint64_t consumer_cpu_ns;
    uint64_t n_checksum_mismatches;
    struct dlb_stage_result consumer[DLB_CS_COUNT], device[DLB_DS_COUNT];
    uint32_t n_accelerators;
    struct dlb_share *share; /* [n_shares] one for each accelerator; owned; absent with more than
                                DLB_SHARES_KEPT accelerators */
    uint32_t n_shares;
    struct dlb_epoch *epoch; /* [n_epochs] that were kept; owned */
    uint32_t n_epochs;
    struct dlb_os_result os;
    double machine_busy_frac, machine_stolen_frac, machine_stolen_ns; /* of the whole machine */
    struct dlb_strain strain;
};

/* What the workers did; absent if a worker did not end. Stages, reads, requests, CPU time and waits
 * cover the window, as the consumer's stages do: batches that a worker began while it was open,
 * with the waits after them (loaders/worker/report.h). Bytes, samples and what was skipped cover
 * the whole run, warm-up and unconsumed batches included. */
struct dlb_workers_result {
    struct dlb_stage_result stage[DLB_WS_COUNT];
    struct dlb_stage_result reads;
    bool reads_are_requests; /* to the kernel; else whole samples */
    struct dlb_io_result io;
    uint64_t io_bytes;  /* requested from the byte source ... */
    uint64_t n_samples; /* ... for this number of samples, which includes unconsumed ones */
    uint64_t cpu_ns, runqueue_ns, order_wait_ns;
    uint64_t n_skipped, n_cut_shards; /* of the whole run */
    uint32_t n_idle;                  /* workers without a shard */
    char **skipped; /* [n_skipped_named] the first skipped samples, with reasons; owned */
    uint32_t n_skipped_named;
};

struct dlb_stage_result dlb_stage_result_of(const struct dlb_hist *hist);

/* How often `n` stands for each sample that workers read within the window, of which n is a figure.
 * NaN where none was read. */
double dlb_per_sample_read(const struct dlb_workers_result *workers, double n);

/* What stages and reads are taken from: those of several ranks are summed exactly. */
struct dlb_cell_hists {
    struct dlb_hist consumer[DLB_CS_COUNT], device[DLB_DS_COUNT], worker[DLB_WS_COUNT], request;
};

struct dlb_cell_result {
    uint32_t block, index; /* which repetition of which cell, ceiling or warm pass; the runner's */
    uint64_t data_id;      /* dlb_shape.id of the data set that it opened; 0: none */
    uint32_t again;        /* 1, 2 ...: it measured again what was disturbed; the runner's */
    enum dlb_rep_status status;
    enum dlb_status error; /* if neither ok nor skipped */
    enum dlb_code code;    /* likewise; DLB_N_CODES: none */
    char reason[900];      /* "" for ok */
    char stuck_why[900];   /* empty if all workers and the GPU stopped; else which did not, and the
                              process leaves by _exit */
    /* Whether the repetition got far enough to fill each part. */
    bool has_loop, has_workers, has_memory, has_cache, has_device, has_baseline;
    struct dlb_loop_result loop;
    struct dlb_workers_result workers;
    struct dlb_memory_result memory;
    struct dlb_cache_result cache;
    struct dlb_device_result device;
    struct dlb_baseline_result baseline;
    json_t *python; /* the interpreter that loaded, and its stages (summary.schema.json); owned; or
                       NULL */
    struct dlb_cell_hists *hists; /* of a cell that meets those of other ranks; owned; else NULL */
    json_t *ranks;    /* of a run over ranks: of each (scenarios/ranks/merge.h); owned; or NULL */
    json_t *document; /* the output of another program that measured the cell; owned; or NULL */
};

/* Nothing measured: status ok, figures absent. */
void dlb_cell_result_init(struct dlb_cell_result *result);
void dlb_cell_result_free(struct dlb_cell_result *result); /* what it owns, not itself */

json_t *dlb_cell_result_to_json(const struct dlb_cell_result *result);

/* Without buckets that are 0. New reference. */
json_t *dlb_cell_hists_to_json(const struct dlb_cell_hists *hists);
/* Owned by the caller. NULL for what is not such a document. */
struct dlb_cell_hists *dlb_cell_hists_from_json(const json_t *doc);

/* Its member `cache` alone. */
json_t *dlb_cache_result_to_json(const struct dlb_cache_result *cache);

/* Fields of another type or beyond their range count as not measured. DLB_E_FORMAT if the
 * document is not an object or has no status. */
int dlb_cell_result_from_json(struct dlb_cell_result *result, const json_t *doc,
                              struct dlb_err *err);

const char *dlb_rep_status_name(enum dlb_rep_status status); /* "ok", "failed", ... */

/* status failed or cancelled, with the error's text, status and code. */
void dlb_cell_result_fail(struct dlb_cell_result *result, const struct dlb_err *err);

/* How many samples were not delivered under on_error = "skip", of how many: over the epochs. Of an
 * epoch that was cut short, those that were skipped until then. */
struct dlb_lost {
    uint64_t n, of;
    bool unknown; /* a shard was cut, and nothing tells how many samples it had: n is the least */
};
struct dlb_lost dlb_cell_result_lost(const struct dlb_cell_result *result);
double dlb_lost_frac(const struct dlb_lost *lost); /* NaN of no samples, or unknown */

/* Over the window; NaN without one. */
double dlb_cell_result_samples_per_s(const struct dlb_cell_result *result);
double dlb_cell_result_steps_per_s(const struct dlb_cell_result *result); /* of one accelerator */

/* The number of accelerators of the cell; 1 if nothing was measured. */
double dlb_cell_result_n_accelerators(const struct dlb_cell_result *result);

/* The number of ranks that its figures are of; 1 without a launcher. */
uint32_t dlb_cell_result_n_ranks(const struct dlb_cell_result *result);

/* The nominal utilisation that a gate is held against: of one process the mean of its accelerators;
 * over ranks the lowest of all, which is low by chance, too: where there are several repetitions,
 * scenarios/storage/worst.h chooses the rank. NaN if a rank's is not known. */
double dlb_cell_result_gated(const struct dlb_cell_result *result);

/* out: [dlb_cell_result_n_ranks] of a run over ranks; NaN where not known. */
void dlb_cell_result_rank_utilisations(const struct dlb_cell_result *result, double *out);

/* value, or NaN for DLB_NOT_MEASURED. */
double dlb_measured(uint64_t value);

/* Repetitions of one cell. Zeroed: none. */
struct dlb_reps {
    struct dlb_cell_result *rep; /* [n]; one for each block; owned */
    uint32_t n;
    struct dlb_cell_result *passed; /* [n_passed] disturbed ones that were measured again; owned */
    uint32_t n_passed;
};

/* Moves the result into the list. */
void dlb_reps_add(struct dlb_reps *reps, struct dlb_cell_result *result);
/* Moves the result to the place of the repetition of its block, which goes to `passed`. A result
 * that was not measured to its end goes there itself, unless it failed. */
void dlb_reps_replace(struct dlb_reps *reps, struct dlb_cell_result *result);
void dlb_reps_free(struct dlb_reps *reps);

#endif
