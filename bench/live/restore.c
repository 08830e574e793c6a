#include "bench/live/restore.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static struct {
    atomic_bool wanted;
    pid_t pid;
    int fd;
    struct termios modes;
    char leave[256];
    size_t n_leave;
} held;

void dlb_restore_now(void)
{
    int saved = errno;
    if (!atomic_load(&held.wanted) || getpid() != held.pid)
        return;
    atomic_store(&held.wanted, false);
    for (size_t at = 0; at < held.n_leave;) {
        ssize_t n = write(held.fd, held.leave + at, held.n_leave - at);
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    (void)tcsetattr(held.fd, TCSANOW, &held.modes);
    errno = saved;
}

/* SA_RESETHAND: the second delivery has the default's effect. */
static void end(int number)
{
    dlb_restore_now();
    (void)raise(number);
}

/* Sanitizers, and what catches interrupts, have their own ways: only defaults are replaced. */
static void catch_ends(void)
{
    static const int numbers[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGABRT,
                                  SIGSEGV, SIGBUS,  SIGFPE, SIGILL};
    struct sigaction action = {.sa_handler = end, .sa_flags = (int)SA_RESETHAND | SA_NODEFER}, old;

    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            (void)sigaction(numbers[i], &action, NULL);
}

bool dlb_restore_arm(int fd, const char *leave, size_t n_leave)
{
    static bool armed;

    if (n_leave > sizeof held.leave || tcgetattr(fd, &held.modes) != 0)
        return false;
    memcpy(held.leave, leave, n_leave);
    held.n_leave = n_leave;
    held.fd = fd;
    held.pid = getpid();
    catch_ends();
    if (!armed)
        armed = atexit(dlb_restore_now) == 0;
    return armed;
}

void dlb_restore_wanted(bool wanted)
{
    atomic_store(&held.wanted, wanted);
}
