#include "reports/nodes.h"

#include "core/base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SAME_RAM_FRAC 0.01

static const struct {
    const char *key, *name;
} traits[DLB_NODE_N] = {
    [DLB_NODE_CPUS] = {"cpus", "CPUs"},        [DLB_NODE_THERE] = {"cpus_there", "CPUs there"},
    [DLB_NODE_RAM] = {"ram_bytes", "memory"},  [DLB_NODE_PROGRAM] = {"program", "program"},
    [DLB_NODE_DATA] = {"data_id", "data set"},
};

static const json_t *known(const json_t *node, int trait)
{
    const json_t *value = json_object_get(node, traits[trait].key);
    return json_is_null(value) ? NULL : value;
}

static bool same(int trait, const json_t *a, const json_t *b)
{
    double one = json_number_value(a), other = json_number_value(b);
    if (trait == DLB_NODE_RAM)
        return fabs(one - other) <= SAME_RAM_FRAC * fmax(one, other);
    return json_equal(a, b);
}

/* A value that more than half of the machines have outlives the others when two that differ
 * cancel each other; whether there is one is then counted. */
static const json_t *usual(const json_t *each, int trait)
{
    const json_t *node, *left = NULL, *first = NULL;
    size_t i, n_left = 0, n_same = 0, n_known = 0;
    json_array_foreach(each, i, node) {
        const json_t *value = known(node, trait);
        if (!value)
            continue;
        n_known++;
        first = first ? first : value;
        if (n_left == 0)
            left = value;
        if (same(trait, value, left))
            n_left++;
        else
            n_left--;
    }
    json_array_foreach(each, i, node) {
        const json_t *value = known(node, trait);
        n_same += value && same(trait, value, left);
    }
    return 2 * n_same > n_known ? left : first;
}

static bool is_unlike(const struct dlb_nodes *nodes, const json_t *node, int trait)
{
    const json_t *value = known(node, trait);
    return value && !same(trait, value, nodes->usual[trait]);
}

bool dlb_nodes_of(const json_t *doc, struct dlb_nodes *out)
{
    const json_t *node;
    size_t i;
    *out = (struct dlb_nodes){.each = json_object_get(doc, "nodes")};
    if (json_array_size(json_object_get(doc, "ranks")) < 2 || json_array_size(out->each) == 0)
        return false;
    for (int k = 0; k < DLB_NODE_N; k++)
        out->usual[k] = usual(out->each, k);
    json_array_foreach(out->each, i, node) {
        bool unlike = false;
        for (int k = 0; k < DLB_NODE_N; k++)
            unlike = unlike || is_unlike(out, node, k);
        out->n_unlike += unlike;
    }
    return true;
}

const char *dlb_nodes_unlike(const struct dlb_nodes *nodes, const json_t *node, char *text,
                             size_t n_text)
{
    text[0] = '\0';
    for (int k = 0; k < DLB_NODE_N; k++) {
        size_t n = strlen(text);
        if (is_unlike(nodes, node, k))
            (void)snprintf(text + n, n_text - n, "%s%s", n > 0 ? ", " : "", traits[k].name);
    }
    return text;
}
