#include "bench/live/terminal.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

bool dlb_terminal_in_front(void)
{
    return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

bool dlb_terminal_shared(void)
{
    struct stat out;
    struct sigaction quit;
    bool piped = fstat(STDOUT_FILENO, &out) == 0 && S_ISFIFO(out.st_mode);
    return piped || (sigaction(SIGQUIT, NULL, &quit) == 0 && quit.sa_handler == SIG_IGN);
}

bool dlb_terminal_flows(void)
{
    struct pollfd asked = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&asked, 1, 0) > 0 && (asked.revents & POLLOUT);
}

bool dlb_terminal_has_keys(void)
{
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

void dlb_terminal_size(uint32_t *n_rows, uint32_t *n_columns)
{
    struct winsize size;
    *n_rows = 24;
    *n_columns = 80;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
        *n_rows = size.ws_row;
        *n_columns = size.ws_col;
    }
}
