/* formats/webdataset/convert: samples of other formats become shards that read back unchanged. */
#include "formats/generate/manifest.h"
#include "formats/webdataset/tar.h"
#include "formats/webdataset/tar_write.h"
#include "formats/webdataset/write.h"
#include "tests/support/dataset.h"
#include "tests/support/folder.h"
#include "tests/support/tarball.h"

#include <limits.h>
#include <sys/mman.h>

static void *writer_new(const struct dlb_format *format)
{
    size_t n = (format->writer->state_bytes + 63) & ~(size_t)63;
    void *wr = aligned_alloc(64, n);
    assert_non_null(wr);
    memset(wr, 0, n);
    return wr;
}

static struct dlb_sample sample_of(uint64_t k, char text[2][32])
{
    struct dlb_sample sample = {.n_fields = k % 3 == 0 ? 1 : 2,
                                .index = k,
                                .label = (uint32_t)k % 7,
                                .labelled = true,
                                .path = "somewhere",
                                .offset_bytes = DLB_NO_OFFSET};
    int n0 = snprintf(text[0], 32, "payload %u", (unsigned)k);
    int n1 = snprintf(text[1], 32, "{\"k\": %u}", (unsigned)k);
    sample.field[0] = (struct dlb_field){(uint8_t *)text[0], (size_t)n0, "jpg"};
    sample.field[1] = (struct dlb_field){(uint8_t *)text[1], (size_t)n1, "json"};
    if (k % 5 == 0)
        sample.field[0].name = "";
    return sample;
}

static void check_set(const char *path, int access)
{
    struct dlb_dataset ds;
    struct dlb_sample got = {0};
    uint64_t k = 0;

    assert_int_equal(dataset_open_as(&ds, "webdataset", "raw", path, access, &err), DLB_OK);
    assert_int_equal(ds.shape.n_samples, 25);
    assert_int_equal(ds.shape.n_classes, 7);
    assert_int_equal(ds.shape.iterable, access == DLB_ACCESS_AUTO);
    void *reader = dataset_reader(&ds);
    for (uint32_t s = 0; s < (ds.shape.iterable ? ds.shape.n_shards : 1); s++) {
        uint64_t n = ds.shape.iterable ? ds.format->reader->shard_samples(ds.state, s) : 25;
        if (ds.shape.iterable)
            assert_int_equal(ds.format->reader->shard_open(reader, s, &err), DLB_OK);
        for (uint64_t i = 0; i < n; i++, k++) {
            char text[2][32];
            struct dlb_sample want = sample_of(k, text);
            struct dlb_dest none = {NULL, 0};
            assert_int_equal(ds.shape.iterable
                                 ? ds.format->reader->next(reader, none, &got, &err)
                                 : ds.format->reader->read(reader, k, none, &got, &err),
                             DLB_OK);
            assert_int_equal(got.index, k);
            assert_int_equal(got.label, want.label);
            assert_int_equal(got.n_fields, want.n_fields + 1); /* and the label */
            for (uint32_t f = 0; f < want.n_fields; f++) {
                assert_int_equal(got.field[f].len_bytes, want.field[f].len_bytes);
                assert_memory_equal(got.field[f].data, want.field[f].data, want.field[f].len_bytes);
                assert_string_equal(got.field[f].name,
                                    want.field[f].name[0] ? want.field[f].name : "bin");
            }
        }
    }
    assert_int_equal(k, 25);
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
}

static void test_round_trip(void **state)
{
    const struct dlb_format *format = dlb_format_by_name("webdataset");

    (void)state;
    for (int pack = DLB_TAR_PLAIN; pack <= DLB_TAR_ZST; pack++) {
        static const char *const last[] = {"x/shard-000002.tar", "x/shard-000002.tar.gz",
                                           "x/shard-000002.tar.zst"};
        struct dlb_wds_opts opts = {.shard_samples = 12, .compression = pack};
        struct dlb_shape from = {.n_samples = 25, .n_classes = 7};
        const char *path = folder_path("x");
        struct dlb_write how = {.path = path, .opts = &opts, .from = &from};
        void *wr = writer_new(format);
        assert_int_equal(format->writer->open(wr, &how, &err), DLB_OK);
        for (uint64_t k = 0; k < 25; k++) {
            char text[2][32];
            struct dlb_sample sample = sample_of(k, text);
            assert_int_equal(format->writer->add(wr, &sample, &err), DLB_OK);
        }
        assert_int_equal(format->writer->finish(wr, &err), DLB_OK);
        format->writer->close(wr);
        free(wr);
        assert_true(folder_has(last[pack]));
        check_set(path, DLB_ACCESS_AUTO);
        if (pack == DLB_TAR_PLAIN)
            check_set(path, DLB_ACCESS_INDEXED);
        assert_int_equal(remove(folder_path("x/" DLB_MANIFEST_NAME)), 0);
        char away[128];
        (void)snprintf(away, sizeof away, "%s/away%d", folder, pack);
        assert_int_equal(rename(path, away), 0);
    }
}

/* Names that could not be read back. An abandoned writer leaks no memory. */
static void test_refused(void **state)
{
    const struct dlb_format *format = dlb_format_by_name("webdataset");
    struct dlb_shape from = {.n_samples = 25};
    struct dlb_write how = {.path = folder_path("x"), .from = &from};
    char text[2][32];

    (void)state;
    void *wr = writer_new(format);
    assert_int_equal(format->writer->open(wr, &how, &err), DLB_OK);
    struct dlb_sample sample = sample_of(1, text);
    assert_int_equal(format->writer->add(wr, &sample, &err), DLB_OK);
    sample.field[1].name = "JPG";
    assert_int_equal(format->writer->add(wr, &sample, &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_SAMPLE_FIELD_NAMES);
    sample.field[1].name = "a/b";
    assert_int_equal(format->writer->add(wr, &sample, &err), DLB_E_FORMAT);
    sample.n_fields = 0;
    assert_int_equal(format->writer->add(wr, &sample, &err), DLB_E_FORMAT);
    format->writer->close(wr);
    memset(wr, 0, format->writer->state_bytes);
    assert_int_equal(format->writer->open(wr, &how, &err), DLB_E_IO); /* it exists */
    assert_string_equal(err.path, folder_path("x"));
    format->writer->close(wr);
    free(wr);
}

#ifdef DLB_HAVE_LIBARCHIVE

/* More than libarchive takes in one call. The pages are all the page of zeros, and go nowhere. */
static void test_large_field(void **state)
{
    const size_t n = (size_t)INT_MAX + 4096;
    struct dlb_tar_writer writer;

    (void)state;
    void *data = mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(data, MAP_FAILED);
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_int_equal(dlb_tar_writer_open(&writer, NULL, fd, "null", DLB_TAR_PLAIN, &err), DLB_OK);
    assert_int_equal(dlb_tar_writer_add(&writer, "0.bin", data, n, &err), DLB_OK);
    assert_int_equal(dlb_tar_writer_add(&writer, "1.bin", data, 0, &err), DLB_OK);
    assert_int_equal(dlb_tar_writer_close(&writer, &err), DLB_OK);
    dlb_tar_writer_abandon(&writer);
    (void)close(fd);
    (void)munmap(data, n);
}

#endif

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
#ifdef DLB_HAVE_LIBARCHIVE
        cmocka_unit_test(test_large_field),
#endif
        IN_FOLDER(test_round_trip), IN_FOLDER(test_refused)};
    if (dlb_format_by_name("webdataset")->missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
