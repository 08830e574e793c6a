#include "core/host/reclaim.h"

#include "core/host/procfs.h"

#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool holds(const char *path, const char *wanted)
{
    char text[16];

    return dlb_procfs_text(path, text, sizeof text) && strcmp(text, wanted) == 0;
}

static uint64_t number(const char *path)
{
    uint64_t n;

    return dlb_procfs_u64(path, &n) ? n : 0;
}

/* Whether a thread of DAMON has a scheme that does. The kernel allows a thread one context. */
static bool pages_out(const char *sys, uint64_t thread)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path,
                   "%s/kernel/mm/damon/admin/kdamonds/%" PRIu64 "/contexts/0/schemes/nr_schemes",
                   sys, thread);
    uint64_t n_schemes = number(path);
    for (uint64_t i = 0; i < n_schemes; i++) {
        (void)snprintf(path, sizeof path,
                       "%s/kernel/mm/damon/admin/kdamonds/%" PRIu64 "/contexts/0/schemes/%" PRIu64
                       "/action",
                       sys, thread, i);
        if (holds(path, "pageout"))
            return true;
    }
    return false;
}

bool dlb_reclaim_is_on(const char *sys)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/module/damon_reclaim/parameters/enabled", sys);
    if (holds(path, "Y"))
        return true;
    (void)snprintf(path, sizeof path, "%s/kernel/mm/damon/admin/kdamonds/nr_kdamonds", sys);
    uint64_t n_threads = number(path);
    for (uint64_t i = 0; i < n_threads; i++) {
        (void)snprintf(path, sizeof path, "%s/kernel/mm/damon/admin/kdamonds/%" PRIu64 "/state",
                       sys, i);
        if (holds(path, "on") && pages_out(sys, i))
            return true;
    }
    return false;
}
