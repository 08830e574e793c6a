/* TFRecord: shards, records, features of tf.train.Example, and every way to be damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/tfrecord/example.h"
#include "formats/tfrecord/tfrecord.h"
#include "tests/support/error.h"
#include "tests/support/opened.h"
#include "tests/support/tfrecord.h"

static const struct dlb_tfr_opts checked = {.crc = true}, unchecked = {.crc = false};

/* n records; record i is i % 7 * 100000 / 6 bytes of i. */
static size_t record_bytes(uint64_t i)
{
    return (size_t)(i % 7 * 100000 / 6);
}

static void write_shard(const char *name, uint64_t first, uint64_t n)
{
    uint8_t *data = malloc(n * 100016 + 1), *record = malloc(100000);
    size_t end = 0;
    assert_non_null(data);
    assert_non_null(record);
    for (uint64_t i = first; i < first + n; i++) {
        memset(record, (int)i, record_bytes(i));
        end = tfr_add(data, end, record, record_bytes(i));
    }
    folder_write(name, data, end);
    free(record);
    free(data);
}

/* Reads on through an opened shard and expects records [first, first + n). */
static void expect(struct opened_set *set, uint64_t first, uint64_t n)
{
    uint8_t *record = malloc(100000);
    assert_non_null(record);
    for (uint64_t i = first; i < first + n; i++) {
        if (opened_next(set) != DLB_OK)
            fail_msg("record %d: %s", (int)i, set->err.what);
        memset(record, (int)i, record_bytes(i));
        opened_is(set, record, record_bytes(i));
        assert_int_equal(set->sample.index, i);
    }
    free(record);
}

static void shards(void **state)
{
    struct opened_set set;
    uint64_t io_bytes = 0;
    (void)state;
    write_shard("b-00001-of-00002", 20, 30);
    write_shard("b-00000-of-00002", 0, 20);
    write_shard("c.tfrecord", 50, 1);
    folder_write("d.tfrecord", "", 0);
    folder_write("c.tfrecord.gz", "\x1f\x8b", 2);
    folder_write("c.tfrecord.idx", "0 1", 3);
    folder_write("notes.txt", "", 0);
    opened_must(&set, "tfrecord", "raw", folder, &checked);
    assert_int_equal(set.ds.shape.n_samples, 51);
    assert_int_equal(set.ds.shape.n_shards, 4);
    assert_int_equal(set.ds.shape.max_sample_bytes, 100000);
    assert_int_equal(set.ds.shape.n_odd, 3);
    assert_memory_equal(set.ds.shape.odd[0], "1 shard ", 8);
    assert_non_null(strstr(set.ds.shape.odd[1], "1 compressed"));
    assert_non_null(strstr(set.ds.shape.odd[2], "2 files"));
    assert_int_equal(opened_shard(&set, 1), DLB_OK);
    expect(&set, 20, 30);
    assert_int_equal(opened_next(&set), DLB_END);
    assert_int_equal(opened_next(&set), DLB_END);
    assert_int_equal(opened_shard(&set, 0), DLB_OK);
    expect(&set, 0, 7); /* and leave it half read */
    assert_int_equal(opened_shard(&set, 2), DLB_OK);
    expect(&set, 50, 1);
    io_bytes += set.sample.io_bytes;
    assert_true(io_bytes >= record_bytes(50) && io_bytes <= record_bytes(50) + 16);
    assert_int_equal(opened_shard(&set, 3), DLB_OK);
    assert_int_equal(opened_next(&set), DLB_END);
    assert_int_equal(set.ds.format->reader->shard_samples(set.ds.state, 1), 30);
    opened_close(&set);
    opened_must(&set, "tfrecord", "raw", folder_path("c.tfrecord"), NULL);
    assert_int_equal(set.ds.shape.n_samples, 1);
    opened_close(&set);
}

