#include "core/host/cpulist.h"

#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NULL: there is none. */
static const char *number(const char *at, unsigned *out)
{
    char *end;
    if (!isdigit((unsigned char)*at))
        return NULL;
    unsigned long value = strtoul(at, &end, 10);
    *out = (unsigned)value;
    return value <= UINT_MAX ? end : NULL;
}

const char *dlb_cpulist_range(const char *list, unsigned *first, unsigned *last)
{
    const char *at = number(list, first);
    *last = *first;
    if (at && *at == '-')
        at = number(at + 1, last);
    if (!at || *last < *first || (*at && *at != ','))
        return NULL;
    return *at ? at + 1 : at;
}

bool dlb_cpulist_parse(const char *list, cpu_set_t *out)
{
    unsigned first = 0, last = 0;
    CPU_ZERO(out);
    for (const char *at = list; *at;) {
        at = dlb_cpulist_range(at, &first, &last);
        if (!at || last >= CPU_SETSIZE) {
            CPU_ZERO(out);
            return false;
        }
        for (unsigned cpu = first; cpu <= last; cpu++)
            CPU_SET(cpu, out);
    }
    return CPU_COUNT(out) > 0;
}

void dlb_cpulist_text(const cpu_set_t *set, char *out, size_t n_out)
{
    out[0] = '\0';
    for (unsigned first = 0; first < CPU_SETSIZE; first++) {
        unsigned last = first;
        if (!CPU_ISSET(first, set))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
            last++;
        size_t n = strlen(out);
        const char *comma = n > 0 ? "," : "";
        if (last > first)
            (void)snprintf(out + n, n_out - n, "%s%u-%u", comma, first, last);
        else
            (void)snprintf(out + n, n_out - n, "%s%u", comma, first);
        first = last;
    }
}
