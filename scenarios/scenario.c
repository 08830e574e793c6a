#include "scenarios/scenario.h"

#include "scenarios/spec/flat.h"

#include <stdlib.h>
#include <string.h>

#define X(name) extern const struct dlb_scenario dlb_sc_##name;
#include "scenarios/scenarios.def"
#undef X

#define X(name) &dlb_sc_##name,
const struct dlb_scenario *const dlb_scenarios[] = {
#include "scenarios/scenarios.def"
    NULL};
#undef X

const struct dlb_scenario *dlb_scenario_by_name(const char *name)
{
    for (size_t i = 0; dlb_scenarios[i]; i++)
        if (strcmp(dlb_scenarios[i]->name, name) == 0)
            return dlb_scenarios[i];
    return NULL;
}

/* From *have to n arrays; what is there stays. */
static bool grow(json_t ***arrays, uint32_t *have, uint32_t n)
{
    json_t **grown = realloc((void *)*arrays, (n ? n : 1) * sizeof(*grown));
    if (!grown)
        return false;
    *arrays = grown;
    for (; *have < n; (*have)++)
        if (!(grown[*have] = json_array()))
            return false;
    return true;
}

int dlb_results_grow(struct dlb_results *results, const struct dlb_plan *plan, struct dlb_err *err)
{
    if (grow(&results->cells, &results->n_cells, plan->n_cells) &&
        grow(&results->ceilings, &results->n_ceilings, plan->n_ceilings))
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for results");
}

int dlb_results_init(struct dlb_results *results, const struct dlb_plan *plan, struct dlb_err *err)
{
    memset(results, 0, sizeof(*results));
    results->reference = json_array();
    results->warm = json_array();
    results->baseline = json_array();
    int rc = results->reference && results->warm && results->baseline
                 ? dlb_results_grow(results, plan, err)
                 : dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for results");
    if (rc)
        dlb_results_free(results);
    return rc;
}

void dlb_results_free(struct dlb_results *results)
{
    for (uint32_t i = 0; results->cells && i < results->n_cells; i++)
        json_decref(results->cells[i]);
    for (uint32_t i = 0; results->ceilings && i < results->n_ceilings; i++)
        json_decref(results->ceilings[i]);
    free((void *)results->cells);
    free((void *)results->ceilings);
    json_decref(results->reference);
    json_decref(results->warm);
    json_decref(results->baseline);
    memset(results, 0, sizeof(*results));
}

static uint32_t n_failed_of(const json_t *docs)
{
    const json_t *doc;
    size_t i;
    uint32_t n = 0;
    json_array_foreach(docs, i, doc)
        n += strcmp(dlb_json_text(doc, "status"), "failed") == 0;
    return n;
}

uint32_t dlb_results_n_failed(const struct dlb_results *results)
{
    uint32_t n = n_failed_of(results->reference) + n_failed_of(results->warm) +
                 n_failed_of(results->baseline);
    for (uint32_t i = 0; i < results->n_cells; i++)
        n += n_failed_of(results->cells[i]);
    for (uint32_t i = 0; i < results->n_ceilings; i++)
        n += n_failed_of(results->ceilings[i]);
    return n;
}
