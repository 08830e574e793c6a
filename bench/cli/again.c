#include "bench/cli/again.h"

#include "core/base/mem.h"
#include "core/base/shell.h"

#include <stdlib.h>
#include <string.h>

static bool is_of_result(const char *word)
{
    static const char *const flags[] = {"--overwrite", "--json", "--verbose", "--quiet"};
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
        if (strcmp(word, flags[i]) == 0)
            return true;
    return strncmp(word, "--run-name=", 11) == 0 || strncmp(word, "--trace=", 8) == 0;
}

/* Likewise, with the word behind it. */
static bool takes_value(const char *word)
{
    return strcmp(word, "--run-name") == 0 || strcmp(word, "--trace") == 0;
}

static char *append_word(char *at, const char *text)
{
    char *word = dlb_shell_word(text);
    at = stpcpy(stpcpy(at, " "), word);
    free(word);
    return at;
}

char *dlb_again(const struct dlb_args *args)
{
    size_t n = 1;
    for (int i = 0; i < args->argc; i++)
        n += 4 * strlen(args->argv[i]) + 5;
    char *text = dlb_mem_array(n, 1), *at = text;
    for (int i = 0; i < args->argc; i++) {
        if (takes_value(args->argv[i]))
            i++; /* and its value */
        else if (!is_of_result(args->argv[i]))
            at = append_word(at, args->argv[i]);
    }
    *at = '\0';
    return text;
}
