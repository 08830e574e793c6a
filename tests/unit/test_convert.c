/* formats/convert: errors of a writer are found, and everything written is removed. */
#include "tests/support/folder.h"

#include "tests/support/dataset.h"

#include "formats/convert/convert.h"

#include <dirent.h>
#include <errno.h>

enum { N = 30 };

static struct dlb_err err;

static struct dlb_sample sample_with(const char *name, const char *content, uint32_t label)
{
    struct dlb_sample sample = {.n_fields = 2, .label = label, .labelled = true};
    sample.field[0] = (struct dlb_field){(const uint8_t *)"x", 1, ""};
    sample.field[1] = (struct dlb_field){(const uint8_t *)content, strlen(content), name};
    return sample;
}

static void a_label_is_told_from_content(void **state)
{
    static const struct {
        const char *name, *content;
        uint32_t label;
        bool is;
    } cases[] = {
        {"cls", "7", 7, true},   {"cls", " 7\r\n", 7, true},
        {"cls", "07", 7, true},  {"cls", "4294967295", UINT32_MAX, true},
        {"cls", "8", 7, false},  {"cls", "7 cats", 7, false},
        {"cls", "", 0, false},   {"cls", "cat", 0, false},
        {"cls", "\n", 0, false}, {"cls", "18446744073709551623", 7, false},
        {"json", "7", 7, false}, {"cls", "-7", 7, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dlb_sample sample = sample_with(cases[i].name, cases[i].content, cases[i].label);
        assert_int_equal(dlb_field_is_label(&sample, 1), cases[i].is);
        assert_false(dlb_field_is_label(&sample, 0));
    }
    struct dlb_sample alone = sample_with("cls", "7", 7);
    alone.field[0] = alone.field[1];
    alone.n_fields = 1;
    assert_false(dlb_field_is_label(&alone, 0)); /* a sample's only field is its value */
}

/* The writer of format files, with an error at sample 5. */
static enum { WELL, FLIP, DROP, RELABEL, TWICE, FULL, SHORT } mischief;

static int bad_add(void *wr, const struct dlb_sample *sample, struct dlb_err *why)
{
    struct dlb_sample changed = *sample;
    uint8_t data[64];

    if (sample->index == 5 && mischief == DROP)
        return DLB_OK;
    if (sample->index == 5 && mischief == FULL) {
        errno = ENOSPC;
        return dlb_fail_errno(why, "somewhere", 17, "writing");
    }
    if (sample->index == 5 && mischief == FLIP) {
        memcpy(data, sample->field[0].data, sample->field[0].len_bytes);
        data[3] ^= 1;
        changed.field[0].data = data;
    }
    if (sample->index == 5 && mischief == SHORT)
        changed.field[0].len_bytes--;
    if (sample->index == 5 && mischief == RELABEL)
        changed.label ^= 1;
    int rc = dlb_format_by_name("files")->writer->add(wr, &changed, why);
    changed.index = N;
    if (rc == DLB_OK && sample->index == 5 && mischief == TWICE)
        rc = dlb_format_by_name("files")->writer->add(wr, &changed, why);
    return rc;
}

static void report(void *ctx, enum dlb_convert_phase phase, uint64_t n_done, uint64_t n_total,
                   uint64_t n_bytes)
{
    unsigned *n = ctx;
    assert_true(n_done <= n_total);
    assert_true(n_bytes <= N * 64);
    n[phase]++;
}

static void skipped(void *ctx, const struct dlb_err *why, bool shard)
{
    (void)ctx, (void)why, (void)shard;
    fail_msg("nothing can be unreadable here");
}

static int convert(struct dlb_converted *out, bool cancel)
{
    struct dlb_format to = *dlb_format_by_name("files");
    struct dlb_dataset ds;
    unsigned n_reports[2] = {0};
    atomic_bool stop = cancel;
    struct dlb_convert_watch watch = {
        .report = report, .skipped = skipped, .ctx = n_reports, .cancel = &stop};
    char from[512], path[512];

    (void)snprintf(from, sizeof from, "%s", folder_path("from"));
    (void)snprintf(path, sizeof path, "%s", folder_path("to"));
    assert_int_equal(dataset_open(&ds, "files", "raw", from, &err), DLB_OK);
    struct dlb_writer writer = *to.writer;
    writer.add = bad_add;
    to.writer = &writer;
    struct dlb_convert how = {
        .from = &ds, .from_path = from, .to = &to, .to_path = path, .watch = &watch};
    int rc = dlb_convert(&how, out, &err);
    dlb_dataset_close(&ds);
    if (rc == DLB_OK)
        assert_true(n_reports[0] > 0 && n_reports[1] > 0);
    return rc;
}

static unsigned n_entries(void)
{
    unsigned n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n - 2;
}

static void write_source(void)
{
    char name[64], content[64];
    folder_sub("from");
    for (int i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof name, "from/%d", i);
        folder_sub(name);
    }
    for (int i = 0; i < N; i++) {
        (void)snprintf(name, sizeof name, "from/%d/%02d.bin", i / 10, i);
        (void)snprintf(content, sizeof content, "sample %d", i);
        folder_write(name, content, strlen(content));
    }
}

