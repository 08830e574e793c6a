#include "core/base/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int64_t parsed(const char *text)
{
    struct dlb_err err;
    int64_t n_bytes = -1;

    if (dlb_bytes_parse(text, &n_bytes, &err) != DLB_OK)
        fail_msg("\"%s\": %s", text, err.what);
    return n_bytes;
}

static void bytes_are_read(void **state)
{
    (void)state;
    assert_int_equal(parsed("0"), 0);
    assert_int_equal(parsed("4096"), 4096);
    assert_int_equal(parsed("10k"), 10000);
    assert_int_equal(parsed("64 KiB"), 65536);
    assert_int_equal(parsed("64kib"), 65536);
    assert_int_equal(parsed("64 MiB"), 64 << 20);
    assert_int_equal(parsed("1.5GB"), 1500000000);
    assert_int_equal(parsed("1.5 gib "), INT64_C(1610612736));
    assert_int_equal(parsed("2TB"), INT64_C(2000000000000));
    assert_int_equal(parsed("3 B"), 3);
    assert_int_equal(parsed("110kB"), 110000);
    assert_int_equal(parsed("9007199254740993"), INT64_C(9007199254740993)); /* 2^53 + 1 */
}

static void bytes_refused(void **state)
{
    static const char *const bad[] = {
        "",
        " ",
        "B",
        "k",
        "-1",
        "1.2.3",
        "12 parsecs",
        "1 kBB",
        "1i",
        "1 iB",
        ".5 k",
        "0x10",
        "1e3",
        "nan",
        "9 EiB",
        "99999999999999999999",
        "10 k B",
        "1,000",
        "1111111111111111111111111111111111111111111111111111111111111111"};
    struct dlb_err err;
    int64_t n_bytes;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (dlb_bytes_parse(bad[i], &n_bytes, &err) != DLB_E_CONFIG)
            fail_msg("\"%s\" was taken as %lld", bad[i], (long long)n_bytes);
        assert_true(err.code == DLB_ERR_CONFIG_WRONG_TYPE ||
                    err.code == DLB_ERR_CONFIG_OUT_OF_RANGE);
    }
}

static void bytes_are_written(void **state)
{
    char text[40];

    (void)state;
    assert_string_equal(dlb_bytes_text(0, text, sizeof text), "0 B");
    assert_string_equal(dlb_bytes_text(512, text, sizeof text), "512 B");
    assert_string_equal(dlb_bytes_text(999, text, sizeof text), "999 B");
    assert_string_equal(dlb_bytes_text(1000, text, sizeof text), "1.00 kB");
    assert_string_equal(dlb_bytes_text(999999, text, sizeof text), "1.00 MB");
    assert_string_equal(dlb_bytes_text(1430000000, text, sizeof text), "1.43 GB");
    assert_string_equal(dlb_bytes_text(110000, text, sizeof text), "110 kB");
    assert_string_equal(dlb_bytes_text(UINT64_MAX, text, sizeof text), "18.4 EB");
    assert_string_equal(dlb_rate_text(1.43e9, text, sizeof text), "1.43 GB/s");
    assert_string_equal(dlb_rate_text(0.0, text, sizeof text), "0 B/s");
    assert_string_equal(dlb_rate_text(0.0 / 1e-300 - 1.0, text, sizeof text), "? B/s");
}

static void counts_are_written(void **state)
{
    char text[40];

    (void)state;
    assert_string_equal(dlb_count_text(0, text, sizeof text), "0");
    assert_string_equal(dlb_count_text(7, text, sizeof text), "7");
    assert_string_equal(dlb_count_text(12.34, text, sizeof text), "12.3");
    assert_string_equal(dlb_count_text(3.456, text, sizeof text), "3.46");
    assert_string_equal(dlb_count_text(0.0345, text, sizeof text), "0.0345");
    assert_string_equal(dlb_count_text(999, text, sizeof text), "999");
    assert_string_equal(dlb_count_text(1000, text, sizeof text), "1,000");
    assert_string_equal(dlb_count_text(1234567.4, text, sizeof text), "1,234,567");
    assert_string_equal(dlb_count_text(-1234, text, sizeof text), "-1,234");
    assert_string_equal(dlb_count_text(-123, text, sizeof text), "-123");
}