/* What is wrong with a shard may be anything: it is said of which, and what. */
static void unreadable_ones_are_named(void **state)
{
    static const char wrong[] = "this is no record at all, whatever its name";
    struct opened_set set;
    (void)state;
    write_shard("a.tfrecord", 0, 2);
    folder_write("b.tfrecord", wrong, sizeof wrong);
    opened_must(&set, "tfrecord", "raw", folder, NULL);
    assert_int_equal(set.ds.shape.n_samples, 2);
    assert_int_equal(set.ds.shape.n_odd, 1);
    assert_memory_equal(set.ds.shape.odd[0], "1 shard ", 8);
    assert_non_null(strstr(set.ds.shape.odd[0], ": b.tfrecord @ 0: "));
    opened_close(&set);
    folder_write("c.tfrecord", wrong, sizeof wrong);
    opened_must(&set, "tfrecord", "raw", folder, NULL);
    assert_memory_equal(set.ds.shape.odd[0], "2 shards ", 9);
    assert_non_null(strstr(set.ds.shape.odd[0], ": b.tfrecord @ 0: "));
    opened_close(&set);
}

/* Neither a long folder nor a long name takes the reason's place. */
static void long_names_leave_the_reason(void **state)
{
    static const char wrong[] = "this is no record at all, whatever its name";
    char path[128], name[256];
    struct opened_set set;
    (void)state;
    (void)snprintf(path, sizeof path, "%0120d", 0);
    folder_sub(path);
    (void)snprintf(name, sizeof name, "%.120s/a%060d.tfrecord", path, 7);
    folder_write(name, wrong, sizeof wrong);
    (void)snprintf(name, sizeof name, "%.120s/b.tfrecord", path);
    folder_write(name, wrong, sizeof wrong);
    (void)snprintf(name, sizeof name, "%.120s/c.tfrecord", path);
    write_shard(name, 0, 2);
    opened_must(&set, "tfrecord", "raw", folder_path(path), NULL);
    const char *odd = set.ds.shape.odd[0];
    assert_memory_equal(odd, "2 shards ", 9);
    assert_non_null(strstr(odd, " ...0000000000000000000000000000007.tfrecord @ 0: "));
    assert_string_equal(odd + strlen(odd) - 11, "(gunzip it)"); /* the reason's end */
    opened_close(&set);
}

static void into_place(void **state)
{
    struct opened_set set;
    uint8_t *there = malloc(100000);
    (void)state;
    assert_non_null(there);
    write_shard("a.tfrecord", 0, 7);
    opened_must(&set, "tfrecord", "raw", folder, &checked);
    assert_int_equal(opened_shard(&set, 0), DLB_OK);
    for (uint64_t i = 0; i < 7; i++) {
        set.sample = (struct dlb_sample){.offset_bytes = DLB_NO_OFFSET};
        struct dlb_dest dest = {there, i == 5 ? record_bytes(i) - 1 : 100000};
        assert_int_equal(set.ds.format->reader->next(set.reader, dest, &set.sample, &set.err),
                         DLB_OK);
        assert_int_equal(set.sample.field[0].len_bytes, record_bytes(i));
        if (i != 5)
            assert_ptr_equal(set.sample.field[0].data, there);
        else
            assert_ptr_not_equal(set.sample.field[0].data, there);
    }
    opened_close(&set);
    free(there);
}

