#include "scenarios/ranks/quiet.h"

#include "core/base/clock.h"
#include "core/base/pause.h"
#include "core/base/say.h"
#include "core/host/stuck.h"

void dlb_quiet_look(struct dlb_quiet *quiet, const struct dlb_link *link, uint64_t beats,
                    const char *what, pid_t pid)
{
    char where[400];
    uint64_t now_ns = dlb_now_ns();
    if (beats != quiet->beats || quiet->since_ns == 0) {
        quiet->beats = beats;
        quiet->since_ns = now_ns;
    }
    quiet->since_ns =
        dlb_pause_later(quiet->since_ns, dlb_pause_ns(quiet->looked_ns, now_ns), now_ns);
    quiet->looked_ns = now_ns;
    if (quiet->told || now_ns - quiet->since_ns < DLB_QUIET_S * DLB_NS_PER_S)
        return;
    quiet->told = true;
    bool known = dlb_stuck_in(pid, where, sizeof(where));
    dlb_say_note("rank %u on %s: no %s for %llu s%s%s", link->rank, link->node, what,
                 (unsigned long long)DLB_QUIET_S, known ? ", " : "", known ? where : "");
}

void dlb_quiet_excuse(struct dlb_quiet *quiet)
{
    quiet->since_ns = dlb_now_ns();
}
