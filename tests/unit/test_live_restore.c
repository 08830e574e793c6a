/* A child on a terminal of its own (pty) holds its screen, and ends in some way. */
#include "bench/live/restore.h"

#include "bench/live/terminal.h"
#include "bench/live/typed.h"
#include "core/base/err.h"
#include "core/base/mem.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define LEAVE "<left>"

/* What the child wrote to its terminal until it ended. */
static struct {
    char text[16384];
    size_t n;
    int status;
    bool echoes; /* its terminal, at the end */
} seen;

static void take(int fd, int wait_ms)
{
    struct pollfd asked = {.fd = fd, .events = POLLIN};
    while (seen.n < sizeof seen.text - 1 && poll(&asked, 1, wait_ms) > 0) {
        ssize_t n = read(fd, seen.text + seen.n, sizeof seen.text - 1 - seen.n);
        if (n <= 0)
            return;
        seen.n += (size_t)n;
    }
}

static pid_t on_terminal(int *fd, void (*work)(int), int which)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    memset(&seen, 0, sizeof seen);
    pid_t child = forkpty(fd, NULL, NULL, &size);
    assert_true(child >= 0);
    if (child == 0) {
        work(which);
        exit(0);
    }
    return child;
}

/* A session leader's terminal hangs up when it ends: this end reads its modes before. */
static void see(void (*work)(int), int which)
{
    struct termios modes;
    siginfo_t info;
    int fd;
    pid_t child = on_terminal(&fd, work, which);

    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(tcgetattr(fd, &modes), 0);
    seen.echoes = (modes.c_lflag & ECHO) != 0;
    take(fd, 100);
    assert_int_equal(waitpid(child, &seen.status, 0), child);
    (void)close(fd);
}

static void hold(void)
{
    struct termios modes;
    if (!dlb_restore_arm(LEAVE, strlen(LEAVE)) || !dlb_restore_hold())
        _exit(77);
    (void)tcgetattr(STDERR_FILENO, &modes);
    modes.c_lflag &= ~(tcflag_t)ECHO;
    (void)tcsetattr(STDERR_FILENO, TCSANOW, &modes);
}

static void get_signal(int number)
{
    (void)signal(number, SIG_DFL); /* whatever the tests' own environment ignores */
    hold();
    (void)raise(number);
}

static void each_signal_that_ends_restores(void **state)
{
    static const int numbers[] = {SIGHUP,  SIGINT,  SIGQUIT,   SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
                                  SIGFPE,  SIGUSR1, SIGSEGV,   SIGUSR2, SIGPIPE, SIGALRM, SIGTERM,
                                  SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGSYS,  SIGPWR,  SIGIO};
    (void)state;
    for (size_t i = 0; i <= sizeof numbers / sizeof *numbers; i++) {
        int number = i < sizeof numbers / sizeof *numbers ? numbers[i] : SIGRTMIN + 3;
        see(get_signal, number);
        assert_true(WIFSIGNALED(seen.status) && WTERMSIG(seen.status) == number);
        assert_string_equal(seen.text, LEAVE);
        assert_true(seen.echoes);
    }
}

static void exit_now(int which)
{
    if (which == 1)
        (void)signal(SIGUSR1, SIG_IGN);
    hold();
    (void)raise(which == 1 ? SIGUSR1 : SIGWINCH); /* neither ends it */
    if (which == 2)
        dlb_restore_now(); /* once is enough */
    exit(5);
}

static void an_end_in_order_restores_once(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        see(exit_now, which);
        assert_true(WIFEXITED(seen.status) && WEXITSTATUS(seen.status) == 5);
        assert_string_equal(seen.text, LEAVE);
        assert_true(seen.echoes);
    }
}

static void say_last_words(int which)
{
    hold();
    if (which == 0)
        (void)dlb_mem_check(NULL);
    DLB_BUG("planted");
}

/* The message would vanish with the screen if it came before. */
static void last_words_come_after_it(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        see(say_last_words, which);
        assert_int_equal(strncmp(seen.text, LEAVE, strlen(LEAVE)), 0);
        assert_non_null(strstr(seen.text, which == 0 ? "[E_NOMEM]" : "test_live_restore.c:"));
        assert_null(strstr(seen.text + 1, LEAVE));
        assert_true(seen.echoes);
        if (which == 0)
            assert_true(WIFEXITED(seen.status) && WEXITSTATUS(seen.status) == DLB_MEM_EXIT);
        else
            assert_true(WIFSIGNALED(seen.status) && WTERMSIG(seen.status) == SIGABRT);
    }
}

/* Not a call in tail position: each takes room. */
static int deeper(volatile int *above) // NOLINT(misc-no-recursion)
{
    volatile int here[1024] = {*above + 1};
    return here[0] < 0 ? 0 : deeper(here) + here[1];
}

static void overflow(int which)
{
    volatile int first = which;
    (void)signal(SIGSEGV, SIG_DFL);
    hold();
    exit(deeper(&first));
}

