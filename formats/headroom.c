#include "formats/headroom.h"

#include "core/base/io.h"
#include "core/base/units.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20 };
#define ALWAYS_BYTES (UINT64_C(64) << 20)

/* The number behind `key` at the start of a line; without a key, the file's first word. False for
 * words such as "max". */
static bool number_in(const char *path, const char *key, uint64_t *out)
{
    char *text = NULL;
    size_t n_bytes = 0;
    struct dlb_err ignored;
    bool found = false;

    if (dlb_read_file(path, MAX_BYTES, &text, &n_bytes, &ignored) != DLB_OK)
        return false;
    for (const char *line = text; line && !found; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (key && strncmp(line, key, strlen(key)) != 0)
            continue;
        char *end = NULL;
        const char *digits = line + (key ? strlen(key) : 0);
        errno = 0;
        unsigned long long value = strtoull(digits, &end, 10);
        found = end != digits && errno == 0;
        *out = value;
        if (!key)
            break;
    }
    free(text);
    return found;
}

/* What a limit leaves. File pages that were not used lately count as free. */
static uint64_t left(const char *limit_path, const char *used_path, const char *stat_path,
                     const char *inactive_key)
{
    uint64_t limit, used, inactive = 0;

    if (!number_in(limit_path, NULL, &limit) || !number_in(used_path, NULL, &used))
        return UINT64_MAX;
    (void)number_in(stat_path, inactive_key, &inactive);
    used = used > inactive ? used - inactive : 0;
    return limit > used ? limit - used : 0;
}

uint64_t dlb_headroom_bytes(void)
{
    uint64_t available, least = UINT64_MAX;
    uint64_t limits[] = {
        left("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current",
             "/sys/fs/cgroup/memory.stat", "inactive_file "),
        left("/sys/fs/cgroup/memory/memory.limit_in_bytes",
             "/sys/fs/cgroup/memory/memory.usage_in_bytes", "/sys/fs/cgroup/memory/memory.stat",
             "total_inactive_file "),
    };

    if (number_in("/proc/meminfo", "MemAvailable:", &available))
        least = available * 1024;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i] < least)
            least = limits[i];
    return least;
}

int dlb_headroom_check(uint64_t n_bytes, const char *path, const char *what, const char *advice,
                       struct dlb_err *err)
{
    uint64_t headroom = n_bytes > ALWAYS_BYTES ? dlb_headroom_bytes() : UINT64_MAX;
    char needs[40], has[40];

    if (n_bytes <= headroom)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_DATASET_EXCEEDS_MEMORY, path, DLB_NO_OFFSET,
                    "%s needs %s, %s are available: %s", what,
                    dlb_bytes_text(n_bytes, needs, sizeof needs),
                    dlb_bytes_text(headroom, has, sizeof has), advice);
}
