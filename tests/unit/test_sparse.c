/* Files that announce more than memory holds, and take next to no space: each format refuses them
 * before it makes room, and says how much it would need. */
#include "formats/headroom.h"
#include "tests/support/dataset.h"
#include "tests/support/tfrecord.h"
#include "tests/support/tokens.h"

#ifdef DLB_HAVE_HDF5
#include <hdf5.h>
#endif

#define HUGE_BYTES (INT64_C(1) << 42) /* 4 TiB */

static struct dlb_err err;

static void lengthen(const char *name, int64_t n_bytes)
{
    if (truncate(folder_path(name), (off_t)n_bytes) != 0 || dlb_headroom_bytes() >= HUGE_BYTES)
        skip(); /* no file is so large here, or memory is */
}

static void refused(const char *format, const char *name, enum dlb_code code)
{
    struct dlb_dataset ds;

    assert_int_not_equal(dataset_open(&ds, format, "raw", name ? folder_path(name) : folder, &err),
                         DLB_OK);
    if (err.code != code)
        fail_msg("%s: %s [%s]", format, err.what, dlb_code_name(err.code));
}

/* The first sample alone: others of the data set can be read. */
static void sample_refused(const char *format, const char *name)
{
    struct dlb_dataset ds;
    struct dlb_sample sample = {0};
    struct dlb_dest none = {NULL, 0};

    if (dataset_open(&ds, format, "raw", folder, &err) != DLB_OK)
        fail_msg("%s: %s", format, err.what);
    void *reader = dataset_reader(&ds);
    if (ds.shape.iterable)
        assert_int_equal(ds.format->reader->shard_open(reader, 0, &err), DLB_OK);
    assert_int_equal(ds.shape.iterable ? ds.format->reader->next(reader, none, &sample, &err)
                                       : ds.format->reader->read(reader, 0, none, &sample, &err),
                     DLB_E_NOMEM);
    assert_string_equal(err.path, folder_path(name));
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
}

static void files(void **state)
{
    (void)state;
    folder_write("a.bin", "a", 1);
    lengthen("a.bin", HUGE_BYTES);
    sample_refused("files", "a.bin");
}

static void tfrecord(void **state)
{
    uint8_t head[64];

    (void)state;
    size_t n = tfr_head(head, HUGE_BYTES);
    folder_write("a.tfrecord", head, n);
    lengthen("a.tfrecord", HUGE_BYTES + (int64_t)n + 4);
    sample_refused("tfrecord", "a.tfrecord");
}

/* Of an index the header is looked at first: zeros are none, whatever their size. */
static void megatron(void **state)
{
    int32_t length[] = {4};
    int64_t pointer[] = {0};

    (void)state;
    folder_write("a.bin", "12345678", 8);
    folder_write("a.idx", "", 0);
    lengthen("a.idx", HUGE_BYTES);
    refused("tokens", "a.bin", DLB_ERR_FILE_NOT_OF_FORMAT);
    tokens_write_idx("a.idx", 8, length, pointer, 1);
    lengthen("a.idx", HUGE_BYTES);
    refused("tokens", "a.bin", DLB_ERR_TOKENS_INDEX_DAMAGED);
}

#ifdef DLB_HAVE_HDF5
static void write_hdf5(uint64_t n_rows, uint64_t row_bytes, uint64_t chunk_rows)
{
    hsize_t dims[2] = {n_rows, row_bytes}, chunk[2] = {chunk_rows, row_bytes};
    hid_t file = H5Fcreate(folder_path("a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, dims, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
    assert_true(chunk_rows == 0 || H5Pset_chunk(how, 2, chunk) >= 0);
    hid_t set = H5Dcreate2(file, "data", H5T_STD_U8LE, space, H5P_DEFAULT, how, H5P_DEFAULT);
    assert_true(set >= 0);
    (void)H5Dclose(set);
    (void)H5Pclose(how);
    (void)H5Sclose(space);
    assert_true(H5Fclose(file) >= 0);
}

static void unwritten(uint64_t n_rows, uint64_t row_bytes, uint64_t chunk_rows, const char *says)
{
    struct dlb_dataset ds;
    bool said = false;

    write_hdf5(n_rows, row_bytes, chunk_rows);
    assert_int_equal(dataset_open(&ds, "hdf5", "raw", folder_path("a.h5"), &err), DLB_OK);
    for (uint32_t i = 0; i < dlb_shape_n_named(&ds.shape); i++)
        said = said || strstr(ds.shape.odd[i], says);
    assert_true(said);
    dlb_dataset_close(&ds);
}

static void hdf5(void **state)
{
    (void)state;
    write_hdf5(4, HUGE_BYTES / 8, 0); /* a row of 512 GiB */
    struct dlb_dataset ds;
    assert_int_equal(dataset_open(&ds, "hdf5", "raw", folder_path("a.h5"), &err), DLB_OK);
    void *reader = calloc(1, ds.format->reader->state_bytes);
    assert_int_equal(ds.format->reader->open(reader, ds.state, &err), DLB_E_NOMEM);
    assert_string_equal(err.path, folder_path("a.h5"));
    ds.format->reader->close(reader);
    free(reader);
    dlb_dataset_close(&ds);
    unwritten(100, 8, 0, "ever written");
    unwritten(100, 8, 10, "ever written");
}
#endif

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(files),
        TEST(tfrecord),
        TEST(megatron),
#ifdef DLB_HAVE_HDF5
        TEST(hdf5),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
