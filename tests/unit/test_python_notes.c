/* What is noted of cells that PyTorch loads. */
#include "scenarios/judge/python.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "tests/support/judged.h"

/* A cell with 2 workers and batches of 8, of 100 samples. */
static struct dlb_cell_result loaded(json_t *python, uint64_t n_samples)
{
    struct dlb_cell_result out = rep(100, 0.5, 0, 1000);
    out.python = python;
    out.loop.epoch = dlb_mem_array(1, sizeof(*out.loop.epoch));
    out.loop.epoch[0] = (struct dlb_epoch){
        .n_samples = n_samples, .n_expected = 100, .ended = true, .whole = n_samples == 100};
    out.loop.n_epochs = 1;
    return out;
}

static void notes(const char *setting, bool iterable, json_t *python, uint64_t n_samples,
                  const char *code, bool wanted)
{
    const char *const settings[] = {"loader.kind=torch",
                                    "loader.batch_size=8",
                                    "loader.num_workers=2",
                                    "sweep.run.seed=[0]",
                                    setting,
                                    NULL};
    struct judged t;
    size_t n = 0;
    open_judged(&t, settings);
    struct dlb_cell_result shown = loaded(python, n_samples);
    struct dlb_judged_cell cell = {.shown = &shown};
    struct dlb_plan_cell planned = {.spec = t.plan.cells[0].spec, .iterable = iterable};
    json_t *list = json_array();
    dlb_note_python(&planned, &cell, 0, list);
    (void)noted(list, code, &n);
    if (n != wanted || json_array_size(list) != wanted)
        fail_msg("%s: %zu of %s, %zu in all", setting, n, code, json_array_size(list));
    json_decref(list);
    dlb_cell_result_free(&shown);
    close_judged(&t);
}

static json_t *asked(int more, int fewer)
{
    return json_pack("{s{si, si, si}}", "once", "epochs", 2, "more", more, "fewer", fewer);
}

/* drop_last leaves up to a batch less one out of each epoch, other samples each time. */
static void samples_are_asked_for_once_an_epoch(void **state)
{
    static const char code[] = "PYTHON_NOT_ONCE";
    (void)state;
    notes("loader.drop_last=false", false, asked(0, 0), 100, code, false);
    notes("loader.drop_last=false", false, asked(1, 1), 100, code, true);
    notes("loader.drop_last=false", false, asked(0, 1), 100, code, true);
    notes("loader.drop_last=true", false, asked(0, 14), 100, code, false);
    notes("loader.drop_last=true", false, asked(0, 15), 100, code, true);
    notes("loader.drop_last=true", false, asked(3, 3), 100, code, true);
    notes("run.world=2", false, asked(0, 50), 100, code, false); /* another rank's */
}

static void epochs_of_iterable_data_have_a_length(void **state)
{
    static const char code[] = "PYTHON_EPOCH_DIFFERS";
    (void)state;
    notes("loader.drop_last=false", true, json_object(), 100, code, false);
    notes("loader.drop_last=false", true, json_object(), 200, code, true);
    notes("loader.drop_last=false", true, json_object(), 99, code, true);
    notes("loader.drop_last=true", true, json_object(), 86, code, false); /* 2 x 7 */
    notes("loader.drop_last=true", true, json_object(), 85, code, true);
    notes("loader.drop_last=false", false, json_object(), 99, code, false); /* the cell fails */
    /* Of data that Python alone reads, the interpreter knows. */
    notes("loader.drop_last=false", false, json_pack("{sb}", "iterable_dataset", 1), 99, code,
          true);
    notes("loader.drop_last=false", false, json_pack("{sb}", "iterable_dataset", 0), 99, code,
          false);
    notes("python.loader=train.py:make", false, json_pack("{sb}", "iterable_dataset", 0), 200, code,
          true);
}

