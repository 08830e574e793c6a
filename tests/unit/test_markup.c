#include "reports/markup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_becomes(enum dlb_markup how, const char *words, const char *wanted)
{
    struct dlb_text text = {0};
    dlb_markup_text(&text, words, how);
    assert_string_equal(text.data ? text.data : "", wanted);
    dlb_text_free(&text);
}

static void test_html_is_inert(void **state)
{
    (void)state;
    assert_becomes(DLB_MARKUP_HTML, "plain, \xc3\xa4 and \xe2\x82\xac",
                   "plain, \xc3\xa4 and \xe2\x82\xac");
    assert_becomes(DLB_MARKUP_HTML, "</script><b a=\"1\" c='2'>&amp;",
                   "&lt;/script&gt;&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
    assert_becomes(DLB_MARKUP_HTML, "a\nb\tc\x01\x7f", "a\\x0ab\\x09c\\x01\\x7f");
    assert_becomes(DLB_MARKUP_HTML, "no \xff UTF-8", "no \\xff UTF-8");
    assert_becomes(DLB_MARKUP_HTML, "", "");
}

/* Every character that changes the direction or the line of what is behind it. */
static void test_directions_are_named(void **state)
{
    (void)state;
    static const unsigned unseen[] = {0x61c,  0x200b, 0x200e, 0x200f, 0x2028, 0x2029,
                                      0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066,
                                      0x2067, 0x2068, 0x2069, 0xfeff};
    for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++)
        for (int how = DLB_MARKUP_HTML; how <= DLB_MARKUP_NONE; how++) {
            unsigned c = unseen[i];
            char words[8], wanted[16];
            if (c < 0x800)
                (void)snprintf(words, sizeof(words), "%c%c", (int)(0xc0 | c >> 6),
                               (int)(0x80 | (c & 0x3f)));
            else
                (void)snprintf(words, sizeof(words), "%c%c%c", (int)(0xe0 | c >> 12),
                               (int)(0x80 | (c >> 6 & 0x3f)), (int)(0x80 | (c & 0x3f)));
            (void)snprintf(wanted, sizeof(wanted), "[U+%04X]", c);
            assert_becomes((enum dlb_markup)how, words, wanted);
        }
    assert_becomes(DLB_MARKUP_NONE, "a\xf3\xa0\x81\x81z", "a[U+E0041]z"); /* a tag */
    /* Letters that are written from right to left are a name's own. */
    assert_becomes(DLB_MARKUP_HTML, "\xd7\xa9\xd7\x9c", "\xd7\xa9\xd7\x9c");
}

static void test_markdown_is_inert(void **state)
{
    (void)state;
    assert_becomes(DLB_MARKUP_MARKDOWN, "a|b `c` *d* _e_ [f](g) <h> & \\ ~i~",
                   "a\\|b \\`c\\` \\*d\\* \\_e\\_ \\[f\\](g) &lt;h\\> &amp; \\\\ \\~i\\~");
    assert_becomes(DLB_MARKUP_MARKDOWN, "line\n# title", "line\\x0a# title");
}

/* The JSON reads back as it was, and no character in it means anything to HTML. */
static void test_json_in_a_script(void **state)
{
    (void)state;
    static const char name[] =
        "</script><!-- \"'&\xe2\x80\xa8\xe2\x80\xae\x01\xc2\x85\xf0\x9f\x98\x80";
    json_t *doc = json_pack("{ss, sf, sn}", "run_name", name, "x", 0.1, "none"), *back;
    struct dlb_text text = {0};
    dlb_markup_json(&text, doc);
    for (size_t i = 0; i < text.len_bytes; i++) {
        assert_in_range(text.data[i], 0x20, 0x7e);
        assert_null(strchr("<>", text.data[i]));
    }
    back = json_loads(text.data, 0, NULL);
    assert_true(json_equal(doc, back));
    json_decref(back);
    json_decref(doc);
    dlb_text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_html_is_inert),
        cmocka_unit_test(test_directions_are_named),
        cmocka_unit_test(test_markdown_is_inert),
        cmocka_unit_test(test_json_in_a_script),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
