/* The journal's file: what a kill, a power loss, another version and damage leave of it. */
#include "core/base/journal.h"
#include "core/base/json.h"
#include "tests/support/folder.h"

enum { N = 5 };

/* Records of several lengths, with text that needs escapes. */
static json_t *record_of(int i)
{
    char text[200];
    memset(text, 'a' + i, sizeof(text));
    text[20 * i] = '\0';
    return dlb_json_made(json_pack("{si, ss, ss, sf}", "number", i, "text", text, "odd",
                                   "new\nline \"quoted\" \xc3\xa9", "real", 0.1 * i));
}

static void write_journal(const char *name)
{
    struct dlb_journal journal;
    struct dlb_err err;
    for (int i = 0; i < N; i++) {
        json_t *record = record_of(i);
        int rc = i == 0 ? dlb_journal_create(&journal, folder_path(name), record, &err)
                        : dlb_journal_append(&journal, record, &err);
        json_decref(record);
        assert_int_equal(rc, DLB_OK);
    }
    dlb_journal_close(&journal);
}

static void assert_records(const json_t *records, size_t n)
{
    assert_int_equal(json_array_size(records), n);
    for (size_t i = 0; i < n; i++) {
        json_t *wanted = record_of((int)i);
        assert_true(json_equal(json_array_get(records, i), wanted));
        json_decref(wanted);
    }
}

static size_t parsed(const char *text, size_t n_bytes, struct dlb_err *err)
{
    struct dlb_journal_text out;
    if (dlb_journal_parse(text, n_bytes, "j", &out, err))
        return 0;
    size_t n = json_array_size(out.records);
    assert_records(out.records, n);
    json_decref(out.records);
    return n;
}

/* How many lines end within the first n_bytes, and where the last of them ends. */
static size_t whole_lines(const char *text, size_t n_bytes, size_t *end)
{
    size_t n = 0;
    *end = 0;
    for (size_t i = 0; i < n_bytes; i++)
        if (text[i] == '\n') {
            n++;
            *end = i + 1;
        }
    return n;
}

static void test_what_is_written_is_read(void **state)
{
    (void)state;
    struct dlb_journal journal;
    struct dlb_err err;
    json_t *records;
    write_journal("j");
    assert_int_equal(dlb_journal_open(&journal, folder_path("j"), &records, &err), DLB_OK);
    assert_records(records, N);
    json_decref(records);
    json_t *one = record_of(N);
    assert_int_equal(dlb_journal_append(&journal, one, &err), DLB_OK);
    json_decref(one);
    dlb_journal_close(&journal);
    assert_int_equal(dlb_journal_open(&journal, folder_path("j"), &records, &err), DLB_OK);
    assert_records(records, N + 1);
    json_decref(records);
    dlb_journal_close(&journal);
}

/* Every line is JSON by itself, for other programs. */
static void test_lines_are_json(void **state)
{
    (void)state;
    size_t n_bytes, at = 0;
    write_journal("j");
    char *text = (char *)folder_read("j", &n_bytes);
    for (int i = 0; i < N; i++) {
        size_t n = (size_t)((char *)memchr(text + at, '\n', n_bytes - at) - (text + at));
        json_t *line = json_loadb(text + at, n, 0, NULL);
        assert_int_equal(dlb_json_u64(line, "journal", 0), DLB_JOURNAL_VERSION);
        assert_int_equal(dlb_json_u64(json_object_get(line, "record"), "number", 99), i);
        json_decref(line);
        at += n + 1;
    }
    assert_int_equal(at, n_bytes);
    free(text);
}

