/* Idle is true. Planted times must be found on the device's clock: in most windows of a pass, each
 * judged by all of its figures. Another pass is only asked for where the machine was taken away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "tests/support/fake_format.h"
#include "tests/support/pipeline.h"

enum { PASSES = 3, PATIENCE_S = 3 }; /* of all passes, after which none is begun again */
enum { TRIES = 10 };                 /* of a window that is shown or not */

static double idle_of(const struct pipeline *p)
{
    return 1.0 - (double)p->out->total.busy_ns / (double)p->out->total.window_ns;
}

static void run(struct pipeline *p)
{
    pipeline_run(p);
    assert_int_equal(p->rc, DLB_OK);
    /* What holds on any machine: the window is whole, its parts add up, and no step is shorter than
     * asked. */
    const struct dlb_consumed *out = p->out;
    assert_true(out->total.window_ns > 0);
    assert_true(out->total.busy_ns + out->total.idle_input_ns + out->total.idle_copy_ns +
                    out->total.idle_other_ns ==
                out->total.window_ns);
    double step_ns = p->device.step_ms * 1e6;
    assert_true((double)out->total.busy_ns >= (double)out->total.n_steps * (step_ns - 1));
    assert_true((double)p->wall_ns >=
                (double)out->total.n_steps * (step_ns - 1)); /* the outside clock */
    assert_true(out->total.unaccounted_ns <= out->total.wall_ns);
}

/* What others took of the machine, so far. */
struct taken {
    long n_switches;             /* of this thread, the training loop's, against its will */
    unsigned long long n_steal;  /* ticks that the hypervisor gave to others */
    unsigned long long delay_ns; /* this thread was runnable, and did not run */
};

static struct taken taken_now(void)
{
    struct taken out = {0};
    struct rusage usage;
    FILE *stat = fopen("/proc/stat", "re"), *sched = fopen("/proc/thread-self/schedstat", "re");

    if (getrusage(RUSAGE_THREAD, &usage) == 0)
        out.n_switches = usage.ru_nivcsw;
    if (stat && fscanf(stat, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &out.n_steal) != 1)
        out.n_steal = 0;
    if (sched && fscanf(sched, "%*u %llu", &out.delay_ns) != 1)
        out.delay_ns = 0;
    if (stat)
        (void)fclose(stat);
    if (sched)
        (void)fclose(sched);
    return out;
}

/* Being interrupted counts by the time it took, where the kernel says that (schedstat). */
static bool was_taken(const struct taken *before, uint64_t wall_ns)
{
    struct taken now = taken_now();
    bool delayed = now.delay_ns > 0 ? now.delay_ns - before->delay_ns > wall_ns / 200
                                    : now.n_switches > before->n_switches;
    return delayed || now.n_steal > before->n_steal;
}

/* A run, and what it must show; NaN: not asked. */
struct planted {
    const char *name;
    struct pipeline run;
    double idle, input; /* shares of the window */
    double within;
    double unaccounted; /* at most */
    int n_windows;
};

static bool is_right(const struct planted *planted, const struct pipeline *p)
{
    double input = (double)p->out->total.idle_input_ns / (double)p->out->total.window_ns;
    double unaccounted = (double)p->out->total.unaccounted_ns / (double)p->out->total.wall_ns;

    return !(fabs(idle_of(p) - planted->idle) > planted->within) &&
           !(fabs(input - planted->input) > planted->within) &&
           !(unaccounted > planted->unaccounted);
}

static void find(const struct planted *planted)
{
    static uint64_t spent_ns;
    uint64_t start_ns = dlb_now_ns();
    int n_right = 0, n_wrong = 0, n_taken = 0, n_passes = 0;

    do {
        n_right = n_wrong = n_taken = 0;
        for (int i = 0; i < planted->n_windows; i++) {
            struct fake fake = fake_map(4000);
            struct dlb_dataset ds = fake_dataset(&fake);
            struct pipeline p = planted->run;
            struct taken before = taken_now();
            p.dataset = &ds;
            run(&p);
            bool right = is_right(planted, &p), taken = was_taken(&before, p.wall_ns);
            n_right += right;
            n_wrong += !right && !taken;
            n_taken += !right && taken;
            if (!right)
                print_message("%s: idle %.4f, input %.4f, unaccounted %.4f%s\n", planted->name,
                              idle_of(&p),
                              (double)p.out->total.idle_input_ns / (double)p.out->total.window_ns,
                              (double)p.out->total.unaccounted_ns / (double)p.out->total.wall_ns,
                              taken ? "; the machine was taken away" : "");
            pipeline_free(&p);
        }
    } while (n_right <= planted->n_windows / 2 && n_taken > 0 && ++n_passes < PASSES &&
             spent_ns + (dlb_now_ns() - start_ns) < PATIENCE_S * DLB_NS_PER_S);
    spent_ns += dlb_now_ns() - start_ns;
    if (n_right > planted->n_windows / 2)
        return;
    if (n_wrong > n_right || n_taken == 0)
        fail_msg("%s: %d of %d windows are right, %d wrong on a machine of their own",
                 planted->name, n_right, planted->n_windows, n_wrong);
    print_message("%s: not shown: the machine was taken away in %d of %d windows\n", planted->name,
                  n_taken, planted->n_windows);
}

