/* What a process that only reads can still do, and what it cannot. */
#include "core/base/apart.h"
#include "core/base/sandbox.h"
#include "core/host/check.h"
#include "tests/support/error.h"
#include "tests/support/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <linux/tiocl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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

static int signal_its_thread(void)
{
    return (int)syscall(SYS_tgkill, getppid(), getppid(), 0);
}

/* Opened to read, for what needs no more. */
static int there(void)
{
    return open(folder_path("there"), O_RDONLY | O_CLOEXEC);
}

static int let_the_kernel_signal_it(void)
{
    return fcntl(there(), F_SETOWN, getppid());
}

static int let_the_kernel_signal_it_as(void)
{
    struct f_owner_ex owner = {F_OWNER_PID, getppid()};
    return fcntl(there(), F_SETOWN_EX, &owner);
}

static int choose_its_signal(void)
{
    return fcntl(there(), F_SETSIG, SIGKILL);
}

static int ask_for_signals(void)
{
    return fcntl(STDERR_FILENO, F_SETFL, O_ASYNC);
}

static int type_into_the_terminal(void)
{
    return ioctl(STDIN_FILENO, TIOCSTI, "x");
}

static int paste_into_the_console(void)
{
    char paste = TIOCL_PASTESEL;
    return ioctl(STDIN_FILENO, TIOCLINUX, &paste);
}

/* The kernel takes the lower half of the number. */
static int type_by_a_long_number(void)
{
    return (int)syscall(SYS_ioctl, STDIN_FILENO, UINT64_C(1) << 32 | TIOCSTI, "x");
}

static int change_its_flags(void)
{
    int flags = 0;
    return ioctl(there(), FS_IOC_SETFLAGS, &flags);
}

static int set_a_limit(void)
{
    struct rlimit limit = {1, 1};
    return prlimit(getppid(), RLIMIT_CPU, &limit, NULL);
}

static int outlive_the_parent(void)
{
    return prctl(PR_SET_PDEATHSIG, 0);
}

/* setxattrat(2) of Linux 6.13: newer than most libraries that name calls for a filter. */
static int call_what_is_new(void)
{
    struct {
        uint64_t value;
        uint32_t size, flags;
    } args = {0};
    return (int)syscall(463, AT_FDCWD, folder_path("there"), 0, "user.x", &args, sizeof args);
}

static int (*const refused[])(void) = {
    open_to_write,
    open_to_create,
    open_to_empty,
    open_another_way,
    remove_a_file,
    rename_a_file,
    make_a_folder,
    change_its_mode,
    change_its_flags,
    call_what_is_new,
    start_a_program,
    start_a_process,
    reach_the_network,
    signal_the_parent,
    signal_its_thread,
    let_the_kernel_signal_it,
    let_the_kernel_signal_it_as,
    choose_its_signal,
    ask_for_signals,
    type_into_the_terminal,
    type_by_a_long_number,
    paste_into_the_console,
    set_a_limit,
    outlive_the_parent,
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
        if (result.refused_errno[i] != ENOSYS)
            fail_msg("attempt %zu: errno %d", i, result.refused_errno[i]);
    assert_true(result.reads && result.lists && result.maps && result.limited);
    assert_int_equal(access(folder_path("there"), R_OK), 0);
    assert_int_equal(access(folder_path("new"), F_OK), -1);
}

/* As containers do. */
static void refuse_filters(void)
{
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    static const struct sock_fprog program = {sizeof code / sizeof *code, code};
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(2);
}

struct told {
    struct dlb_check_result before, after;
    int refused;
};

static void look_as_doctor_does(struct dlb_check_result *out)
{
    for (const struct dlb_check *const *check = dlb_checks; *check; check++)
        if (strcmp((*check)->name, "sandbox") == 0)
            (*check)->run(out);
}

static int be_refused(void *ctx, struct dlb_err *err)
{
    struct told *told = ctx;
    (void)err;
    told->before.state = told->after.state = DLB_CHECK_BAD;
    look_as_doctor_does(&told->before);
    refuse_filters();
    look_as_doctor_does(&told->after);
    told->refused = dlb_sandbox_reader();
    return DLB_OK;
}

static bool pass_told(void *ctx, struct dlb_pipe *pipe)
{
    return dlb_pass(pipe, ctx, sizeof(struct told));
}

static void a_refused_filter_is_told(void **state)
{
    struct told told = {.refused = 0};
    struct dlb_apart how = {
        .path = "x", .who = "x", .work = be_refused, .pass = pass_told, .ctx = &told};
    struct dlb_err err;
    (void)state;
    assert_int_equal(dlb_apart(&how, &err), DLB_OK);
    assert_int_equal(told.refused, EPERM);
    assert_int_equal(told.before.state, DLB_CHECK_OK);
    assert_int_equal(told.before.advice[0], '\0');
    assert_int_equal(told.after.state, DLB_CHECK_NOTE);
    assert_int_not_equal(told.after.advice[0], '\0');
}

/* A crash is told as one: the process may signal itself. */
static int abort_here(void *ctx, struct dlb_err *err)
{
    (void)ctx, (void)err;
    abort();
}

static void it_can_abort(void **state)
{
    struct dlb_apart how = {
        .path = "x", .who = "x", .work = abort_here, .pass = pass, .sandboxed = true};
    struct dlb_err err;
    (void)state;
    (void)dlb_apart(&how, &err);
    error_is(&err, DLB_ERR_CHILD_CRASHED, "Aborted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_reading_is_left, folder_make, folder_remove),
        cmocka_unit_test(a_refused_filter_is_told),
        cmocka_unit_test(it_can_abort),
    };
    if (dlb_sandbox_missing) {
        (void)printf("skipped: %s\n", dlb_sandbox_missing);
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
