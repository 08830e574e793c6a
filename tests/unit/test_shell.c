/* Names as words of a command line: a shell gives back their bytes, and dlb_say changes none. */
#include "core/base/shell.h"

#include "core/base/escape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const names[] = {
    "plain",
    "a b",
    "it's",
    "\"both' kinds\"",
    "$HOME `id` \\ *",
    "",
    "two\nline",
    "tab\tbel\a",
    "\x7f",
    "caf\u00e9 \u00a0",
    "lat\xe9in",
    "\\x41",
    "\\x41\n",
    "'\n'",
    "\\\n\\n",
    "\xc2\x85",
    "~",
    "\n7",
};
#define N_NAMES (sizeof(names) / sizeof(*names))

static void test_a_shell_gives_the_name_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_NAMES; i++) {
        char got[200];
        char *word = dlb_shell_word(names[i]);
        assert_int_equal(setenv("DLB_TEST_WORD", word, 1), 0);
        FILE *pipe = popen("exec bash -c 'eval printf %s. \"$DLB_TEST_WORD\"'", "r");
        assert_non_null(pipe);
        size_t n = fread(got, 1, sizeof(got), pipe);
        assert_int_equal(pclose(pipe), 0);
        assert_int_equal(n, strlen(names[i]) + 1);
        assert_memory_equal(got, names[i], n - 1);
        free(word);
    }
}

static void test_it_is_shown_unchanged(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_NAMES; i++) {
        char *word = dlb_shell_word(names[i]);
        assert_int_equal(dlb_escape(word, SIZE_MAX, DLB_ESCAPE_NAME, NULL, 0), strlen(word));
        free(word);
    }
}

static void test_what_needs_no_quotes_has_none(void **state)
{
    (void)state;
    char *word = dlb_shell_word("/data/a-b_c.d:e=f,g@h%i+j");
    assert_string_equal(word, "/data/a-b_c.d:e=f,g@h%i+j");
    free(word);
}

/* --set takes a value in quotes as TOML does, so that a path must not begin with one. */
static void test_a_path_in_quotes_stays_a_path(void **state)
{
    (void)state;
    static const char *const paths[][2] = {{"\"q\"", "'dataset.path=./\"q\"'"},
                                           {"'q", "'dataset.path=./'\\''q'"},
                                           {"q", "dataset.path=q"}};
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        char *word = dlb_shell_path_setting("dataset.path", paths[i][0]);
        assert_string_equal(word, paths[i][1]);
        free(word);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_shell_gives_the_name_back),
        cmocka_unit_test(test_it_is_shown_unchanged),
        cmocka_unit_test(test_what_needs_no_quotes_has_none),
        cmocka_unit_test(test_a_path_in_quotes_stays_a_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
