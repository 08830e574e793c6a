/* What is dlbench's own: names of files, the end of a file, and paths that no link leads away. */
#include "tests/support/folder.h"

#include "core/base/beneath.h"
#include "formats/generate/listed.h"
#include "formats/generate/names.h"
#include "formats/generate/owned.h"
#include "formats/generate/trailer.h"

#include <errno.h>
#include <fcntl.h>

static struct dlb_err err;

static void test_names(void **state)
{
    static const char patterns[] = "class_####/########.* shard-######.tar a#b";
    static const char *const fit[] = {"class_0001/00000001.jpg",
                                      "class_000123/123456789.x.y",
                                      "shard-000000.tar",
                                      "shard-1234567.tar",
                                      "a7b",
                                      "a77b"};
    static const char *const unfit[] = {
        "",
        "class_0001",
        "class_001/00000001.jpg",
        "class_0001/0000001.jpg",
        "class_0001/00000001.",
        "class_0001/00000001",
        "class_0001/00000001.a/b",
        "class_0001/thesis.jpg",
        "class_dogs/00000001.jpg",
        "x/class_0001/00000001.jpg",
        "shard-00000.tar",
        "shard-000000.tar.gz",
        "shard-000000-mine.tar",
        "shard-0thesis.tar",
        "shard-000000.ta",
        "ab",
        "a7",
        "a7bb",
    };

    (void)state;
    for (size_t i = 0; i < sizeof fit / sizeof *fit; i++)
        if (!dlb_names_fit(patterns, fit[i]))
            fail_msg("\"%s\" should fit", fit[i]);
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++)
        if (dlb_names_fit(patterns, unfit[i]))
            fail_msg("\"%s\" should not fit", unfit[i]);
    assert_false(dlb_names_fit(NULL, "a7b"));
    assert_true(dlb_names_fit_folder(patterns, "class_0001"));
    assert_false(dlb_names_fit_folder(patterns, "class_001"));
    assert_false(dlb_names_fit_folder(patterns, "class_0001/x"));
    assert_false(dlb_names_fit_folder(patterns, "a7b"));
    assert_true(dlb_names_made("class_0001/00000001.jpg"));
    assert_false(dlb_names_made("cat/holiday.jpg"));
    assert_false(dlb_names_made("holiday.jpg"));
}

/* The number is that of a unit, and is written as gen writes it. */
static void test_units(void **state)
{
    static const char *const unfit[] = {"shard-000012.tar",
                                        "shard-000777.tar",
                                        "shard-0000001.tar",
                                        "shard-00001.tar",
                                        "shard-000001.tar.",
                                        "shard-000001.tar.gz",
                                        "shard-000001",
                                        "shard-.tar",
                                        "shard--00001.tar",
                                        "shard- 00001.tar",
                                        "tokens-000001.tar",
                                        "",
                                        "shard-18446744073709551617.tar"};

    (void)state;
    assert_true(dlb_names_unit("shard-000000.tar", "shard-", ".tar", 12));
    assert_true(dlb_names_unit("shard-000011.tar", "shard-", ".tar", 12));
    assert_true(dlb_names_unit("shard-1234567.tar", "shard-", ".tar", 1234568));
    assert_true(dlb_names_unit("shard-0000012.tar", "shard-", ".tar", 1234568));
    assert_false(dlb_names_unit("shard-000012.tar", "shard-", ".tar", 1234568));
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++)
        if (dlb_names_unit(unfit[i], "shard-", ".tar", 12))
            fail_msg("\"%s\" should not fit", unfit[i]);
}

static void test_beneath(void **state)
{
    static const struct {
        const char *path;
        int code;
    } bad[] = {{"../x", EINVAL},      {"a/../x", EINVAL},  {"/etc/passwd", EINVAL},
               {"a//x", EINVAL},      {"a/", EINVAL},      {"", EINVAL},
               {"..", EINVAL},        {"link/x", ENOTDIR}, {"file/x", ENOTDIR},
               {"a/link/x", ENOTDIR}, {"none/x", ENOENT}};
    const char *name = NULL;
    struct stat st;

    (void)state;
    folder_sub("a");
    folder_sub("a/b");
    folder_write("file", "x", 1);
    folder_write("a/b/x", "x", 1);
    assert_int_equal(symlink("a", folder_path("link")), 0);
    assert_int_equal(symlink("b", folder_path("a/link")), 0);
    int root = open(folder, O_RDONLY | O_DIRECTORY);
    assert_true(root >= 0);
    int fd = dlb_beneath(root, "a/b/x", &name);
    assert_true(fd >= 0);
    assert_string_equal(name, "x");
    assert_int_equal(fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(close(fd), 0);
    fd = dlb_beneath(root, "file", &name);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        errno = 0;
        fd = dlb_beneath(root, bad[i].path, &name);
        if (fd >= 0 || errno != bad[i].code)
            fail_msg("\"%s\": descriptor %d, errno %d", bad[i].path, fd, errno);
    }
    assert_int_equal(close(root), 0);
}

