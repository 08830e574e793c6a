/* The machines of all ranks: what each rank tells rank 0 of its own, and what rank 0 makes of it.
 *
 * Floor 4. Control thread of a runner. */
#ifndef DLB_SCENARIOS_RANKS_MACHINES_H
#define DLB_SCENARIOS_RANKS_MACHINES_H

#include "core/base/err.h"
#include "scenarios/ranks/link.h"

#include <jansson.h>

/* {"node", "cpus", "cpu_set", "quota", "cpus_there", "ram_bytes", "program", "place"}: this rank's
 * machine, what it may use of its CPUs (cpu_set is a hash), the hash of its program, and where its
 * GPU is: {"gpu", "numa_node", "cpus"}, null if it has no place (gpu.h). New reference. */
json_t *dlb_machine_of(const struct dlb_link *link);

/* `machines`: those of all ranks, by rank. DLB_ERR_RANKS_PROGRAM if they do not run one program. */
int dlb_machines_check(const json_t *machines, struct dlb_err *err);

/* The first rank that may use less than its share of its machine, neither because all ranks there
 * have the same few CPUs, nor because of its place. -1: none. */
int64_t dlb_machines_bound(const json_t *machines);

/* Names that rank on stderr. */
void dlb_machines_note_bound(const json_t *machines);

/* Says on stderr how many ranks have a place, if any has. */
void dlb_machines_note_placed(const json_t *machines);

struct dlb_ranks_share dlb_machines_share(const json_t *machines);

#endif
