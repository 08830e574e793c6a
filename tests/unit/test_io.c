/* core/base/io: the POSIX byte source and whole files. */
#include "core/base/io.h"
#include "tests/support/folder.h"

#include <errno.h>
#include <limits.h>
#include <sys/resource.h>

struct seen {
    unsigned n_files, n_folders, n_others;
    uint64_t n_bytes;
};

static int count(void *ctx, const struct dlb_io_entry *entry, struct dlb_err *err)
{
    struct seen *seen = ctx;
    (void)err;
    seen->n_files += entry->kind == DLB_IO_FILE;
    seen->n_folders += entry->kind == DLB_IO_DIR;
    seen->n_others += entry->kind == DLB_IO_OTHER;
    seen->n_bytes += entry->n_bytes;
    return DLB_OK;
}

static void test_list(void **state)
{
    struct dlb_err err = {0};
    struct seen seen = {0};

    (void)state;
    folder_sub("sub");
    folder_write("a", "12345", 5);
    assert_int_equal(symlink("a", folder_path("link")), 0);
    assert_int_equal(symlink("sub", folder_path("sublink")), 0);
    assert_int_equal(symlink("nowhere", folder_path("dangling")), 0);
    assert_int_equal(symlink("loop", folder_path("loop")), 0);
    assert_int_equal(mkfifo(folder_path("pipe"), 0600), 0);
    assert_int_equal(dlb_io_posix.list(folder, count, &seen, &err), DLB_OK);
    assert_int_equal(seen.n_files, 2);
    assert_int_equal(seen.n_folders, 2);
    assert_int_equal(seen.n_others, 3);
    assert_int_equal(seen.n_bytes, 10);
}

static int stop_at_once(void *ctx, const struct dlb_io_entry *entry, struct dlb_err *err)
{
    (void)entry, (void)err;
    (*(int *)ctx)++;
    return DLB_END;
}

static void test_list_stops(void **state)
{
    struct dlb_err err = {0};
    int n = 0;

    (void)state;
    folder_write("a", "", 0);
    folder_write("b", "", 0);
    assert_int_equal(dlb_io_posix.list(folder, stop_at_once, &n, &err), DLB_END);
    assert_int_equal(n, 1);
}

static void test_missing(void **state)
{
    struct dlb_err err = {0};
    struct seen seen = {0};
    enum dlb_io_kind kind;
    uint64_t n;
    int64_t handle;

    (void)state;
    assert_int_equal(dlb_io_posix.list(folder_path("none"), count, &seen, &err), DLB_E_IO);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_string_equal(err.path, folder_path("none"));
    assert_int_equal(dlb_io_posix.stat(folder_path("none"), &kind, &n, &err), DLB_E_IO);
    assert_int_equal(dlb_io_posix.open(folder_path("none"), &handle, &err), DLB_E_IO);
    folder_write("file", "x", 1);
    assert_int_equal(dlb_io_posix.open_dir(folder_path("file"), &handle, &err), DLB_E_IO);
    assert_int_equal(err.sys_errno, ENOTDIR);
}

static void test_reads(void **state)
{
    struct dlb_err err = {0};
    int64_t dir, handle;
    char bytes[16] = "";
    size_t n = 0;
    uint64_t size = 0;

    (void)state;
    folder_write("f", "0123456789", 10);
    assert_int_equal(dlb_io_posix.open_dir(folder, &dir, &err), DLB_OK);
    assert_int_equal(dlb_io_posix.open_at(dir, "f", &handle, &err), DLB_OK);
    assert_int_equal(dlb_io_posix.size(handle, &size, "f", &err), DLB_OK);
    assert_int_equal(size, 10);
    assert_int_equal(dlb_io_posix.pread(handle, bytes, 4, 3, &n, "f", &err), DLB_OK);
    assert_int_equal(n, 4);
    assert_memory_equal(bytes, "3456", 4);
    assert_int_equal(dlb_io_posix.pread(handle, bytes, 8, 6, &n, "f", &err), DLB_OK);
    assert_int_equal(n, 4);
    assert_true(dlb_io_posix.fd(handle) >= 0);
    dlb_io_posix.close(handle);
    assert_int_equal(dlb_io_posix.pread(handle, bytes, 1, 7, &n, "f", &err), DLB_E_IO);
    assert_int_equal(err.offset_bytes, 7);
    dlb_io_posix.close(dir);
}

struct account {
    struct dlb_io_watch watch;
    size_t n, n_bytes;
};

