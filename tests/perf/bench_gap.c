/* The in-memory ladder: the dlbench rung against a bare gather of the same rows by as many threads,
 * with the same prefetch and page size, and against direct slicing.
 *
 * Two arrays are in memory at a time. A bare gather makes its permutation outside of the measured
 * time, reuses its slots, and nothing consumes its batches. */
#include "core/base/clock.h"
#include "scenarios/gap/rungs/array.h"
#include "scenarios/gap/rungs/gather.h"
#include "scenarios/gap/rungs/permutation.h"
#include "tests/perf/perf.h"
#include "tests/perf/rung.h"
#include "tests/support/permutation.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 15, N_SLOTS = 3 };

typedef void gather_fn(void *dest, const void *array, const uint32_t *index, uint64_t n_rows,
                       uint64_t row_bytes);

struct bare {
    const struct dlb_gap_params *params;
    struct dlb_gap_memory array, slots;
    struct dlb_gap_permutation permutation;
    gather_fn *gather;
    uint64_t epoch;
};

struct share {
    const struct bare *bare;
    uint64_t number;
    pthread_t thread;
};

/* A loop with the same prefetch that stores as memcpy does. */
static void gather_memcpy(void *dest, const void *array, const uint32_t *index, uint64_t n_rows,
                          uint64_t row_bytes)
{
    const uint8_t *from = array;

    for (uint64_t i = 0; i < n_rows; i++) {
        for (uint64_t at = 0; at < row_bytes && i + DLB_GAP_AHEAD_PAGE < n_rows;
             at += row_bytes - 1)
            __builtin_prefetch(from + index[i + DLB_GAP_AHEAD_PAGE] * row_bytes + at, 0, 2);
        for (uint64_t at = 0; at < row_bytes + 63 && i + DLB_GAP_AHEAD < n_rows; at += 64)
            __builtin_prefetch(from + index[i + DLB_GAP_AHEAD] * row_bytes + at, 0, 2);
        memcpy((uint8_t *)dest + i * row_bytes, from + index[i] * row_bytes, row_bytes);
    }
}

/* Gathers one thread's part of every batch. */
static void *gather_share(void *arg)
{
    const struct share *share = arg;
    const struct bare *bare = share->bare;
    uint64_t row_bytes = dlb_gap_row_bytes(bare->params), n = (uint64_t)bare->params->samples;
    uint64_t size = (uint64_t)bare->params->batch_size, parts = (uint64_t)bare->params->workers;

    for (uint64_t b = 0; b * size < n; b++) {
        uint64_t rows = n - b * size < size ? n - b * size : size;
        uint64_t from = rows * share->number / parts, to = rows * (share->number + 1) / parts;
        bare->gather(bare->slots.addr + (b % N_SLOTS * size + from) * row_bytes, bare->array.addr,
                     bare->permutation.order + b * size + from, to - from, row_bytes);
    }
    return NULL;
}

static double bare_epoch(void *ctx)
{
    struct bare *bare = ctx;
    struct share share[DLB_GAP_WORKERS_MAX];
    uint64_t n = (uint64_t)bare->params->workers;

    permutation_make(&bare->permutation, bare->epoch++);
    uint64_t start_ns = dlb_now_ns();
    for (uint64_t i = 0; i < n; i++) {
        share[i] = (struct share){.bare = bare, .number = i};
        if (pthread_create(&share[i].thread, NULL, gather_share, &share[i]) != 0)
            perf_die("thread", NULL);
    }
    for (uint64_t i = 0; i < n; i++)
        (void)pthread_join(share[i].thread, NULL);
    return (double)(dlb_now_ns() - start_ns) * 1e-9;
}

static void against(const struct dlb_gap_params *params, const char *base_name, double should_reach,
                    double (*base)(void *ctx), void *base_ctx)
{
    static const char *const pages[] = {"4 KiB", "huge", "any"};
    struct rung ours = {.params = params, .name = "dlbench"};
    char name[96];

    (void)snprintf(name, sizeof name, "shuffled %llu-byte rows, %lld threads, %s pages",
                   (unsigned long long)dlb_gap_row_bytes(params), (long long)params->workers,
                   pages[params->pages]);
    struct perf_comparison what = {.name = name,
                                   .unit = "rows",
                                   .units = (double)params->samples,
                                   .should_reach = should_reach,
                                   .rounds = ROUNDS};
    (void)perf_compare(&what, &(struct perf_way){"dlbench", rung_epoch, &ours},
                       &(struct perf_way){base_name, base, base_ctx});
    printf("    minor faults in the last epoch: %llu\n",
           (unsigned long long)ours.last.os.process.minor_faults);
    dlb_rung_result_free(&ours.last);
}

static void against_bare(const struct dlb_gap_params *params)
{
    struct dlb_err err;
    struct bare bare = {.params = params};
    uint64_t slot_bytes = dlb_gap_batch_bytes(params);

    if (dlb_gap_array_open(&bare.array, params, NULL, &err) != DLB_OK ||
        dlb_gap_permutation_open(&bare.permutation, (uint32_t)params->samples, 1, &err) != DLB_OK ||
        dlb_gap_map(&bare.slots, N_SLOTS * slot_bytes, DLB_GAP_PRIVATE,
                    (enum dlb_gap_pages)params->pages, &err) != DLB_OK ||
        dlb_gap_populate(&bare.slots, NULL, &err) != DLB_OK)
        perf_die("a bare gather", &err);
    bare.gather = gather_memcpy;
    against(params, "bare gather", 0.90, bare_epoch, &bare);
    bare.gather = dlb_gap_gather_ahead;
    against(params, "bare gather, own kernel", 0, bare_epoch, &bare);
    dlb_gap_unmap(&bare.array);
    dlb_gap_unmap(&bare.slots);
    dlb_gap_permutation_close(&bare.permutation);
}

/* The same with a device that takes no time, like the bare gather's. The default one's last copy
 * and step, which no thread does, are 3 ms of an epoch. */
static struct dlb_gap_params takes_nothing(struct dlb_gap_params params)
{
    params.device.step_ms = 0;
    params.device.pinned_bytes_per_s = 1e12;
    return params;
}

int main(void)
{
    static const char *const pages[] = {"small", "huge"};
    uint32_t threads[8], n_counts = perf_thread_counts(threads);

    for (uint32_t i = 0; i < n_counts; i++) {
        for (int p = 0; p < 2; p++) {
            struct dlb_gap_params params = rung_params(pages[p], threads[i], 0);
            struct dlb_gap_params nothing = takes_nothing(params);
            against_bare(&nothing);
            struct rung direct = {.params = &params, .name = "direct"};
            against(&params, "direct", 1 / 1.5, rung_epoch, &direct);
            dlb_rung_result_free(&direct.last);
        }
    }
    return 0;
}
