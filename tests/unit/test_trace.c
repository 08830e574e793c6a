/* The rings of a timeline, and the file between who measures and who shows it. */
#include "tests/support/folder.h"

#include "core/measure/timeline.h"
#include "core/measure/trace.h"

#include <signal.h>
#include <sys/wait.h>

static void open_trace(struct dlb_trace *trace, uint32_t n_loaders, uint32_t n_workers)
{
    struct dlb_trace_layout layout = {.n_loaders = n_loaders};
    struct dlb_err err;
    layout.n[DLB_TRACK_WORKER] = n_loaders * n_workers;
    layout.n[DLB_TRACK_LOOP] = layout.n[DLB_TRACK_COPY] = layout.n[DLB_TRACK_COMPUTE] = n_loaders;
    assert_int_equal(dlb_trace_open(trace, &layout, &err), DLB_OK);
}

static void test_nothing_without_a_trace(void **state)
{
    (void)state;
    const struct dlb_trace none = {0};
    assert_null(dlb_trace_ring(NULL, DLB_TRACK_WORKER, 0));
    assert_null(dlb_trace_ring(&none, DLB_TRACK_WORKER, 0));
    assert_null(dlb_trace_ring_of(NULL, DLB_TRACK_WORKER, 0, 0));
    dlb_trace_at_batch(NULL, 1, 2);
    dlb_trace_at_sample(NULL, 3);
    dlb_trace_add(NULL, DLB_WS_READ, true, 4, 5);
}

static void test_tracks_of_loaders(void **state)
{
    (void)state;
    struct dlb_trace trace;
    open_trace(&trace, 2, 3);
    struct dlb_trace_ring *ring = dlb_trace_ring_of(&trace, DLB_TRACK_WORKER, 1, 2);
    assert_ptr_equal(ring, dlb_trace_ring(&trace, DLB_TRACK_WORKER, 5));
    assert_int_equal(ring->index, 5);
    assert_int_equal(ring->loader, 1);
    assert_null(dlb_trace_ring_of(&trace, DLB_TRACK_WORKER, 1, 3));
    assert_null(dlb_trace_ring(&trace, DLB_TRACK_WORKER, 6));
    assert_null(dlb_trace_ring(&trace, DLB_TRACK_PIN, 0));
    assert_int_equal(dlb_trace_ring(&trace, DLB_TRACK_COMPUTE, 1)->loader, 1);
    dlb_trace_close(&trace);
    dlb_trace_close(&trace);
}

/* Many tracks share the memory, down to the least that a ring has. */
static void test_size_is_fixed(void **state)
{
    (void)state;
    struct dlb_trace trace;
    open_trace(&trace, 1, 1);
    assert_int_equal(dlb_trace_ring(&trace, DLB_TRACK_WORKER, 0)->mask + 1, DLB_TRACE_MOST);
    dlb_trace_close(&trace);
    open_trace(&trace, 64, 4);
    assert_in_range(trace.n_bytes, 1, DLB_TRACE_BYTES + 1000000 * sizeof(struct dlb_trace_ring));
    dlb_trace_close(&trace);
    open_trace(&trace, 512, 4);
    assert_int_equal(dlb_trace_ring(&trace, DLB_TRACK_WORKER, 0)->mask + 1, DLB_TRACE_LEAST);
    dlb_trace_close(&trace);
}

