/* slowfs as a program, for scripts: mounts it, prints where, and goes on until its standard input
 * ends.
 *
 *   slowfs FOLDERS FILES BYTES LATENCY_US BYTES_PER_S DEPTH [SOURCE]     77: it cannot be mounted
 *
 * With SOURCE, the files of that folder; the first three mean nothing then. */
#include "tests/support/slowfs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    unsigned long long value[6];
    char why[128], byte;

    if (argc != 7 && argc != 8) {
        (void)fprintf(stderr, "slowfs FOLDERS FILES BYTES LATENCY_US BYTES_PER_S DEPTH [SOURCE]\n");
        return 2;
    }
    for (int i = 0; i < 6; i++)
        value[i] = strtoull(argv[i + 1], NULL, 10);
    struct slowfs fs = {.n_folders = (uint32_t)value[0],
                        .n_files = (uint32_t)value[1],
                        .file_bytes = (uint32_t)value[2],
                        .read_ns = value[3] * 1000,
                        .bytes_per_s = value[4],
                        .depth = (uint32_t)value[5],
                        .source = argc > 7 ? argv[7] : NULL};
    /* The script that starts this program closes its stdin to end it. A signal must not end it
     * first: the mount would stay behind. */
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    if (!slowfs_open(&fs, why, sizeof why)) {
        (void)fprintf(stderr, "%s\n", why);
        return 77;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)printf("%s\n", fs.path);
    (void)fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    slowfs_close(&fs);
    return 0;
}
