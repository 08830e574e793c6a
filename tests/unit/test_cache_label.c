/* Where bytes came from: the rule as a table, then over repetitions. */
#include "core/measure/cache_label.h"
#include "scenarios/judge/cache_summary.h"
#include "scenarios/spec/spec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define GB 1e9
#define ONE_GB(resident, process, device)                                                          \
    .counted = true, .resident_before_frac = (resident), .process_bytes = (process),               \
    .device_bytes = (device), .delivered_bytes = GB

static const struct row {
    const char *name;
    struct dlb_cache_evidence evidence;
    enum dlb_cache_label label;
    const char *says;
} rows[] = {
    /* --- both witnesses --- */
    {"nothing resident, all from the device",
     {ONE_GB(0.0, GB, GB)},
     DLB_CACHE_COLD,
     "; 1.00 GB read"},
    {"readahead fetches more than was asked for",
     {ONE_GB(0.0, 3 * GB, 3 * GB)},
     DLB_CACHE_COLD,
     "; 3.00 GB read"},
    {"other programs read too", {ONE_GB(0.0, GB, 9 * GB)}, DLB_CACHE_COLD, "; 1.00 GB read"},
    {"one percent is nothing", {ONE_GB(0.01, 0.99 * GB, 0.99 * GB)}, DLB_CACHE_COLD, "1.0% was"},
    {"more than one percent is not", {ONE_GB(0.0101, GB, GB)}, DLB_CACHE_MIXED, "1.0% was"},
    {"a second epoch from the page cache",
     {ONE_GB(0.0, 0.5 * GB, 0.5 * GB)},
     DLB_CACHE_MIXED,
     "500 MB "},
    {"holes are not read", {ONE_GB(0.0, 0.0, 0.0)}, DLB_CACHE_MIXED, " 0 B "},
    {"others read what this process did not",
     {ONE_GB(0.0, 0.1 * GB, 2 * GB)},
     DLB_CACHE_MIXED,
     "100 MB "},
    {"the device knows nothing of it", {ONE_GB(0.0, GB, 0.2 * GB)}, DLB_CACHE_UNKNOWN, "200 MB"},
    {"all resident, nothing fetched", {ONE_GB(1.0, 0.0, 0.0)}, DLB_CACHE_WARM, "100.0% was"},
    {"the program's own pages", {ONE_GB(1.0, 1e6, 5e6)}, DLB_CACHE_WARM, "1.00 MB read"},
    {"others read while all is resident", {ONE_GB(1.0, 0.0, 5 * GB)}, DLB_CACHE_WARM, " 0 B read"},
    {"dropped while it ran", {ONE_GB(1.0, 0.4 * GB, 0.4 * GB)}, DLB_CACHE_MIXED, "400 MB read"},
    {"half of it", {ONE_GB(0.5, 0.5 * GB, 0.5 * GB)}, DLB_CACHE_MIXED, "50.0% was"},
    /* --- one witness is missing --- */
    {"residency is not ours to know", {ONE_GB(NAN, GB, GB)}, DLB_CACHE_UNKNOWN, "own the"},
    {"residency unknown, nothing fetched", {ONE_GB(NAN, 0.0, 0.0)}, DLB_CACHE_UNKNOWN, "own the"},
    {"no counter of any kind", {ONE_GB(0.0, NAN, NAN)}, DLB_CACHE_UNKNOWN, "no counter"},
    {"no counter, all resident", {ONE_GB(1.0, NAN, NAN)}, DLB_CACHE_UNKNOWN, "no counter"},
    {"no device to be seen", {ONE_GB(0.0, GB, NAN)}, DLB_CACHE_COLD, "; 1.00 GB read"},
    {"the device alone", {ONE_GB(0.0, NAN, GB)}, DLB_CACHE_COLD, "; 1.00 GB read"},
    {"charged to nobody: FUSE",
     {.resident_before_frac = 0, .process_bytes = 5e6, .device_bytes = NAN, .delivered_bytes = GB},
     DLB_CACHE_UNKNOWN,
     "no counter"},
    {"charged to another process, on a device of its own",
     {.resident_before_frac = 0, .process_bytes = 0, .device_bytes = GB, .delivered_bytes = GB},
     DLB_CACHE_COLD,
     "; 1.00 GB read"},
    {"nothing was read",
     {.counted = true, .process_bytes = 0, .device_bytes = 0, .delivered_bytes = 0},
     DLB_CACHE_UNKNOWN,
     "nothing"},
    {"it did not come to an end",
     {.counted = true, .process_bytes = 0, .device_bytes = 0, .delivered_bytes = NAN},
     DLB_CACHE_UNKNOWN,
     "not known"},
    /* --- file systems that are different --- */
    {"memory", {ONE_GB(1.0, 0.0, 0.0), .in_memory = true}, DLB_CACHE_WARM, "lie in memory"},
    {"memory that shows nothing resident",
     {ONE_GB(0.0, GB, GB), .in_memory = true},
     DLB_CACHE_WARM,
     "lie in memory"},
    {"memory, past the page cache",
     {ONE_GB(0.0, GB, GB), .in_memory = true, .direct = true},
     DLB_CACHE_WARM,
     "lie in memory"},
    {"a cache of its own", {ONE_GB(0.0, GB, GB), .elsewhere = true}, DLB_CACHE_UNKNOWN, "its own"},
    /* --- past the page cache: bytes decide --- */
    {"direct, all from the device",
     {ONE_GB(0.0, GB, GB), .direct = true},
     DLB_CACHE_COLD,
     ": 1.00 GB read"},
    {"direct, whatever is resident",
     {ONE_GB(1.0, GB, GB), .direct = true},
     DLB_CACHE_COLD,
     ": 1.00 GB read"},
    {"direct, residency unknown",
     {ONE_GB(NAN, GB, NAN), .direct = true},
     DLB_CACHE_COLD,
     ": 1.00 GB read"},
    {"direct, but the device knows nothing of it",
     {ONE_GB(0.0, GB, 0.2 * GB), .direct = true},
     DLB_CACHE_UNKNOWN,
     "200 MB"},
    {"direct in name only", {ONE_GB(1.0, 0.0, 0.0), .direct = true}, DLB_CACHE_MIXED, " 0 B "},
    {"direct, unseen", {ONE_GB(0.0, NAN, NAN), .direct = true}, DLB_CACHE_UNKNOWN, "no counter"},
};