static void what_is_wrong_is_found(void **state)
{
    static const struct {
        int mischief;
        enum dlb_code code;
        const char *figures;
        uint64_t n_verified;
    } cases[] = {
        {FLIP, DLB_ERR_READ_BACK_DIFFERS, " 1 of 30 ", 29},
        {SHORT, DLB_ERR_READ_BACK_DIFFERS, " 1 of 30 ", 29},
        {RELABEL, DLB_ERR_READ_BACK_DIFFERS, " 1 of 30 ", 29},
        {DROP, DLB_ERR_READ_BACK_DIFFERS, " 29 ", 0},
        {TWICE, DLB_ERR_READ_BACK_DIFFERS, " 31 ", 0},
        {FULL, DLB_ERR_NO_SPACE, " 5 samples", 0},
    };
    struct dlb_converted done;

    (void)state;
    write_source();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mischief = cases[i].mischief;
        assert_int_equal(convert(&done, false), dlb_code_status(cases[i].code));
        if (err.code != cases[i].code || !strstr(err.what, cases[i].figures))
            fail_msg("%s: \"%s\" instead of %s with \"%s\"", dlb_code_name(err.code), err.what,
                     dlb_code_name(cases[i].code), cases[i].figures);
        assert_string_equal(err.path, folder_path("to"));
        assert_int_equal(done.n_verified, cases[i].n_verified);
        assert_int_equal(n_entries(), 1); /* the source alone */
    }
    assert_int_equal(convert(&done, true), DLB_E_CANCELLED);
    assert_int_equal(n_entries(), 1);
    mischief = WELL;
    assert_int_equal(convert(&done, false), DLB_OK);
    assert_int_equal(done.n_samples, N);
    assert_int_equal(done.n_verified, N);
    assert_int_equal(n_entries(), 2);
    assert_int_equal(convert(&done, false), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_TARGET_EXISTS);
    assert_int_equal(n_entries(), 2);
}

/* More labels than there can be folders, and fields without names. */
static void files_of_odd_samples(void **state)
{
    const struct dlb_format *files = dlb_format_by_name("files");
    _Alignas(64) char writer[256] = {0};
    struct dlb_shape shape = {.n_samples = 3};
    char path[512];

    (void)state;
    (void)snprintf(path, sizeof path, "%s", folder_path("out"));
    struct dlb_write how = {.path = path, .from = &shape};
    assert_true(files->writer->state_bytes <= sizeof writer);
    assert_int_equal(files->writer->open(writer, &how, &err), DLB_OK);
    struct dlb_sample sample = sample_with("ab", "y", 1000000);
    assert_int_equal(files->writer->add(writer, &sample, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_SAMPLE_LABEL_UNFIT);
    assert_non_null(strstr(err.what, " 1000000"));
    sample.label = 2;
    static const char *const unfit[] = {"a/b", "a\nb", "\x7f", "JPG"};
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++) {
        sample = sample_with(unfit[i], "y", 2);
        sample.field[0].name = "jpg";
        assert_int_equal(files->writer->add(writer, &sample, &err), DLB_E_FORMAT);
        assert_int_equal(err.code, DLB_ERR_SAMPLE_FIELD_NAMES);
        assert_false(folder_has("out/class_000002"));
    }
    sample = sample_with("", "y", 2);
    sample.field[0].name = "bin"; /* what a field without a name is called */
    assert_int_equal(files->writer->add(writer, &sample, &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_SAMPLE_FIELD_NAMES);
    sample = sample_with("", "y", 2);
    sample.field[0].name = "a b.j\xc3\xa9";
    sample.index = 1;
    assert_int_equal(files->writer->add(writer, &sample, &err), DLB_OK);
    assert_int_equal(files->writer->add(writer, &sample, &err), DLB_E_IO); /* it never overwrites */
    assert_int_equal(files->writer->finish(writer, &err), DLB_OK);
    files->writer->close(writer);
    assert_true(folder_has("out/class_000000")); /* empty, so that the next keeps its number */
    assert_true(folder_has("out/class_000002/00000001.a b.j\xc3\xa9"));
    assert_true(folder_has("out/class_000002/00000001.bin"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_label_is_told_from_content),
        TEST(what_is_wrong_is_found),
        TEST(files_of_odd_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
