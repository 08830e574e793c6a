#include "core/host/diskstats.h"

#include "core/base/io.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECTOR_BYTES = 512, MAX_BYTES = 4 << 20 }; /* a sector here is 512 bytes on any device */

/* "254 0 vda 3704268 67744 89196106 ...": major, minor, name, reads, merged, sectors */
static bool parse_line(const char *text, size_t n_text, unsigned *major, unsigned *minor,
                       char name[64], uint64_t *n_sectors)
{
    char line[256]; /* the end is not needed */
    (void)snprintf(line, sizeof line, "%.*s", (int)(n_text < 255 ? n_text : 255), text);
    return sscanf(line, "%9u %9u %63s %*[0-9] %*[0-9] %19" SCNu64, major, minor, name, n_sectors) ==
           4;
}

bool dlb_diskstats_find(const char *text, unsigned major, unsigned minor, struct dlb_diskstats *out)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        unsigned at_major, at_minor;
        uint64_t n_sectors;
        if (parse_line(text, n, &at_major, &at_minor, out->name, &n_sectors) && at_major == major &&
            at_minor == minor && n_sectors <= UINT64_MAX / SECTOR_BYTES) {
            out->read_bytes = n_sectors * SECTOR_BYTES;
            return true;
        }
        text += n + (text[n] == '\n');
    }
    return false;
}

bool dlb_diskstats_read(unsigned major, unsigned minor, struct dlb_diskstats *out)
{
    struct dlb_err ignored;
    char *text = NULL;
    size_t n_bytes = 0;

    if (dlb_read_file("/proc/diskstats", MAX_BYTES, &text, &n_bytes, &ignored) != DLB_OK)
        return false;
    bool found = dlb_diskstats_find(text, major, minor, out);
    free(text);
    return found;
}
