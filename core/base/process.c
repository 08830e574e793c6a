#include "core/base/process.h"

#include "core/base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_EVERY_NS DLB_NS_PER_MS
#define KILLED_NS (2 * DLB_NS_PER_S) /* how long a killed process may take to end */

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool dlb_find_program(const char *name, char path[PATH_MAX])
{
    const char *at = getenv("PATH");

    if (strchr(name, '/')) {
        int n = snprintf(path, PATH_MAX, "%s", name);
        return n < PATH_MAX && is_program(path);
    }
    while (at && *at) {
        size_t n = strcspn(at, ":");
        if (n > 0 && snprintf(path, PATH_MAX, "%.*s/%s", (int)n, at, name) < PATH_MAX &&
            is_program(path))
            return true;
        at += n + (at[n] == ':');
    }
    return false;
}

bool dlb_find_python(uint32_t place, char path[PATH_MAX])
{
    static const char *const environments[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    const char *const names[] = {"python3", "/usr/bin/python3"};

    if (place >= 2)
        return place < DLB_N_PYTHON_PLACES && dlb_find_program(names[place - 2], path);
    const char *folder = getenv(environments[place]);
    return folder && *folder && snprintf(path, PATH_MAX, "%s/bin/python3", folder) < PATH_MAX &&
           is_program(path);
}

bool dlb_process_reap(pid_t pid, uint64_t limit_ns, int *status)
{
    uint64_t start_ns = dlb_now_ns();

    *status = 0;
    for (;;) {
        pid_t got = waitpid(pid, status, limit_ns == DLB_NO_LIMIT ? 0 : WNOHANG);
        if (got == pid || (got < 0 && errno != EINTR))
            return true;
        if (got == 0 && dlb_now_ns() - start_ns >= limit_ns)
            return false;
        if (got == 0)
            (void)dlb_sleep_until_ns(dlb_now_ns() + LOOK_EVERY_NS);
    }
}

bool dlb_process_end(pid_t pid, uint64_t patience_ns, int *status)
{
    if (patience_ns > 0) {
        (void)kill(pid, SIGTERM);
        if (dlb_process_reap(pid, patience_ns, status))
            return true;
    }
    (void)kill(pid, SIGKILL);
    return dlb_process_reap(pid, KILLED_NS, status);
}

bool dlb_signal_is_ignored(int number)
{
    struct sigaction now;

    return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}
