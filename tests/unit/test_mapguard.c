/* Maps of a file that is cut short: every reader gets an error with path and offset, never
 * zeros. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/mapguard.h"
#include "tests/support/folder.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { PAGE = 4096, N_BYTES = 64 * PAGE, N_THREADS = 4 };

static uint8_t byte_at(uint64_t i)
{
    return (uint8_t)(1 + i % 251); /* never zero */
}

struct mapped {
    struct dlb_map map;
    int64_t handle;
    const char *path;
};

static void map_file(struct mapped *m, const char *name, size_t n_bytes)
{
    struct dlb_err err;
    uint8_t *data = malloc(n_bytes);

    assert_non_null(data);
    for (size_t i = 0; i < n_bytes; i++)
        data[i] = byte_at(i);
    folder_write(name, data, n_bytes);
    free(data);
    m->path = folder_path(name);
    assert_int_equal(dlb_io_posix.open(m->path, &m->handle, &err), DLB_OK);
    assert_int_equal(dlb_map_open(&m->map, &dlb_io_posix, m->handle, n_bytes, m->path, &err),
                     DLB_OK);
}

static void unmap(struct mapped *m)
{
    dlb_map_close(&m->map);
    dlb_map_close(&m->map); /* idempotent */
    dlb_io_posix.close(m->handle);
}

static void check_good(const struct mapped *m, uint64_t offset, size_t n_bytes)
{
    static _Thread_local uint8_t got[N_BYTES];
    struct dlb_err err;

    assert_int_equal(dlb_map_copy(&m->map, got, offset, n_bytes, &err), DLB_OK);
    for (size_t i = 0; i < n_bytes; i++)
        assert_int_equal(got[i], byte_at(offset + i));
}

static void check_cut(const struct mapped *m, uint64_t offset, size_t n_bytes, uint64_t cut_at)
{
    static _Thread_local uint8_t got[N_BYTES];
    struct dlb_err err = {.status = DLB_OK};

    assert_int_equal(dlb_map_copy(&m->map, got, offset, n_bytes, &err), DLB_E_IO);
    assert_int_equal(err.offset_bytes, offset > cut_at ? offset : cut_at);
    assert_non_null(strstr(err.path, strrchr(m->path, '/')));
    assert_int_equal(err.code, DLB_ERR_FILE_CUT);
}

static void whole_file(void **state)
{
    struct mapped m;
    (void)state;
    map_file(&m, "a", N_BYTES);
    check_good(&m, 0, N_BYTES);
    check_good(&m, 12345, 678);
    check_good(&m, N_BYTES - 1, 1);
    assert_false(dlb_map_suspect(&m.map, N_BYTES));
    unmap(&m);
}

static void cut_at_a_page(void **state)
{
    struct mapped m, other;
    (void)state;
    map_file(&m, "a", N_BYTES);
    map_file(&other, "b", N_BYTES);
    folder_cut("a", 10 * PAGE);
    check_cut(&m, 10 * PAGE, 100, 10 * PAGE);
    assert_true(dlb_map_suspect(&m.map, 10 * PAGE + 1));
    assert_false(dlb_map_suspect(&m.map, 10 * PAGE));
    check_cut(&m, 10 * PAGE, 100,
              10 * PAGE); /* the page of zeros is there now, and does not pass */
    check_cut(&m, 9 * PAGE + 5, PAGE, 10 * PAGE);
    check_cut(&m, 63 * PAGE, PAGE, 10 * PAGE);
    check_good(&m, 3, 10 * PAGE - 3);
    assert_false(dlb_map_suspect(&other.map, N_BYTES));
    check_good(&other, 0, N_BYTES);
    unmap(&m);
    unmap(&other);
}

/* Within a page there is no fault: the page's end reads as zeros. */
static void cut_within_a_page(void **state)
{
    struct mapped m;
    (void)state;
    map_file(&m, "a", N_BYTES);
    check_good(&m, 0, N_BYTES);
    folder_cut("a", 10 * PAGE + 1000);
    check_cut(&m, 10 * PAGE + 900, 200, 10 * PAGE + 1000);
    check_cut(&m, 10 * PAGE + 900, 101, 10 * PAGE + 1000);
    check_cut(&m, 10 * PAGE + 2000, 1, 10 * PAGE + 1000);
    check_good(&m, 10 * PAGE + 900, 100);
    unmap(&m);
}

static void cut_to_nothing(void **state)
{
    struct mapped m;
    (void)state;
    map_file(&m, "a", 1000);
    folder_cut("a", 0);
    check_cut(&m, 0, 1000, 0);
    unmap(&m);
}

