#include "formats/convert/overlap.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool dlb_convert_is_within(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 &&
           (path[len] == '\0' || path[len] == '/' || (len == 1 && *folder == '/'));
}

/* A source may be no path (a list of shards, a prefix), and its files may be links. */
static bool holds_a_file(const char *to, const struct dlb_dataset *from)
{
    const struct dlb_reader *reader = from->format->reader;
    char path[PATH_MAX] = "", real[PATH_MAX];
    uint64_t n = reader->files ? reader->files(from->state, UINT64_MAX, path, sizeof path) : 0;

    for (uint64_t i = 0; i < n; i++) {
        (void)reader->files(from->state, i, path, sizeof path);
        if (realpath(path, real) && dlb_convert_is_within(real, to))
            return true;
    }
    return false;
}

int dlb_convert_check_overlap(const struct dlb_convert *how, const char *to, struct dlb_err *err)
{
    char *from = realpath(how->from_path, NULL), *same = realpath(how->to_path, NULL);
    int rc = DLB_OK;

    if (from && (dlb_convert_is_within(to, from) || (same && dlb_convert_is_within(same, from))))
        rc = dlb_fail(err, DLB_ERR_TARGET_OVERLAPS, how->to_path, DLB_NO_OFFSET,
                      "is the source or lies in it: choose a path outside of the source");
    else if ((from && dlb_convert_is_within(from, to)) || (same && holds_a_file(to, how->from)))
        rc = dlb_fail(err, DLB_ERR_TARGET_OVERLAPS, how->to_path, DLB_NO_OFFSET,
                      "contains the source: choose another path");
    free(from);
    free(same);
    return rc;
}
