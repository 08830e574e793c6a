/* A cell's result goes through a file, from its process to the runner: nothing is lost on the way,
 * and what makes no sense there was not measured. */
#include "core/base/json.h"
#include "core/base/mem.h"
#include "scenarios/cell/cell_result.h"
#include "scenarios/spec/spec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Every figure is another one: none can stand for another unseen. */
static uint64_t last;

static uint64_t count(void)
{
    return ++last;
}

static double real(void)
{
    return (double)++last + 0.25;
}

static void fill_text(char *text, size_t n_text)
{
    (void)snprintf(text, n_text, "text %llu", (unsigned long long)count());
}
#define TEXT(field) fill_text(field, sizeof(field))

/* For structs of nothing but uint64_t. */
static void fill_counts(void *counts, size_t n_bytes)
{
    uint64_t *at = counts;
    for (size_t i = 0; i < n_bytes / sizeof(*at); i++)
        at[i] = count();
}

#define IO_COUNTS                                                                                  \
    (offsetof(struct dlb_io_result, registered_buffers) - offsetof(struct dlb_io_result, depth))

static void fill_au(struct dlb_au *au)
{
    double *at = (double *)au;
    for (size_t i = 0; i < sizeof(*au) / sizeof(*at); i++)
        at[i] = real();
}

static void fill_loop(struct dlb_loop_result *loop)
{
    fill_counts(&loop->total, offsetof(struct dlb_share, au));
    fill_au(&loop->total.au);
    fill_au(&loop->lowest);
    /* Rates are of all accelerators together, and told once. */
    loop->lowest.mlperf_v1_samples_per_s = loop->lowest.mlperf_v2_samples_per_s = (double)NAN;
    loop->n_batches = count();
    loop->consumer_cpu_ns = count();
    loop->n_checksum_mismatches = count();
    fill_counts(loop->consumer, sizeof(loop->consumer));
    fill_counts(loop->device, sizeof(loop->device));
    loop->n_accelerators = loop->n_shares = 2;
    loop->share = dlb_mem_array(2, sizeof(*loop->share));
    loop->n_epochs = 3;
    loop->epoch = dlb_mem_array(3, sizeof(*loop->epoch));
    for (uint32_t i = 0; i < 2; i++) {
        loop->share[i].n_steps = count();
        loop->share[i].n_samples = count();
        loop->share[i].window_ns = count();
        loop->share[i].au.nominal = real();
        loop->share[i].au.measured = real();
    }
    for (uint32_t i = 0; i < 3; i++) {
        fill_counts(&loop->epoch[i], offsetof(struct dlb_epoch, ended));
        loop->epoch[i].set_checksum |= UINT64_C(1) << 63; /* no number of JSON holds it */
        loop->epoch[i].ended = i != 1;
        loop->epoch[i].whole = i == 0;
    }
    fill_counts(&loop->os, sizeof(loop->os));
    loop->machine_busy_frac = real();
    loop->machine_stolen_frac = real();
    loop->machine_stolen_ns = real();
    loop->strain = (struct dlb_strain){real(), real(), real(), real(), real(), real(), real()};
}

static void fill_workers(struct dlb_workers_result *workers)
{
    struct dlb_io_result *io = &workers->io;
    fill_counts(workers->stage, sizeof(workers->stage));
    fill_counts(&workers->reads, sizeof(workers->reads));
    workers->reads_are_requests = true;
    *io = (struct dlb_io_result){
        .asked = DLB_READ_AUTO, .registered_buffers = true, .used = DLB_IO_USED_MIXED};
    TEXT(io->reason);
    fill_counts(&io->depth, IO_COUNTS);
    workers->io_bytes = count();
    workers->n_samples = count();
    workers->cpu_ns = count();
    workers->runqueue_ns = count();
    workers->order_wait_ns = count();
    workers->n_skipped = count();
    workers->n_cut_shards = count();
    workers->n_idle = (uint32_t)count();
    workers->n_skipped_named = 2;
    workers->skipped = dlb_mem_array(2, sizeof(*workers->skipped));
    workers->skipped[0] = dlb_mem_text("a.jpg: no JPEG");
    workers->skipped[1] = dlb_mem_text("");
}

