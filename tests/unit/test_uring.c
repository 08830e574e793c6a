/* The ring: reads and chains, what they do when files are not as expected, and kernels that refuse.
 *
 * With arguments it runs that command with io_uring refused: for tests of the program. */
#include "loaders/uring.h"

#include "core/base/clock.h"
#include "tests/support/folder.h"
#include "tests/support/refuse.h"

#include <errno.h>
#include <sys/wait.h>

enum { N = 8 };

static struct dlb_uring *ring;

static int setup(void **state)
{
    char why[160];

    if (folder_make(state) != 0)
        return -1;
    ring = NULL;
    if (!dlb_uring_missing() && !dlb_uring_open(&ring, N, why, sizeof why))
        print_message("no io_uring: %s\n", why);
    return 0;
}

static int teardown(void **state)
{
    if (ring)
        dlb_uring_close(ring);
    return folder_remove(state);
}

static bool next_within(struct dlb_uring_done *done, uint64_t limit_ns)
{
    uint64_t deadline_ns = dlb_now_ns() + limit_ns;

    while (!dlb_uring_next(ring, done)) {
        assert_int_equal(dlb_uring_submit(ring, 10 * DLB_NS_PER_MS), 0);
        if (dlb_now_ns() > deadline_ns)
            return false;
    }
    return true;
}

/* All completions of one request, in their order. Returns what its read gave. */
static int32_t finish(uint32_t request, uint32_t n, int32_t *opened, int32_t *closed)
{
    struct dlb_uring_done done;
    int32_t result = 0;

    for (uint32_t i = 0; i < n; i++) {
        assert_true(next_within(&done, 5 * DLB_NS_PER_S));
        assert_int_equal(done.request, request);
        assert_int_equal(done.step, n == 1 ? DLB_URING_READ : (enum dlb_uring_step)i);
        if (done.step == DLB_URING_OPENED)
            *opened = done.result;
        if (done.step == DLB_URING_READ)
            result = done.result;
        if (done.step == DLB_URING_CLOSED)
            *closed = done.result;
    }
    return result;
}

static int32_t chain(const char *name, void *dst, uint32_t n_bytes, uint64_t offset_bytes,
                     int32_t *opened)
{
    struct dlb_uring_read what = {.fd = -1,
                                  .dir_fd = AT_FDCWD,
                                  .name = name,
                                  .dst = dst,
                                  .n_bytes = n_bytes,
                                  .offset_bytes = offset_bytes};
    int32_t closed = 1;
    uint32_t n = dlb_uring_read(ring, 3, &what);

    assert_int_equal(n, 3);
    int32_t result = finish(3, n, opened, &closed);
    assert_int_equal(closed, *opened < 0 ? -EBADF : 0); /* the slot is free again */
    return result;
}

static void reads_at_offsets(void **state)
{
    uint8_t data[5000], got[5000] = {0};
    int32_t unused;
    (void)state;

    if (!ring)
        skip();
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7 + i / 256);
    folder_write("a", data, sizeof data);
    int fd = open(folder_path("a"), O_RDONLY);
    struct dlb_uring_read what = {.fd = fd, .dst = got, .n_bytes = 100, .offset_bytes = 4321};
    assert_int_equal(dlb_uring_read(ring, 0, &what), 1);
    assert_int_equal(finish(0, 1, &unused, &unused), 100);
    assert_memory_equal(got, data + 4321, 100);
    what = (struct dlb_uring_read){.fd = fd, .dst = got, .n_bytes = 1000, .offset_bytes = 4500};
    assert_int_equal(dlb_uring_read(ring, N - 1, &what), 1);
    assert_int_equal(finish(N - 1, 1, &unused, &unused), 500); /* to the end */
    assert_int_equal(close(fd), 0);
}

static void chains_open_read_close(void **state)
{
    uint8_t data[3000], got[4000];
    int32_t opened;
    (void)state;

    if (!ring)
        skip();
    memset(data, 0x5a, sizeof data);
    folder_write("a", data, sizeof data);
    folder_write("empty", data, 0);
    for (int i = 0; i < 3 * N; i++) { /* as often as it may: slots are given back */
        memset(got, 0, sizeof got);
        assert_int_equal(chain(folder_path("a"), got, 3000, 0, &opened), 3000);
        assert_memory_equal(got, data, 3000);
        assert_int_equal(chain(folder_path("a"), got, 4000, 2900, &opened), 100);
        assert_int_equal(chain(folder_path("empty"), got, 4000, 0, &opened), 0);
        assert_int_equal(chain(folder_path("empty"), got, 0, 0, &opened), 0);
        assert_int_equal(opened, 0);
        assert_int_equal(chain(folder_path("missing"), got, 10, 0, &opened), -EBADF);
        assert_int_equal(opened, -ENOENT);
        assert_int_equal(chain(folder_path("."), got, 10, 0, &opened), -EISDIR);
        assert_int_equal(opened, 0);
    }
}

