/* Silence counts only while somebody looks for signs. Who has not looked for a while was stopped,
 * as a scheduler stops a job that it suspends, and so was what it looks at.
 *
 * Floor 0. Any thread. Times are those of dlb_now_ns. */
#ifndef DLB_CORE_BASE_PAUSE_H
#define DLB_CORE_BASE_PAUSE_H

#include "core/base/clock.h"

#include <stdint.h>

#define DLB_PAUSE_NS DLB_NS_PER_S /* the shortest; who looks does so several times a second */

/* How long nobody looked: since the last look, looked_ns (0: there was none). 0: no pause. */
static inline uint64_t dlb_pause_ns(uint64_t looked_ns, uint64_t now_ns)
{
    return looked_ns > 0 && now_ns - looked_ns >= DLB_PAUSE_NS ? now_ns - looked_ns : 0;
}

/* The start of a silence, later by a pause, but not in the future. */
static inline uint64_t dlb_pause_later(uint64_t since_ns, uint64_t pause_ns, uint64_t now_ns)
{
    return since_ns + pause_ns < now_ns ? since_ns + pause_ns : now_ns;
}

#endif
