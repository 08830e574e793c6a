/* The settings to paste, and what training has that the measurement lacks (not_modelled). */
#include "scenarios/judge/judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/judged.h"

static void test_pytorch_text(void **state)
{
    (void)state;
    char text[256];
    json_t *config = json_pack("{sI, sI, sn, sb, sb, sb, sI}", "loader.batch_size", (json_int_t)32,
                               "loader.num_workers", (json_int_t)0, "loader.prefetch_factor",
                               "loader.pin_memory", 0, "loader.shuffle", 1, "loader.drop_last", 0,
                               "run.epochs", (json_int_t)3);
    dlb_pytorch_text(config, false, text, sizeof(text));
    assert_string_equal(text, "DataLoader(dataset, batch_size=32, num_workers=0, pin_memory=False, "
                              "shuffle=True, drop_last=False)");
    json_object_set_new(config, "loader.num_workers", json_integer(3));
    json_object_set_new(config, "loader.prefetch_factor", json_integer(5));
    json_object_set_new(config, "run.epochs", json_integer(1));
    dlb_pytorch_text(config, true, text, sizeof(text));
    assert_string_equal(text, "DataLoader(dataset, batch_size=32, num_workers=3, pin_memory=False, "
                              "prefetch_factor=5, persistent_workers=True, drop_last=False)");
    /* With processes the measured settings are printed. */
    json_object_set_new(config, "loader.kind", json_string("processes"));
    json_object_set_new(config, "loader.persistent_workers", json_true());
    json_object_set_new(config, "loader.order", json_string("any"));
    json_object_set_new(config, "loader.timeout_s", json_real(30));
    dlb_pytorch_text(config, true, text, sizeof(text));
    assert_string_equal(text, "DataLoader(dataset, batch_size=32, num_workers=3, pin_memory=False, "
                              "prefetch_factor=5, persistent_workers=True, drop_last=False, "
                              "timeout=30, in_order=False)");
    /* With one epoch persistent_workers was not measured, and True does no harm. */
    json_object_set_new(config, "loader.persistent_workers", json_false());
    dlb_pytorch_text(config, true, text, sizeof(text));
    assert_non_null(strstr(text, "persistent_workers=True"));
    json_object_set_new(config, "run.epochs", json_integer(3));
    dlb_pytorch_text(config, true, text, sizeof(text));
    assert_non_null(strstr(text, "persistent_workers=False"));
    json_decref(config);
}

/* Ranks divide the data set: DataLoader takes shuffle or a sampler, and neither for iterable data.
 */
static void test_ranks_have_a_sampler(void **state)
{
    (void)state;
    char text[256];
    json_t *config =
        json_pack("{sI, sI, sb, sb, sb, sI}", "loader.batch_size", (json_int_t)32,
                  "loader.num_workers", (json_int_t)0, "loader.pin_memory", 0, "loader.shuffle", 1,
                  "loader.drop_last", 0, "run.world", (json_int_t)4);
    dlb_pytorch_text(config, false, text, sizeof(text));
    assert_string_equal(text,
                        "DataLoader(dataset, batch_size=32, num_workers=0, pin_memory=False, "
                        "sampler=DistributedSampler(dataset, shuffle=True), drop_last=False)");
    json_object_set_new(config, "loader.drop_last", json_true());
    json_object_set_new(config, "run.world", json_integer(1));
    json_object_set_new(config, "accelerators.count", json_integer(2));
    dlb_pytorch_text(config, false, text, sizeof(text));
    assert_non_null(
        strstr(text, "DistributedSampler(dataset, shuffle=True, drop_last=True), drop"));
    json_object_set_new(config, "accelerators.shared_workers", json_true());
    dlb_pytorch_text(config, false, text, sizeof(text));
    assert_null(strstr(text, "sampler"));
    json_object_set_new(config, "run.world", json_integer(4));
    dlb_pytorch_text(config, true, text, sizeof(text));
    assert_null(strstr(text, "sampler"));
    assert_null(strstr(text, "shuffle"));
    json_decref(config);
}

/* Whether not_modelled of a cell with these settings has one line with these words. */
static void tells(const char *setting, bool iterable, const char *words, bool told)
{
    struct judged t;
    const char *const settings[] = {"loader.num_workers=2", "sweep.run.seed=[0]", setting, NULL};
    open_judged(&t, settings);
    t.plan.cells[0].iterable = iterable;
    add(&t, 0, (const double[]){500, 500}, 2, 1000);
    judge(&t);
    const json_t *line;
    size_t i, n = 0;
    json_array_foreach(t.j.not_modelled, i, line)
        n += strstr(json_string_value(line), words) != 0;
    if (n != told)
        fail_msg("%s: \"%s\" was told %zu times", setting, words, n);
    close_judged(&t);
}

static void test_what_the_training_has_to_do(void **state)
{
    (void)state;
    tells("loader.pin_memory=true", false, "loader.pin_mode", true);
    tells("loader.pin_memory=false", false, "pin_mode", false);
    tells("device.prefetch=1", false, "next batch ", true);
    tells("device.prefetch=2", false, "next batches ", true);
    tells("device.prefetch=0", false, "CUDA stream", false);
    tells("run.epochs=1", false, "run.epochs = 1", true);
    tells("run.epochs=3", false, "run.epochs", false);
    tells("run.epochs=3", false, "persistent_workers: ", true);
    tells("run.world=4", false, "split_by_node", false);
    tells("run.world=4", true, " 4 ranks", true);
}

static void test_no_pin_thread_is_missed(void **state)
{
    (void)state;
    static const char *const others[] = {"loader.num_workers=0", "loader.pin_mode=thread"};
    for (size_t i = 0; i < 2; i++) {
        struct judged t;
        const char *const settings[] = {"loader.num_workers=2", "loader.pin_memory=true",
                                        "sweep.run.seed=[0]", others[i], NULL};
        open_judged(&t, settings);
        add(&t, 0, (const double[]){500, 500}, 2, 1000);
        judge(&t);
        char *all = json_dumps(t.j.not_modelled, 0);
        assert_null(strstr(all, "pin thread"));
        free(all);
        close_judged(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pytorch_text),
        cmocka_unit_test(test_ranks_have_a_sampler),
        cmocka_unit_test(test_what_the_training_has_to_do),
        cmocka_unit_test(test_no_pin_thread_is_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