static void durations_are_written(void **state)
{
    char text[40];

    (void)state;
    assert_string_equal(dlb_duration_text(0, text, sizeof text), "0 s");
    assert_string_equal(dlb_duration_text(42e-9, text, sizeof text), "42.0 ns");
    assert_string_equal(dlb_duration_text(12.3e-6, text, sizeof text), "12.3 us");
    assert_string_equal(dlb_duration_text(1.2e-3, text, sizeof text), "1.2 ms");
    assert_string_equal(dlb_duration_text(0.250, text, sizeof text), "250 ms");
    assert_string_equal(dlb_duration_text(3.4, text, sizeof text), "3.4 s");
    assert_string_equal(dlb_duration_text(59.99, text, sizeof text), "1 min 0 s");
    assert_string_equal(dlb_duration_text(125, text, sizeof text), "2 min 5 s");
    assert_string_equal(dlb_duration_text(3900, text, sizeof text), "1 h 5 min");
    assert_string_equal(dlb_duration_text(183600, text, sizeof text), "2 d 3 h");
    assert_string_equal(dlb_duration_text(-1, text, sizeof text), "?");
}

/* A short buffer cuts, and still ends. */
static void short_buffers_are_terminated(void **state)
{
    char text[8];

    (void)state;
    memset(text, 'x', sizeof text);
    (void)dlb_count_text(1234567890.0, text, 4);
    assert_int_equal(text[3], '\0');
    assert_int_equal(text[4], 'x');
}

static void edits_are_counted(void **state)
{
    (void)state;
    assert_int_equal(dlb_edit_distance("", "", 9), 0);
    assert_int_equal(dlb_edit_distance("num_workers", "num_workers", 9), 0);
    assert_int_equal(dlb_edit_distance("num_worker", "num_workers", 9), 1);
    assert_int_equal(dlb_edit_distance("swepe", "sweep", 9), 1); /* neighbours swapped */
    assert_int_equal(dlb_edit_distance("abc", "", 9), 3);
    assert_int_equal(dlb_edit_distance("kitten", "sitting", 9), 3);
    assert_int_equal(dlb_edit_distance("ca", "abc", 9), 3); /* a swapped pair is not edited again */
}

static void long_words_are_far_apart(void **state)
{
    char a[300];

    (void)state;
    memset(a, 'a', sizeof a - 1);
    a[sizeof a - 1] = '\0';
    assert_int_equal(dlb_edit_distance(a, "a", 9), 9);
}

/* The smaller of the distance and the limit, for all words of up to four of two letters: rows that
 * are left early must not hide a swap. */
static void edits_are_counted_up_to_a_limit(void **state)
{
    char words[31][5];
    size_t n = 0;

    (void)state;
    for (size_t length = 0; length <= 4; length++)
        for (unsigned letters = 0; letters < 1u << length; letters++, n++) {
            for (size_t i = 0; i < length; i++)
                words[n][i] = letters >> i & 1 ? 'b' : 'a';
            words[n][length] = '\0';
        }
    assert_int_equal(n, 31);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t enough = 1; enough < 6; enough++) {
                size_t all = dlb_edit_distance(words[i], words[k], 9);
                assert_int_equal(dlb_edit_distance(words[i], words[k], enough),
                                 all < enough ? all : enough);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_read),
        cmocka_unit_test(bytes_refused),
        cmocka_unit_test(bytes_are_written),
        cmocka_unit_test(counts_are_written),
        cmocka_unit_test(durations_are_written),
        cmocka_unit_test(short_buffers_are_terminated),
        cmocka_unit_test(edits_are_counted),
        cmocka_unit_test(long_words_are_far_apart),
        cmocka_unit_test(edits_are_counted_up_to_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
