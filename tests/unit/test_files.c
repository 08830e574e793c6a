/* formats/files: which files are samples, their order, and the oddities that are reported. */
#include "formats/generate/mark.h"
#include "tests/support/dataset.h"
#include "tests/support/folder.h"

#include <errno.h>

static struct dlb_err err;
static uint8_t place[64];

static void open_raw(struct dlb_dataset *ds)
{
    err = (struct dlb_err){0};
    if (dataset_open(ds, "files", "raw", folder, &err) != DLB_OK)
        fail_msg("%s: %s", err.path, err.what);
}

static void expect(const struct dlb_dataset *ds, void *reader, uint64_t index, uint32_t label,
                   const char *content)
{
    struct dlb_sample sample = {0};
    int rc = ds->format->reader->read(reader, index, (struct dlb_dest){place, sizeof place},
                                      &sample, &err);
    assert_int_equal(rc, DLB_OK);
    assert_ptr_equal(sample.field[0].data, place);
    assert_int_equal(sample.field[0].len_bytes, strlen(content));
    assert_memory_equal(place, content, strlen(content));
    assert_int_equal(sample.label, label);
    assert_int_equal(sample.index, index);
    assert_int_equal(sample.io_bytes, strlen(content));
}

static bool is_odd(const struct dlb_dataset *ds, const char *text)
{
    for (uint32_t i = 0; i < ds->shape.n_odd && i < 4; i++)
        if (strstr(ds->shape.odd[i], text))
            return true;
    return false;
}

/* As torchvision: classes by name, deeper folders belong to the class above, order by path. */
static void test_class_folders(void **state)
{
    struct dlb_dataset ds;

    (void)state;
    folder_sub("b");
    folder_sub("a");
    folder_sub("a/deep");
    folder_sub("a/deep/er");
    folder_sub("c-empty");
    folder_sub(".hidden");
    folder_write(".hidden/x", "no", 2);
    folder_write("b/2", "b2", 2);
    folder_write("b/10", "b10", 3);
    folder_write("a/z", "az", 2);
    folder_write("a/deep/y", "ady", 3);
    folder_write("a/deep/er/x", "adex", 4);
    folder_write("a/.hidden", "no", 2);
    folder_write("loose", "no", 2);
    open_raw(&ds);
    assert_int_equal(ds.shape.n_samples, 5);
    assert_int_equal(ds.shape.total_bytes, 14);
    assert_int_equal(ds.shape.max_sample_bytes, 4);
    assert_int_equal(ds.shape.n_classes, 3);
    assert_true(is_odd(&ds, "beside the class folders"));
    assert_true(is_odd(&ds, "1 class folder holds no samples"));
    void *reader = dataset_reader(&ds);
    expect(&ds, reader, 4, 1, "b2");
    expect(&ds, reader, 0, 0, "az");
    expect(&ds, reader, 1, 0, "ady");
    expect(&ds, reader, 2, 0, "adex");
    expect(&ds, reader, 3, 1, "b10");
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
}

static void test_flat_folder_and_extensions(void **state)
{
    struct dlb_dataset ds;

    (void)state;
    folder_write("b.JPG", "b", 1);
    folder_write("a.Jpeg", "a", 1);
    folder_write("c.png", "c", 1);
    folder_write("jpg", "d", 1);
    open_raw(&ds);
    assert_int_equal(ds.shape.n_samples, 4);
    dlb_dataset_close(&ds);
    if (!is_built("files", "jpeg"))
        return;
    assert_int_equal(dataset_open(&ds, "files", "jpeg", folder, &err), DLB_OK);
    assert_int_equal(ds.shape.n_samples, 2);
    assert_int_equal(ds.shape.n_classes, 1);
    assert_true(is_odd(&ds, "2 files of another kind"));
    void *reader = dataset_reader(&ds);
    expect(&ds, reader, 0, 0, "a");
    expect(&ds, reader, 1, 0, "b");
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
}

