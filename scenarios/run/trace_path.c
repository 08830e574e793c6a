#include "scenarios/run/trace_path.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

int dlb_trace_path(const char *scratch, uint32_t block, uint32_t again, char path[PATH_MAX],
                   struct dlb_err *err)
{
    int n = snprintf(path, PATH_MAX, "%s/trace-%u-%u", scratch, block, again);
    if (n > 0 && n < PATH_MAX)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_SCRATCH_PATH_TOO_LONG, scratch, DLB_NO_OFFSET, "path is too long");
}

static bool is_kept(const struct dlb_reps *reps, uint32_t block, uint32_t again)
{
    for (uint32_t i = 0; i < reps->n; i++)
        if (reps->rep[i].block == block && reps->rep[i].again == again)
            return reps->rep[i].status == DLB_REP_OK;
    return false;
}

void dlb_trace_drop(const char *scratch, const struct dlb_reps *reps, uint32_t block,
                    uint32_t again)
{
    char path[PATH_MAX];
    struct dlb_err ignored;
    for (uint32_t i = 0; i <= again; i++)
        if (!is_kept(reps, block, i) && dlb_trace_path(scratch, block, i, path, &ignored) == DLB_OK)
            (void)unlink(path);
}
