/* Where a result says that its step time comes from. */
#include "scenarios/judge/step_source.h"
#include "scenarios/spec/spec.h"
#include "scenarios/spec/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define CALIBRATED "[device]\nstep_ms = 3\nstep_source = \"train.py:make_step\"\n"

struct said {
    struct dlb_config *cfg;
    struct dlb_err err;
    char text[2048];
};

static void begin(struct said *s)
{
    s->cfg = dlb_config_new(dlb_spec_groups());
}

static void file(struct said *s, const char *name, const char *text)
{
    assert_int_equal(dlb_config_load_text(s->cfg, text, strlen(text), name, &s->err), DLB_OK);
}

static void set(struct said *s, const char *assignment)
{
    assert_int_equal(dlb_config_set(s->cfg, assignment, &s->err), DLB_OK);
}

static void expect(struct said *s, const char *source)
{
    assert_string_equal(dlb_step_source(s->cfg, s->text, sizeof s->text), source);
    dlb_config_free(s->cfg);
}

static void test_nobody_said_it(void **state)
{
    struct said s;
    (void)state;
    begin(&s);
    expect(&s, "default");
}

static void test_a_file_or_the_command_line_said_it(void **state)
{
    struct said s;
    (void)state;
    begin(&s);
    file(&s, "a.toml", "\n[device]\nstep_ms = 2\n");
    expect(&s, "configuration (a.toml:3)");
    begin(&s);
    file(&s, "a.toml", "[device]\nstep_ms = 2\n");
    set(&s, "device.step_ms=4");
    expect(&s, "configuration (--set)");
}

static void test_a_workload_said_it(void **state)
{
    struct said s;
    (void)state;
    begin(&s);
    assert_int_equal(dlb_workload_load(s.cfg, "resnet50", &s.err), DLB_OK);
    set(&s, "workload.accelerator=h100");
    assert_int_equal(dlb_workload_apply(s.cfg, &s.err), DLB_OK);
    assert_int_equal(
        strncmp(dlb_step_source(s.cfg, s.text, sizeof s.text), "workload resnet50:", 18), 0);
    dlb_config_free(s.cfg);
}

static void test_it_was_measured(void **state)
{
    struct said s;
    (void)state;
    begin(&s);
    file(&s, "step.toml", CALIBRATED);
    expect(&s, "train.py:make_step");
    begin(&s);
    file(&s, "other.toml", "[device]\nstep_ms = 9\n");
    file(&s, "step.toml", CALIBRATED);
    expect(&s, "train.py:make_step");
}

/* The step that was measured is no longer the one that runs. */
static void test_a_later_step_has_another_source(void **state)
{
    struct said s;
    (void)state;
    begin(&s);
    file(&s, "step.toml", CALIBRATED);
    set(&s, "device.step_ms=4");
    expect(&s, "configuration (--set)");
    begin(&s);
    file(&s, "step.toml", CALIBRATED);
    file(&s, "other.toml", "[device]\nstep_ms = 9\n");
    expect(&s, "configuration (other.toml:2)");
    begin(&s);
    file(&s, "other.toml", "[device]\nstep_ms = 9\n");
    set(&s, "device.step_source=measured by hand");
    expect(&s, "measured by hand");
}

static void test_it_is_swept(void **state)
{
    struct said s;
    (void)state;
    begin(&s);
    file(&s, "step.toml", CALIBRATED);
    set(&s, "sweep.device.step_ms=[1, 2]");
    expect(&s, "swept");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_said_it),
        cmocka_unit_test(test_a_file_or_the_command_line_said_it),
        cmocka_unit_test(test_a_workload_said_it),
        cmocka_unit_test(test_it_was_measured),
        cmocka_unit_test(test_a_later_step_has_another_source),
        cmocka_unit_test(test_it_is_swept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
