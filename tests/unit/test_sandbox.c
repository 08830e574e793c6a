/* What a process that only reads can still do, and what it cannot. */
#include "core/base/apart.h"
#include "core/base/sandbox.h"
#include "tests/support/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_to_write(void)
{
    return open(folder_path("there"), O_WRONLY | O_CLOEXEC);
}

static int open_to_create(void)
{
    return open(folder_path("new"), O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
}

static int open_to_empty(void)
{
    return open(folder_path("there"), O_RDONLY | O_TRUNC | O_CLOEXEC);
}

static int open_another_way(void)
{
    struct {
        uint64_t flags, mode, resolve;
    } how = {.flags = O_WRONLY};
    return (int)syscall(SYS_openat2, AT_FDCWD, folder_path("there"), &how, sizeof how);
}

static int remove_a_file(void)
{
    return unlink(folder_path("there"));
}

static int rename_a_file(void)
{
    return rename(folder_path("there"), folder_path("new"));
}

static int make_a_folder(void)
{
    return mkdir(folder_path("new"), 0700);
}

static int change_its_mode(void)
{
    return chmod(folder_path("there"), 0);
}

static int start_a_program(void)
{
    return execl("/bin/true", "true", NULL);
}

static int start_a_process(void)
{
    return fork();
}

static int reach_the_network(void)
{
    return socket(AF_INET, SOCK_STREAM, 0);
}

static int signal_the_parent(void)
{
    return kill(getppid(), SIGTERM);
}

static int (*const refused[])(void) = {
    open_to_write,   open_to_create,  open_to_empty,     open_another_way,
    remove_a_file,   rename_a_file,   make_a_folder,     change_its_mode,
    start_a_program, start_a_process, reach_the_network, signal_the_parent,
};
enum { N_REFUSED = sizeof refused / sizeof *refused };

struct result {
    int refused_errno[N_REFUSED]; /* 0: it was done */
    bool reads, lists, maps, limited;
};

static int try_all(void *ctx, struct dlb_err *err)
{
    struct result *result = ctx;
    char byte;
    (void)err;
    for (size_t i = 0; i < N_REFUSED; i++) {
        errno = 0;
        int rc = refused[i]();
        if (rc == 0 && refused[i] == start_a_process)
            _exit(0);
        result->refused_errno[i] = rc < 0 ? errno : 0;
    }
    int fd = open(folder_path("there"), O_RDONLY | O_CLOEXEC);
    result->reads = read(fd, &byte, 1) == 1 && byte == 't';
    void *map = mmap(NULL, 4, PROT_READ, MAP_PRIVATE, fd, 0);
    result->maps = map != MAP_FAILED;
    result->lists = open(folder_path(""), O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0;
    result->limited = mmap(NULL, SIZE_MAX / 4, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED;
    return DLB_OK;
}

static bool pass(void *ctx, struct dlb_pipe *pipe)
{
    return dlb_pass(pipe, ctx, sizeof(struct result));
}

static void only_reading_is_left(void **state)
{
    (void)state;
    struct result result = {.reads = false};
    struct dlb_apart how = {
        .path = "x", .who = "x", .work = try_all, .pass = pass, .ctx = &result, .sandboxed = true};
    struct dlb_err err;
    folder_write("there", "text", 4);
    assert_int_equal(dlb_apart(&how, &err), DLB_OK);
    for (size_t i = 0; i < N_REFUSED; i++)
        if (result.refused_errno[i] != (refused[i] == open_another_way ? ENOSYS : EPERM))
            fail_msg("attempt %zu: errno %d", i, result.refused_errno[i]);
    assert_true(result.reads && result.lists && result.maps && result.limited);
    assert_int_equal(access(folder_path("there"), R_OK), 0);
    assert_int_equal(access(folder_path("new"), F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_reading_is_left, folder_make, folder_remove),
    };
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 77; /* sanitizers are not confined */
#endif
    if (dlb_sandbox_missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