static void features(void **state)
{
    struct dlb_tfr_opts opts = {.crc = true, .feature = "image/encoded", .label = "l"};
    struct dlb_bytes example = {0};
    struct opened_set set;
    uint8_t file[4096];
    size_t end = 0;
    (void)state;
    for (int64_t label = -1; label < 3; label++) {
        example.len_bytes = 0;
        assert_int_equal(dlb_example_append(&example, "image/encoded", (const uint8_t *)"JPEG", 4,
                                            "l", label * 1000, &set.err),
                         DLB_OK);
        end = tfr_add(file, end, example.data, example.len_bytes);
    }
    end = tfr_add(file, end, "\x0a\x00", 2); /* no features */
    folder_write("a.tfrecord", file, end);
    opened_must(&set, "tfrecord", "raw", folder, &opts);
    assert_int_equal(set.ds.shape.n_samples, 5);
    assert_int_equal(opened_shard(&set, 0), DLB_OK);
    static const uint32_t labels[] = {0, 0, 1000, 2000};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(opened_next(&set), DLB_OK);
        opened_is(&set, "JPEG", 4);
        assert_int_equal(set.sample.label, labels[i]);
    }
    assert_int_equal(opened_next(&set), DLB_E_FORMAT);
    assert_int_equal(set.err.code, DLB_ERR_TFRECORD_NO_FEATURE);
    assert_int_equal(opened_next(&set), DLB_END); /* the shard is lost */
    opened_close(&set);
    opened_must(&set, "tfrecord", "raw", folder, &checked);
    assert_non_null(strstr(set.ds.shape.odd[0], "(image/encoded, l)"));
    opened_close(&set);
    (void)snprintf(opts.feature, sizeof opts.feature, "other");
    opened_must(&set, "tfrecord", "raw", folder, &opts);
    assert_int_equal(opened_shard(&set, 0), DLB_OK);
    assert_int_equal(opened_next(&set), DLB_E_FORMAT);
    assert_int_equal(set.err.code, DLB_ERR_TFRECORD_NO_FEATURE);
    assert_true(strstr(set.err.what, "\"other\"") && strstr(set.err.what, "image/encoded, l"));
    assert_non_null(strstr(set.err.path, "a.tfrecord"));
    opened_close(&set);
    end = tfr_add(file, 0, "\x0a\x7f", 2);
    folder_write("a.tfrecord", file, end);
    opened_must(&set, "tfrecord", "raw", folder, &opts);
    assert_int_equal(opened_shard(&set, 0), DLB_OK);
    assert_int_equal(opened_next(&set), DLB_E_FORMAT);
    assert_int_equal(set.err.code, DLB_ERR_TFRECORD_NO_EXAMPLE);
    assert_int_equal(set.err.offset_bytes, 12);
    opened_close(&set);
    dlb_bytes_free(&example);
}

/* Until they are printed. */
static void names_of_features_stay_as_they_are(void **state)
{
    struct dlb_tfr_opts opts = {.crc = true, .feature = "other", .label = "l"};
    struct dlb_bytes example = {0};
    struct opened_set set;
    uint8_t file[512];
    (void)state;
    assert_int_equal(dlb_example_append(&example, "na\xc3\xafve\n\xff", (const uint8_t *)"JPEG", 4,
                                        "l", 1, &set.err),
                     DLB_OK);
    folder_write("a.tfrecord", file, tfr_add(file, 0, example.data, example.len_bytes));
    opened_must(&set, "tfrecord", "raw", folder, &opts);
    assert_int_equal(opened_shard(&set, 0), DLB_OK);
    assert_int_equal(opened_next(&set), DLB_E_FORMAT);
    error_is(&set.err, DLB_ERR_TFRECORD_NO_FEATURE, "na\xc3\xafve\n\xff, l");
    opened_close(&set);
    dlb_bytes_free(&example);
}

/* Reads until the first error; how many records there were before it. */
static uint64_t read_until_error(struct opened_set *set, int *rc)
{
    uint64_t n = 0;
    *rc = opened_shard(set, 0);
    while (*rc == DLB_OK && (*rc = opened_next(set)) == DLB_OK)
        n++;
    return n;
}

static void truncated(void **state)
{
    struct opened_set set;
    int rc;
    (void)state;
    write_shard("kept", 1, 2); /* 16,666 and 33,333 bytes */
    size_t n, second = 16 + record_bytes(1);
    uint8_t *data = folder_read("kept", &n);
    assert_int_equal(remove(folder_path("kept")), 0);
    for (size_t cut = 0; cut < n; cut += cut < 40 || n - cut < 40 ? 1 : 997) {
        folder_write("a.tfrecord", data, cut);
        if (cut == 0) {
            opened_refused_as("tfrecord", folder, &checked, DLB_ERR_DATASET_EMPTY, "", "");
            continue;
        }
        if (cut < second) {
            opened_refused_as("tfrecord", folder, &checked, DLB_ERR_FILE_CUT_SHORT, "a.tfrecord",
                              "");
            continue;
        }
        opened_must(&set, "tfrecord", "raw", folder, &checked);
        assert_int_equal(set.ds.shape.n_odd, cut > second);
        assert_int_equal(read_until_error(&set, &rc), 1);
        assert_int_equal(rc, cut == second ? DLB_END : DLB_E_FORMAT);
        if (cut > second) {
            assert_int_equal(set.err.code, DLB_ERR_FILE_CUT_SHORT);
            assert_non_null(strstr(set.err.path, "a.tfrecord"));
            assert_int_equal(set.err.offset_bytes, cut);
        }
        opened_close(&set);
    }
    free(data);
}

