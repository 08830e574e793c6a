#include "bench/cli/progress.h"

#include "bench/cli/print.h"
#include "core/base/clock.h"
#include "core/base/say.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct dlb_progress at_start(double first_frac)
{
    struct dlb_progress progress = {
        .view.title = "work", .start_ns = 1000 * DLB_NS_PER_S, .first_frac = first_frac};
    progress.has_first = true;
    return progress;
}

static void eta_follows_the_pace(void **state)
{
    struct dlb_progress progress = at_start(0.0);

    (void)state;
    assert_true(fabs(dlb_progress_eta_s(&progress, 0.25, 1010 * DLB_NS_PER_S) - 30.0) < 1e-6);
    assert_true(dlb_progress_eta_s(&progress, 1.0, 1010 * DLB_NS_PER_S) == 0.0);
    progress = at_start(0.5); /* half was there before */
    assert_true(fabs(dlb_progress_eta_s(&progress, 0.6, 1010 * DLB_NS_PER_S) - 40.0) < 1e-6);
}

static void a_name_in_the_line_is_escaped(void **state)
{
    struct dlb_progress progress = at_start(0.0);
    char line[64];

    (void)state;
    (void)dlb_progress_line(&progress, 0.5, "a\033[2J\n\xff", 1030 * DLB_NS_PER_S, line,
                            sizeof line);
    assert_string_equal(line, "work: a\\x1b[2J\\x0a\\xff  ETA 30 s");
}

static void eta_is_unknown_at_first(void **state)
{
    struct dlb_progress progress = at_start(0.2);

    (void)state;
    assert_true(isnan(dlb_progress_eta_s(&progress, 0.2, 1010 * DLB_NS_PER_S)));
    assert_true(isnan(dlb_progress_eta_s(&progress, NAN, 1010 * DLB_NS_PER_S)));
    assert_true(isnan(dlb_progress_eta_s(&progress, 0.5, 1000 * DLB_NS_PER_S + 1)));
    progress.has_first = false;
    assert_true(isnan(dlb_progress_eta_s(&progress, 0.5, 1010 * DLB_NS_PER_S)));
}

static void the_eta_is_kept(void **state)
{
    struct dlb_progress progress = at_start(0.0);
    uint64_t now_ns = 1010 * DLB_NS_PER_S;
    char line[200];

    (void)state;
    assert_string_equal(dlb_progress_line(&progress, 0.25, "5 of 20", now_ns, line, sizeof line),
                        "work: 5 of 20  ETA 30 s");
    assert_string_equal(dlb_progress_line(&progress, 0.01, "1 of 99", now_ns, line, sizeof line),
                        "work: 1 of 99  ETA 16 min 30 s");
    assert_string_equal(dlb_progress_line(&progress, NAN, "5 of 20", now_ns, line, sizeof line),
                        "work: 5 of 20");
    assert_string_equal(dlb_progress_line(&progress, 0.25, "5 of 20", now_ns, line, 18),
                        "work: 5  ETA 30 s");
    /* No character is cut in two. */
    assert_string_equal(
        dlb_progress_line(&progress, 0.25, "\xc3\xa4\xc3\xb6\xc3\xbc", now_ns, line, 20),
        "work: \xc3\xa4  ETA 30 s");
}

/* stderr to a file for the length of a call: plain lines. */
static size_t lines_of(void (*work)(void), char *text, size_t n_text)
{
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    size_t n, n_lines = 0;

    assert_non_null(file);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
    work();
    (void)fflush(stderr);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    (void)close(saved);
    rewind(file);
    n = fread(text, 1, n_text - 1, file);
    text[n] = '\0';
    (void)fclose(file);
    for (size_t i = 0; i < n; i++)
        n_lines += text[i] == '\n';
    return n_lines;
}

static bool is_quiet;
static uint32_t n_noted;

static void many_updates(void)
{
    struct dlb_progress progress;

    dlb_progress_begin(&progress, "work", is_quiet);
    for (int i = 0; i < 100000; i++)
        dlb_progress_update(&progress, i / 100000.0, "busy");
    dlb_say(stderr, "a note %d", 7);
    dlb_progress_end(&progress);
    n_noted = progress.view.n_notes;
    dlb_say(stderr, "after 8");
}

static void a_pipe_gets_few_plain_lines(void **state)
{
    char text[4096];
    size_t n_lines = lines_of(many_updates, text, sizeof text);

    (void)state;
    assert_true(n_lines >= 3 && n_lines <= 8); /* more only where 100,000 calls take ten seconds */
    assert_int_equal(strncmp(text, "work: starting\n", 15), 0);
    assert_non_null(strstr(text, "a note 7\n"));
    assert_non_null(strstr(text, "after 8\n"));
    assert_int_equal(n_noted, 1);
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, '\r'));
}

static char *folded(const char *text, uint32_t indent, uint32_t column, uint32_t width)
{
    char *out = NULL;
    size_t n = 0;
    FILE *file = open_memstream(&out, &n);

    assert_non_null(file);
    dlb_print_folded(file, text, indent, column, width);
    assert_int_equal(fclose(file), 0);
    return out;
}

static void text_is_folded(void **state)
{
    static const struct {
        const char *text;
        uint32_t indent, column, width;
        const char *want;
    } cases[] = {
        {"aa bb cc dd", 0, 0, 5, "aa bb\ncc dd\n"},
        {"aa bb cc", 4, 2, 9, "  aa bb\n    cc\n"}, /* two columns are there already */
        {"aa bb", 4, 6, 20, "\n    aa bb\n"},       /* too far right: a new line */
        {"longer-than-the-width x", 0, 0, 5, "longer-than-the-width\nx\n"},
        {"one\n\n  an  example that stays\ntwo", 0, 0, 9, "one\n\n  an  example that stays\ntwo\n"},
        {"", 4, 0, 9, "\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = folded(cases[i].text, cases[i].indent, cases[i].column, cases[i].width);
        assert_string_equal(got, cases[i].want);
        free(got);
    }
}

static void quiet_says_notes_alone(void **state)
{
    char text[4096];

    (void)state;
    is_quiet = true;
    assert_int_equal(lines_of(many_updates, text, sizeof text), 2);
    is_quiet = false;
    assert_string_equal(text, "a note 7\nafter 8\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_in_the_line_is_escaped),
        cmocka_unit_test(eta_follows_the_pace),
        cmocka_unit_test(eta_is_unknown_at_first),
        cmocka_unit_test(the_eta_is_kept),
        cmocka_unit_test(a_pipe_gets_few_plain_lines),
        cmocka_unit_test(quiet_says_notes_alone),
        cmocka_unit_test(text_is_folded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
