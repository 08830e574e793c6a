/* The machines of all ranks: what each rank tells rank 0 of its own, and what rank 0 makes of it.
 *
 * Floor 4. Control thread of a runner. */
#ifndef DLB_SCENARIOS_RANKS_MACHINES_H
#define DLB_SCENARIOS_RANKS_MACHINES_H

#include "core/base/err.h"
#include "scenarios/ranks/link.h"

#include <jansson.h>

/* {"node", "cpus", "cpu_set", "quota", "cpus_there", "ram_bytes", "program"}: this rank's machine,
 * what it may use of its CPUs (cpu_set is a hash), and the hash of its program. New reference. */
json_t *dlb_machine_of(const struct dlb_link *link);

/* `machines`: those of all ranks, by rank. DLB_ERR_RANKS_PROGRAM if they do not run one program. */
int dlb_machines_check(const json_t *machines, struct dlb_err *err);

/* The first rank that may use less than its share of its machine, and not because all ranks there
 * have the same few CPUs. -1: none. */
int64_t dlb_machines_bound(const json_t *machines);

/* Names that rank on stderr. */
void dlb_machines_note_bound(const json_t *machines);

struct dlb_ranks_share dlb_machines_share(const json_t *machines);

#endif
