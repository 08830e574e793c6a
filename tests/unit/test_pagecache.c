#include "core/host/pagecache.h"
#include "core/host/pagecache_ways.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static int new_dir(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/dlb_pagecache_XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
    (void)state;
    return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *below(const char *name)
{
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static int put(const char *name, size_t n_bytes)
{
    int fd = open(below(name), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    char *data = calloc(1, n_bytes + 1);
    assert_true(fd >= 0);
    assert_non_null(data);
    assert_int_equal(write(fd, data, n_bytes), (ssize_t)n_bytes);
    free(data);
    return fd;
}

static size_t page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void just_written_is_resident(void **state)
{
    (void)state;
    size_t n_bytes = 100 * page() + 123;
    int fd = put("whole", n_bytes);
    struct dlb_residency r = {0};
    struct dlb_err err;
    assert_int_equal(dlb_residency_fd(fd, &r, &err), DLB_OK);
    assert_int_not_equal(r.how, DLB_RESIDENCY_UNKNOWN);
    assert_int_equal(r.total_bytes, n_bytes);
    assert_int_equal(r.resident_bytes, n_bytes); /* not a page more than the file has */
    assert_int_equal(r.n_files, 1);
    assert_int_equal(r.n_unknown, 0);
    (void)close(fd);
}

static void empty_file(void **state)
{
    (void)state;
    int fd = put("empty", 0);
    struct dlb_residency r = {0};
    struct dlb_err err;
    assert_int_equal(dlb_residency_fd(fd, &r, &err), DLB_OK);
    assert_int_equal(r.total_bytes, 0);
    assert_int_equal(r.resident_bytes, 0);
    assert_int_equal(r.n_files, 1);
    (void)close(fd);
}

/* One page of a large hole was written: both ways must see it and little more, wherever it lies. */
static void ways_agree_on_a_part(void **state)
{
    (void)state;
    const uint64_t n_pages = 200000; /* more than mincore is asked about at a time */
    static const uint64_t places[] = {0, 70000, 199999};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int fd = put("hole", 0);
        uint64_t n_bytes = n_pages * page(), by_cachestat = 0, by_mincore = 0;
        assert_int_equal(ftruncate(fd, (off_t)n_bytes), 0);
        assert_int_equal(pwrite(fd, "x", 1, (off_t)(places[i] * page())), 1);
        assert_true(dlb_residency_mincore(fd, n_bytes, &by_mincore));
        assert_true(by_mincore >= page() && by_mincore <= n_bytes / 100);
        if (dlb_residency_cachestat(fd, n_bytes, &by_cachestat))
            assert_int_equal(by_cachestat, by_mincore);
        (void)close(fd);
    }
}

static void evicted_is_not_resident(void **state)
{
    (void)state;
    struct statfs fs;
    int fd = put("cold", 256 * page());
    struct dlb_residency r = {0};
    struct dlb_err err;
    assert_int_equal(fstatfs(fd, &fs), 0);
    /* On tmpfs the page cache is the storage; of overlays and network filesystems not every kernel
     * lets go. */
    if (fs.f_type != 0xef53 /* ext4 */ && fs.f_type != 0x58465342 /* xfs */) {
        (void)close(fd);
        skip();
    }
    /* Dirty as it is, the kernel alone would leave it there. */
    dlb_pagecache_evict(fd);
    assert_int_equal(dlb_residency_fd(fd, &r, &err), DLB_OK);
    assert_int_equal(r.total_bytes, 256 * page());
    assert_true(r.resident_bytes <= r.total_bytes / 10);
    (void)close(fd);
}

/* Another user's file, open for reading: mincore would report every page as resident, so its
 * answer must not be used. */
static void not_ours_is_unknown(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    size_t n_bytes = 16 * page();
    (void)close(put("theirs", n_bytes));
    int fd = open(below("theirs"), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);

    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct dlb_residency r = {0};
        struct dlb_err err;
        uint64_t resident_bytes;
        if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
            _exit(2);
        if (dlb_residency_mincore(fd, n_bytes, &resident_bytes))
            _exit(3);
        if (dlb_residency_fd(fd, &r, &err) != DLB_OK || r.how == DLB_RESIDENCY_MINCORE)
            _exit(4);
        if (r.how == DLB_RESIDENCY_UNKNOWN &&
            (r.n_files != 0 || r.total_bytes != 0 || r.n_unknown != 1))
            _exit(5);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    (void)close(fd);
}

static void what_is_no_file(void **state)
{
    (void)state;
    struct dlb_residency r = {0};
    struct dlb_err err;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(dlb_residency_fd(pipes[0], &r, &err), DLB_E_IO);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
    assert_int_equal(dlb_residency_fd(-1, &r, &err), DLB_E_IO);
    assert_int_equal(err.sys_errno, EBADF);
    assert_int_equal(r.n_files + r.n_unknown, 0);
    dlb_residency_file(below("nowhere"), true, &r);
    dlb_residency_file("/dev/null", true, &r);
    assert_int_equal(mkfifo(below("fifo"), 0600), 0);
    dlb_residency_file(below("fifo"), true, &r); /* must not be waited for */
    assert_int_equal(r.n_files, 0);
    assert_int_equal(r.n_unknown, 3);
    assert_int_equal(r.how, DLB_RESIDENCY_UNKNOWN);
}

static void files_add_up(void **state)
{
    (void)state;
    struct dlb_residency r = {0};
    char target[600];
    (void)close(put("one", 1000));
    (void)close(put("two", 2000));
    int fd = put("hole", 0);
    assert_int_equal(ftruncate(fd, 1 << 20), 0);
    (void)close(fd);
    (void)snprintf(target, sizeof target, "%s/two", dir);
    assert_int_equal(symlink(target, below("link")), 0);
    static const char *const names[] = {"one", "link", "hole"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        dlb_residency_file(below(names[i]), false, &r);
    assert_int_equal(r.n_files, 3);
    assert_int_equal(r.n_unknown, 0);
    assert_int_equal(r.total_bytes, 3000 + (1 << 20));
    assert_int_equal(r.resident_bytes, 3000);
    assert_true(r.n_sparse >= 1); /* what was not written back has no room yet, either */
    assert_int_equal(r.n_elsewhere, 0);
    dlb_residency_file("/proc/self/exe", false, &r);
    struct stat here, there;
    assert_int_equal(stat(dir, &here) | stat("/proc/self/exe", &there), 0);
    assert_int_equal(r.n_elsewhere, here.st_dev != there.st_dev);
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(dlb_residency_name(DLB_RESIDENCY_UNKNOWN), "unknown");
    assert_string_equal(dlb_residency_name(DLB_RESIDENCY_CACHESTAT), "cachestat");
    assert_string_equal(dlb_residency_name(DLB_RESIDENCY_MINCORE), "mincore");
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, new_dir, drop_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(just_written_is_resident),
        IN_DIR(empty_file),
        IN_DIR(ways_agree_on_a_part),
        IN_DIR(evicted_is_not_resident),
        IN_DIR(not_ours_is_unknown),
        IN_DIR(what_is_no_file),
        IN_DIR(files_add_up),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