static void stamps_have_a_cost(void **state)
{
    static const char code[] = "PYTHON_STAMPS_COST";
    (void)state;
    notes("loader.drop_last=false", false, json_pack("{sf}", "stamps_frac", 0.019), 100, code,
          false);
    notes("loader.drop_last=false", false, json_pack("{sf}", "stamps_frac", 0.021), 100, code,
          true);
    notes("loader.drop_last=false", false, json_pack("{sn}", "stamps_frac"), 100, code, false);
}

/* More than half of the work is no estimate to show with digits. */
static void stamps_take_no_more_than_all(void **state)
{
    static const char *const settings[] = {"loader.kind=torch", "loader.batch_size=8",
                                           "loader.num_workers=2", "sweep.run.seed=[0]", NULL};
    (void)state;
    struct judged t;
    open_judged(&t, settings);
    struct dlb_cell_result shown = loaded(json_pack("{sf}", "stamps_frac", 3.403), 100);
    struct dlb_judged_cell cell = {.shown = &shown};
    struct dlb_plan_cell planned = {.spec = t.plan.cells[0].spec};
    json_t *list = json_array();
    dlb_note_python(&planned, &cell, 0, list);
    assert_noted(list, "PYTHON_STAMPS_COST", "more than 50.0%");
    json_decref(list);
    dlb_cell_result_free(&shown);
    close_judged(&t);
}

/* All collections fall within other stages; a transform of that name is none. */
static json_t *with_garbage(int gc_ns, const char *part)
{
    return json_pack("{s[{ss, ss, si, si}, {ss, ss, si, si}, {ss, ss?, si, si}]}", "stages", "name",
                     "getitem", "part", "read", "count", 100, "sum_ns", 900, "name", "collate",
                     "part", "collate", "count", 10, "sum_ns", 100, "name", "gc", "part", part,
                     "count", 2, "sum_ns", gc_ns);
}

static void garbage_has_a_cost(void **state)
{
    static const char code[] = "PYTHON_GARBAGE";
    (void)state;
    notes("loader.drop_last=false", false, with_garbage(20, NULL), 100, code, false);
    notes("loader.drop_last=false", false, with_garbage(21, NULL), 100, code, true);
    notes("loader.drop_last=false", false, with_garbage(500, "transform"), 100, code, false);
    notes("loader.drop_last=false", false, json_object(), 100, code, false);
}

/* Of 100 samples: what they took on their way, and whether loading them was waiting. */
static void assert_evidence(const char *computing, double transport_ns, bool waits)
{
    static const char *const settings[] = {"loader.kind=torch", "loader.batch_size=8",
                                           "loader.num_workers=2", "sweep.run.seed=[0]", NULL};
    struct judged t;
    struct dlb_evidence e = {.waits = !waits};
    char text[512];
    (void)snprintf(
        text, sizeof(text),
        "{\"computing_frac\": %s, \"stages\": ["
        "{\"name\": \"getitem\", \"part\": \"read\", \"count\": 100, \"sum_ns\": 900},"
        "{\"name\": \"transport\", \"part\": \"transform\", \"count\": 100, \"sum_ns\": 1},"
        "{\"name\": \"transport\", \"part\": null, \"count\": 13, \"sum_ns\": 5000}]}",
        computing);
    open_judged(&t, settings);
    json_t *python = json_loads(text, 0, NULL);
    dlb_evidence_of_python(t.plan.cells[0].spec, python, &e);
    assert_true(e.torch && e.transport_ns == transport_ns && e.waits == waits);
    json_decref(python);
    close_judged(&t);
}

static void the_evidence_has_transport_and_waiting(void **state)
{
    (void)state;
    assert_evidence("0.49", 50, true);
    assert_evidence("0.51", 50, false);
    assert_evidence("null", 50, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_asked_for_once_an_epoch),
        cmocka_unit_test(epochs_of_iterable_data_have_a_length),
        cmocka_unit_test(stamps_have_a_cost),
        cmocka_unit_test(stamps_take_no_more_than_all),
        cmocka_unit_test(garbage_has_a_cost),
        cmocka_unit_test(the_evidence_has_transport_and_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
