/* Which data set is read: the largest, however deep it lies, the one that is named, or an error
 * that says what there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/hdf5/library.h"
#include "tests/support/error.h"
#include "tests/support/folder.h"
#include "tests/support/hdf5.h"

#ifdef DLB_HAVE_HDF5

#include <hdf5.h>

static hid_t made;

static void begin(void)
{
    made = H5Fcreate(folder_path("a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(made >= 0);
}

static void end(void)
{
    assert_true(H5Fclose(made) >= 0);
}

/* n rows of 4 bytes. */
static void add_set(hid_t group, const char *name, hsize_t n)
{
    hsize_t dims[2] = {n, 4};
    hid_t space = H5Screate_simple(2, dims, NULL);
    hid_t set = H5Dcreate2(group, name, H5T_STD_U8LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(space >= 0 && set >= 0);
    (void)H5Dclose(set);
    (void)H5Sclose(space);
}

static hid_t add_group(hid_t group, const char *name)
{
    hid_t made_group = H5Gcreate2(group, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(made_group >= 0);
    return made_group;
}

/* `depth` groups, each in the one before; the last one has a data set of 3 rows. */
static void write_deep(uint32_t depth)
{
    begin();
    hid_t at = add_group(made, "g0");
    for (uint32_t i = 1; i < depth; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "g%u", i);
        hid_t next = add_group(at, name);
        (void)H5Gclose(at);
        at = next;
    }
    add_set(at, "data", 3);
    (void)H5Gclose(at);
    end();
}

static int open_named(struct hdf5_set *set, const char *dataset, const char *label)
{
    struct dlb_hdf5_opts opts = {.dataset = ""};
    (void)snprintf(opts.dataset, sizeof opts.dataset, "%s", dataset);
    (void)snprintf(opts.label, sizeof opts.label, "%s", label);
    return hdf5_open_set(set, "a.h5", DLB_ACCESS_CHUNKS, &opts);
}

static void however_deep(void **state)
{
    (void)state;
    static const uint32_t depths[] = {1, 800, 1600, DLB_HDF5_MAX_DEPTH};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        struct hdf5_set set;
        write_deep(depths[i]);
        assert_int_equal(open_named(&set, "", ""), DLB_OK);
        assert_int_equal(set.ds.shape.n_samples, 3);
        assert_int_equal(hdf5_read_one(&set, 2), DLB_OK);
        hdf5_close_set(&set);
    }
}

static void too_deep(void **state)
{
    (void)state;
    struct hdf5_set set;
    write_deep(DLB_HDF5_MAX_DEPTH + 1);
    assert_int_equal(open_named(&set, "", ""), DLB_E_FORMAT);
    assert_int_equal(set.err.code, DLB_ERR_HDF5_SEARCH_ENDED);
    assert_non_null(strstr(set.err.path, "a.h5"));
    assert_non_null(strstr(set.err.what, "hdf5.dataset"));
    hdf5_close_set(&set);
}

/* What was found before the limit is read, and the result says that the search ended there. */
static void more_objects_than_are_looked_at(void **state)
{
    (void)state;
    struct hdf5_set set;
    begin();
    add_set(made, "a", 5);
    hid_t groups = add_group(made, "b");
    for (uint32_t i = 0; i < DLB_HDF5_MAX_OBJECTS; i++) { /* links are enough */
        char name[16];
        (void)snprintf(name, sizeof name, "l%u", i);
        assert_true(H5Lcreate_hard(made, "a", groups, name, H5P_DEFAULT, H5P_DEFAULT) >= 0);
    }
    (void)H5Gclose(groups);
    add_set(made, "z", 9);
    end();
    assert_int_equal(open_named(&set, "", ""), DLB_OK);
    assert_true(set.ds.shape.n_samples == 5 || set.ds.shape.n_samples == 9);
    assert_int_equal(set.ds.shape.n_odd > 0, 1);
    assert_non_null(strstr(set.ds.shape.odd[0], "hdf5.dataset"));
    hdf5_close_set(&set);
    assert_int_equal(open_named(&set, "z", ""), DLB_OK);
    assert_int_equal(set.ds.shape.n_samples, 9);
    hdf5_close_set(&set);
}

