/* What is said to be in the way of one accelerator more. */
#include "tests/support/made_up_storage.h"

/* Three are given less than four: what three were given is not all that there is. */
static void test_no_bandwidth_below_what_more_were_given(void **state)
{
    (void)state;
    struct storage s = {
        .bytes_per_s = 3.3 * STEP_BYTES / STEP_S, .cache = DLB_CACHE_COLD, .one_slow = 1.25};
    struct outcome o;
    execute(&o, &s, NULL);
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 2);
    assert_bottleneck(&o, "UNKNOWN_BOTTLENECK", "1.25 times");
    release(&o);
    s.one_slow = 0;
    execute(&o, &s, NULL);
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 3);
    assert_bottleneck(&o, "STORAGE_BANDWIDTH", NULL);
    release(&o);
}

/* Workers whose core a hypervisor had look as if they slept in a read. */
static void test_stolen_time_is_not_the_storage(void **state)
{
    (void)state;
    struct storage s = {
        .bytes_per_s = 3.5 * STEP_BYTES / STEP_S, .cache = DLB_CACHE_COLD, .stolen = 0.6};
    struct outcome o;
    execute(&o, &s, NULL);
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 3);
    assert_bottleneck(&o, "CPU_BOUND", "hypervisor");
    release(&o);
    /* 4 workers and the loop can have been on 5 of 8 CPUs. */
    execute(&o, &s, (const char *[]){"loader.num_workers=1", NULL});
    assert_bottleneck(&o, "STORAGE_BANDWIDTH", NULL);
    release(&o);
    s.stolen = 0.4;
    execute(&o, &s, NULL);
    assert_bottleneck(&o, "STORAGE_BANDWIDTH", NULL);
    release(&o);
}

/* The one that misses the gate is not compared with itself. */
static void test_one_cell_tells_nothing(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 0.5 * STEP_BYTES / STEP_S, .cache = DLB_CACHE_COLD};
    struct outcome o;
    execute(&o, &s, (const char *[]){"storage.max_accelerators=1", NULL});
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 0);
    assert_int_equal(json_array_size(json_object_get(o.storage, "curve")), 1);
    assert_bottleneck(&o, "UNKNOWN_BOTTLENECK", NULL);
    release(&o);
    s.bytes_per_s *= 10;
    execute(&o, &s, (const char *[]){"storage.max_accelerators=1", NULL});
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 1);
    assert_true(json_is_true(json_object_get(o.storage, "capped")));
    release(&o);
}

static void test_no_blame_without_the_harness_s_ceiling(void **state)
{
    (void)state;
    struct storage s = {
        .bytes_per_s = 3.5 * STEP_BYTES / STEP_S, .cache = DLB_CACHE_COLD, .twins_fail = true};
    struct outcome o;
    execute(&o, &s, NULL);
    assert_bottleneck(&o, "UNKNOWN_BOTTLENECK", "ceiling");
    release(&o);
}

static void test_a_warm_cache_is_not_the_storage(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 3.5 * STEP_BYTES / STEP_S, .cache = DLB_CACHE_WARM};
    struct outcome o;
    execute(&o, &s, NULL);
    assert_bottleneck(&o, "CPU_BOUND", "page cache");
    release(&o);
    /* The answer itself says so, however it ended. */
    static const enum dlb_cache_label labels[] = {DLB_CACHE_WARM, DLB_CACHE_MIXED,
                                                  DLB_CACHE_UNKNOWN, DLB_CACHE_COLD};
    for (size_t i = 0; i < 4; i++)
        for (int capped = 0; capped < 2; capped++) {
            s.cache = labels[i];
            execute(&o, &s, capped ? (const char *[]){"storage.max_accelerators=2", NULL} : NULL);
            const char *text = o.judgement.text;
            assert_int_equal(json_is_true(json_object_get(o.storage, "capped")), capped);
            assert_int_equal(strstr(text, "in part") != NULL, labels[i] == DLB_CACHE_MIXED);
            assert_int_equal(strstr(text, "not known") != NULL, labels[i] == DLB_CACHE_UNKNOWN);
            if (capped) /* else the bottleneck may name it too */
                assert_int_equal(strstr(text, "page cache") != NULL, labels[i] != DLB_CACHE_COLD);
            release(&o);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_bandwidth_below_what_more_were_given),
        cmocka_unit_test(test_stolen_time_is_not_the_storage),
        cmocka_unit_test(test_one_cell_tells_nothing),
        cmocka_unit_test(test_no_blame_without_the_harness_s_ceiling),
        cmocka_unit_test(test_a_warm_cache_is_not_the_storage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
