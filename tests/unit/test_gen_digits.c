/* Names that gen numbers sort as their numbers do, however many there are. */
#include "formats/generate/names.h"
#include "formats/generate/verify.h"
#include "formats/tokens/tokens.h"
#include "tests/support/dataset.h"
#include "tests/support/gen_target.h"

static struct dlb_err err;

static void write_unit(const struct generation *g, uint64_t unit)
{
    atomic_bool stop = false;
    struct dlb_gen_worker worker = {.stop = &stop};

    assert_int_equal(g->gen.format->generator->unit(&g->gen, unit, &worker, &err), DLB_OK);
    dlb_bytes_free(&worker.sample);
}

static void test_digits(void **state)
{
    static const struct {
        uint64_t n;
        int least, digits;
    } cases[] = {{0, 4, 4},       {1, 4, 4},       {10000, 4, 4},       {10001, 4, 5}, {1000, 1, 3},
                 {1000000, 6, 6}, {1000001, 6, 7}, {UINT64_MAX, 6, 20}, {10, 1, 1},    {11, 1, 2}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(dlb_names_digits(cases[i].n, cases[i].least), cases[i].digits);
}

/* The label of a file is the place of its folder among all: here, of those that have a file. */
static void test_many_classes(void **state)
{
    static const uint32_t labels[] = {0, 1001, 1002, 10000};
    enum { N = sizeof labels / sizeof *labels };
    const struct dlb_dest none = {NULL, 0};
    struct generation g;
    struct dlb_dataset ds;
    struct dlb_sample sample;
    uint64_t number = 0;

    (void)state;
    generation_set(&g, "files", "raw", target, 10001, 8);
    g.opts.classes = 10001;
    assert_int_equal(mkdir(target, 0755), 0);
    for (size_t k = 0; k < N; k++, number = 0) {
        char path[600];
        (void)snprintf(path, sizeof path, "%s/class_%05u", target, labels[k]);
        assert_int_equal(mkdir(path, 0755), 0);
        while (dlb_gen_label(&g.opts, number) != labels[k])
            number++;
        write_unit(&g, number);
    }
    assert_int_equal(dataset_open(&ds, "files", "raw", target, &err), DLB_OK);
    assert_int_equal(ds.shape.n_samples, N);
    void *reader = dataset_reader(&ds);
    for (uint32_t k = 0; k < N; k++) {
        dlb_sample_clear(&sample);
        assert_int_equal(ds.format->reader->read(reader, k, none, &sample, &err), DLB_OK);
        assert_int_equal(sample.label, k);
        number = g.gen.format->generator->number(&sample);
        assert_int_equal(dlb_gen_label(&g.opts, number), labels[k]);
        assert_true(g.gen.format->generator->makes(&g.gen, sample.path + strlen(target) + 1));
    }
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
}

static void check_units(const struct generation *g, const char *name, const char *last,
                        const char *short_name)
{
    char path[600];

    if (g->gen.format->missing)
        return;
    (void)mkdir(target, 0755);
    write_unit(g, 999);
    (void)snprintf(path, sizeof path, "%s/%s", target, name);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(g->gen.format->generator->units(&g->gen), 1000001);
    assert_true(g->gen.format->generator->makes(&g->gen, name));
    assert_true(g->gen.format->generator->makes(&g->gen, last));
    assert_false(g->gen.format->generator->makes(&g->gen, short_name));
}

static void test_many_units(void **state)
{
    struct dlb_tokens_opts tokens = dlb_tokens_opts_of(NULL);
    struct generation g;

    (void)state;
    generation_set(&g, "webdataset", "raw", target, 1000001000, 1);
    check_units(&g, "shard-0000999.tar", "shard-1000000.tar", "shard-000999.tar");
    generation_set(&g, "tfrecord", "raw", target, 1000001000, 1);
    check_units(&g, "shard-0000999.tfrecord", "shard-1000000.tfrecord", "shard-000999.tfrecord");
    generation_set(&g, "tokens", "tokens", target, 1000001, 1);
    tokens.seq_len = 4;
    tokens.file_tokens = 5;
    tokens.layout = DLB_TOKENS_MEGATRON;
    g.gen.format_opts = &tokens;
    check_units(&g, "tokens-0000999.bin", "tokens-1000000.idx", "tokens-000999.bin");
    assert_true(folder_has("data/tokens-0000999.idx"));
}

/* The bytes are right, and the labels of two classes are exchanged. */
static void test_wrong_labels(void **state)
{
    struct generation g;
    struct dlb_dataset ds;
    uint32_t n_checked = 0;
    char zero[600], one[600], aside[600];

    (void)state;
    generation_set(&g, "files", "raw", target, 20, 100);
    assert_int_equal(generation_run(&g, 1), DLB_OK);
    (void)snprintf(zero, sizeof zero, "%s/class_0000", target);
    (void)snprintf(one, sizeof one, "%s/class_0001", target);
    (void)snprintf(aside, sizeof aside, "%s/aside", folder);
    assert_int_equal(dataset_open(&ds, "files", "raw", target, &err), DLB_OK);
    assert_int_equal(dlb_gen_verify(&g.gen, &ds, &n_checked, &err), DLB_OK);
    assert_int_equal(n_checked, 20);
    dlb_dataset_close(&ds);
    assert_int_equal(rename(zero, aside), 0);
    assert_int_equal(rename(one, zero), 0);
    assert_int_equal(rename(aside, one), 0);
    assert_int_equal(dataset_open(&ds, "files", "raw", target, &err), DLB_OK);
    assert_int_equal(dlb_gen_verify(&g.gen, &ds, &n_checked, &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_READ_BACK_DIFFERS);
    assert_int_equal(strncmp(err.path, zero, strlen(zero)), 0);
    dlb_dataset_close(&ds);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_target, folder_remove)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digits),
        IN_FOLDER(test_many_classes),
        IN_FOLDER(test_many_units),
        IN_FOLDER(test_wrong_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
