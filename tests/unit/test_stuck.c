/* core/host/stuck: the call and the file that a process waits in. */
#include "core/base/clock.h"
#include "core/host/stuck.h"
#include "tests/support/folder.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Nothing writes to the pipe: opening and reading it hangs. */
static const char *pipe_path(void)
{
    (void)mkfifo(folder_path("pipe"), 0600);
    return folder_path("pipe");
}

static void *open_it(void *ignored)
{
    (void)open(pipe_path(), O_RDONLY);
    return ignored;
}

static _Noreturn void open_absolute(void)
{
    _exit(open(pipe_path(), O_RDONLY) < 0);
}

static _Noreturn void open_below_folder(void)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY);
    _exit(openat(fd, "pipe", O_RDONLY) < 0);
}

static _Noreturn void read_it(void)
{
    char byte;
    int fd = open(pipe_path(), O_RDWR);
    _exit(read(fd, &byte, 1) < 0);
}

/* As a cell: the main thread waits for the one that hangs. */
static _Noreturn void open_on_a_thread(void)
{
    pthread_t thread;
    (void)pthread_create(&thread, NULL, open_it, NULL);
    (void)pthread_join(thread, NULL);
    _exit(0);
}

static _Noreturn void open_in_a_grandchild(void)
{
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child > 0) {
            (void)waitpid(child, NULL, 0);
            _exit(0);
        }
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    open_absolute();
}

static _Noreturn void be_stopped(void)
{
    (void)kill(getpid(), SIGSTOP);
    _exit(0);
}

static _Noreturn void sleep_long(void)
{
    (void)dlb_sleep_until_ns(dlb_now_ns() + 60 * DLB_NS_PER_S);
    _exit(0);
}

/* What is found of such a process within two seconds; a page fault is where it may be on its way.
 */
static void look(void (*hang)(void), char *text, size_t n_text)
{
    (void)pipe_path();
    pid_t pid = fork();
    if (pid == 0) {
        (void)setpgid(0, 0);
        hang();
    }
    uint64_t end_ns = dlb_now_ns() + 2 * DLB_NS_PER_S;
    bool found = false;
    while (!found && dlb_now_ns() < end_ns) {
        found = dlb_stuck_in(pid, text, n_text) && strcmp(text, "in a page fault") != 0;
        (void)dlb_sleep_until_ns(dlb_now_ns() + 5 * DLB_NS_PER_MS);
    }
    (void)kill(pid, SIGKILL);
    (void)kill(-pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_names_call_and_file(void **state)
{
    static const struct {
        void (*hang)(void);
        const char *call;
    } rows[] = {{open_absolute, "open"},
                {open_below_folder, "open"},
                {read_it, "read"},
                {open_on_a_thread, "open"},
                {open_in_a_grandchild, "open"}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[512], expected[512];
        look(rows[i].hang, text, sizeof(text));
        if (i == 0 && !text[0]) { /* no /proc/PID/syscall: of a sandbox */
            skip();
        }
        (void)snprintf(expected, sizeof(expected), "in %s() of %s", rows[i].call,
                       folder_path("pipe"));
        assert_string_equal(text, expected);
    }
}

static void test_stopped_and_not_stuck(void **state)
{
    char text[512];
    (void)state;
    look(be_stopped, text, sizeof(text));
    assert_string_equal(text, "stopped by a signal");
    look(sleep_long, text, sizeof(text));
    assert_string_equal(text, "");
    assert_false(dlb_stuck_in(0x7fffffff, text, sizeof(text)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names_call_and_file, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_stopped_and_not_stuck, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