/* A file that grew again holds what it holds: real zeros are no error. */
static void zeros_of_the_file(void **state)
{
    uint8_t zeros[5000] = {0}, got[5000];
    struct dlb_map map;
    struct dlb_err err;
    int64_t handle;

    (void)state;
    folder_write("z", zeros, sizeof zeros);
    assert_int_equal(dlb_io_posix.open(folder_path("z"), &handle, &err), DLB_OK);
    assert_int_equal(dlb_map_open(&map, &dlb_io_posix, handle, sizeof zeros, "z", &err), DLB_OK);
    memset(got, 1, sizeof got);
    assert_int_equal(dlb_map_copy(&map, got, 0, sizeof got, &err), DLB_OK);
    assert_memory_equal(got, zeros, sizeof got);
    dlb_map_close(&map);
    assert_int_equal(dlb_map_open(&map, &dlb_io_posix, handle, sizeof zeros + 1, "z", &err),
                     DLB_E_IO);
    assert_int_equal(err.offset_bytes, sizeof zeros);
    dlb_map_close(&map);
    assert_int_equal(dlb_map_open(&map, &dlb_io_posix, handle, 0, "z", &err), DLB_OK);
    assert_int_equal(dlb_map_copy(&map, got, 0, 0, &err), DLB_OK);
    dlb_map_close(&map);
    dlb_io_posix.close(handle);
}

struct reader {
    const struct mapped *map;
    uint32_t n_wrong, n_failed;
};

static void *read_all(void *arg)
{
    struct reader *r = arg;
    uint8_t got[512];
    struct dlb_err err;

    for (int round = 0; round < 3; round++)
        for (uint64_t at = 0; at + sizeof got <= N_BYTES; at += sizeof got) {
            int rc = dlb_map_copy(&r->map->map, got, at, sizeof got, &err);
            r->n_failed += rc != DLB_OK;
            for (size_t i = 0; rc == DLB_OK && i < sizeof got; i++)
                r->n_wrong += got[i] != byte_at(at + i);
        }
    return NULL;
}

static void many_threads_and_maps(void **state)
{
    struct mapped m[2];
    pthread_t id[2 * N_THREADS];
    struct reader r[2 * N_THREADS];

    (void)state;
    map_file(&m[0], "a", N_BYTES);
    map_file(&m[1], "b", N_BYTES);
    folder_cut("a", 20 * PAGE + 512);
    for (int i = 0; i < 2 * N_THREADS; i++) {
        r[i] = (struct reader){.map = &m[i % 2]};
        assert_int_equal(pthread_create(&id[i], NULL, read_all, &r[i]), 0);
    }
    for (int i = 0; i < 2 * N_THREADS; i++) {
        assert_int_equal(pthread_join(id[i], NULL), 0);
        assert_int_equal(r[i].n_wrong, 0);
        assert_int_equal(r[i].n_failed, i % 2 ? 0 : 3 * (N_BYTES - 20 * PAGE - 512) / 512);
    }
    unmap(&m[0]);
    unmap(&m[1]);
}

static void in_a_child(void **state)
{
    struct mapped m;
    int status = 0;

    (void)state;
    map_file(&m, "a", N_BYTES);
    folder_cut("a", PAGE);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        uint8_t got[100];
        struct dlb_err err;
        _exit(dlb_map_copy(&m.map, got, 5 * PAGE, sizeof got, &err) == DLB_E_IO ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_false(dlb_map_suspect(&m.map, N_BYTES)); /* the fault was the child's */
    unmap(&m);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* What is not ours still kills, as it would without us. */
static void foreign_signals(void **state)
{
    struct mapped m;
    int status = 0;

    (void)state;
    assert_true(signal(SIGBUS, SIG_DFL) != SIG_ERR); /* not the test runner's */
    map_file(&m, "a", N_BYTES);
    for (int sent = 0; sent < 2; sent++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            if (sent)
                (void)raise(SIGBUS);
            dlb_map_close(&m.map);
            int fd = open(m.path, O_RDONLY);
            const volatile uint8_t *bare = mmap(NULL, N_BYTES, PROT_READ, MAP_SHARED, fd, 0);
            folder_cut("a", 0);
            _exit(bare[5 * PAGE]);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    }
    unmap(&m);
}
#endif

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(whole_file),
        TEST(cut_at_a_page),
        TEST(cut_within_a_page),
        TEST(cut_to_nothing),
        TEST(zeros_of_the_file),
        TEST(many_threads_and_maps),
        TEST(in_a_child),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        TEST(foreign_signals),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