static void fill_rest(struct dlb_cell_result *r)
{
    struct dlb_cache_result *cache = &r->cache;
    fill_counts(&r->memory, offsetof(struct dlb_memory_result, huge_pages));
    r->memory.huge_pages = true;
    r->memory.early_bytes = r->memory.recent_bytes = 1.5;
    (void)snprintf(r->memory.growth, sizeof(r->memory.growth), "RISING");
    cache->asked = DLB_RUN_COLD;
    cache->label = DLB_CACHE_MIXED;
    cache->metadata = DLB_CACHE_WARM;
    TEXT(cache->why);
    cache->resident_before_frac = real();
    cache->resident_after_frac = real();
    cache->process_bytes = count();
    cache->device_bytes = count();
    cache->delivered_bytes = count();
    TEXT(cache->filesystem);
    TEXT(cache->device);
    TEXT(cache->residency_by);
    for (; cache->n_limits < DLB_CACHE_LIMITS; cache->n_limits++)
        TEXT(cache->limits[cache->n_limits]);
    TEXT(r->device.kind);
    TEXT(r->device.name);
    TEXT(r->device.why);
    r->device.step_asked_ns = real();
    r->device.step_read_ns = real();
    r->device.step_measured_ns = real();
    r->device.gpu = json_pack("{ss, s{sf, sf, sf}}", "driver", "550", "step", "asked_ns",
                              r->device.step_asked_ns, "read_ns", r->device.step_read_ns,
                              "measured_ns", r->device.step_measured_ns);
    r->baseline = (struct dlb_baseline_result){.command = dlb_mem_text("fio --name=x"),
                                               .bytes_per_s = real(),
                                               .iops = real(),
                                               .p50_ns = real(),
                                               .p99_ns = real(),
                                               .p999_ns = real()};
}

static void fill(struct dlb_cell_result *r)
{
    dlb_cell_result_init(r);
    last = 0;
    r->block = (uint32_t)count();
    r->index = (uint32_t)count();
    r->data_id = count();
    r->status = DLB_REP_FAILED;
    r->code = DLB_ERR_CELL_KILLED;
    r->error = dlb_code_status(r->code);
    TEXT(r->reason);
    TEXT(r->stuck_why);
    r->has_loop = r->has_workers = r->has_memory = r->has_cache = r->has_device = r->has_baseline =
        true;
    fill_loop(&r->loop);
    fill_workers(&r->workers);
    fill_rest(r);
}