static void many_at_once(void **state)
{
    enum { ROUNDS = 40, LEN = 777 };
    static uint8_t got[N][LEN];
    uint8_t data[LEN];
    char name[N][16];
    uint32_t n_left[N] = {0};
    (void)state;

    if (!ring)
        skip();
    for (uint32_t i = 0; i < N; i++) {
        memset(data, (int)i + 1, sizeof data);
        (void)snprintf(name[i], sizeof name[i], "f%u", i);
        folder_write(name[i], data, sizeof data);
    }
    int dir = open(folder, O_RDONLY | O_DIRECTORY);
    (void)dlb_uring_register(ring, got, sizeof got / 2); /* reads go to both kinds of memory */
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t n = 0;
        memset(got, 0, sizeof got);
        for (uint32_t i = 0; i < N; i++) {
            struct dlb_uring_read what = {
                .fd = -1, .dir_fd = dir, .name = name[i], .dst = got[i], .n_bytes = LEN};
            n_left[i] = dlb_uring_read(ring, i, &what);
            n += n_left[i];
        }
        for (; n > 0; n--) {
            struct dlb_uring_done done;
            assert_true(next_within(&done, 5 * DLB_NS_PER_S));
            assert_true(done.request < N && n_left[done.request] > 0);
            n_left[done.request]--;
            assert_int_equal(done.result, done.step == DLB_URING_READ ? LEN : 0);
        }
        for (uint32_t i = 0; i < N; i++)
            assert_true(got[i][0] == i + 1 && got[i][LEN - 1] == i + 1);
    }
    assert_int_equal(close(dir), 0);
}

/* A pipe that nobody writes to: the read would wait for ever. */
static void what_hangs_is_cancelled(void **state)
{
    uint8_t got[16];
    struct dlb_uring_done done;
    (void)state;

    if (!ring)
        skip();
    assert_int_equal(mkfifo(folder_path("pipe"), 0600), 0);
    int writer = open(folder_path("pipe"), O_RDWR);
    struct dlb_uring_read what = {.fd = -1,
                                  .dir_fd = AT_FDCWD,
                                  .name = folder_path("pipe"),
                                  .dst = got,
                                  .n_bytes = sizeof got};
    uint32_t n = dlb_uring_read(ring, 5, &what);
    uint64_t start_ns = dlb_now_ns();
    while (next_within(&done, 100 * DLB_NS_PER_MS)) /* the open, and nothing else */
        assert_int_equal(done.step, DLB_URING_OPENED), n--;
    assert_int_equal(n, 2);
    assert_true(dlb_now_ns() - start_ns < 5 * DLB_NS_PER_S); /* the wait has an end */
    dlb_uring_cancel(ring, 5);
    assert_true(next_within(&done, 5 * DLB_NS_PER_S));
    assert_int_equal(done.step, DLB_URING_READ);
    assert_true(done.result == -ECANCELED || done.result == -EINTR);
    assert_true(next_within(&done, 5 * DLB_NS_PER_S));
    assert_int_equal(done.step, DLB_URING_CLOSED);
    assert_int_equal(done.result, 0); /* the hard link held */
    assert_int_equal(close(writer), 0);
}

/* What dlb_uring_open says in a process where this call is refused; "" when it opens. */
static void said_without(unsigned number, unsigned code, char *why, size_t n_why)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct dlb_uring *own;
        char text[160] = "";
        if (refuse_syscall(number, code) == 0 && dlb_uring_open(&own, N, text, sizeof text))
            dlb_uring_close(own);
        _exit(write(ends[1], text, sizeof text) == (ssize_t)sizeof text ? 0 : 1);
    }
    assert_int_equal(close(ends[1]), 0);
    assert_int_equal(read(ends[0], why, n_why), n_why);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void refusals_are_told(void **state)
{
    char why[160];
    (void)state;

    if (!ring)
        skip();
    said_without(__NR_io_uring_setup, EPERM, why, sizeof why);
    assert_non_null(strstr(why, strerrordesc_np(EPERM)));
    assert_non_null(strstr(why, "seccomp"));
    said_without(__NR_io_uring_setup, ENOSYS, why, sizeof why);
    assert_non_null(strstr(why, strerrordesc_np(ENOSYS)));
    said_without(__NR_io_uring_enter, EACCES, why, sizeof why);
    assert_non_null(strstr(why, strerrordesc_np(EACCES)));
    said_without(__NR_io_uring_register, ENOMEM, why, sizeof why);
    assert_non_null(strstr(why, "RLIMIT_MEMLOCK"));
    said_without(__NR_mount, EPERM, why, sizeof why);
    assert_string_equal(why, "");
}

static void missing_says_why(void **state)
{
    struct dlb_uring *none = NULL;
    char why[160] = "";
    (void)state;

    if (!dlb_uring_missing())
        skip();
    assert_false(dlb_uring_open(&none, N, why, sizeof why));
    assert_null(none);
    assert_string_equal(why, dlb_uring_missing());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_at_offsets),        TEST(chains_open_read_close), TEST(many_at_once),
        TEST(what_hangs_is_cancelled), TEST(refusals_are_told),      TEST(missing_says_why),
    };
    if (argc > 1) {
        if (refuse_syscall(__NR_io_uring_setup, EPERM) == 0)
            (void)execvp(argv[1], argv + 1);
        perror(argv[1]);
        return 2;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
