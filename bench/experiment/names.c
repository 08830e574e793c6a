#include "bench/experiment/names.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIGITS 9 /* of a process's number */

const char *const dlb_result_names[DLB_N_RESULT_NAMES + 1] = {
    "summary.json", "environment.json", "summary.txt", "report.html", DLB_JOURNAL_NAME};

long dlb_process_number(const char *text, const char **end)
{
    size_t n_digits = strspn(text, "0123456789");
    if (n_digits == 0 || n_digits > MAX_DIGITS || text[0] == '0')
        return 0;
    *end = text + n_digits;
    return strtol(text, NULL, 10);
}

bool dlb_is_temporary(const char *name, const char *const *files, const char **process)
{
    const char *end = NULL;
    for (; *files; files++) {
        size_t len = strlen(*files);
        if (strncmp(name, *files, len) != 0 || name[len] != '.' ||
            !dlb_process_number(name + len + 1, &end))
            continue;
        *process = name + len + 1;
        if (*end == '-') /* where another file had the first name */
            end += 1 + strspn(end + 1, "0123456789");
        return strcmp(end, ".tmp") == 0;
    }
    return false;
}

bool dlb_is_result_name(const char *name)
{
    for (int i = 0; dlb_result_names[i]; i++)
        if (strcmp(name, dlb_result_names[i]) == 0)
            return true;
    return false;
}

bool dlb_is_result_file(const char *name)
{
    const char *process = NULL;
    return dlb_is_result_name(name) || dlb_is_temporary(name, dlb_result_names, &process);
}
