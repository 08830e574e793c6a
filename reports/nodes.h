/* The machines of a run under a launcher (`nodes` of summary.json), and in what one is unlike the
 * others.
 *
 * Floor 4. Any thread; pure. */
#ifndef DLB_REPORTS_NODES_H
#define DLB_REPORTS_NODES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { DLB_NODE_CPUS, DLB_NODE_THERE, DLB_NODE_RAM, DLB_NODE_PROGRAM, DLB_NODE_DATA, DLB_NODE_N };

/* Borrowed from the document. */
struct dlb_nodes {
    const json_t *each; /* array */
    /* What more than half of the machines have, else what the first one has; NULL: not known. */
    const json_t *usual[DLB_NODE_N];
    size_t n_unlike; /* machines that have something else */
};

/* False: the run had one rank, and there is nothing to show. */
bool dlb_nodes_of(const json_t *doc, struct dlb_nodes *out);

/* "CPUs, memory": what of this machine is not the usual; "": nothing. A value that a machine lacks
 * differs from nothing, and memory does from 1% on: kernels leave machines of one kind slightly
 * different amounts. */
const char *dlb_nodes_unlike(const struct dlb_nodes *nodes, const json_t *node, char *text,
                             size_t n_text);

#endif
