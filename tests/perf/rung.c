#include "tests/perf/rung.h"

#include "tests/perf/perf.h"

#include <stdlib.h>

struct dlb_gap_params rung_params(const char *pages, uint32_t workers, json_int_t batch_size)
{
    struct dlb_gap_params params;
    struct dlb_err err;
    const char *samples = getenv("DLB_PERF_SAMPLES");
    json_t *flat =
        json_pack("{sI, ss, si, ss}", "gap.samples",
                  samples ? (json_int_t)atoll(samples) : (json_int_t)2097152, "gap.pages", pages,
                  "gap.workers", (int)workers, "device.kind", "emulated");
    if (flat && batch_size > 0 &&
        json_object_set_new(flat, "gap.batch_size", json_integer(batch_size)) != 0)
        perf_die("parameters", NULL);
    if (!flat || dlb_gap_params_flat(&params, flat, "perf", &err) != DLB_OK)
        perf_die("parameters", &err);
    json_decref(flat);
    return params;
}

double rung_epoch(void *ctx)
{
    struct rung *rung = ctx;
    dlb_rung_result_free(&rung->last);
    dlb_gap_rung_run(rung->params, rung->name, NULL, NULL, &rung->last);
    if (rung->last.status != DLB_RUNG_OK)
        perf_die(rung->last.reason, NULL);
    return rung->last.seconds;
}