static void flipped(void **state)
{
    uint8_t data[4096], record[100];
    size_t end = 0;
    (void)state;
    for (uint8_t i = 0; i < 5; i++) {
        memset(record, i, sizeof record);
        end = tfr_add(data, end, record, sizeof record);
    }
    for (size_t at = 0; at < end; at++) {
        struct opened_set set;
        int rc;
        data[at] ^= (uint8_t)(1U << at % 8);
        folder_write("a.tfrecord", data, end);
        data[at] ^= (uint8_t)(1U << at % 8);
        size_t in = at % 116, before = at / 116;
        if (before == 0 && in < 12) {
            opened_refused_as("tfrecord", folder, &checked, DLB_ERR_FILE_NOT_OF_FORMAT,
                              "a.tfrecord", "");
            continue;
        }
        opened_must(&set, "tfrecord", "raw", folder, &checked);
        assert_int_equal(read_until_error(&set, &rc), before);
        assert_int_equal(rc, DLB_E_FORMAT);
        assert_int_equal(set.err.offset_bytes, before * 116);
        assert_int_equal(set.err.code,
                         in < 12 ? DLB_ERR_TFRECORD_LENGTH_CRC : DLB_ERR_TFRECORD_DATA_CRC);
        opened_close(&set);
        opened_must(&set, "tfrecord", "raw", folder, &unchecked);
        assert_int_equal(read_until_error(&set, &rc), in < 12 ? before : 5);
        opened_close(&set);
    }
}

/* A length that is right by its CRC and beyond the file, up to 2^64 - 1. */
static void huge_lengths(void **state)
{
    static const uint64_t lengths[] = {
        101, 1 << 20, UINT64_C(1) << 40, UINT64_MAX - 15, UINT64_MAX - 4, UINT64_MAX};
    uint8_t data[116], record[100] = {0};
    (void)state;
    size_t end = tfr_add(data, 0, record, sizeof record);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        tfr_put(data, lengths[i], 8);
        tfr_put(data + 8, tfr_crc(data, 8), 4);
        folder_write("a.tfrecord", data, end);
        opened_refused_as("tfrecord", folder, &checked, DLB_ERR_FILE_CUT_SHORT, "a.tfrecord", "");
    }
}

static void changed_meanwhile(void **state)
{
    struct opened_set set;
    int rc;
    (void)state;
    write_shard("a.tfrecord", 0, 6);
    opened_must(&set, "tfrecord", "raw", folder, &checked);
    assert_int_equal(opened_shard(&set, 0), DLB_OK);
    folder_cut("a.tfrecord", 1000);
    while ((rc = opened_next(&set)) == DLB_OK)
        ;
    assert_int_equal(rc, DLB_E_IO);
    assert_int_equal(set.err.code, DLB_ERR_FILE_CHANGED);
    write_shard("a.tfrecord", 0, 3);
    assert_int_equal(read_until_error(&set, &rc), 3);
    assert_int_equal(rc, DLB_E_IO);
    assert_int_equal(set.err.code, DLB_ERR_FILE_CHANGED);
    write_shard("a.tfrecord", 0, 7);
    assert_int_equal(read_until_error(&set, &rc), 6);
    assert_int_equal(rc, DLB_E_IO);
    assert_int_equal(set.err.code, DLB_ERR_FILE_CHANGED);
    assert_int_equal(remove(folder_path("a.tfrecord")), 0);
    assert_int_equal(opened_shard(&set, 0), DLB_E_IO);
    opened_close(&set);
}