static void append(const char *path, const char *text)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_trailer(void **state)
{
    char path[512];
    struct stat st;

    (void)state;
    (void)snprintf(path, sizeof path, "%s", folder_path("file"));
    for (int n = 0; n < 3; n++) {
        folder_write("file", "any data", n ? 8 : 0);
        assert_false(dlb_trailer_fits(path));
        assert_int_equal(dlb_trailer_add(path, &err), DLB_OK);
        assert_true(dlb_trailer_fits(path));
        assert_int_equal(stat(path, &st), 0);
        if (n == 1)
            append(path, "more");
        else
            assert_int_equal(truncate(path, st.st_size - 1), 0);
        assert_false(dlb_trailer_fits(path));
    }
    folder_write("file", "any data", 8);
    assert_int_equal(dlb_trailer_add(path, &err), DLB_OK);
    assert_int_equal(symlink("file", folder_path("link")), 0);
    assert_false(dlb_trailer_fits(folder_path("link")));
    assert_false(dlb_trailer_fits(folder_path("none")));
    assert_int_equal(dlb_trailer_add(folder_path("none/x"), &err), DLB_E_IO);
}

/* Of a list only lines count that gen or convert could have written. */
static void test_list(void **state)
{
    static const char text[] = DLB_FILES_HEAD "5 class_0001/00000001.jpg\n7 pics/holiday.jpg\n"
                                              "x class_0001/00000002.jpg\n 3 data.h5\n"
                                              "9 ../class_0001/00000003.jpg\n1 shard-000000.tar";
    struct dlb_listed list;

    (void)state;
    assert_int_equal(dlb_listed_load(folder, &list, &err), DLB_OK);
    assert_false(list.there);
    folder_write(DLB_FILES_NAME, "shopping list\n", 14);
    assert_int_equal(dlb_listed_load(folder, &list, &err), DLB_OK);
    assert_false(list.there);
    dlb_listed_free(&list);
    folder_write(DLB_FILES_NAME, text, strlen(text));
    assert_int_equal(dlb_listed_load(folder, &list, &err), DLB_OK);
    assert_true(list.there);
    assert_non_null(dlb_listed_find(&list, "class_0001/00000001.jpg"));
    assert_int_equal(dlb_listed_find(&list, "class_0001/00000001.jpg")->n_bytes, 5);
    assert_null(dlb_listed_find(&list, "pics/holiday.jpg"));
    assert_null(dlb_listed_find(&list, "class_0001/00000002.jpg"));
    dlb_listed_free(&list);
}

/* A removal takes what dlbench makes, and leaves the rest with the folders that hold it. */
static void test_remove(void **state)
{
    struct dlb_stays stays;

    (void)state;
    folder_sub("set");
    folder_sub("set/class_0001");
    folder_sub("set/class_0002");
    folder_sub("set/papers");
    folder_sub("else");
    folder_write("set/class_0001/00000001.bin", "x", 1);
    folder_write("set/class_0002/00000002.bin", "x", 1);
    folder_write("set/class_0002/thesis.txt", "x", 1);
    folder_write("set/" DLB_FILES_NAME, "x", 1);
    folder_write("else/00000003.bin", "x", 1);
    assert_int_equal(symlink("../else", folder_path("set/class_0003")), 0);
    assert_false(dlb_owned_remove(AT_FDCWD, folder_path("set"), &stays));
    assert_true(stays.any);
    assert_int_equal(stays.code, 0);
    assert_false(folder_has("set/class_0001"));
    assert_false(folder_has("set/class_0002/00000002.bin"));
    assert_false(folder_has("set/" DLB_FILES_NAME));
    assert_true(folder_has("set/class_0002/thesis.txt"));
    assert_true(folder_has("set/papers"));
    assert_true(folder_has("set/class_0003"));
    assert_true(folder_has("else/00000003.bin"));
    assert_int_equal(remove(folder_path("set/class_0002/thesis.txt")), 0);
    assert_int_equal(rmdir(folder_path("set/papers")), 0);
    assert_int_equal(unlink(folder_path("set/class_0003")), 0);
    assert_true(dlb_owned_remove(AT_FDCWD, folder_path("set"), &stays));
    assert_false(folder_has("set"));
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_units),
                                       IN_FOLDER(test_beneath),      IN_FOLDER(test_trailer),
                                       IN_FOLDER(test_list),         IN_FOLDER(test_remove)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