static void count_read(struct dlb_io_watch *watch, uint64_t ns, size_t n_bytes)
{
    struct account *account = (struct account *)(void *)watch;
    (void)ns;
    account->n++;
    account->n_bytes += n_bytes;
}

/* The watch is called for each read that returns bytes, and for no other; only while it is set. */
static void test_watched(void **state)
{
    struct account account = {.watch = {count_read}};
    static const size_t at[] = {0, 4, 10};
    struct dlb_err err;
    char got[64];
    int64_t handle;
    size_t n;

    (void)state;
    folder_write("f", "0123456789", 10);
    assert_int_equal(dlb_io_posix.open(folder_path("f"), &handle, &err), DLB_OK);
    for (int watched = 0; watched < 3; watched++) {
        dlb_io_watch = watched == 1 ? &account.watch : NULL;
        for (int i = 0; i < 3; i++)
            assert_int_equal(dlb_io_posix.pread(handle, got, i == 0 ? 4 : 64, at[i], &n, "f", &err),
                             DLB_OK);
    }
    dlb_io_posix.close(handle);
    assert_int_equal(account.n, 2);
    assert_int_equal(account.n_bytes, 10);
}

static void test_descriptors_are_a_shortage(void **state)
{
    struct dlb_err err = {0};
    struct rlimit old, none;
    int64_t handle;

    (void)state;
    folder_write("f", "x", 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = (struct rlimit){0, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int rc = dlb_io_posix.open(folder_path("f"), &handle, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(rc, DLB_E_NOMEM);
    assert_int_equal(err.status, DLB_E_NOMEM);
    assert_int_equal(err.code, DLB_ERR_TOO_MANY_FILES);
    assert_int_equal(err.sys_errno, EMFILE);
}

static void test_read_file(void **state)
{
    struct dlb_err err = {0};
    char *text = NULL, large[9000];
    size_t n = 0;

    (void)state;
    memset(large, 'x', sizeof large);
    folder_write("large", large, sizeof large);
    assert_int_equal(dlb_read_file(folder_path("large"), sizeof large, &text, &n, &err), DLB_OK);
    assert_int_equal(n, sizeof large);
    assert_memory_equal(text, large, sizeof large);
    assert_int_equal(text[n], 0);
    free(text);
    assert_int_equal(dlb_read_file(folder_path("large"), sizeof large - 1, &text, &n, &err),
                     DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_FILE_TOO_LARGE);
    assert_int_equal(dlb_read_file(folder, 100, &text, &n, &err), DLB_E_IO);
    assert_int_equal(err.sys_errno, EISDIR);
    folder_write("empty", "", 0);
    assert_int_equal(dlb_read_file(folder_path("empty"), 100, &text, &n, &err), DLB_OK);
    assert_int_equal(n, 0);
    assert_string_equal(text, "");
    free(text);
}

/* No process has the pipe open for writing, so that a plain open would wait for ever. */
static void test_refuses_what_is_no_file(void **state)
{
    static const char *const names[] = {"fifo", "link", "/dev/zero"};
    struct dlb_err err = {0};
    char *text = NULL;
    size_t n = 0, align_bytes;
    int64_t handle;

    (void)state;
    assert_int_equal(mkfifo(folder_path("fifo"), 0600), 0);
    assert_int_equal(symlink("fifo", folder_path("link")), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = names[i][0] == '/' ? names[i] : folder_path(names[i]);
        assert_int_equal(dlb_read_file(path, 100, &text, &n, &err), DLB_E_IO);
        assert_int_equal(err.code, DLB_ERR_NOT_A_FILE);
        assert_string_equal(err.path, path);
        assert_int_equal(dlb_io_posix.open(path, &handle, &err), DLB_E_IO);
        assert_int_equal(err.code, DLB_ERR_NOT_A_FILE);
        assert_string_equal(err.path, path);
        assert_non_null(strstr(err.what, names[i][0] == '/' ? "device" : "pipe"));
        assert_int_equal(dlb_io_posix.open_direct(path, &handle, &align_bytes, &err), DLB_E_IO);
    }
    /* open_at does not look at what it opens; but it does not wait, either. */
    uint8_t byte;
    assert_int_equal(dlb_io_posix.open_at(DLB_IO_NO_DIR, folder_path("fifo"), &handle, &err),
                     DLB_OK);
    (void)dlb_io_posix.pread(handle, &byte, 1, 0, &n, "fifo", &err);
    dlb_io_posix.close(handle);
}

static void test_write_atomic(void **state)
{
    struct dlb_err err = {0};
    struct seen seen = {0};
    struct stat st;
    size_t n;

    (void)state;
    mode_t mask = umask(022);
    assert_int_equal(dlb_write_file_atomic(folder_path("f"), "old", 3, &err), DLB_OK);
    assert_int_equal(dlb_write_file_atomic(folder_path("f"), "newer", 5, &err), DLB_OK);
    (void)umask(mask);
    uint8_t *text = folder_read("f", &n);
    assert_int_equal(n, 5);
    assert_memory_equal(text, "newer", 5);
    free(text);
    assert_int_equal(stat(folder_path("f"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    /* A folder cannot be replaced by a file: the error names it, and no temporary stays. */
    folder_sub("taken");
    assert_int_equal(dlb_write_file_atomic(folder_path("taken"), "x", 1, &err), DLB_E_IO);
    assert_string_equal(err.path, folder_path("taken"));
    assert_int_equal(dlb_write_file_atomic(folder_path("none/f"), "x", 1, &err), DLB_E_IO);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_int_equal(dlb_io_posix.list(folder, count, &seen, &err), DLB_OK);
    assert_int_equal(seen.n_files, 1);
    assert_int_equal(seen.n_folders, 1);
}

/* All new, or all old: here the second of three cannot be written. */
static void test_files_are_written_together(void **state)
{
    struct dlb_err err;
    struct seen seen = {0};
    char *text, first[PATH_MAX], lost[PATH_MAX], last[PATH_MAX];
    size_t n;

    (void)state;
    (void)snprintf(first, sizeof first, "%s", folder_path("first"));
    (void)snprintf(lost, sizeof lost, "%s", folder_path("none/lost"));
    (void)snprintf(last, sizeof last, "%s", folder_path("last"));
    struct dlb_file_out files[] = {{.path = first, .data = "new", .n_bytes = 3},
                                   {.path = lost, .data = "new", .n_bytes = 3},
                                   {.path = last, .data = "new", .n_bytes = 3}};
    folder_write("first", "old", 3);
    assert_int_equal(dlb_write_files_atomic(files, 3, &err), DLB_E_IO);
    assert_string_equal(err.path, lost);
    assert_int_equal(dlb_read_file(first, 100, &text, &n, &err), DLB_OK);
    assert_string_equal(text, "old");
    free(text);
    assert_int_equal(dlb_io_posix.list(folder, count, &seen, &err), DLB_OK);
    assert_int_equal(seen.n_files, 1);
    files[1].path = folder_path("lost");
    assert_int_equal(dlb_write_files_atomic(files, 3, &err), DLB_OK);
    seen = (struct seen){0};
    assert_int_equal(dlb_io_posix.list(folder, count, &seen, &err), DLB_OK);
    assert_int_equal(seen.n_files, 3);
    assert_int_equal(dlb_read_file(first, 100, &text, &n, &err), DLB_OK);
    assert_string_equal(text, "new");
    free(text);
}

/* Several files are all new or all old. folder_path keeps one path: the others are copied. */
static void test_write_all_or_none(void **state)
{
    struct dlb_err err = {0};
    struct seen seen = {0};
    char first[320], second[320];
    size_t n;

    (void)state;
    (void)snprintf(first, sizeof first, "%s", folder_path("first"));
    (void)snprintf(second, sizeof second, "%s", folder_path("second"));
    folder_write("first", "old", 3);
    folder_sub("second");
    const struct dlb_file_out files[] = {{.path = first, .data = "newer", .n_bytes = 5},
                                         {.path = second, .data = "x", .n_bytes = 1}};
    assert_int_equal(dlb_write_files_atomic(files, 2, &err), DLB_E_IO);
    assert_string_equal(err.path, second);
    uint8_t *text = folder_read("first", &n);
    assert_int_equal(n, 3);
    assert_memory_equal(text, "old", 3);
    free(text);
    assert_int_equal(dlb_io_posix.list(folder, count, &seen, &err), DLB_OK);
    assert_int_equal(seen.n_files, 1);
    assert_int_equal(seen.n_folders, 1);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_list),
        IN_FOLDER(test_list_stops),
        IN_FOLDER(test_watched),
        IN_FOLDER(test_missing),
        IN_FOLDER(test_reads),
        IN_FOLDER(test_read_file),
        IN_FOLDER(test_refuses_what_is_no_file),
        IN_FOLDER(test_write_atomic),
        IN_FOLDER(test_write_all_or_none),
        IN_FOLDER(test_descriptors_are_a_shortage),
        IN_FOLDER(test_files_are_written_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
