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
    assert_non_null(strstr(o.judgement.text, "At least 1 accelerator of made-up"));
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
    const struct {
        enum dlb_cache_label label;
        const char *says;
    } fed[] = {{DLB_CACHE_WARM, "fed from the page cache"},
               {DLB_CACHE_MIXED, "in part"},
               {DLB_CACHE_UNKNOWN, "not known"},
               {DLB_CACHE_COLD, "are fed at 90%"}};
    for (size_t i = 0; i < sizeof(fed) / sizeof(fed[0]); i++)
        for (int capped = 0; capped < 2; capped++) {
            s.cache = fed[i].label;
            execute(&o, &s, capped ? (const char *[]){"storage.max_accelerators=2", NULL} : NULL);
            assert_true((strstr(o.judgement.text, "At least 2 ") != NULL) == (capped == 1));
            assert_non_null(strstr(o.judgement.text, fed[i].says));
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
