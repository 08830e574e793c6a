#include "scenarios/run/known_data.h"

#include "core/base/mem.h"

uint64_t dlb_known_data_id(const struct dlb_known_data *known, const struct dlb_spec *spec)
{
    for (uint32_t i = 0; spec && i < known->n; i++)
        if (dlb_spec_same_data(spec, &known->set[i].spec))
            return known->set[i].id;
    return 0;
}

void dlb_known_data_add(struct dlb_known_data *known, const struct dlb_spec *spec, uint64_t id)
{
    if (!spec || id == 0 || dlb_known_data_id(known, spec) != 0)
        return;
    known->set = dlb_mem_grow(known->set, (size_t)known->n + 1, sizeof(*known->set));
    known->set[known->n++] = (struct dlb_known_set){.spec = *spec, .id = id};
}
