#include "bench/cli/verb.h"

#include "bench/live/restore.h"
#include "core/base/process.h"

#include <signal.h>
#include <stddef.h>

atomic_bool dlb_interrupted;

static bool only_asks;

/* The first signal asks the program to end; the second kills it. */
static void on_signal(int number)
{
    if (!atomic_exchange(&dlb_interrupted, true) || only_asks)
        return;
    dlb_restore_now();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

void dlb_interrupts_only_ask(void)
{
    only_asks = true;
}

void dlb_catch_interrupts(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: a sleep must end */

    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        /* nohup ignores SIGHUP: keep that. An ignored SIGINT is a side effect of a script's "&". */
        if (numbers[i] == SIGHUP && dlb_signal_is_ignored(SIGHUP))
            continue;
        (void)sigaction(numbers[i], &action, NULL);
    }
}
