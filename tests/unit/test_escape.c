#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/rng.h"
#include "core/base/say.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const unsigned ways[] = {DLB_ESCAPE_BACKSLASH, DLB_ESCAPE_NAME};

/* Nothing but UTF-8, and with DLB_ESCAPE_CONTROLS no control character. */
static void assert_harmless(const char *shown, unsigned how)
{
    for (size_t at = 0, n; shown[at]; at += n) {
        unsigned char byte = (unsigned char)shown[at], next = (unsigned char)shown[at + 1];
        n = dlb_utf8_bytes(shown + at, strlen(shown + at));
        assert_true(n > 0);
        if (how & DLB_ESCAPE_CONTROLS) {
            assert_true(byte >= 0x20 && byte != 0x7f);
            assert_false(byte == 0xc2 && next < 0xa0);
        }
    }
}

static void assert_comes_back(const char *text)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char *shown = dlb_escaped(text, ways[i]);
        assert_harmless(shown, ways[i]);
        assert_string_equal(dlb_unescape(shown), text);
        free(shown);
    }
}

static void assert_shown(const char *text, unsigned how, const char *wanted)
{
    char *shown = dlb_escaped(text, how);
    assert_string_equal(shown, wanted);
    free(shown);
}

static void escapes_by_the_rules(void **state)
{
    (void)state;
    assert_shown("caf\xc3\xa9 \\ \\\\ a\\n", DLB_ESCAPE_NAME, "caf\xc3\xa9 \\ \\\\ a\\n");
    assert_shown("\033]0;x\a\n\t\x7f", DLB_ESCAPE_NAME, "\\x1b]0;x\\x07\\x0a\\x09\\x7f");
    assert_shown("\xc2\x9b\xc2\xa0\x9b\xff", DLB_ESCAPE_NAME, "\\xc2\\x9b\xc2\xa0\\x9b\\xff");
    assert_shown("\\x41\xff\n", DLB_ESCAPE_NAME, "\\x5cx41\\xff\\x0a");
    assert_shown("\\x41\xff\n", DLB_ESCAPE_BACKSLASH, "\\x5cx41\\xff\n");
    assert_shown("\\x41\xff\n", DLB_ESCAPE_CONTROLS, "\\x41\\xff\\x0a");
    assert_shown("", DLB_ESCAPE_NAME, "");
}

/* What is no character: overlong, a surrogate, beyond the last code point, cut. */
static void knows_utf8(void **state)
{
    static const char *const none[] = {"\xc0\xaf",         "\xe0\x80\xaf", "\xed\xa0\x80",
                                       "\xf4\x90\x80\x80", "\xc3",         "\xe2\x82",
                                       "\xf0\x9f\x98",     "\x80",         "\xf8\x88\x80\x80\x80"};
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(dlb_utf8_bytes(none[i], strlen(none[i])), 0);
        assert_comes_back(none[i]);
    }
    assert_int_equal(dlb_utf8_bytes("\xe2\x82\xac", 3), 3);
    assert_int_equal(dlb_utf8_bytes("\xf4\x8f\xbf\xbf", 4), 4);
    assert_int_equal(dlb_utf8_bytes("", 0), 0);
}

static void every_pair_of_bytes_comes_back(void **state)
{
    (void)state;
    for (int a = 1; a < 256; a++)
        for (int b = 0; b < 256; b++) {
            const char text[] = {(char)a, (char)b, 'x', '4', '1', '\0'};
            assert_comes_back(text);
        }
}

static void random_texts_come_back(void **state)
{
    static const char often[] = "\\x5c\xc3\xa4\xe2\x82\xac\xc2\x9b";
    struct dlb_rng rng = dlb_rng_seed(7, 0, 0);
    char text[40];

    (void)state;
    for (int i = 0; i < 20000; i++) {
        size_t n = dlb_rng_below(&rng, sizeof text);
        for (size_t k = 0; k < n; k++)
            text[k] = dlb_rng_below(&rng, 2) ? often[dlb_rng_below(&rng, sizeof often - 1)]
                                             : (char)(1 + dlb_rng_below(&rng, 255));
        text[n] = '\0';
        assert_comes_back(text);
    }
}