/* Runs it until it is right, or wrong on a machine of its own. */
static void show(const struct pipeline *planted, bool (*is_shown)(const struct pipeline *))
{
    bool shown = false, taken = true;
    for (int i = 0; i < TRIES && !shown && taken; i++) {
        struct pipeline p = *planted;
        struct taken before = taken_now();
        run(&p);
        shown = is_shown(&p);
        taken = was_taken(&before, p.wall_ns);
        pipeline_free(&p);
    }
    assert_true(shown || taken);
    if (!shown)
        print_message("not shown: the machine was taken away in each of %d windows\n", TRIES);
}

/* With data always ready a device with a queued step never idles. */
static void ready_data_keeps_the_device_busy(void **state)
{
    (void)state;
    for (int depth = 1; depth <= 2; depth++)
        for (uint32_t workers = 1; workers <= 2; workers++)
            find(&(struct planted){.name = "ready data",
                                   .run = {.max_batches = 200,
                                           .warmup_batches = 5,
                                           .loader = {.num_workers = workers,
                                                      .prefetch_factor = 4,
                                                      .pin_memory = true},
                                           .device = {.prefetch = depth, .step_ms = 0.5}},
                                   .idle = 0,
                                   .input = NAN,
                                   .within = 0.01,
                                   .unaccounted = 0.01,
                                   .n_windows = 7});
}

/* The shortest steps for which all of the loop's time is promised to be accounted for. */
static void short_steps_are_accounted_for(void **state)
{
    (void)state;
    find(&(struct planted){
        .name = "steps of 0.1 ms",
        .run = {.max_batches = 900,
                .warmup_batches = 5,
                .loader = {.num_workers = 1, .prefetch_factor = 4, .pin_memory = true},
                .device = {.prefetch = 1, .step_ms = 0.1}},
        .idle = NAN,
        .input = NAN,
        .unaccounted = 0.01,
        .n_windows = 7});
}

/* One worker that needs D a batch, a step of S: idle = 1 - S / max(S, D), and it is the input's
 * fault. */
static void planted_delay_is_found(void **state)
{
    (void)state;
    const double planted_ms[] = {1, 6, 10};
    for (int d = 0; d < 3; d++) {
        double step_ms = 4, expect = 1 - step_ms / fmax(step_ms, planted_ms[d]);
        find(&(struct planted){.name = "a planted delay",
                               .run = {.max_batches = 30,
                                       .warmup_batches = 4,
                                       .loader = {.num_workers = 1,
                                                  .batch_size = 1,
                                                  .sample_sleep_us = planted_ms[d] * 1e3,
                                                  .pin_memory = true},
                                       .device = {.prefetch = 1, .step_ms = step_ms}},
                               .idle = expect,
                               .input = expect,
                               .within = 0.02,
                               .unaccounted = 0.01,
                               .n_windows = 5});
    }
}

/* With 0 workers nothing overlaps: idle = D / (S + D). */
static void inline_loading_is_all_idle(void **state)
{
    (void)state;
    find(&(struct planted){
        .name = "loading inline",
        .run = {.max_batches = 30,
                .warmup_batches = 2,
                .loader = {.batch_size = 1, .sample_sleep_us = 5000, .pin_memory = true},
                .device = {.prefetch = 0, .step_ms = 5}},
        .idle = 0.5,
        .input = NAN,
        .within = 0.02,
        .unaccounted = 0.01,
        .n_windows = 5});
}

/* A copy that is hidden costs nothing, one on the compute stream is exposed. */
static void copies_are_exposed_only_without_prefetch(void **state)
{
    (void)state;
    struct fake fake = fake_map(4000);
    struct dlb_dataset ds = fake_dataset(&fake);
    ds.max_payload_bytes = 1 << 20;
    for (int depth = 0; depth <= 1; depth++) {
        struct pipeline p = {.dataset = &ds,
                             .max_batches = 50,
                             .loader = {.num_workers = 1, .batch_size = 64, .pin_memory = true},
                             .device = {.prefetch = depth, .step_ms = 5}};
        run(&p);
        uint64_t copy_ns = p.out->device[DLB_DS_COPY].sum_ns;
        assert_true(copy_ns > 0);
        if (depth == 0)
            assert_true(p.out->total.idle_copy_ns >= copy_ns * 9 / 10);
        pipeline_free(&p);
    }
}