static void test_round_trip(void **state)
{
    (void)state;
    struct dlb_trace trace;
    struct dlb_timeline timeline;
    struct dlb_err err;
    const char *path = folder_path("trace-0-0");
    open_trace(&trace, 1, 2);

    /* From another process, as workers may be one. */
    struct dlb_trace_ring *worker = dlb_trace_ring(&trace, DLB_TRACK_WORKER, 1);
    pid_t pid = fork();
    if (pid == 0) {
        dlb_trace_at_batch(worker, 3, 7);
        dlb_trace_at_sample(worker, 11);
        dlb_trace_add(worker, DLB_WS_DECODE, true, 1000, 1500);
        dlb_trace_at_batch(worker, 3, 8);
        dlb_trace_add(worker, DLB_WS_COLLATE, false, 1600, 1700);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);

    /* More than there is room for. */
    struct dlb_trace_ring *loop = dlb_trace_ring(&trace, DLB_TRACK_LOOP, 0);
    uint64_t cap = loop->mask + 1, n = cap + 10;
    for (uint64_t i = 0; i < n; i++)
        dlb_trace_add(loop, DLB_CS_ACCOUNT, true, 2000 + 2 * i, 2001 + 2 * i);
    assert_int_equal(dlb_timeline_save(&trace, path, &err), DLB_OK);
    dlb_trace_close(&trace);

    assert_int_equal(dlb_timeline_load(&timeline, path, &err), DLB_OK);
    assert_int_equal(timeline.n_tracks, 5);
    assert_int_equal(timeline.start_ns, 1000);
    assert_int_equal(timeline.end_ns, 1999 + 2 * n);
    assert_int_equal(dlb_timeline_track(&timeline, DLB_TRACK_WORKER, 0)->n, 0);
    const struct dlb_timeline_track *track = dlb_timeline_track(&timeline, DLB_TRACK_WORKER, 1);
    assert_int_equal(track->n, 2);
    assert_int_equal(track->record[0].sample, 11);
    assert_int_equal(track->record[0].batch, 7);
    assert_int_equal(track->record[0].epoch, 3);
    assert_int_equal(track->record[0].stage, DLB_WS_DECODE);
    assert_int_equal(track->record[0].measured, 1);
    assert_true(track->record[1].sample == DLB_TRACE_NO_SAMPLE);
    assert_int_equal(track->record[1].measured, 0);
    track = dlb_timeline_track(&timeline, DLB_TRACK_LOOP, 0);
    assert_int_equal(track->n, cap - 1);
    assert_int_equal(track->n_lost, 11);
    for (uint64_t i = 0; i < cap - 1; i++)
        assert_int_equal(track->record[i].start_ns, 2022 + 2 * i);
    assert_null(dlb_timeline_track(&timeline, DLB_TRACK_PIN, 0));
    dlb_timeline_free(&timeline);
}

/* Two batches of one number in epochs that 16 bits do not tell apart. */
static void test_late_epochs(void **state)
{
    (void)state;
    struct dlb_trace trace;
    open_trace(&trace, 1, 1);
    struct dlb_trace_ring *ring = dlb_trace_ring(&trace, DLB_TRACK_WORKER, 0);
    dlb_trace_at_batch(ring, 65535, 4);
    dlb_trace_add(ring, DLB_WS_READ, true, 1, 2);
    dlb_trace_at_batch(ring, 65536 + 65535, 4);
    dlb_trace_add(ring, DLB_WS_READ, true, 2, 3);
    assert_int_equal(ring->at[0].batch, 4);
    assert_true(ring->at[1].batch == DLB_TRACE_NO_BATCH);
    dlb_trace_close(&trace);
}

static void add_read(struct dlb_trace_ring *ring, uint64_t sample, uint64_t start_ns,
                     uint64_t end_ns)
{
    dlb_trace_at_sample(ring, sample);
    dlb_trace_add(ring, DLB_WS_READ, true, start_ns, end_ns);
}

/* Short spans that touch are one: of the same stage, the same batch and the same side of the
 * window, up to DLB_TRACE_MERGED_NS together. */
static void test_short_ones_are_merged(void **state)
{
    (void)state;
    struct dlb_trace trace;
    struct dlb_timeline timeline;
    struct dlb_err err;
    const char *path = folder_path("trace-0-0");
    const uint64_t most = DLB_TRACE_MERGED_NS;
    open_trace(&trace, 1, 1);
    struct dlb_trace_ring *ring = dlb_trace_ring(&trace, DLB_TRACK_WORKER, 0);
    dlb_trace_at_batch(ring, 0, 0);
    add_read(ring, 1, 100, 200);
    add_read(ring, 2, 200, 300);
    add_read(ring, 3, 300, 99 + most);         /* the three are just short enough */
    add_read(ring, 4, 99 + most, 199 + most);  /* too long together */
    add_read(ring, 5, 200 + most, 300 + most); /* does not touch */
    dlb_trace_add(ring, DLB_WS_DECODE, true, 300 + most, 400 + most);
    dlb_trace_add(ring, DLB_WS_DECODE, false, 400 + most, 500 + most);
    dlb_trace_at_batch(ring, 0, 1);
    dlb_trace_add(ring, DLB_WS_DECODE, false, 500 + most, 600 + most);
    assert_int_equal(dlb_timeline_save(&trace, path, &err), DLB_OK);
    dlb_trace_close(&trace);

    assert_int_equal(dlb_timeline_load(&timeline, path, &err), DLB_OK);
    const struct dlb_timeline_track *track = dlb_timeline_track(&timeline, DLB_TRACK_WORKER, 0);
    assert_int_equal(track->n, 6);
    assert_int_equal(track->n_merged, 2);
    assert_int_equal(track->record[0].start_ns, 100);
    assert_int_equal(track->record[0].end_ns, 99 + most);
    assert_true(track->record[0].sample == DLB_TRACE_NO_SAMPLE);
    assert_int_equal(track->record[1].sample, 4);
    assert_int_equal(track->record[2].sample, 5);
    dlb_timeline_free(&timeline);
}

