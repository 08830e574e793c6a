#include "scenarios/judge/classes.h"

#include "core/base/json.h"
#include "core/base/units.h"
#include "core/measure/traceml.h"
#include "scenarios/judge/note.h"

#include <stdio.h>

static void add(json_t *list, const char *first, const char *second)
{
    char text[40];
    (void)snprintf(text, sizeof(text), "%s_%s", first, second);
    dlb_json_append(list, dlb_json_made(json_string(text)));
}

json_t *dlb_classes_json(const struct dlb_judged_cell *cell)
{
    json_t *out = dlb_json_made(json_array());
    if (!cell->shown || !cell->shown->has_loop)
        return out;
    const struct dlb_share *total = &cell->shown->loop.total;
    const char *utilisation =
        dlb_traceml_utilisation(dlb_measured(total->busy_ns) / dlb_measured(total->window_ns));
    if (utilisation)
        add(out, utilisation, "UTILISATION");
    if (cell->shown->memory.growth[0])
        add(out, "MEMORY", cell->shown->memory.growth);
    if (dlb_measured(total->n_steps) < DLB_TRACEML_MIN_STEPS)
        dlb_json_append(out, dlb_json_made(json_string("WARMUP")));
    return out;
}

void dlb_classes_note(const struct dlb_judged_cell *cell, uint32_t number, json_t *notes)
{
    const struct dlb_memory_result *memory = &cell->shown->memory;
    char early[40], recent[40];
    if (memory->growth[0] && memory->early_bytes >= 0 && memory->recent_bytes >= 0)
        dlb_note(notes, DLB_NOTE_MEMORY_GROWS,
                 "cell %u: the memory of loader and workers kept growing, from %s early in the run "
                 "to %s at its end (%s): look for what is kept from batch to batch",
                 number, dlb_bytes_text((uint64_t)memory->early_bytes, early, sizeof(early)),
                 dlb_bytes_text((uint64_t)memory->recent_bytes, recent, sizeof(recent)),
                 memory->growth);
}