static void a_stack_that_overflows_restores(void **state)
{
    (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip();
#endif
    see(overflow, 0);
    assert_true(WIFSIGNALED(seen.status) && WTERMSIG(seen.status) == SIGSEGV);
    assert_string_equal(seen.text, LEAVE);
    assert_true(seen.echoes);
}

static void end_a_child(int which)
{
    int status;
    hold();
    pid_t child = fork();
    if (child == 0) {
        (void)raise(which);
        exit(0);
    }
    (void)waitpid(child, &status, 0);
    (void)!write(STDERR_FILENO, "after", 5);
    _exit(WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void a_child_never_restores(void **state)
{
    (void)state;
    see(end_a_child, SIGUSR1);
    assert_int_equal(WEXITSTATUS(seen.status), SIGUSR1);
    assert_string_equal(seen.text, "after");
}

/* In a process group that is not the terminal's. */
static void end_behind(int which)
{
    int status;
    hold();
    pid_t child = fork();
    if (child == 0) {
        (void)setpgid(0, 0);
        if (!dlb_restore_arm(LEAVE, strlen(LEAVE)) || dlb_terminal_in_front() ||
            dlb_terminal_has_keys())
            _exit(77);
        exit(which);
    }
    (void)waitpid(child, &status, WUNTRACED);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void the_background_leaves_modes_alone(void **state)
{
    (void)state;
    see(end_behind, 9);
    assert_int_equal(WEXITSTATUS(seen.status), 9);
    assert_string_equal(seen.text, LEAVE);
    assert_false(seen.echoes);
}

static void without_terminal(int which)
{
    (void)which;
    if (!dlb_terminal_in_front() || !dlb_terminal_has_keys() || !dlb_terminal_flows() ||
        dlb_terminal_shared())
        _exit(1);
    pid_t child = fork();
    int status, ends[2];
    if (child == 0) {
        (void)setsid(); /* the terminal is that of another session now */
        _exit(dlb_terminal_in_front() || dlb_terminal_has_keys() ? 2 : 0);
    }
    (void)waitpid(child, &status, 0);
    (void)signal(SIGQUIT, SIG_IGN);
    bool background = dlb_terminal_shared();
    (void)signal(SIGQUIT, SIG_DFL);
    if (!background || pipe(ends) || dup2(ends[1], STDOUT_FILENO) < 0 || !dlb_terminal_shared())
        _exit(3);
    _exit(WEXITSTATUS(status));
}

static void a_terminal_that_others_use_is_known(void **state)
{
    (void)state;
    see(without_terminal, 0);
    assert_true(WIFEXITED(seen.status));
    assert_int_equal(WEXITSTATUS(seen.status), 0);
}

static void wait_for_flow(int which)
{
    const struct timespec tick = {0, 10000000};
    (void)which;
    for (bool flows = true; flows; flows = dlb_terminal_flows())
        (void)nanosleep(&tick, NULL);
    _exit(6);
}

static void ctrl_s_is_known(void **state)
{
    int fd;
    pid_t child = on_terminal(&fd, wait_for_flow, 0);
    (void)state;
    assert_int_equal(write(fd, "\023", 1), 1);
    assert_int_equal(waitpid(child, &seen.status, 0), child);
    assert_int_equal(WEXITSTATUS(seen.status), 6);
    (void)close(fd);
}

static void q_alone_is_meant(void **state)
{
    struct dlb_typed typed = {false, false};
    (void)state;
    assert_false(dlb_typed_q(&typed, 0, 0));
    assert_false(dlb_typed_q(&typed, 1, 0));
    assert_true(dlb_typed_q(&typed, 0, 0));
    assert_false(dlb_typed_q(&typed, 0, 0));
    assert_false(dlb_typed_q(&typed, 2, 0)); /* and again, because nothing happened */
    assert_true(dlb_typed_q(&typed, 3, 0));
}

/* Typed at any pace of which no pause is longer than a look. */
static void q_in_a_line_is_not_meant(void **state)
{
    static const char line[] = "quit; grep -q a b; q ";
    (void)state;
    for (size_t at_once = 1; at_once < sizeof line; at_once++) {
        struct dlb_typed typed = {false, false};
        for (size_t at = 0; line[at];) {
            uint32_t n_q = 0, n_other = 0;
            for (size_t i = 0; i < at_once && line[at]; i++, at++)
                *(line[at] == 'q' ? &n_q : &n_other) += 1;
            assert_false(dlb_typed_q(&typed, n_q, n_other));
        }
        assert_false(dlb_typed_q(&typed, 0, 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_signal_that_ends_restores),
        cmocka_unit_test(an_end_in_order_restores_once),
        cmocka_unit_test(last_words_come_after_it),
        cmocka_unit_test(a_stack_that_overflows_restores),
        cmocka_unit_test(a_child_never_restores),
        cmocka_unit_test(the_background_leaves_modes_alone),
        cmocka_unit_test(a_terminal_that_others_use_is_known),
        cmocka_unit_test(ctrl_s_is_known),
        cmocka_unit_test(q_alone_is_meant),
        cmocka_unit_test(q_in_a_line_is_not_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