/* Epoch boundaries lie inside the window: starting workers anew costs device time, and is named. */
static void epoch_boundaries_count(void **state)
{
    (void)state;
    struct fake fake = fake_map(20);
    struct dlb_dataset ds = fake_dataset(&fake);
    struct pipeline p = {.dataset = &ds,
                         .n_epochs = 4,
                         .loader = {.num_workers = 1, .sample_sleep_us = 500, .pin_memory = true},
                         .device = {.prefetch = 1, .step_ms = 0.1}};
    run(&p);
    assert_int_equal(p.out->total.n_steps, 4 * 5 - 1);
    assert_true(p.out->total.epoch_idle_ns > 0);
    assert_int_equal(p.out->epoch[0].gap_ns, 0);
    uint64_t gaps_ns = 0;
    for (int e = 1; e < 4; e++) {
        /* A first batch of 4 samples must be loaded, while at most the last step of 0.1 ms still
         * runs. */
        assert_true(p.out->epoch[e].gap_ns >= 4 * 500 * 1000 - 200 * 1000);
        gaps_ns += p.out->epoch[e].gap_ns;
    }
    assert_true(gaps_ns == p.out->total.epoch_idle_ns);
    pipeline_free(&p);
}

static bool skipped_are_input(const struct pipeline *p)
{
    assert_int_equal(p->out->total.n_steps, 160 / 4 - 1);
    assert_int_equal(p->out->epoch[0].n_skipped, 160 / 4 * 3);
    return p->out->total.idle_input_ns >
           2 * p->out->total.idle_other_ns; /* a third of it without them */
}

/* Three of four batches are skipped, and take their time all the same: 2 ms each, for steps of
 * 0.5 ms. The device waits for them, too. */
static void skipped_batches_are_waited_for(void **state)
{
    (void)state;
    struct fake fake = fake_map(160);
    fake.keep_every = 4;
    fake.slow_ns = 2 * DLB_NS_PER_MS;
    struct dlb_dataset ds = fake_dataset(&fake);
    ds.on_error = DLB_ON_ERROR_SKIP;
    struct pipeline p = {
        .dataset = &ds,
        .loader = {.num_workers = 1, .batch_size = 1, .sample_sleep_us = 2000, .pin_memory = true},
        .device = {.prefetch = 1, .step_ms = 0.5}};
    show(&p, skipped_are_input);
}

static bool ends_are_input(const struct pipeline *p)
{
    assert_int_equal(p->out->total.n_steps, 12 - 1);
    assert_true(p->out->total.epoch_idle_ns > 0);
    return p->out->total.epoch_other_ns < p->out->total.epoch_idle_ns / 4;
}

/* Of 30 samples 16 make a batch, and 14 are read to be dropped before next() knows of the end. Any
 * epoch is 1 step and 30 ms of reading: 0.47 of its idle time would be other without the latter. */
static void an_epochs_end_is_waited_for(void **state)
{
    (void)state;
    struct fake fake = fake_map(30);
    fake.n_shards = 1;
    fake.shard_samples[0] = 30;
    struct dlb_dataset ds = fake_dataset(&fake);
    struct pipeline p = {.dataset = &ds,
                         .n_epochs = 12,
                         .loader = {.num_workers = 1,
                                    .batch_size = 16,
                                    .drop_last = true,
                                    .persistent_workers = true,
                                    .sample_sleep_us = 1000,
                                    .pin_memory = true},
                         .device = {.prefetch = 1, .step_ms = 0.5}};
    show(&p, ends_are_input);
}

static bool copies_are_late(const struct pipeline *p)
{
    assert_true(p->out->total.idle_copy_ns > p->out->total.n_steps * 8 * DLB_NS_PER_MS);
    return p->out->total.late_copy_ns > p->out->total.idle_copy_ns * 3 / 4;
}

static bool copies_are_in_time(const struct pipeline *p)
{
    assert_true(p->out->total.idle_copy_ns > p->out->total.n_steps * 8 * DLB_NS_PER_MS);
    return p->out->total.late_copy_ns < p->out->total.idle_copy_ns / 4;
}

/* Copies of 10 ms: of batches that take 20 ms to load they are late, of those that are there they
 * are not. */
static void late_copies_are_the_loaders(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        bool slow = i & 1;
        struct fake fake = fake_map(20);
        struct dlb_dataset ds = fake_dataset(&fake);
        struct pipeline p = {
            .dataset = &ds,
            .max_batches = 15,
            .warmup_batches = 2,
            .loader = {.num_workers = 1,
                       .batch_size = 1,
                       .sample_sleep_us = slow ? 20000 : 0,
                       .pin_memory = true},
            .device = {
                .prefetch = i / 2, .step_ms = 1, .copy_us = 10000, .pinned_bytes_per_s = 1e9}};
        show(&p, slow ? copies_are_late : copies_are_in_time);
    }
}

