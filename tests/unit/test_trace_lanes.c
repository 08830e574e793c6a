/* What is known of a timeline only when it is whole, and the lanes of its first steps. */
#include "tests/support/folder.h"

#include "bench/trace/complete.h"
#include "bench/trace/trace.h"
#include "core/base/json.h"

static struct dlb_trace trace;

static void open_rings(uint32_t n_workers, bool other)
{
    struct dlb_trace_layout layout = {.n_loaders = 1};
    struct dlb_err err;
    layout.n[DLB_TRACK_WORKER] = n_workers;
    layout.n[DLB_TRACK_INTERPRETER] = other;
    layout.n[DLB_TRACK_LOOP] = layout.n[DLB_TRACK_COPY] = layout.n[DLB_TRACK_COMPUTE] = 1;
    assert_int_equal(dlb_trace_open(&trace, &layout, &err), DLB_OK);
}

static void add(enum dlb_track track, uint32_t index, uint64_t batch, uint64_t sample, int stage,
                uint64_t start_ns, uint64_t end_ns)
{
    struct dlb_trace_ring *ring = dlb_trace_ring(&trace, track, index);
    dlb_trace_at_batch(ring, 0, batch);
    dlb_trace_at_sample(ring, sample);
    dlb_trace_add(ring, (uint8_t)stage, false, start_ns, end_ns);
}

static struct dlb_timeline taken(void)
{
    struct dlb_timeline timeline;
    struct dlb_err err;
    const char *path = folder_path("trace");
    assert_int_equal(dlb_timeline_save(&trace, path, &err), DLB_OK);
    assert_int_equal(dlb_timeline_load(&timeline, path, &err), DLB_OK);
    dlb_trace_close(&trace);
    return timeline;
}

/* A step counts if it begins within the window, and its copy with it. */
static void test_window(void **state)
{
    (void)state;
    open_rings(1, false);
    for (uint64_t i = 0; i < 4; i++) {
        add(DLB_TRACK_COPY, 0, i, DLB_TRACE_NO_SAMPLE, DLB_DS_COPY, 900 + 100 * i, 950 + 100 * i);
        add(DLB_TRACK_COMPUTE, 0, i, DLB_TRACE_NO_SAMPLE, DLB_DS_IDLE_INPUT, 980 + 100 * i,
            1000 + 100 * i);
        add(DLB_TRACK_COMPUTE, 0, i, DLB_TRACE_NO_SAMPLE, DLB_DS_COMPUTE, 1000 + 100 * i,
            1080 + 100 * i);
    }
    add(DLB_TRACK_COMPUTE, 0, DLB_TRACE_NO_BATCH, DLB_TRACE_NO_SAMPLE, DLB_TRACE_WINDOW, 1100,
        1300);
    struct dlb_timeline timeline = taken();
    dlb_trace_complete(&timeline);
    const struct dlb_timeline_track *compute = dlb_timeline_track(&timeline, DLB_TRACK_COMPUTE, 0);
    const struct dlb_timeline_track *copies = dlb_timeline_track(&timeline, DLB_TRACK_COPY, 0);
    const int steps[] = {0, 1, 1, 0}, idle[] = {0, 0, 1, 1};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(copies->record[i].measured, steps[i]);
        assert_int_equal(compute->record[2 * i].measured, idle[i]);
        assert_int_equal(compute->record[2 * i + 1].measured, steps[i]);
    }
    dlb_timeline_free(&timeline);
}

/* Batches of another program are found by the stamp of their end, in whatever order they came. */
static void test_numbers(void **state)
{
    (void)state;
    enum { GETITEM = 0, COLLATE = 2, NEXT = 3 };
    const uint64_t none = DLB_TRACE_NO_SAMPLE, nobody = DLB_TRACE_NO_BATCH;
    open_rings(2, true);
    trace.names = (struct dlb_trace_names){
        .n = 4,
        .at = {{"getitem", "read"}, {"load", "decode"}, {"collate", "collate"}, {"next", ""}}};
    add(DLB_TRACK_WORKER, 0, nobody, 5, GETITEM, 100, 200);
    add(DLB_TRACK_WORKER, 0, nobody, none, COLLATE, 200, 210);
    add(DLB_TRACK_WORKER, 1, nobody, 6, GETITEM, 100, 205);
    add(DLB_TRACK_WORKER, 1, nobody, none, COLLATE, 205, 210);
    add(DLB_TRACK_WORKER, 0, nobody, 7, GETITEM, 220, 300); /* nobody took it */
    add(DLB_TRACK_INTERPRETER, 0, nobody, none, NEXT, 150, 250);
    add(DLB_TRACK_INTERPRETER, 0, nobody, none, NEXT, 260, 270);
    add(DLB_TRACK_INTERPRETER, 0, nobody, none, DLB_TRACE_WINDOW, 205, 260);
    add(DLB_TRACK_LOOP, 0, 0, 1, DLB_TRACE_READY, 210, 250); /* of worker 1 */
    add(DLB_TRACK_LOOP, 0, 1, 0, DLB_TRACE_READY, 210, 270);
    struct dlb_timeline timeline = taken();
    dlb_trace_complete(&timeline);
    const struct dlb_timeline_track *track = dlb_timeline_track(&timeline, DLB_TRACK_WORKER, 0);
    assert_int_equal(track->record[0].batch, 1);
    assert_int_equal(track->record[1].batch, 1);
    assert_int_equal(track->record[2].batch, DLB_TRACE_NO_BATCH);
    assert_int_equal(track->record[0].measured, 0); /* by its end */
    assert_int_equal(track->record[1].measured, 1);
    track = dlb_timeline_track(&timeline, DLB_TRACK_WORKER, 1);
    assert_int_equal(track->record[0].batch, 0);
    track = dlb_timeline_track(&timeline, DLB_TRACK_INTERPRETER, 0);
    assert_int_equal(track->record[0].batch, 0);
    assert_int_equal(track->record[1].batch, 1);
    assert_int_equal(track->record[1].measured, 0);
    dlb_timeline_free(&timeline);
}