/* The largest, the first of several; rings of links, labels and offsets do not count. */
static void the_largest(void **state)
{
    (void)state;
    struct hdf5_set set;
    begin();
    hid_t group = add_group(made, "b");
    add_set(group, "x", 7);
    assert_true(H5Lcreate_hard(made, "/", group, "ring", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    (void)H5Gclose(group);
    add_set(made, "a", 3);
    add_set(made, "c", 7);
    add_set(made, "labels", 50);
    add_set(made, "x_offsets", 60);
    end();
    assert_int_equal(open_named(&set, "", ""), DLB_OK);
    assert_int_equal(set.ds.shape.n_samples, 7);
    assert_non_null(strstr(set.ds.shape.odd[0], "3 data sets"));
    assert_non_null(strstr(set.ds.shape.odd[0], "/b/x"));
    hdf5_close_set(&set);
    assert_int_equal(open_named(&set, "", "b/x"), DLB_E_CONFIG); /* labels are no samples */
    assert_int_equal(set.err.code, DLB_ERR_HDF5_LABEL_UNFIT);
    hdf5_close_set(&set);
}

/* n numbers, or bytes. */
static void add_list(const char *name, hid_t type, hsize_t n, const void *values)
{
    hid_t space = H5Screate_simple(1, &n, NULL);
    hid_t set = H5Dcreate2(made, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    (void)H5Dclose(set);
    (void)H5Sclose(space);
}

/* Labels and offsets beside the data that are not read. */
static void what_lies_beside(void **state)
{
    (void)state;
    static const struct {
        const char *beside, *label;
        bool odd;
    } rows[] = {{"labels", "", true},    {"labels", "none", false},  {"labels", "labels", false},
                {"b/labels", "", false}, {"data_offsets", "", true}, {"other_offsets", "", false}};
    static const uint32_t numbers[3] = {0, 1, 2};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hdf5_set set;
        begin();
        hid_t group = add_group(made, "b");
        (void)H5Gclose(group);
        add_set(made, "data", 3);
        add_list("label", H5T_STD_U32LE, 3, numbers);
        add_list(rows[i].beside, H5T_STD_U32LE, 3, numbers);
        end();
        assert_int_equal(open_named(&set, "data", rows[i].label), DLB_OK);
        bool odd = false; /* beside that nothing was written */
        for (uint32_t k = 0; k < set.ds.shape.n_odd; k++)
            odd = odd || strstr(set.ds.shape.odd[k], "beside it");
        assert_int_equal(odd, rows[i].odd);
        hdf5_close_set(&set);
    }
}

/* Bytes before the first offset, and behind the last one, are no sample's. */
static void bytes_outside_of_the_offsets(void **state)
{
    (void)state;
    static const struct {
        uint64_t offset[4], n_outside;
    } rows[] = {{{0, 3, 4, 12}, 0}, {{2, 3, 4, 12}, 2}, {{0, 3, 4, 5}, 7}, {{1, 3, 4, 5}, 8}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hdf5_set set;
        char says[64];
        begin();
        add_list("data", H5T_STD_U8LE, 12, "abcdefghijkl");
        add_list("data_offsets", H5T_STD_U64LE, 4, rows[i].offset);
        end();
        assert_int_equal(open_named(&set, "", ""), DLB_OK);
        (void)snprintf(says, sizeof says, "%d of its 12 bytes", (int)rows[i].n_outside);
        bool said = set.ds.shape.n_odd > 0 && strstr(set.ds.shape.odd[0], says);
        assert_int_equal(said, rows[i].n_outside > 0);
        hdf5_close_set(&set);
    }
}

/* A list of n zeros, none of which is stored. */
static void add_unwritten(const char *name, hid_t type, hsize_t n)
{
    hid_t space = H5Screate_simple(1, &n, NULL);
    hid_t set = H5Dcreate2(made, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(set >= 0);
    (void)H5Dclose(set);
    (void)H5Sclose(space);
}

/* Without labels they are read; labels that do not fit into memory are no missing labels. */
static void more_samples_than_labels_are_read(void **state)
{
    (void)state;
    enum { FINE = -1 };
    static const struct {
        const char *beside, *label;
        uint64_t n;
        int code;
    } rows[] = {{"label", "", DLB_HDF5_MAX_LIST + 1, DLB_ERR_HDF5_DATASET_UNFIT},
                {"label", "label", DLB_HDF5_MAX_LIST + 1, DLB_ERR_HDF5_DATASET_UNFIT},
                {"label", "none", DLB_HDF5_MAX_LIST + 1, FINE},
                {"data_offsets", "", DLB_HDF5_MAX_LIST + 1, DLB_ERR_HDF5_DATASET_UNFIT}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hdf5_set set;
        begin();
        add_unwritten("data", H5T_STD_U8LE, rows[i].n);
        add_unwritten(rows[i].beside, H5T_STD_U64LE, rows[i].n);
        end();
        int rc = open_named(&set, "data", rows[i].label);
        assert_int_equal(rc == DLB_OK ? FINE : (int)set.err.code, rows[i].code);
        hdf5_close_set(&set);
    }
}

static void what_is_not_there(void **state)
{
    (void)state;
    static const char *const names[] = {"nope", "/nope", "b/nope", "nope/x",
                                        "a/x",  "b",     "/",      "soft"};
    struct hdf5_set set;
    begin();
    hid_t group = add_group(made, "b");
    add_set(group, "x", 7);
    add_set(made, "a", 3);
    (void)H5Gclose(group);
    assert_true(H5Lcreate_soft("/gone", made, "soft", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    end();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(open_named(&set, names[i], ""), DLB_E_CONFIG);
        assert_int_equal(set.err.code, DLB_ERR_HDF5_NO_SUCH_DATASET);
        assert_non_null(strstr(set.err.path, "a.h5"));
        assert_non_null(strstr(set.err.what, names[i]));
        assert_non_null(strstr(set.err.what, "/a, /b/x"));
        hdf5_close_set(&set);
    }
    assert_int_equal(open_named(&set, "b/x", "nope"), DLB_E_CONFIG);
    assert_int_equal(set.err.code, DLB_ERR_HDF5_LABEL_UNFIT);
    hdf5_close_set(&set);
}

/* Until it is printed. */
static void the_reason_of_the_library_stays_as_it_is(void **state)
{
    (void)state;
    struct dlb_err err;
    int64_t file, set;
    begin();
    end();
    dlb_hdf5_enter();
    assert_int_equal(dlb_hdf5_open_file(folder_path("a.h5"), &file, &err), DLB_OK);
    (void)dlb_hdf5_open_set(file, "a.h5", "/a\nb", true, &set, &err);
    (void)H5Fclose(file);
    dlb_hdf5_leave();
    error_is(&err, DLB_ERR_HDF5_READ_FAILED, "'a\nb'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(however_deep, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(too_deep, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(more_objects_than_are_looked_at, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(the_largest, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(bytes_outside_of_the_offsets, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(what_lies_beside, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(more_samples_than_labels_are_read, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(what_is_not_there, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(the_reason_of_the_library_stays_as_it_is, folder_make,
                                        folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 77;
}

#endif