static void the_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char why[300] = "";
        enum dlb_cache_label label = dlb_cache_judge(&rows[i].evidence, why, sizeof why);
        if (label != rows[i].label || !strstr(why, rows[i].says))
            fail_msg("%s: %s: %s", rows[i].name, dlb_cache_label_name(label), why);
    }
}

static void over_repetitions(void **state)
{
    (void)state;
    static const struct {
        enum dlb_cache_label labels[3], all;
    } cases[] = {
        {{DLB_CACHE_COLD, DLB_CACHE_COLD, DLB_CACHE_COLD}, DLB_CACHE_COLD},
        {{DLB_CACHE_COLD, DLB_CACHE_COLD, DLB_CACHE_WARM}, DLB_CACHE_MIXED},
        {{DLB_CACHE_WARM, DLB_CACHE_COLD, DLB_CACHE_WARM}, DLB_CACHE_MIXED},
        {{DLB_CACHE_WARM, DLB_CACHE_WARM, DLB_CACHE_WARM}, DLB_CACHE_WARM},
        {{DLB_CACHE_COLD, DLB_CACHE_UNKNOWN, DLB_CACHE_COLD}, DLB_CACHE_UNKNOWN},
        {{DLB_CACHE_COLD, DLB_CACHE_MIXED, DLB_CACHE_UNKNOWN}, DLB_CACHE_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(dlb_cache_over(cases[i].labels, 3), cases[i].all);
    assert_int_equal(dlb_cache_over(NULL, 0), DLB_CACHE_UNKNOWN);
}

static void metadata(void **state)
{
    (void)state;
    assert_int_equal(dlb_cache_metadata(true, false, true, false), DLB_CACHE_COLD);
    assert_int_equal(dlb_cache_metadata(true, true, true, false), DLB_CACHE_UNKNOWN);
    assert_int_equal(dlb_cache_metadata(false, false, true, false), DLB_CACHE_WARM);
    assert_int_equal(dlb_cache_metadata(false, false, true, true), DLB_CACHE_UNKNOWN);
    assert_int_equal(dlb_cache_metadata(false, false, false, false), DLB_CACHE_UNKNOWN);
}

static void names(void **state)
{
    (void)state;
    for (int i = DLB_CACHE_UNKNOWN; i <= DLB_CACHE_COLD; i++)
        assert_int_equal(dlb_cache_label_of(dlb_cache_label_name((enum dlb_cache_label)i)), i);
    assert_int_equal(dlb_cache_label_of("lukewarm"), DLB_CACHE_UNKNOWN);
    assert_int_equal(dlb_cache_label_of(NULL), DLB_CACHE_UNKNOWN);
}

/* One more repetition of a cell for which a cold cache was asked. */
static void add(struct dlb_reps *reps, enum dlb_cache_label label, double resident,
                uint64_t delivered)
{
    struct dlb_cell_result rep;
    struct dlb_cache_result *cache = &rep.cache;
    dlb_cell_result_init(&rep);
    rep.has_cache = true;
    cache->asked = DLB_RUN_COLD;
    cache->label = label;
    cache->metadata = DLB_CACHE_WARM;
    (void)snprintf(cache->why, sizeof(cache->why), "%s", dlb_cache_label_name(label));
    cache->resident_before_frac = resident;
    cache->process_bytes = 7;
    cache->device_bytes = 8;
    cache->delivered_bytes = delivered;
    dlb_reps_add(reps, &rep);
}

/* The cell's figures are those of a repetition that is not what was asked for, if there is one. */
static void a_cell(void **state)
{
    (void)state;
    struct dlb_reps reps = {0}, more = {0};
    add(&reps, DLB_CACHE_COLD, 0.0, 100);
    add(&reps, DLB_CACHE_MIXED, 0.25, 100);
    add(&reps, DLB_CACHE_UNKNOWN, 0.0, 0); /* it failed: read nothing */
    json_t *out = dlb_cache_summary(&reps, &reps.rep[0]);
    assert_string_equal(dlb_json_text(out, "label"), "mixed");
    assert_string_equal(dlb_json_text(out, "metadata"), "warm");
    assert_true(dlb_json_number(out, "resident_before_frac") == 0.25);
    assert_int_equal(json_array_size(json_object_get(out, "repetitions")), 2);
    assert_int_equal(dlb_cache_label_of_reps(&reps), DLB_CACHE_MIXED);
    json_decref(out);
    dlb_reps_free(&reps);

    add(&more, DLB_CACHE_COLD, 0.0, 100);
    add(&more, DLB_CACHE_UNKNOWN, 0.0, 0);
    out = dlb_cache_summary(&more, &more.rep[0]);
    assert_string_equal(dlb_json_text(out, "label"), "cold");
    assert_string_equal(dlb_json_text(out, "why"), "cold");
    json_decref(out);

    add(&more, DLB_CACHE_WARM, 1.0, 100);
    out = dlb_cache_summary(&more, &more.rep[0]);
    assert_string_equal(dlb_json_text(out, "label"), "mixed");
    assert_non_null(strstr(dlb_json_text(out, "why"), "repetitions differ"));
    assert_true(dlb_json_number(out, "resident_before_frac") == 1.0);
    json_decref(out);
    dlb_reps_free(&more);

    out = dlb_cache_summary(&more, NULL);
    assert_true(json_is_null(out));
    assert_int_equal(dlb_cache_label_of_reps(&more), DLB_CACHE_UNKNOWN);
    json_decref(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule), cmocka_unit_test(over_repetitions), cmocka_unit_test(metadata),
        cmocka_unit_test(names),    cmocka_unit_test(a_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