/* Cut at each byte: the whole records before it are there, and the next one follows them. */
static void test_cut_at_every_byte(void **state)
{
    (void)state;
    size_t n_bytes;
    write_journal("j");
    char *text = (char *)folder_read("j", &n_bytes);
    for (size_t cut = n_bytes; cut > 0; cut--) {
        struct dlb_journal journal;
        struct dlb_err err;
        json_t *records;
        size_t end, n_whole = whole_lines(text, cut, &end);
        folder_write("cut", text, cut);
        int rc = dlb_journal_open(&journal, folder_path("cut"), &records, &err);
        if (n_whole == 0) {
            assert_int_equal(rc, DLB_E_FORMAT);
            assert_int_equal(err.code, DLB_ERR_JOURNAL_DAMAGED);
            dlb_journal_close(&journal);
            continue;
        }
        assert_int_equal(rc, DLB_OK);
        assert_records(records, n_whole);
        json_decref(records);
        json_t *one = record_of((int)n_whole);
        assert_int_equal(dlb_journal_append(&journal, one, &err), DLB_OK);
        json_decref(one);
        dlb_journal_close(&journal);
        assert_int_equal(dlb_journal_open(&journal, folder_path("cut"), &records, &err), DLB_OK);
        assert_records(records, n_whole + 1);
        json_decref(records);
        dlb_journal_close(&journal);
    }
    free(text);
}

/* A power loss can leave zeros where the last record was to be, in part or beyond it. */
static void test_holes_in_the_last_record(void **state)
{
    (void)state;
    struct dlb_err err;
    size_t n_bytes, end;
    write_journal("j");
    char *text = (char *)folder_read("j", &n_bytes);
    (void)whole_lines(text, n_bytes - 1, &end);
    char *holed = malloc(n_bytes + 4096);
    assert_non_null(holed);
    for (size_t from = end; from < n_bytes; from++)
        for (size_t to = from + 1; to <= n_bytes; to += 1 + (to - from) / 2) {
            memcpy(holed, text, n_bytes);
            memset(holed + from, 0, to - from);
            assert_int_equal(parsed(holed, n_bytes, &err), N - 1);
        }
    memcpy(holed, text, n_bytes);
    memset(holed + n_bytes, 0, 4096);
    assert_int_equal(parsed(holed, n_bytes + 4096, &err), N);
    free(holed);
    free(text);
}

/* Any byte of a record that others follow: refused, and the offset is that record's. */
static void test_damage_in_the_middle(void **state)
{
    (void)state;
    struct dlb_err err;
    size_t n_bytes, last, end;
    write_journal("j");
    char *text = (char *)folder_read("j", &n_bytes);
    (void)whole_lines(text, n_bytes - 1, &last);
    for (size_t i = 0; i < n_bytes; i++)
        for (int bit = 0; bit < 8; bit++) {
            text[i] = (char)(text[i] ^ (1 << bit));
            size_t n = parsed(text, n_bytes, &err);
            text[i] = (char)(text[i] ^ (1 << bit));
            if (i >= last) { /* as torn, unless the byte looks as if more followed */
                assert_true(n == N - 1 || (n == 0 && err.code == DLB_ERR_JOURNAL_DAMAGED));
                continue;
            }
            assert_int_equal(n, 0);
            assert_true(err.code == DLB_ERR_JOURNAL_DAMAGED ||
                        (err.code == DLB_ERR_JOURNAL_VERSION && i < sizeof("{\"journal\":1,")));
            (void)whole_lines(text, i, &end);
            assert_true(err.code == DLB_ERR_JOURNAL_VERSION || err.offset_bytes == end);
        }
    free(text);
}

/* Whole lines that are lost, twice there, or from another journal. */
static void test_lines_out_of_place(void **state)
{
    (void)state;
    struct dlb_err err;
    size_t n_bytes, at[N + 1] = {0};
    write_journal("j");
    char *text = (char *)folder_read("j", &n_bytes), *out = malloc(2 * n_bytes);
    assert_non_null(out);
    for (int i = 0; i < N; i++)
        at[i + 1] =
            at[i] + (size_t)((char *)memchr(text + at[i], '\n', n_bytes) - (text + at[i])) + 1;
    for (int lost = 0; lost < N - 1; lost++) {
        memcpy(out, text, at[lost]);
        memcpy(out + at[lost], text + at[lost + 1], n_bytes - at[lost + 1]);
        size_t n = parsed(out, n_bytes - (at[lost + 1] - at[lost]), &err);
        /* The last line behind a lost one looks like one that was not finished. */
        assert_int_equal(n, lost == N - 2 ? N - 2 : 0);
        assert_true(n > 0 || err.code == DLB_ERR_JOURNAL_DAMAGED);
    }
    for (int twice = 0; twice < N - 1; twice++) {
        memcpy(out, text, at[twice + 1]);
        memcpy(out + at[twice + 1], text + at[twice], n_bytes - at[twice]);
        assert_int_equal(parsed(out, n_bytes + at[twice + 1] - at[twice], &err), 0);
        assert_int_equal(err.code, DLB_ERR_JOURNAL_DAMAGED);
        assert_int_equal(err.offset_bytes, at[twice + 1]);
    }
    free(out);
    free(text);
}

