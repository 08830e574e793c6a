#include "formats/generate/names.h"

#include "formats/format.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* `pattern`: n letters. */
static bool fits_one(const char *pattern, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (pattern[i] == '*')
            return *name && !strchr(name, '/');
        if (pattern[i] != '#') {
            if (*name++ != pattern[i])
                return false;
            continue;
        }
        if (!is_digit(*name++))
            return false;
        while ((i + 1 == n || pattern[i + 1] != '#') && is_digit(*name))
            name++;
    }
    return *name == '\0';
}

bool dlb_names_fit(const char *patterns, const char *name)
{
    for (const char *at = patterns; at && *at;) {
        size_t n = strcspn(at, " ");
        if (fits_one(at, n, name))
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

bool dlb_names_fit_folder(const char *patterns, const char *name)
{
    for (const char *at = patterns; at && *at;) {
        size_t n = strcspn(at, " ");
        for (size_t i = 0; i < n; i++)
            if (at[i] == '/' && fits_one(at, i, name))
                return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

bool dlb_names_made(const char *name)
{
    for (size_t i = 0; dlb_formats[i]; i++)
        if (dlb_names_fit(dlb_formats[i]->made, name))
            return true;
    return false;
}

bool dlb_names_made_folder(const char *name)
{
    for (size_t i = 0; dlb_formats[i]; i++)
        if (dlb_names_fit_folder(dlb_formats[i]->made, name))
            return true;
    return false;
}

bool dlb_names_of_gen(const struct dlb_gen *gen, const char *name)
{
    const struct dlb_generator *generator = gen->format->generator;

    return dlb_names_fit(gen->format->made, name) &&
           (!generator || !generator->makes || generator->makes(gen, name));
}

int dlb_names_digits(uint64_t n, int least)
{
    int n_digits = snprintf(NULL, 0, "%llu", (unsigned long long)(n ? n - 1 : 0));
    return n_digits > least ? n_digits : least;
}

bool dlb_names_unit(const char *name, const char *before, const char *after, uint64_t n_units)
{
    size_t n_before = strlen(before);
    char number[24];

    if (strncmp(name, before, n_before) != 0)
        return false;
    uint64_t unit = strtoull(name + n_before, NULL, 10);
    int n = snprintf(number, sizeof number, "%0*llu", dlb_names_digits(n_units, DLB_UNIT_DIGITS),
                     (unsigned long long)unit);
    return unit < n_units && strncmp(name + n_before, number, (size_t)n) == 0 &&
           strcmp(name + n_before + n, after) == 0;
}