static double steps_per_s(const struct pipeline *p)
{
    return (double)p->out->total.n_steps * 1e9 / (double)p->out->total.window_ns;
}

static double rate_of(struct pipeline p)
{
    run(&p);
    double rate = steps_per_s(&p);
    pipeline_free(&p);
    return rate;
}

/* What the ceiling says that the cell would gain, over what it gains without its planted sleeps. */
static double gain_told_over_true(const struct pipeline *slow)
{
    struct pipeline ceiling = *slow, fast = *slow;
    ceiling.use_loader = dlb_loaders[pipeline_kind("resident") - 1];
    ceiling.loader.sample_sleep_us = fast.loader.sample_sleep_us = 0;
    double slow_rate = rate_of(*slow);
    double told = rate_of(ceiling) / slow_rate, gained = rate_of(fast) / slow_rate;
    assert_true(gained > 1.2); /* else there is nothing to tell */
    return told / gained;
}

/* Steps of 10 ms, batches of 40 ms; copies that are hidden, exposed, or block the loop. */
static void a_ceiling_comes_true(void **state)
{
    (void)state;
    static const struct {
        double copy_ms;
        int prefetch;
        bool pinned;
    } rows[] = {{0, 1, true},  {5, 0, true},  {5, 1, true},
                {5, 0, false}, {5, 1, false}, {14, 1, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fake fake = fake_map(400);
        struct dlb_dataset ds = fake_dataset(&fake);
        const struct pipeline slow = {.dataset = &ds,
                                      .n_epochs = 10,
                                      .max_batches = 16,
                                      .warmup_batches = 4,
                                      .loader = {.num_workers = 1,
                                                 .batch_size = 4,
                                                 .sample_sleep_us = 10000,
                                                 .pin_memory = rows[i].pinned},
                                      .device = {.prefetch = rows[i].prefetch,
                                                 .step_ms = 10,
                                                 .copy_us = rows[i].copy_ms * 1e3}};
        bool shown = false, taken = true;
        for (int try = 0; try < TRIES && !shown && taken; try++) {
            struct taken before = taken_now();
            uint64_t start_ns = dlb_now_ns();
            double ratio = gain_told_over_true(&slow);
            shown = fabs(ratio - 1) < 0.03;
            taken = was_taken(&before, dlb_now_ns() - start_ns);
            if (!shown)
                print_message("row %zu: told / true is %.3f\n", i, ratio);
        }
        assert_true(shown || taken);
    }
}

static const struct dlb_loader *counted;
static uint64_t n_asked;

static int count_next(void *ld, uint64_t timeout_ns, struct dlb_batch *out, bool *got,
                      struct dlb_err *err)
{
    n_asked++;
    return counted->next(ld, timeout_ns, out, got, err);
}

/* A batch takes 20 ms to load and its copy 10 ms. A loop that asked every 50 us whether the slot
 * is free again would call next() 200 times for each batch. */
static void copies_are_slept_through(void **state)
{
    (void)state;
    struct fake fake = fake_map(20);
    struct dlb_dataset ds = fake_dataset(&fake);
    struct pipeline p = {
        .dataset = &ds,
        .loader = {.num_workers = 1, .batch_size = 1, .sample_sleep_us = 20000, .pin_memory = true},
        .device = {.prefetch = 1, .step_ms = 1, .copy_us = 10000, .pinned_bytes_per_s = 1e9}};
    struct dlb_loader loader = *(counted = dlb_loader_choose(&p.loader, &p.err));
    loader.next = count_next;
    p.use_loader = &loader;
    n_asked = 0;
    run(&p);
    assert_true(p.out->device[DLB_DS_COPY].sum_ns >= p.out->total.n_steps * 10 * DLB_NS_PER_MS);
    assert_true(n_asked < 20 * 10);
    pipeline_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ready_data_keeps_the_device_busy),
        cmocka_unit_test(short_steps_are_accounted_for),
        cmocka_unit_test(planted_delay_is_found),
        cmocka_unit_test(inline_loading_is_all_idle),
        cmocka_unit_test(copies_are_exposed_only_without_prefetch),
        cmocka_unit_test(epoch_boundaries_count),
        cmocka_unit_test(skipped_batches_are_waited_for),
        cmocka_unit_test(an_epochs_end_is_waited_for),
        cmocka_unit_test(late_copies_are_the_loaders),
        cmocka_unit_test(copies_are_slept_through),
        cmocka_unit_test(a_ceiling_comes_true),
    };
    (void)prctl(PR_SET_TIMERSLACK,
                1UL); /* as every cell does: planted times are what is measured */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