static void test_nothing_there(void **state)
{
    struct dlb_dataset ds;

    (void)state;
    assert_int_equal(dataset_open(&ds, "files", "raw", folder, &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_DATASET_EMPTY);
    folder_write("x.tar", "x", 1);
    if (is_built("files", "jpeg")) {
        assert_int_equal(dataset_open(&ds, "files", "jpeg", folder, &err), DLB_E_FORMAT);
        assert_int_equal(err.code, DLB_ERR_DATASET_EMPTY);
        assert_non_null(strstr(err.what, "x.tar"));
    }
    assert_int_equal(dataset_open(&ds, "files", "raw", folder_path("x.tar"), &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_DATASET_NOT_A_FOLDER);
    folder_write(DLB_INCOMPLETE_MARK, "{}", 2);
    assert_int_equal(dataset_open(&ds, "files", "raw", folder, &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_DATASET_INCOMPLETE);
}

static void test_links_that_point_back(void **state)
{
    struct dlb_dataset ds;

    (void)state;
    folder_sub("a");
    folder_write("a/x", "x", 1);
    assert_int_equal(symlink("..", folder_path("a/up")), 0);
    assert_int_equal(dataset_open(&ds, "files", "raw", folder, &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_DATASET_FOLDERS_TOO_MANY);
    assert_int_equal(unlink(folder_path("a/up")), 0);
    folder_sub("b");
    for (char name[] = "b/0"; name[2] < '8'; name[2]++) /* through each other, 8^16 folders */
        assert_int_equal(symlink("../a", folder_path(name)), 0);
    open_raw(&ds);
    assert_int_equal(ds.shape.n_samples, 9); /* a link to a folder beside is one more class's */
    dlb_dataset_close(&ds);
    assert_int_equal(symlink("../b", folder_path("a/b")), 0);
    assert_int_equal(dataset_open(&ds, "files", "raw", folder, &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_DATASET_FOLDERS_TOO_MANY);
}

static void test_changed_meanwhile(void **state)
{
    struct dlb_dataset ds;
    struct dlb_sample sample = {0};

    (void)state;
    folder_sub("a");
    folder_write("a/1", "0123456789", 10);
    folder_write("a/2", "0123456789", 10);
    open_raw(&ds);
    void *reader = dataset_reader(&ds);
    folder_cut("a/1", 4);
    assert_int_equal(remove(folder_path("a/2")), 0);
    int rc =
        ds.format->reader->read(reader, 0, (struct dlb_dest){place, sizeof place}, &sample, &err);
    assert_int_equal(rc, DLB_E_IO);
    assert_int_equal(err.code, DLB_ERR_FILE_CHANGED);
    assert_string_equal(err.path, folder_path("a/1"));
    assert_int_equal(err.offset_bytes, 4);
    rc = ds.format->reader->read(reader, 1, (struct dlb_dest){place, sizeof place}, &sample, &err);
    assert_int_equal(rc, DLB_E_IO);
    assert_int_equal(err.code, DLB_ERR_NOT_FOUND);
    assert_string_equal(err.path, folder_path("a/2"));
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
}

static void test_place_too_small_or_none(void **state)
{
    struct dlb_dataset ds;
    struct dlb_sample sample = {0};

    (void)state;
    folder_write("1", "0123456789", 10);
    folder_write("2", "", 0);
    open_raw(&ds);
    assert_true(is_odd(&ds, "1 file is empty"));
    void *reader = dataset_reader(&ds);
    for (int i = 0; i < 2; i++) {
        struct dlb_dest dest = i ? (struct dlb_dest){place, 9} : (struct dlb_dest){NULL, 0};
        assert_int_equal(ds.format->reader->read(reader, 0, dest, &sample, &err), DLB_OK);
        assert_ptr_not_equal(sample.field[0].data, place);
        assert_int_equal(sample.field[0].len_bytes, 10);
        assert_memory_equal(sample.field[0].data, "0123456789", 10);
    }
    assert_int_equal(ds.format->reader->read(reader, 1, (struct dlb_dest){NULL, 0}, &sample, &err),
                     DLB_OK);
    assert_int_equal(sample.field[0].len_bytes, 0);
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
}

/* More classes than folders that are kept open: files are opened by their whole path. */
static void test_many_folders(void **state)
{
    struct dlb_dataset ds;
    char name[32], content[32];

    (void)state;
    for (int i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof name, "c%03d", i);
        folder_sub(name);
        (void)snprintf(name, sizeof name, "c%03d/f", i);
        (void)snprintf(content, sizeof content, "file %d", i);
        folder_write(name, content, strlen(content));
    }
    open_raw(&ds);
    assert_int_equal(ds.shape.n_classes, 300);
    void *reader = dataset_reader(&ds);
    for (uint32_t i = 0; i < 300; i += 7) {
        (void)snprintf(content, sizeof content, "file %u", i);
        expect(&ds, reader, i, i, content);
    }
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
}

static void test_id_follows_content(void **state)
{
    struct dlb_dataset ds;

    (void)state;
    folder_sub("a");
    folder_write("a/1", "0123456789", 10);
    open_raw(&ds);
    uint64_t first = ds.shape.id;
    dlb_dataset_close(&ds);
    open_raw(&ds);
    assert_true(ds.shape.id == first);
    dlb_dataset_close(&ds);
    folder_write("a/1", "01234567890", 11);
    open_raw(&ds);
    assert_true(ds.shape.id != first);
    dlb_dataset_close(&ds);
}

static void test_probe(void **state)
{
    const struct dlb_format *files = dlb_format_by_name("files");

    (void)state;
    assert_int_equal(files->probe(folder_path("none"), &dlb_io_posix), 0);
    assert_int_equal(files->probe(folder, &dlb_io_posix), 0);
    folder_write("x", "", 0);
    int other = files->probe(folder, &dlb_io_posix);
    folder_sub("a");
    int folders = files->probe(folder, &dlb_io_posix);
    folder_write("x.jpg", "", 0);
    int images = files->probe(folder, &dlb_io_posix);
    assert_true(0 < other && other < folders && folders < images && images < 100);
}

static unsigned n_checks;

int __real_dlb_headroom_check(uint64_t n_bytes, const char *path, const char *what,
                              const char *advice, struct dlb_err *why);
int __wrap_dlb_headroom_check(uint64_t n_bytes, const char *path, const char *what,
                              const char *advice, struct dlb_err *why);

int __wrap_dlb_headroom_check(uint64_t n_bytes, const char *path, const char *what,
                              const char *advice, struct dlb_err *why)
{
    n_checks++;
    return __real_dlb_headroom_check(n_bytes, path, what, advice, why);
}

/* Memory is looked at when a sample is larger than all before it. */
static void test_memory_is_checked_once(void **state)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    static const unsigned sizes[] = {5000, 4000, 9000, 9000};
    struct dlb_dataset ds;
    struct dlb_sample sample = {0};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        folder_write(names[i], "x", 1);
        assert_int_equal(truncate(folder_path(names[i]), sizes[i]), 0);
    }
    open_raw(&ds);
    void *reader = dataset_reader(&ds);
    n_checks = 0;
    for (uint64_t i = 0; i < 12; i++) {
        const struct dlb_dest none = {NULL, 0};
        assert_int_equal(ds.format->reader->read(reader, i % 4, none, &sample, &err), DLB_OK);
        assert_int_equal(sample.field[0].len_bytes, sizes[i % 4]);
    }
    assert_int_equal(n_checks, 2);
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_class_folders),
        IN_FOLDER(test_flat_folder_and_extensions),
        IN_FOLDER(test_nothing_there),
        IN_FOLDER(test_links_that_point_back),
        IN_FOLDER(test_changed_meanwhile),
        IN_FOLDER(test_place_too_small_or_none),
        IN_FOLDER(test_many_folders),
        IN_FOLDER(test_id_follows_content),
        IN_FOLDER(test_probe),
        IN_FOLDER(test_memory_is_checked_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