static void test_another_version(void **state)
{
    (void)state;
    struct dlb_err err;
    static const char next[] = "{\"journal\":2,\"anything\":[]}\n";
    static const char *const none[] = {"",
                                       "{",
                                       "{\"journal\":",
                                       "{\"journal\":1",
                                       "[]\n",
                                       "\n\n\n",
                                       "{\"journal\":x,\"bytes\":1}\n"};
    assert_int_equal(parsed(next, strlen(next), &err), 0);
    assert_int_equal(err.code, DLB_ERR_JOURNAL_VERSION);
    assert_non_null(strstr(err.what, "2"));
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
        assert_int_equal(parsed(none[i], strlen(none[i]), &err), 0);
        assert_int_equal(err.code, DLB_ERR_JOURNAL_DAMAGED);
        assert_int_equal(err.offset_bytes, 0);
    }
}

static void test_what_looks_like_one(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool looks, one;
    } cases[] = {{"", false, true},
                 {"{\"journal\":\"my own\"}\n", false, true},
                 {"{\"journal\":2,\"x\":1}\n", true, false},
                 {"notes\n", false, true}};
    bool one;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        folder_write("own", cases[i].text, strlen(cases[i].text));
        int fd = open(folder_path("own"), O_RDONLY);
        assert_int_equal(dlb_journal_looks(fd, &one), cases[i].looks);
        assert_int_equal(one, cases[i].one);
        (void)close(fd);
    }
    write_journal("j");
    int fd = open(folder_path("j"), O_RDWR);
    assert_true(dlb_journal_looks(fd, &one));
    assert_false(one);
    size_t n_bytes;
    char *text = (char *)folder_read("j", &n_bytes);
    assert_int_equal(ftruncate(fd, (char *)memchr(text, '\n', n_bytes) - text + 1), 0);
    assert_true(dlb_journal_looks(fd, &one));
    assert_true(one);
    (void)close(fd);
    free(text);
}

static void test_a_journal_that_is_removed(void **state)
{
    (void)state;
    struct dlb_journal journal;
    struct dlb_err err;
    json_t *one = record_of(0);
    assert_int_equal(dlb_journal_create(&journal, folder_path("j"), one, &err), DLB_OK);
    assert_int_equal(unlink(folder_path("j")), 0);
    assert_int_equal(dlb_journal_append(&journal, one, &err), DLB_E_IO);
    assert_int_equal(err.code, DLB_ERR_JOURNAL_LOST);
    dlb_journal_close(&journal);
    assert_int_equal(dlb_journal_create(&journal, folder_path("j"), one, &err), DLB_OK);
    assert_int_equal(rename(folder_path("j"), folder_path("k")), 0);
    folder_write("j", "another", 7);
    assert_int_equal(dlb_journal_append(&journal, one, &err), DLB_E_IO);
    assert_int_equal(err.code, DLB_ERR_JOURNAL_LOST);
    dlb_journal_close(&journal);
    json_t *records = NULL;
    assert_int_equal(dlb_journal_open(&journal, folder_path("k"), &records, &err), DLB_OK);
    assert_int_equal(json_array_size(records), 1); /* what was there before */
    json_decref(records);
    dlb_journal_close(&journal);
    assert_int_equal(dlb_journal_create(&journal, folder_path("no/j"), one, &err), DLB_E_IO);
    dlb_journal_close(&journal);
    json_decref(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_lines_are_json),
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_holes_in_the_last_record),
        cmocka_unit_test(test_damage_in_the_middle),
        cmocka_unit_test(test_lines_out_of_place),
        cmocka_unit_test(test_another_version),
        cmocka_unit_test(test_what_looks_like_one),
        cmocka_unit_test(test_a_journal_that_is_removed),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
