/* How the process that parses a configuration can end without a result, or with a false one. */
#include "core/base/config.h"
#include "core/base/config_toml.h"
#include "tests/support/error.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { EXITS = -1, ANSWERS = 0 }; /* else a signal */

struct run {
    int64_t seed;
};
static const struct dlb_opt opts[] = {{"seed", DLB_OPT_INT, offsetof(struct run, seed), 0,
                                       INT64_MAX, "7", NULL, "h", NULL, 0, 0, 0, false, false,
                                       false},
                                      DLB_OPT_END};
static const struct dlb_opt_group run_group = {"run", "Run", opts, sizeof(struct run)};
static const struct dlb_opt_group *const groups[] = {&run_group, NULL};

static int ending;
static const char *answer;

/* In place of the parser. */
int dlb_toml_parse(const char *text, size_t n_bytes, const char *path, json_t **out,
                   struct dlb_err *err)
{
    (void)text, (void)n_bytes, (void)path, (void)err;
    if (ending == EXITS)
        _exit(1);
    if (ending != ANSWERS)
        (void)raise(ending);
    *out = json_null();
    return DLB_OK;
}

/* In place of jansson's, because a process that was taken over sends what it likes. */
char *json_dumps(const json_t *json, size_t flags)
{
    (void)json, (void)flags;
    return strdup(answer);
}

static void ends(int how, enum dlb_code code)
{
    struct dlb_config *cfg = dlb_config_new(groups);
    struct dlb_err err = {.status = DLB_OK};
    ending = how;
    if (dlb_config_load_text(cfg, "", 0, "c.toml", &err) == DLB_OK)
        fail_msg("taken: %d", how);
    error_is(&err, code, "");
    assert_string_equal(err.path, "c.toml");
    dlb_config_free(cfg);
}

static void a_crash_is_the_text_s_fault(void **state)
{
    static const int signals[] = {SIGSEGV, SIGABRT, SIGFPE, SIGILL};
    (void)state;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        ends(signals[i], DLB_ERR_CONFIG_NOT_TOML);
}

static void another_end_keeps_its_cause(void **state)
{
    (void)state;
    ends(SIGKILL, DLB_ERR_CHILD_CRASHED);
    ends(SIGTERM, DLB_ERR_CANCELLED);
    ends(EXITS, DLB_ERR_CHILD_GAVE_UP);
}

static void a_false_answer_is_refused(void **state)
{
    static const char *const answers[] = {"x",
                                          "{}",
                                          "[1]",
                                          "[{}]",
                                          "[{\"value\": 1, \"line\": 1}]",
                                          "[{\"key\": 5, \"value\": 1, \"line\": 1}]",
                                          "[{\"key\": \"run.seed\", \"line\": 1}]",
                                          "[{\"key\": \"run.seed\", \"value\": 1}]"};
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        answer = answers[i];
        ends(ANSWERS, DLB_ERR_CONFIG_NOT_TOML);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_is_the_text_s_fault),
        cmocka_unit_test(another_end_keeps_its_cause),
        cmocka_unit_test(a_false_answer_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
