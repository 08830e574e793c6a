#include "bench/cli/verb.h"

#include <signal.h>
#include <stddef.h>

atomic_bool dlb_interrupted;

/* The first signal asks; the second, from a user who does not want to wait, kills. */
static void on_signal(int number)
{
    if (!atomic_exchange(&dlb_interrupted, true))
        return;
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

void dlb_catch_interrupts(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal}, old; /* without SA_RESTART: sleeps end */

    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        (void)sigaction(numbers[i], NULL, &old);
        /* nohup's wish is kept. An ignored SIGINT is only what a script's "&" left behind. */
        if (numbers[i] == SIGHUP && old.sa_handler == SIG_IGN)
            continue;
        (void)sigaction(numbers[i], &action, NULL);
    }
}