/* A writer that was killed between two stores leaves a record that is none. */
static void test_torn(void **state)
{
    (void)state;
    struct dlb_trace trace;
    struct dlb_timeline timeline;
    struct dlb_err err;
    const char *path = folder_path("trace-0-0");
    open_trace(&trace, 1, 1);
    struct dlb_trace_ring *ring = dlb_trace_ring(&trace, DLB_TRACK_WORKER, 0);
    dlb_trace_add(ring, DLB_WS_READ, true, 1000, 1100);
    dlb_trace_add(ring, DLB_WS_READ, true, 0, 0);
    dlb_trace_add(ring, DLB_WS_READ, true, 1300, 1200);
    dlb_trace_add(ring, DLB_WS_DECODE, true, 1400, 1400);
    assert_int_equal(dlb_timeline_save(&trace, path, &err), DLB_OK);
    dlb_trace_close(&trace);

    assert_int_equal(dlb_timeline_load(&timeline, path, &err), DLB_OK);
    const struct dlb_timeline_track *track = dlb_timeline_track(&timeline, DLB_TRACK_WORKER, 0);
    assert_int_equal(track->n, 2);
    assert_int_equal(track->n_lost, 0);
    assert_int_equal(track->record[1].stage, DLB_WS_DECODE);
    assert_int_equal(timeline.start_ns, 1000);
    assert_int_equal(timeline.end_ns, 1400);
    dlb_timeline_free(&timeline);
}

/* While its writer goes on, a full ring is read in order, and nothing is taken twice. */
static void test_written_meanwhile(void **state)
{
    (void)state;
    struct dlb_trace trace;
    struct dlb_timeline timeline;
    struct dlb_err err;
    const char *path = folder_path("trace-0-0");
    open_trace(&trace, 1, 1);
    struct dlb_trace_ring *ring = dlb_trace_ring(&trace, DLB_TRACK_WORKER, 0);
    uint64_t i = 1;
    for (; i <= ring->mask + 1; i++)
        dlb_trace_add(ring, DLB_WS_READ, true, 2 * i, 2 * i + 1);
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(20); /* whatever becomes of the test */
        for (;; i++)
            dlb_trace_add(ring, DLB_WS_READ, true, 2 * i, 2 * i + 1);
    }
    for (int again = 0; again < 10; again++) {
        assert_int_equal(dlb_timeline_save(&trace, path, &err), DLB_OK);
        assert_int_equal(dlb_timeline_load(&timeline, path, &err), DLB_OK);
        const struct dlb_timeline_track *track = dlb_timeline_track(&timeline, DLB_TRACK_WORKER, 0);
        for (uint64_t k = 1; k < track->n; k++)
            assert_int_equal(track->record[k].start_ns, track->record[k - 1].start_ns + 2);
        if (track->n > 0)
            assert_int_equal(track->record[0].start_ns, 2 * (track->n_lost + 1));
        dlb_timeline_free(&timeline);
    }
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    dlb_trace_close(&trace);
}

/* Cut anywhere, or with a byte more, it is refused. */
static void test_damaged(void **state)
{
    (void)state;
    struct dlb_trace trace;
    struct dlb_timeline timeline;
    struct dlb_err err;
    const char *path = folder_path("trace-0-0");
    open_trace(&trace, 1, 1);
    dlb_trace_add(dlb_trace_ring(&trace, DLB_TRACK_WORKER, 0), DLB_WS_READ, true, 1, 2);
    assert_int_equal(dlb_timeline_save(&trace, path, &err), DLB_OK);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    long whole = ftell(file);
    assert_int_equal(fputc(0, file), 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(dlb_timeline_load(&timeline, path, &err), DLB_E_IO);
    assert_int_equal(err.code, DLB_ERR_TRACE_DAMAGED);
    for (long cut = whole - 1; cut > 0; cut -= 37) {
        assert_int_equal(truncate(path, cut), 0);
        assert_int_equal(dlb_timeline_load(&timeline, path, &err), DLB_E_IO);
        assert_int_equal(err.code, DLB_ERR_TRACE_DAMAGED);
    }
    dlb_trace_close(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_without_a_trace),
        cmocka_unit_test(test_tracks_of_loaders),
        cmocka_unit_test(test_size_is_fixed),
        cmocka_unit_test_setup_teardown(test_round_trip, folder_make, folder_remove),
        cmocka_unit_test(test_late_epochs),
        cmocka_unit_test_setup_teardown(test_short_ones_are_merged, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_torn, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_written_meanwhile, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_damaged, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
