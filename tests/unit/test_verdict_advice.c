/* What is worth a try: nothing that is done already, or was measured and of no use. */
#include "core/measure/verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define STAGES(r, d, t, c, credit)                                                                 \
    {                                                                                              \
        [DLB_WS_READ] = (r), [DLB_WS_DECODE] = (d), [DLB_WS_TRANSFORM] = (t),                      \
        [DLB_WS_COLLATE] = (c), [DLB_WS_WAIT_CREDIT] = (credit)                                    \
    }
#define USUAL                                                                                      \
    .complete = true, .step_ns = 10e6, .num_workers = 2, .n_cpus = 8, .pin_memory = true,          \
    .device_prefetch = 1
#define WAITS USUAL, .compute_frac = 0.5, .input_frac = 0.5
#define BALANCED                                                                                   \
    USUAL, .compute_frac = 0.85, .input_frac = 0.06, .h2d_frac = 0.05, .residual_frac = 0.04

/* A row overrides what it does not share with the usual one. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct row {
    const char *name;
    struct dlb_evidence evidence;
    const char *says;
} rows[] = {
    {"every CPU in use, and more workers were no faster",
     {WAITS, .num_workers = 8, .more_workers = 16},
     "All 8 CPUs "},
    {"every CPU in use, and more workers were faster all the same",
     {WAITS, .num_workers = 8, .more_workers = 16, .faster_workers = 16},
     " 16 workers"},
    {"reads of storage, which more workers did not speed up",
     {WAITS, .num_workers = 8, .cache = DLB_CACHE_COLD, .more_workers = 16,
      .worker_stage_ns = STAGES(7, 1, 1, 1, 0)},
     "(up to 16)"},
    {"workers of several accelerators, of which more were faster",
     {WAITS, .num_workers = 4, .n_loaders = 2, .more_workers = 4, .faster_workers = 4},
     "num_workers = 4 "},
    {"workers of several accelerators, of which more were no faster",
     {WAITS, .num_workers = 4, .n_loaders = 2, .more_workers = 4},
     "(up to num_workers = 4 "},
    {"workers of several accelerators that wait for storage",
     {WAITS, .num_workers = 4, .n_loaders = 2, .cache = DLB_CACHE_COLD, .most_swept = true,
      .worker_stage_ns = STAGES(7, 1, 1, 1, 0)},
     "num_workers = 2"},
    {"four pin threads that lag behind four workers each",
     {WAITS, .num_workers = 16, .n_loaders = 4, .pin_stage_ns = 2.6,
      .worker_stage_ns = STAGES(1, 7, 1, 1, 0)},
     "pin_mode"},
    {"four pin threads that keep up",
     {WAITS, .num_workers = 16, .n_loaders = 4, .pin_stage_ns = 2.4,
      .worker_stage_ns = STAGES(1, 7, 1, 1, 0)},
     "images stored at"},
    {"two pin threads that lag behind as many threads that load",
     {WAITS, .num_workers = 0, .n_loaders = 2, .pin_stage_ns = 11,
      .worker_stage_ns = STAGES(1, 7, 1, 1, 0)},
     "pin_mode"},
    {"fewer shards than workers, and every CPU in use",
     {WAITS, .num_workers = 8, .n_idle_workers = 8},
     "All 8 CPUs "},
    {"workers without a core, but more were measured and were faster",
     {WAITS, .num_workers = 8, .n_cpus = 2, .worker_runqueue_ns = 6, .more_workers = 16,
      .faster_workers = 16, .worker_stage_ns = STAGES(1, 7, 1, 1, 0)},
     " 2 CPUs. Try"},
    {"batches of PyTorch's workers that are handed over faster than they are made",
     {WAITS, .torch = true, .sample_ns = 1.4e6, .transport_ns = 0.43e6,
      .worker_stage_ns = STAGES(1, 0, 0, 17, 0)},
     "u8"},
    {"a transform that waits needs no CPU",
     {WAITS, .num_workers = 8, .torch = true, .own_code = true, .transform = "Fetch",
      .sample_ns = 20e6, .transform_ns = 20e6, .waits = true,
      .worker_stage_ns = STAGES(0, 0, 20, 0.1, 0)},
     "more workers (now 8)"},
    {"a transform that computes needs one",
     {WAITS, .num_workers = 8, .torch = true, .own_code = true, .transform = "Fetch",
      .sample_ns = 20e6, .transform_ns = 20e6, .worker_stage_ns = STAGES(0, 0, 20, 0.1, 0)},
     "All 8 CPUs "},
    {"a transform of the user's own, which PyTorch runs",
     {WAITS, .torch = true, .own_code = true, .transform = "Slow", .transform_ns = 3e6,
      .sample_ns = 3.4e6, .worker_stage_ns = STAGES(1, 1, 7, 1, 0)},
     " Slow takes 3 ms of 3.4 ms"},
    {"what a __getitem__ of the user's own computes, which PyTorch runs",
     {WAITS, .torch = true, .own_code = true, .transform = "own computing", .own_computing = true,
      .n_transforms = 1, .transform_ns = 3e6, .sample_ns = 3.4e6,
      .worker_stage_ns = STAGES(1, 1, 7, 1, 0)},
     "__getitem__'s own computing"},
    {"two transforms of a class, which PyTorch runs",
     {WAITS, .torch = true, .own_code = true, .transform = "Slow", .n_transforms = 2,
      .transform_ns = 3e6, .sample_ns = 3.4e6, .worker_stage_ns = STAGES(1, 1, 7, 1, 0)},
     " 2 transforms Slow "},
    {"images that PyTorch decodes",
     {WAITS, .torch = true, .sample_ns = 4e6, .worker_stage_ns = STAGES(1, 6, 1, 0, 0)},
     " 3 ms of 4 ms"},
    {"balanced, and the last percents",
     {BALANCED, .worker_stage_ns = STAGES(1, 7, 1, 1, 5)},
     "worker, if"},
    {"balanced, nothing overlaps",
     {BALANCED, .device_prefetch = 0},
     "worker, or device.prefetch = 1"},
    {"balanced, every CPU in use, nothing overlaps",
     {BALANCED, .num_workers = 8, .device_prefetch = 0},
     "Try: device.prefetch = 1,"},
    {"balanced, every CPU in use", {BALANCED, .num_workers = 8}, "Try: longer"},
    {"balanced, and more workers were no faster", {BALANCED, .more_workers = 4}, "Try: longer"},
    {"balanced, and more workers would have no shard",
     {BALANCED, .n_idle_workers = 1},
     "Try: longer"},
    {"balanced, the workers wait for the loop",
     {BALANCED, .worker_stage_ns = STAGES(1, 7, 1, 1, 15)},
     "Try: longer"},
};
#pragma GCC diagnostic pop

static void advises(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dlb_verdict v;
        dlb_judge(&rows[i].evidence, &v);
        if (!strstr(v.text, rows[i].says))
            fail_msg("%s: no \"%s\" in: %s", rows[i].name, rows[i].says, v.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(advises)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
