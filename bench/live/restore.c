#include "bench/live/restore.h"

#include "bench/live/terminal.h"
#include "core/base/last.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define STACK_BYTES 65536 /* of handlers: a stack that overflowed has no room for one */

static struct {
    atomic_bool wanted, continued;
    pid_t pid;
    struct termios modes;
    char leave[256];
    size_t n_leave;
} held;

/* In the background the bytes may be written although the terminal's mode `tostop` forbids it. */
static void write_leave(void)
{
    sigset_t one, before;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, SIGTTOU);
    (void)pthread_sigmask(SIG_BLOCK, &one, &before);
    for (size_t at = 0; at < held.n_leave;) {
        ssize_t n = write(STDERR_FILENO, held.leave + at, held.n_leave - at);
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void dlb_restore_now(void)
{
    int saved = errno;
    if (getpid() != held.pid || !atomic_exchange(&held.wanted, false))
        return;
    write_leave();
    if (dlb_terminal_in_front())
        (void)tcsetattr(STDERR_FILENO, TCSANOW, &held.modes);
    errno = saved;
}

/* SA_RESETHAND: the second delivery has the default's effect. */
static void end(int number)
{
    dlb_restore_now();
    (void)raise(number);
}

/* Gives the terminal back, then stops. It goes on here. The signal is let through: thread
 * sanitizer's handlers run with all of them blocked, and this one would come again for ever. */
static void stop(int number)
{
    struct sigaction by_default = {.sa_handler = SIG_DFL}, ours;
    sigset_t one, before;
    int saved = errno;

    dlb_restore_now();
    (void)sigaction(number, &by_default, &ours);
    (void)sigemptyset(&one);
    (void)sigaddset(&one, number);
    (void)pthread_sigmask(SIG_UNBLOCK, &one, &before);
    (void)raise(number);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)sigaction(number, &ours, NULL);
    errno = saved;
}

static void note_continued(int number)
{
    (void)number;
    atomic_store(&held.continued, true);
}

static bool ends_program(int number)
{
    static const int others[] = {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU,
                                 SIGCONT, SIGCHLD, SIGURG,  SIGWINCH};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (number == others[i])
            return false;
    return true;
}

/* Sanitizers, and what catches interrupts, have their own ways: only defaults are replaced. */
static void catch_default(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags | SA_ONSTACK | SA_NODEFER};
    struct sigaction old;

    (void)sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
        (void)sigaction(number, &action, NULL);
}

static void catch_all(void)
{
    static char stack[STACK_BYTES];
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack}, old;

    if (sigaltstack(NULL, &old) == 0 && (old.ss_flags & SS_DISABLE))
        (void)sigaltstack(&own, NULL);
    for (int number = 1; number <= SIGRTMAX; number++)
        if (ends_program(number))
            catch_default(number, end, (int)SA_RESETHAND);
    catch_default(SIGTSTP, stop, SA_RESTART);
    catch_default(SIGCONT, note_continued, SA_RESTART);
}

bool dlb_restore_arm(const char *leave, size_t n_leave)
{
    if (n_leave > sizeof held.leave || atexit(dlb_restore_now) != 0)
        return false;
    memcpy(held.leave, leave, n_leave);
    held.n_leave = n_leave;
    held.pid = getpid();
    catch_all();
    dlb_last_make_room(dlb_restore_now);
    return true;
}

bool dlb_restore_hold(void)
{
    if (tcgetattr(STDERR_FILENO, &held.modes) != 0)
        return false;
    atomic_store(&held.wanted, true);
    return true;
}

bool dlb_restore_holds(void)
{
    return atomic_load(&held.wanted);
}

bool dlb_restore_continued(void)
{
    return atomic_exchange(&held.continued, false);
}
