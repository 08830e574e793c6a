/* Indexes of chunks that the library alone reads, of more chunks than it is asked for at open: what
 * was never written is fill, and what the library cannot find for damage is an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/folder.h"
#include "tests/support/hdf5.h"

#ifdef DLB_HAVE_HDF5

#include <hdf5.h>

#include <inttypes.h>

enum {
    N = 4 * DLB_HDF5_MAX_LISTED, /* samples, each a chunk of its own */
    WIDTH = 4,
    N_MISSING = N / 2, /* the last ones: a walk through the index for each would take for ever */
    DAMAGE_AT = 100,
};

/* By the sizes that may grow: none, one or both. */
static const struct {
    bool grows[2];
    const char *signature, *words;
} kinds[] = {
    {{false, false}, "FADB", "fixed array"},
    {{true, false}, "EADB", "extensible array"},
    {{true, true}, "BTLF", "version-2 B-tree"},
};

static void fill_sample(uint8_t sample[WIDTH], uint64_t i)
{
    for (size_t k = 0; k < WIDTH; k++)
        sample[k] = i < N - N_MISSING ? (uint8_t)(1 + (i * 31 + k) % 255) : 0;
}

static void write_file(const char *path, const bool grows[2])
{
    hsize_t dims[2] = {N, WIDTH}, chunk[2] = {1, WIDTH}, first[2] = {0}, count[2] = {N, WIDTH};
    hsize_t most[2] = {grows[0] ? H5S_UNLIMITED : N, grows[1] ? H5S_UNLIMITED : WIDTH};
    uint8_t *samples = malloc((size_t)N * WIDTH);
    assert_non_null(samples);
    for (uint64_t i = 0; i < N; i++)
        fill_sample(samples + i * WIDTH, i);
    count[0] -= N_MISSING;
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    assert_true(H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST) >= 0);
    assert_true(H5Pset_chunk(dcpl, 2, chunk) >= 0);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    hid_t space = H5Screate_simple(2, dims, most), memory = H5Screate_simple(2, count, NULL);
    hid_t set = H5Dcreate2(file, "data", H5T_STD_U8LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    assert_true(H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, count, NULL) >= 0);
    assert_true(H5Dwrite(set, H5T_STD_U8LE, memory, space, H5P_DEFAULT, samples) >= 0);
    assert_true(H5Dclose(set) >= 0);
    (void)H5Sclose(memory);
    (void)H5Sclose(space);
    assert_true(H5Fclose(file) >= 0);
    (void)H5Pclose(dcpl);
    (void)H5Pclose(fapl);
    free(samples);
}

/* In place: programs that have the file open see it. */
static void damage(const char *name, const char *signature)
{
    size_t n_bytes;
    uint8_t *bytes = folder_read(name, &n_bytes), *at = bytes, *end = bytes + n_bytes;
    FILE *file = fopen(folder_path(name), "r+b");
    uint32_t n = 0;
    assert_non_null(file);
    while ((at = memmem(at, (size_t)(end - at), signature, strlen(signature)))) {
        assert_true(end - at > DAMAGE_AT);
        at[DAMAGE_AT] ^= 0xff;
        assert_int_equal(fseek(file, (long)(at - bytes) + DAMAGE_AT, SEEK_SET), 0);
        assert_int_equal(fputc(at[DAMAGE_AT], file), at[DAMAGE_AT]);
        at++;
        n++;
    }
    assert_int_equal(fclose(file), 0);
    assert_true(n > 0);
    free(bytes);
}

/* How many samples, of each `step`, are errors; all others are what was written. */
static uint64_t count_errors(struct hdf5_set *set, uint64_t step)
{
    uint64_t n_failed = 0;
    assert_int_equal(set->ds.shape.n_samples, N);
    for (uint64_t i = 0; i < N; i += step) {
        uint8_t wanted[WIDTH];
        int rc = hdf5_read_one(set, i);
        n_failed += rc != DLB_OK;
        fill_sample(wanted, i);
        if (rc != DLB_OK && (!strstr(set->err.path, "a.h5") || !strstr(set->err.what, "libhdf5")))
            fail_msg("sample %" PRIu64 ": \"%s\": \"%s\"", i, set->err.path, set->err.what);
        if (rc == DLB_OK && memcmp(set->sample.field[0].data, wanted, WIDTH) != 0)
            fail_msg("sample %" PRIu64 " is not what was written", i);
    }
    return n_failed;
}

static void reads(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct hdf5_set set;
        write_file(folder_path("a.h5"), kinds[k].grows);
        assert_int_equal(hdf5_open_set(&set, "a.h5", DLB_ACCESS_CHUNKS, NULL), DLB_OK);
        assert_int_equal(set.ds.shape.n_odd, 1);
        assert_non_null(strstr(set.ds.shape.odd[0], kinds[k].words));
        assert_int_equal(count_errors(&set, 1), 0);
        hdf5_close_set(&set);
    }
}

static void damaged(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct hdf5_set set;
        write_file(folder_path("a.h5"), kinds[k].grows);
        assert_int_equal(hdf5_open_set(&set, "a.h5", DLB_ACCESS_CHUNKS, NULL), DLB_OK);
        damage("a.h5", kinds[k].signature);
        assert_true(count_errors(&set, 5) > 0);
        hdf5_close_set(&set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(damaged, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 77;
}

#endif
