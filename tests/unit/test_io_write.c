/* core/base/io_write where writing fails: all files are what they were before, and others' stay. */
#include "core/base/io.h"
#include "tests/support/error.h"
#include "tests/support/folder.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>

static bool no_exchange; /* as on NFS */
static int n_folder_syncs, failing_folder_sync;

int __real_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
    if (no_exchange && flags) {
        errno = EINVAL;
        return -1;
    }
    return __real_renameat2(a, from, b, to, flags);
}

int __wrap_fsync(int fd)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && ++n_folder_syncs == failing_folder_sync) {
        errno = EIO;
        return -1;
    }
    return __real_fsync(fd);
}

static int setup(void **state)
{
    no_exchange = false;
    n_folder_syncs = failing_folder_sync = 0;
    return folder_make(state);
}

static void assert_text(const char *name, const char *text)
{
    size_t n;
    uint8_t *read = folder_read(name, &n);
    assert_int_equal(n, strlen(text));
    assert_memory_equal(read, text, n);
    free(read);
}

static int n_entries(void)
{
    int n = -2;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n;
}

/* One that was there, one that was not, and one that cannot be written. */
static void fail_at_the_third(void)
{
    struct dlb_err err;
    folder_write("old", "old", 3);
    folder_sub("taken");
    const struct dlb_file_out files[] = {{.path = folder_path("old"), .data = "x", .n_bytes = 1},
                                         {.path = folder_path("new"), .data = "x", .n_bytes = 1},
                                         {.path = folder_path("taken"), .data = "x", .n_bytes = 1}};
    assert_int_equal(dlb_write_files_atomic(files, 3, &err), DLB_E_IO);
    assert_string_equal(err.path, files[2].path);
    assert_text("old", "old");
    assert_false(folder_has("new"));
    assert_int_equal(n_entries(), 2);
}

static void test_a_new_file_goes_again(void **state)
{
    (void)state;
    fail_at_the_third();
}

static void test_without_an_exchange(void **state)
{
    (void)state;
    no_exchange = true;
    fail_at_the_third();
}

/* What is put back is synced, too. */
static void test_a_folder_that_cannot_be_synced(void **state)
{
    struct dlb_err err;
    (void)state;
    for (int i = 0; i < 2; i++) {
        no_exchange = i == 1;
        n_folder_syncs = 0;
        failing_folder_sync = 1;
        folder_write("old", "old", 3);
        const struct dlb_file_out files[] = {
            {.path = folder_path("old"), .data = "x", .n_bytes = 1},
            {.path = folder_path("new"), .data = "x", .n_bytes = 1}};
        assert_int_equal(dlb_write_files_atomic(files, 2, &err), DLB_E_IO);
        assert_int_equal(err.sys_errno, EIO);
        assert_text("old", "old");
        assert_int_equal(n_entries(), 1);
        assert_int_equal(n_folder_syncs, 2);
    }
}

static void test_each_folder_is_synced_once(void **state)
{
    struct dlb_err err;
    (void)state;
    folder_sub("sub");
    const struct dlb_file_out files[] = {{.path = folder_path("a"), .data = "x", .n_bytes = 1},
                                         {.path = folder_path("sub/a"), .data = "x", .n_bytes = 1},
                                         {.path = folder_path("b"), .data = "x", .n_bytes = 1},
                                         {.path = folder_path("sub/b"), .data = "x", .n_bytes = 1}};
    assert_int_equal(dlb_write_files_atomic(files, 4, &err), DLB_OK);
    assert_int_equal(n_folder_syncs, 2);
}

/* A file has the name that a temporary one would have. */
static void test_others_files_stay(void **state)
{
    struct dlb_err err;
    char name[32], link[32];
    (void)state;
    for (int i = 0; i < 2; i++) {
        no_exchange = i == 1;
        (void)snprintf(name, sizeof name, "f.%ld.tmp", (long)getpid());
        (void)snprintf(link, sizeof link, "f.%ld-1.tmp", (long)getpid());
        folder_write("f", "old", 3);
        folder_write(name, "mine", 4);
        folder_write(link, "more", 4);
        assert_int_equal(dlb_write_file_atomic(folder_path("f"), "new", 3, &err), DLB_OK);
        assert_text("f", "new");
        assert_text(name, "mine");
        assert_text(link, "more");
        assert_int_equal(n_entries(), 3);
    }
}

static int make_pieces(void *ctx, int fd, struct dlb_err *err)
{
    int rc = dlb_write_all(fd, NULL, "new", 3, err);
    return rc == DLB_OK && ctx ? dlb_fail(err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "why") : rc;
}

/* A file that is written piece by piece is there whole, or what was there stays. */
static void test_made(void **state)
{
    (void)state;
    struct dlb_err err;
    int fails = 1;
    folder_write("a", "old", 3);
    assert_int_equal(dlb_make_file_atomic(folder_path("a"), make_pieces, &fails, &err),
                     DLB_E_CANCELLED);
    assert_text("a", "old");
    assert_int_equal(dlb_make_file_atomic(folder_path("a"), make_pieces, NULL, &err), DLB_OK);
    assert_text("a", "new");
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_a_new_file_goes_again),
        IN_FOLDER(test_without_an_exchange),
        IN_FOLDER(test_a_folder_that_cannot_be_synced),
        IN_FOLDER(test_each_folder_is_synced_once),
        IN_FOLDER(test_others_files_stay),
        cmocka_unit_test_setup_teardown(test_made, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
