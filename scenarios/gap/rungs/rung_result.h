/* What one repetition of a rung measured.
 *
 * Floor 4. Any thread. The process of a rung writes a result as JSON; the ladder reads it back.
 * rung_result.c is the only C code that knows the keys; scenarios/gap/torch/rung.py writes the same
 * document.
 *
 * NaN and DLB_NOT_MEASURED mean: not measured. Figures are there only when status is DLB_RUNG_OK.
 * They describe the median measured epoch: of an even number of epochs the faster one of the middle
 * two, because parts and faults must belong to one real epoch. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_RUNG_RESULT_H
#define DLB_SCENARIOS_GAP_RUNGS_RUNG_RESULT_H

#include "core/base/err.h"
#include "core/base/json.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define DLB_RUNG_MAX_PARTS 24

enum dlb_rung_status { DLB_RUNG_OK, DLB_RUNG_NOT_MEASURED, DLB_RUNG_FAILED, DLB_RUNG_CANCELLED };

/* A part of an epoch's time, with time stamps of its own. */
struct dlb_rung_part {
    char name[24];
    double seconds;
    uint64_t minor_faults; /* not measured for "unexplained" */
};

struct dlb_rung_parts {
    uint32_t n;
    struct dlb_rung_part part[DLB_RUNG_MAX_PARTS];
};

/* What the kernel accounted to a thread during the epoch. */
struct dlb_rung_account {
    char name[32]; /* "loop", "worker 3", "pin thread"; "" for a sum */
    bool own_process;
    uint64_t voluntary_switches, involuntary_switches;
    uint64_t wall_ns, cpu_ns, runqueue_wait_ns;
    uint64_t
        blocked_ns; /* wall_ns less cpu_ns and runqueue_wait_ns: includes stolen time on a VM */
    uint64_t minor_faults, major_faults;
};

struct dlb_rung_os {
    struct dlb_rung_account process; /* the sum of all threads, worker processes included */
    uint32_t n_threads;
    struct dlb_rung_account *threads; /* [n_threads], the training loop first; owned */
    uint64_t page_bytes;
};

/* What page faults cost, in CPU time; measured in the same process before the epochs. */
struct dlb_rung_faults {
    double ns;   /* one fault in a batch's memory */
    bool shared; /* the kind of that memory; else private */
    uint64_t page_bytes;
    double seconds;   /* all faults of the epoch, each at the price of its kind of memory */
    double per_batch; /* faults of filling a batch, whichever thread fills it */
};

/* The loop's calls of the device, over all measured epochs. Below 100 calls p50 and p99 are not
 * measured. */
struct dlb_rung_calls {
    uint64_t count, sum_ns, p50_ns, p99_ns, max_ns;
};

/* Once for the process and outside of every epoch. */
struct dlb_rung_start_up {
    double array_s;
    double prepare_s; /* mappings and the fork server */
    double device_s;
    double start_s;  /* pinning memory, starting threads */
    double import_s; /* of torch */
};

struct dlb_rung_huge_pages {
    char asked[8]; /* gap.pages; "" for a result without figures */
    char batches_asked[8];
    double array_frac, batch_frac; /* what the kernel gave, from smaps */
};

struct dlb_rung_device {
    char kind[16], name[96], why[160];
    bool emulated;
};

struct dlb_rung_result {
    char rung[32];
    enum dlb_rung_status status;
    enum dlb_code code; /* why it failed or was cancelled */
    char reason[1024];  /* the same in words; "" when ok */
    bool stuck;         /* the device does not finish: the process must leave by _exit */

    double seconds; /* the median measured epoch */
    double *epochs; /* [n_epochs] seconds of each; owned */
    uint32_t n_epochs;
    uint64_t n_samples, n_batches, batch_bytes;
    uint64_t n_workers; /* 0: the training loop does all work */
    char checksum[17];  /* 16 hex digits (scenarios/gap/rungs/array.h); "" without a warm-up */

    /* The training loop's time; together with "unexplained" the parts add up to `seconds`. */
    struct dlb_rung_parts parts;
    /* The time of all workers and the pin thread. They run at the same time: divide by n_workers to
     * compare, never add to `parts`. */
    struct dlb_rung_parts worker_parts;
    struct dlb_rung_start_up start_up;
    struct dlb_rung_faults faults;
    struct dlb_rung_os os;
    struct dlb_rung_calls copy_calls, sync_calls;
    struct dlb_rung_huge_pages huge_pages;
    struct dlb_rung_device device;

    /* Of PyTorch's rungs. */
    uint64_t n_liveness_polls; /* times a DataLoader stopped waiting to check on its workers */
    double liveness_polls_s;
    char ordered_part[24]; /* the part that was also measured without a shuffle; "" */
    double ordered_seconds_per_sample;
};

/* Nothing measured. */
void dlb_rung_result_init(struct dlb_rung_result *result);
void dlb_rung_result_free(struct dlb_rung_result *result);

/* A result that failed, or was cancelled where the error says so. */
void dlb_rung_result_fail(struct dlb_rung_result *result, const char *rung,
                          const struct dlb_err *err);

/* New reference. */
json_t *dlb_rung_result_to_json(const struct dlb_rung_result *result);

/* From any document; what is absent or of another type is not measured. Free the result. */
void dlb_rung_result_from_json(const json_t *doc, struct dlb_rung_result *result);

/* Pieces that summary.json shows with the same keys. New references. kernel_json: `os`, and what is
 * counted beside it; null for what was not measured. */
json_t *dlb_rung_parts_json(const struct dlb_rung_parts *parts);
json_t *dlb_rung_start_up_json(const struct dlb_rung_start_up *start_up);
json_t *dlb_rung_kernel_json(const struct dlb_rung_result *result);

/* The part of that name; NULL when the rung does not have it. */
const struct dlb_rung_part *dlb_rung_part(const struct dlb_rung_parts *parts, const char *name);
/* Its seconds; NaN when the rung does not have it. */
double dlb_rung_part_s(const struct dlb_rung_parts *parts, const char *name);
/* Adds a part; what exceeds DLB_RUNG_MAX_PARTS is left out. */
void dlb_rung_add_part(struct dlb_rung_parts *parts, const char *name, double seconds,
                       uint64_t minor_faults);

#endif
