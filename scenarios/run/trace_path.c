#include "scenarios/run/trace_path.h"

#include <stdio.h>

int dlb_trace_path(const char *scratch, uint32_t block, uint32_t again, char path[PATH_MAX],
                   struct dlb_err *err)
{
    int n = snprintf(path, PATH_MAX, "%s/trace-%u-%u", scratch, block, again);
    if (n > 0 && n < PATH_MAX)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_SCRATCH_PATH_TOO_LONG, scratch, DLB_NO_OFFSET, "path is too long");
}