static void other_things(void **state)
{
    (void)state;
    opened_refused_as("tfrecord", folder_path("none"), &checked, DLB_ERR_NOT_FOUND, "none", "");
    opened_refused_as("tfrecord", folder, &checked, DLB_ERR_DATASET_EMPTY, "", "");
    folder_write("a.tfrecord.gz", "\x1f\x8b", 2);
    opened_refused_as("tfrecord", folder, &checked, DLB_ERR_TFRECORD_COMPRESSED, "", "(1)");
    folder_write("a.tfrecord", "hello, this is text", 19);
    opened_refused_as("tfrecord", folder, &checked, DLB_ERR_FILE_NOT_OF_FORMAT, "a.tfrecord", "");
    const struct dlb_format *format = dlb_format_by_name("tfrecord");
    assert_int_equal(format->probe(folder, &dlb_io_posix), 0);
    write_shard("a.tfrecord", 3, 1);
    assert_true(format->probe(folder, &dlb_io_posix) > 90);
    if (geteuid() != 0) { /* root reads all */
        assert_int_equal(chmod(folder_path("a.tfrecord"), 0), 0);
        opened_refused_as("tfrecord", folder, &checked, DLB_ERR_PERMISSION, "a.tfrecord", "");
    }
}

static uint32_t n_opened;

static int refusing_open(const char *path, int64_t *handle, struct dlb_err *err)
{
    n_opened++;
    *handle = -1;
    return dlb_fail(err, DLB_ERR_PERMISSION, path, DLB_NO_OFFSET, "opening");
}

/* Links that lead nowhere cost a probe nothing; of shards that do not open it tries a few. */
static void probes_a_few(void **state)
{
    const struct dlb_format *format = dlb_format_by_name("tfrecord");
    struct dlb_io io = dlb_io_posix;
    char name[32];

    (void)state;
    io.open = refusing_open;
    for (int i = 0; i < 30; i++) {
        (void)snprintf(name, sizeof name, "a%02d.tfrecord", i);
        assert_int_equal(symlink("/nowhere/x", folder_path(name)), 0);
    }
    assert_int_equal(format->probe(folder, &io), 0);
    assert_int_equal(n_opened, 0);
    for (uint64_t i = 0; i < 30; i++) {
        (void)snprintf(name, sizeof name, "b%02d.tfrecord", (int)i);
        write_shard(name, i, 1);
    }
    assert_true(format->probe(folder, &dlb_io_posix) > 90);
    assert_int_equal(format->probe(folder, &io), 0);
    assert_in_range(n_opened, 1, 8);
}

static void generated(void **state)
{
    struct dlb_tfr_opts opts = {
        .crc = true, .feature = "image/encoded", .label = "x", .shard_samples = 4};
    (void)state;
    for (int as_example = 0; as_example < 2; as_example++) {
        struct generation g;
        struct opened_set set;
        generation_set(&g, "tfrecord", "raw", folder_path(as_example ? "e" : "r"), 10, 70000);
        if (!as_example)
            opts.feature[0] = '\0';
        else
            (void)snprintf(opts.feature, sizeof opts.feature, "image/encoded");
        g.gen.format_opts = &opts;
        assert_int_equal(generation_run(&g, 2), DLB_OK);
        assert_int_equal(g.n_written, 10);
        opened_must(&set, "tfrecord", "raw", g.gen.path, &opts);
        assert_int_equal(set.ds.shape.n_shards, 3);
        assert_int_equal(set.ds.shape.n_samples, 10);
        for (uint64_t i = 0; i < 10; i++) {
            if (i % 4 == 0)
                assert_int_equal(opened_shard(&set, (uint32_t)(i / 4)), DLB_OK);
            assert_int_equal(opened_next(&set), DLB_OK);
            opened_is_made(&set, "raw", &g.opts, i);
            if (as_example)
                assert_int_equal(set.sample.label, dlb_gen_label(&g.opts, i));
        }
        opened_close(&set);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(shards),
        TEST(unreadable_ones_are_named),
        TEST(shards),
        TEST(long_names_leave_the_reason),
        TEST(names_of_features_stay_as_they_are),
        TEST(into_place),
        TEST(features),
        TEST(truncated),
        TEST(flipped),
        TEST(huge_lengths),
        TEST(changed_meanwhile),
        TEST(other_things),
        TEST(probes_a_few),
        TEST(generated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
