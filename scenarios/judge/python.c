#include "scenarios/judge/python.h"

#include "core/base/json.h"

#include <string.h>

void dlb_evidence_of_python(const struct dlb_spec *spec, const json_t *python,
                            struct dlb_evidence *e)
{
    const json_t *stages = json_object_get(python, "stages"), *one;
    double n = 0, most_ns = 0, sum_ns = 0;
    size_t i;

    e->torch = dlb_spec_is_torch(spec);
    e->own_code = spec->python.dataset[0] || spec->python.loader[0];
    json_array_foreach(stages, i, one) {
        const char *part = dlb_json_text(one, "part");
        double count = dlb_json_number(one, "count"), ns = dlb_json_number(one, "sum_ns");
        if (strcmp(part, "read") == 0) /* all of __getitem__ */
            n = count;
        if (strcmp(part, "transform") != 0 || !(ns > most_ns))
            continue;
        most_ns = ns;
        e->transform = dlb_json_text(one, "name");
    }
    for (int stage = DLB_WS_READ; stage <= DLB_WS_COLLATE; stage++)
        sum_ns += e->worker_stage_ns[stage];
    e->transform_ns = n > 0 ? most_ns / n : 0;
    e->sample_ns = n > 0 ? sum_ns / n : 0;
}
