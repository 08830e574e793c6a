#include "scenarios/ranks/local.h"

#include "core/base/mem.h"

#include <stdlib.h>
#include <string.h>

void dlb_ranks_number_all(const char *names, const uint64_t *n_each, uint32_t n,
                          struct dlb_ranks_local *all)
{
    const char *name = names;
    for (uint32_t i = 0; i < n; name += n_each[i++]) {
        const char *other = names;
        all[i] = (struct dlb_ranks_local){.rank = 0, .n = 0};
        for (uint32_t k = 0; k < n; other += n_each[k++]) {
            bool beside = n_each[k] == n_each[i] && memcmp(other, name, (size_t)n_each[i]) == 0;
            all[i].n += beside;
            all[i].rank += beside && k < i;
        }
    }
}

bool dlb_ranks_number(const struct dlb_ranks *ranks, struct dlb_ranks_local *mine)
{
    uint32_t n = ranks->size(), rank = ranks->rank();
    struct dlb_ranks_local *all = dlb_mem_array(n, sizeof(*all));
    uint64_t *n_each = dlb_mem_array(n, sizeof(*n_each));
    const char *node = ranks->node();
    void *names = NULL;
    bool ok = ranks->gather(node, strlen(node), &names, n_each);
    if (ok && rank == 0)
        dlb_ranks_number_all(names, n_each, n, all);
    ok = ok && ranks->broadcast(all, n * sizeof(*all));
    *mine = all[rank];
    free(names);
    free(n_each);
    free(all);
    return ok;
}