static void assert_same_real(double a, double b)
{
    if (a != b && !(isnan(a) && isnan(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

static void assert_same_au(const struct dlb_au *a, const struct dlb_au *b)
{
    for (size_t i = 0; i < sizeof(*a) / sizeof(double); i++)
        assert_same_real(((const double *)a)[i], ((const double *)b)[i]);
}

#define SAME(field) assert_int_equal(a->field, b->field)
#define SAME_REAL(field) assert_same_real(a->field, b->field)
#define SAME_TEXT(field) assert_string_equal(a->field, b->field)
/* Of nothing but uint64_t. */
#define SAME_COUNTS(field) assert_memory_equal(&a->field, &b->field, sizeof(a->field))

static void assert_same_loop(const struct dlb_loop_result *a, const struct dlb_loop_result *b)
{
    assert_memory_equal(&a->total, &b->total, offsetof(struct dlb_share, au));
    assert_same_au(&a->total.au, &b->total.au);
    assert_same_au(&a->lowest, &b->lowest);
    SAME(n_batches);
    SAME(consumer_cpu_ns);
    SAME(n_checksum_mismatches);
    SAME_COUNTS(consumer);
    SAME_COUNTS(device);
    SAME(n_accelerators);
    SAME(n_shares);
    for (uint32_t i = 0; i < a->n_shares; i++) {
        SAME(share[i].n_steps);
        SAME(share[i].n_samples);
        SAME(share[i].window_ns);
        SAME_REAL(share[i].au.nominal);
        SAME_REAL(share[i].au.measured);
    }
    SAME(n_epochs);
    for (uint32_t i = 0; i < a->n_epochs; i++) {
        assert_memory_equal(&a->epoch[i], &b->epoch[i], offsetof(struct dlb_epoch, ended));
        SAME(epoch[i].ended);
        SAME(epoch[i].whole);
    }
    SAME_COUNTS(os);
    SAME_REAL(machine_busy_frac);
    SAME_REAL(machine_stolen_frac);
    SAME_REAL(machine_stolen_ns);
    assert_memory_equal(&a->strain, &b->strain, sizeof(a->strain));
}

static void assert_same_workers(const struct dlb_workers_result *a,
                                const struct dlb_workers_result *b)
{
    SAME_COUNTS(stage);
    SAME_COUNTS(reads);
    SAME(reads_are_requests);
    SAME(io.asked);
    SAME(io.used);
    SAME_TEXT(io.reason);
    assert_memory_equal(&a->io.depth, &b->io.depth, IO_COUNTS);
    SAME(io.registered_buffers);
    SAME(io_bytes);
    SAME(n_samples);
    SAME(cpu_ns);
    SAME(runqueue_ns);
    SAME(order_wait_ns);
    SAME(n_skipped);
    SAME(n_cut_shards);
    SAME(n_idle);
    SAME(n_skipped_named);
    for (uint32_t i = 0; i < a->n_skipped_named; i++)
        SAME_TEXT(skipped[i]);
}

static void assert_same_cache(const struct dlb_cache_result *a, const struct dlb_cache_result *b)
{
    SAME(asked);
    SAME(label);
    SAME(metadata);
    SAME_TEXT(why);
    SAME_REAL(resident_before_frac);
    SAME_REAL(resident_after_frac);
    SAME(process_bytes);
    SAME(device_bytes);
    SAME(delivered_bytes);
    SAME_TEXT(filesystem);
    SAME_TEXT(device);
    SAME_TEXT(residency_by);
    SAME(n_limits);
    for (uint32_t i = 0; i < a->n_limits; i++)
        SAME_TEXT(limits[i]);
}

static void assert_same(const struct dlb_cell_result *a, const struct dlb_cell_result *b)
{
    SAME(block);
    SAME(index);
    SAME(status);
    SAME(error);
    SAME(code);
    SAME_TEXT(reason);
    SAME_TEXT(stuck_why);
    SAME(data_id);
    SAME(has_loop);
    SAME(has_workers);
    SAME(has_memory);
    SAME(has_cache);
    SAME(has_device);
    SAME(has_baseline);
    assert_same_loop(&a->loop, &b->loop);
    assert_same_workers(&a->workers, &b->workers);
    assert_same_cache(&a->cache, &b->cache);
    SAME(memory.peak_pss_bytes);
    SAME_TEXT(memory.growth);
    SAME(memory.slots_bytes);
    SAME(memory.pinned_bytes);
    SAME(memory.huge_pages);
    SAME_TEXT(device.kind);
    SAME_TEXT(device.name);
    SAME_TEXT(device.why);
    SAME_REAL(device.step_asked_ns);
    SAME_REAL(device.step_read_ns);
    SAME_REAL(device.step_measured_ns);
    assert_true(a->device.gpu == b->device.gpu || json_equal(a->device.gpu, b->device.gpu));
    assert_int_equal(a->baseline.command != NULL, b->baseline.command != NULL);
    if (a->baseline.command)
        SAME_TEXT(baseline.command);
    SAME_REAL(baseline.bytes_per_s);
    SAME_REAL(baseline.iops);
    SAME_REAL(baseline.p50_ns);
    SAME_REAL(baseline.p99_ns);
    SAME_REAL(baseline.p999_ns);
}

/* As its process writes it, and as the runner reads it. */
static void through_a_file(const struct dlb_cell_result *from, struct dlb_cell_result *to)
{
    struct dlb_err err;
    json_t *doc = dlb_cell_result_to_json(from);
    char *text = json_dumps(doc, 0);
    json_t *again = json_loads(text, 0, NULL);
    assert_non_null(again);
    if (dlb_cell_result_from_json(to, again, &err))
        fail_msg("%s", err.what);
    json_t *back = dlb_cell_result_to_json(to);
    assert_true(json_equal(again, back));
    free(text);
    json_decref(doc);
    json_decref(again);
    json_decref(back);
}

static void a_full_result_comes_back_whole(void **state)
{
    (void)state;
    struct dlb_cell_result full, back;
    fill(&full);
    through_a_file(&full, &back);
    assert_same(&full, &back);
    dlb_cell_result_free(&full);
    dlb_cell_result_free(&back);
}

static void an_empty_result_comes_back_empty(void **state)
{
    (void)state;
    for (int status = DLB_REP_OK; status <= DLB_REP_NOT_MEASURED; status++) {
        struct dlb_cell_result empty, back;
        dlb_cell_result_init(&empty);
        empty.status = (enum dlb_rep_status)status;
        if (status != DLB_REP_OK)
            TEXT(empty.reason);
        if (status == DLB_REP_FAILED || status == DLB_REP_CANCELLED) {
            empty.code = status == DLB_REP_FAILED ? DLB_ERR_NOMEM : DLB_ERR_CANCELLED;
            empty.error = dlb_code_status(empty.code);
        }
        through_a_file(&empty, &back);
        assert_same(&empty, &back);
        assert_false(back.has_loop || back.has_workers || back.has_memory || back.has_cache ||
                     back.has_device || back.has_baseline);
        dlb_cell_result_free(&empty);
        dlb_cell_result_free(&back);
    }
}

/* Parts that were reached, and in which nothing was measured. */
static void empty_parts_come_back_empty(void **state)
{
    (void)state;
    struct dlb_cell_result empty, back;
    dlb_cell_result_init(&empty);
    empty.has_loop = empty.has_workers = empty.has_memory = empty.has_cache = empty.has_device =
        empty.has_baseline = true;
    through_a_file(&empty, &back);
    assert_same(&empty, &back);
    dlb_cell_result_free(&empty);
    dlb_cell_result_free(&back);
}

static struct dlb_cell_result read_from(const char *text)
{
    struct dlb_cell_result out;
    struct dlb_err err;
    json_t *doc = json_loads(text, 0, NULL);
    assert_non_null(doc);
    if (dlb_cell_result_from_json(&out, doc, &err))
        fail_msg("%s", err.what);
    json_decref(doc);
    return out;
}

static void garbage_was_not_measured(void **state)
{
    (void)state;
    struct dlb_cell_result r = read_from(
        "{\"status\": \"failed\", \"block\": -1, \"index\": 4294967296, \"error\": 99, "
        "\"code\": \"E_NO_SUCH_CODE\", \"reason\": 7, \"stuck_why\": [], "
        "\"window_ns\": \"soon\", \"n_steps\": -3, \"n_samples\": 1.5, \"n_bytes\": true, "
        "\"machine_busy_frac\": \"all\", \"au\": {\"nominal\": \"high\", \"lowest\": 3}, "
        "\"accelerators\": {\"count\": \"two\", \"each\": [5, {\"steps\": null}]}, "
        "\"epochs\": [null, {\"samples\": {}, \"whole\": 1}], \"os\": 3, "
        "\"consumer_stages\": {\"input_wait\": {\"sum_ns\": \"x\"}}, \"device_stages\": [], "
        "\"worker_samples\": \"many\", \"n_idle_workers\": 4294967299, \"skipped\": [1, null], "
        "\"reads\": \"r\", \"io\": {\"used\": \"mmap\", \"asked\": 1, \"depth\": \"deep\"}, "
        "\"memory\": {\"slots_bytes\": false, \"huge_pages\": \"yes\"}, "
        "\"cache\": {\"asked\": \"lukewarm\", \"label\": 7, \"device_bytes\": -1, "
        "\"resident_before_frac\": \"half\", \"limits\": [1, \"known\"]}, "
        "\"device\": {\"name\": 1, \"gpu\": [1]}, "
        "\"command\": 5, \"bytes_per_s\": \"fast\", \"p99_ns\": null}");
    struct dlb_cell_result none;
    dlb_cell_result_init(&none);
    none.status = DLB_REP_FAILED;
    none.error = DLB_E_WORKER;
    none.has_loop = none.has_workers = none.has_memory = none.has_cache = none.has_device =
        none.has_baseline = true;
    assert_int_equal(r.loop.n_shares, 1); /* as many as accelerators, of which there is one */
    assert_true(r.loop.share[0].n_steps == DLB_NOT_MEASURED);
    assert_true(isnan(r.loop.share[0].au.nominal));
    assert_int_equal(r.loop.n_epochs, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(r.loop.epoch[i].n_samples == DLB_NOT_MEASURED);
        assert_false(r.loop.epoch[i].whole);
    }
    assert_int_equal(r.cache.n_limits, 1);
    assert_string_equal(r.cache.limits[0], "known");
    /* All else is as in a result in which nothing was measured. */
    r.loop.n_shares = r.loop.n_epochs = 0;
    r.cache.n_limits = 0;
    assert_same(&none, &r);
    dlb_cell_result_free(&r);
    dlb_cell_result_free(&none);
}

static void a_result_has_a_status(void **state)
{
    (void)state;
    static const char *const bad[] = {"{}", "[]", "{\"status\": 1}", "{\"status\": \"fine\"}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct dlb_cell_result out;
        struct dlb_err err;
        json_t *doc = json_loads(bad[i], 0, NULL);
        assert_int_equal(dlb_cell_result_from_json(&out, doc, &err), DLB_E_FORMAT);
        dlb_cell_result_free(&out);
        json_decref(doc);
    }
}

/* Figures beyond what a field holds, names that are no UTF-8, and more limits than there is room
 * for. */
static void nothing_overflows(void **state)
{
    (void)state;
    struct dlb_cell_result r, back;
    char text[4096] = "{\"status\": \"ok\", \"cache\": {\"limits\": [\"0\"";
    for (int i = 1; i <= DLB_CACHE_LIMITS; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), ", \"%d\"", i);
    (void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
                   "]}, \"stuck_why\": \"%01000d\"}", 7);
    r = read_from(text);
    assert_int_equal(r.cache.n_limits, DLB_CACHE_LIMITS);
    assert_int_equal(strlen(r.stuck_why), sizeof(r.stuck_why) - 1);
    dlb_cell_result_free(&r);

    dlb_cell_result_init(&r);
    r.status = DLB_REP_FAILED;
    r.error = DLB_E_IO;
    (void)snprintf(r.reason, sizeof(r.reason), "caf\xe9.jpg");
    r.has_workers = true;
    r.workers.io_bytes = UINT64_MAX - 1;
    through_a_file(&r, &back);
    assert_string_equal(back.reason, "caf\xe9.jpg");
    assert_true(back.workers.io_bytes == DLB_NOT_MEASURED);
    dlb_cell_result_free(&r);
    dlb_cell_result_free(&back);
}

static void rates_are_over_the_window(void **state)
{
    (void)state;
    struct dlb_cell_result r;
    dlb_cell_result_init(&r);
    assert_true(isnan(dlb_cell_result_samples_per_s(&r)));
    assert_true(isnan(dlb_cell_result_steps_per_s(&r)));
    assert_true(dlb_cell_result_n_accelerators(&r) == 1);
    r.loop.total.window_ns = 500000000;
    r.loop.total.n_samples = 60;
    r.loop.total.n_steps = 6;
    r.loop.n_accelerators = 3;
    assert_true(dlb_cell_result_samples_per_s(&r) == 120);
    assert_true(dlb_cell_result_steps_per_s(&r) == 4);
    r.loop.total.window_ns = 0; /* no complete window */
    assert_true(isnan(dlb_cell_result_samples_per_s(&r)));
    dlb_cell_result_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_result_comes_back_whole),
        cmocka_unit_test(an_empty_result_comes_back_empty),
        cmocka_unit_test(empty_parts_come_back_empty),
        cmocka_unit_test(garbage_was_not_measured),
        cmocka_unit_test(a_result_has_a_status),
        cmocka_unit_test(nothing_overflows),
        cmocka_unit_test(rates_are_over_the_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