/* The time of one name in a lane. */
static double lane_ns(const json_t *doc, const char *track, const char *name)
{
    const json_t *names = json_object_get(doc, "names"), *one, *span;
    double ns = 0;
    size_t i, k;
    json_array_foreach(json_object_get(doc, "tracks"), i, one) {
        if (strcmp(dlb_json_text(one, "name"), track) != 0)
            continue;
        json_array_foreach(json_object_get(one, "lane"), k, span) {
            size_t place = (size_t)json_integer_value(json_array_get(span, 0));
            if (strcmp(json_string_value(json_array_get(names, place)), name) == 0)
                ns += json_number_value(json_array_get(span, 2));
        }
    }
    return ns;
}

/* Stages of a batch are summed; what is within another stage does not count there, too. */
static void test_lanes(void **state)
{
    (void)state;
    const struct dlb_trace_facts facts = {"name\"</script>", "0", 3};
    const uint64_t none = DLB_TRACE_NO_SAMPLE, nobody = DLB_TRACE_NO_BATCH;
    struct dlb_err err;
    uint64_t n_spans, n_lost;
    open_rings(1, false);
    add(DLB_TRACK_WORKER, 0, 0, 1, DLB_WS_READ, 1000, 1100);
    add(DLB_TRACK_WORKER, 0, 0, 1, DLB_WS_DECODE, 1100, 1150);
    add(DLB_TRACK_WORKER, 0, 0, 2, DLB_WS_READ, 1150, 1250);
    add(DLB_TRACK_WORKER, 0, 0, 2, DLB_WS_DECODE, 1160, 1200); /* within it */
    add(DLB_TRACK_WORKER, 0, nobody, none, DLB_WS_WAIT_CREDIT, 1250, 5000);
    add(DLB_TRACK_COMPUTE, 0, 0, none, DLB_DS_COMPUTE, 1000, 1500);
    add(DLB_TRACK_COMPUTE, 0, 1, none, DLB_DS_IDLE_INPUT, 1500, 1600);
    add(DLB_TRACK_COMPUTE, 0, 1, none, DLB_DS_COMPUTE, 1600, 2000);
    add(DLB_TRACK_COMPUTE, 0, nobody, none, DLB_TRACE_WINDOW, 1000, 2100);
    struct dlb_timeline timeline = taken();
    assert_int_equal(
        dlb_trace_write(&timeline, &facts, folder_path("t.json"), &n_spans, &n_lost, &err), DLB_OK);
    assert_int_equal(n_spans, 5 + 1 + 3);
    assert_int_equal(n_lost, 0);
    json_t *file = json_load_file(folder_path("t.json"), 0, NULL);
    assert_non_null(file);
    json_decref(file);
    json_t *doc = dlb_trace_lanes(&timeline, &facts);
    assert_int_equal(dlb_json_u64(doc, "steps", 0), 2);
    assert_int_equal(dlb_json_u64(doc, "span_ns", 0), 1000);
    assert_int_equal(dlb_json_u64(doc, "block", 0), 3);
    assert_int_equal((int)lane_ns(doc, "worker 0", "read"), 160);
    assert_int_equal((int)lane_ns(doc, "worker 0", "decode"), 90);
    assert_int_equal((int)lane_ns(doc, "worker 0", "blocked"), 750); /* up to the last step's end */
    assert_int_equal((int)lane_ns(doc, "compute stream", "idle_input"), 100);
    assert_int_equal((int)lane_ns(doc, "compute stream", "step"), 900);
    json_decref(doc);
    dlb_timeline_free(&timeline);
}

/* An interpreter that has no workers loads by itself, and is drawn. */
static void test_lane_of_an_interpreter(void **state)
{
    (void)state;
    const struct dlb_trace_facts facts = {"", "0", 0};
    const uint64_t none = DLB_TRACE_NO_SAMPLE;
    for (uint32_t n_workers = 0; n_workers < 2; n_workers++) {
        open_rings(n_workers, true);
        trace.names = (struct dlb_trace_names){.n = 1, .at = {{"getitem", "read"}}};
        add(DLB_TRACK_INTERPRETER, 0, 0, 5, 0, 1100, 1300);
        add(DLB_TRACK_COMPUTE, 0, 0, none, DLB_DS_COMPUTE, 1000, 1500);
        add(DLB_TRACK_COMPUTE, 0, DLB_TRACE_NO_BATCH, none, DLB_TRACE_WINDOW, 1000, 1600);
        struct dlb_timeline timeline = taken();
        dlb_trace_complete(&timeline);
        json_t *doc = dlb_trace_lanes(&timeline, &facts);
        assert_int_equal((int)lane_ns(doc, "interpreter", "read"), n_workers ? 0 : 200);
        json_decref(doc);
        dlb_timeline_free(&timeline);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_window, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_numbers, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_lanes, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_lane_of_an_interpreter, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