/* An escape or a character that does not fit is left out whole. */
static void cuts_no_escape(void **state)
{
    static const char text[] = "a\xe2\x82\xac\033z";
    static const char *const shown[] = {"",
                                        "a",
                                        "a",
                                        "a",
                                        "a\xe2\x82\xac",
                                        "a\xe2\x82\xac",
                                        "a\xe2\x82\xac",
                                        "a\xe2\x82\xac",
                                        "a\xe2\x82\xac\\x1b",
                                        "a\xe2\x82\xac\\x1bz"};
    char out[16];

    (void)state;
    for (size_t n = 1; n <= sizeof shown / sizeof *shown; n++) {
        assert_int_equal(dlb_escape(text, SIZE_MAX, DLB_ESCAPE_NAME, out, n), 9);
        assert_string_equal(out, shown[n - 1]);
    }
    assert_int_equal(dlb_escape(text, 3, DLB_ESCAPE_NAME, out, sizeof out), 9);
    assert_string_equal(out, "a\\xe2\\x82"); /* the text ends in the middle of a character */
}

static void other_backslashes_stay(void **state)
{
    char text[] = "\\x4 \\xg0 \\x4G \\x00 \\x \\";
    (void)state;
    assert_string_equal(dlb_unescape(text), "\\x4 \\xg0 \\x4G \\x00 \\x \\");
}

static void json_holds_any_name(void **state)
{
    static const char name[] = "\033]0;x\a\x7f\xc2\x9b\xff\\x41\n\"";
    char back[sizeof name];
    json_t *doc = dlb_json_made(json_object());

    (void)state;
    dlb_json_put(doc, "name", dlb_json_safe_text(name));
    char *text = dlb_json_dumped(doc, JSON_COMPACT);
    assert_harmless(text, DLB_ESCAPE_CONTROLS);
    assert_string_equal(text,
                        "{\"name\":\"\\u001B]0;x\\u0007\\u007F\\u009B\\\\xff\\\\x5cx41\\n\\\"\"}");
    json_t *read = json_loads(text, 0, NULL);
    dlb_json_take_text(read, "name", back, sizeof back);
    assert_string_equal(back, name);
    json_decref(read);
    json_decref(doc);
    free(text);
}

/* Characters of 1, 2, 3 and 4 bytes, and bytes that are none. */
static void cuts_no_character(void **state)
{
    static const char text[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9d\x84\x9e\x80\x80";
    static const size_t whole[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 12, 12};
    char out[16];

    (void)state;
    for (size_t max = 0; max < sizeof whole / sizeof *whole; max++) {
        assert_int_equal(dlb_cut(text, max), whole[max]);
        dlb_cut_text(out, max + 1, text);
        assert_int_equal(strlen(out), whole[max]);
        assert_memory_equal(out, text, whole[max]);
        (void)snprintf(out, sizeof out, "%.*s|", DLB_CUT_KEY(text + 1, 2, max));
        assert_string_equal(out, max < 2 ? "|" : "\xc3\xa4|");
    }
    /* What is given whole stays as it is, half a character at its end as well. */
    assert_int_equal(dlb_cut("a\xc3", 2), 2);
    (void)snprintf(out, sizeof out, "%.*s|", DLB_CUT_KEY("a\xc3\xa4", 2, 2));
    assert_string_equal(out, "a\xc3|");
    assert_int_equal(dlb_cut(NULL, 2), 0);
}

static void a_line_is_one_line(void **state)
{
    char line[100] = "";
    FILE *out = tmpfile();

    (void)state;
    assert_non_null(out);
    dlb_say(out, "%s: \xc3\xa4", "a\nb\033\xff");
    rewind(out);
    assert_int_equal(fread(line, 1, sizeof line - 1, out), strlen("a\\x0ab\\x1b\\xff: \xc3\xa4\n"));
    assert_string_equal(line, "a\\x0ab\\x1b\\xff: \xc3\xa4\n");
    (void)fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes_by_the_rules),
        cmocka_unit_test(knows_utf8),
        cmocka_unit_test(every_pair_of_bytes_comes_back),
        cmocka_unit_test(random_texts_come_back),
        cmocka_unit_test(cuts_no_escape),
        cmocka_unit_test(other_backslashes_stay),
        cmocka_unit_test(json_holds_any_name),
        cmocka_unit_test(cuts_no_character),
        cmocka_unit_test(a_line_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
