/* Tests that compare with files of another program, which a script of tests/peers writes.
 * Header-only.
 */
#ifndef DLB_TESTS_PEERS_H
#define DLB_TESTS_PEERS_H

#include "tests/support/folder.h"

#include <sys/wait.h>

/* The script's exit code; 127: there is no Python. `args` follow the folder's path. */
static inline int peers_write(const char *script, const char *args)
{
    const char *source = getenv("DLB_SOURCE_DIR"), *python = getenv("PYTHON");
    char command[1024];

    (void)snprintf(command, sizeof command, "'%s' '%s/tests/peers/%s' '%s' %s",
                   python ? python : "python3", source ? source : ".", script, folder, args);
    int status = system(command);
    return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

/* What main returns: 77 without the program, or where the script exits with that, because it lacks
 * its packages. */
static inline int peers_run(const char *script, const char *args, const struct CMUnitTest *tests,
                            size_t n_tests)
{
    void *none = NULL;

    if (folder_make(&none) != 0)
        return 1;
    int code = peers_write(script, args);
    bool skipped = code == 77 || code == 127;
    int failed =
        skipped ? 0 : code != 0 || _cmocka_run_group_tests(script, tests, n_tests, NULL, NULL);
    (void)folder_remove(&none);
    return skipped ? 77 : failed;
}

#endif
