#include "bench/experiment/traced.h"

#include "bench/cli/print.h"
#include "bench/cli/together.h"
#include "bench/cli/version.h"
#include "bench/experiment/exports.h"
#include "bench/trace/trace.h"
#include "core/base/json.h"
#include "core/base/say.h"
#include "scenarios/run/trace_path.h"

#include <inttypes.h>

/* Of dlbench's own workers; those of PyTorch have stamps, whose cost the result has. */
static void say_cost(const struct dlb_timeline *timeline)
{
    double n_records = 0, n_spans = 0, time_ns = 0;
    if (timeline->names.n > 0)
        return;
    for (uint32_t i = 0; i < timeline->n_tracks; i++) {
        const struct dlb_timeline_track *track = &timeline->track[i];
        if (track->track != DLB_TRACK_WORKER || track->n == 0)
            continue;
        double n = (double)track->n; /* of a full ring those that are left, in their time */
        n_records += n;
        n_spans += n + (double)track->n_merged * n / (n + (double)track->n_lost);
        time_ns += (double)(track->record[track->n - 1].end_ns - track->record[0].start_ns);
    }
    double each_ns = dlb_trace_record_ns();
    if (n_records * each_ns > 0 && time_ns > 0)
        dlb_say_note("recording took %.2g%% of the workers' time: %.0f spans in %.0f records "
                     "at %.1f ns a span",
                     100 * n_spans * each_ns / time_ns, n_spans, n_records, each_ns);
}

static int write_trace(const struct dlb_args *args, const struct dlb_result_folder *folder,
                       const struct dlb_cell_result *shown, json_t *doc, struct dlb_err *err)
{
    const struct dlb_trace_facts facts = {folder->name, DLB_VERSION, shown->block};
    struct dlb_timeline timeline;
    char path[PATH_MAX];
    uint64_t n_spans = 0, n_lost = 0;
    int rc = dlb_trace_path(folder->scratch, shown->block, shown->again, path, err);
    if (!rc)
        rc = dlb_timeline_load(&timeline, path, err);
    if (rc) {
        dlb_say_note("%s was not written: there is no timeline of the repetition that the result "
                     "shows",
                     args->trace);
        return rc;
    }
    rc = dlb_exports_may("--trace", args->trace, err);
    if (!rc)
        rc = dlb_trace_write(&timeline, &facts, args->trace, &n_spans, &n_lost, err);
    if (!rc) {
        dlb_json_put(doc, "timeline", dlb_trace_lanes(&timeline, &facts));
        dlb_say_note("%s has %" PRIu64 " spans: open it in https://ui.perfetto.dev", args->trace,
                     n_spans);
    }
    if (!rc)
        say_cost(&timeline);
    const struct dlb_link *team = dlb_together();
    if (!rc && team && team->size > 1)
        dlb_say_note("the timeline is rank 0's on %s, one of %u ranks", team->node, team->size);
    if (!rc && n_lost > 0)
        dlb_say_note("the rings had no room for %" PRIu64 " earlier records; fewer batches "
                     "(run.max_batches) fit whole",
                     n_lost);
    dlb_timeline_free(&timeline);
    return rc;
}

int dlb_traced_finish(const struct dlb_args *args, const struct dlb_result_folder *folder,
                      const struct dlb_judgement *judgement, json_t *doc)
{
    const struct dlb_cell_result *shown = judgement->n_cells > 0 ? judgement->cells[0].shown : NULL;
    struct dlb_err err;
    if (!args->trace)
        return DLB_EXIT_OK;
    if (!shown || shown->status != DLB_REP_OK || shown->stuck_why[0]) {
        dlb_say_note("%s was not written: no repetition was measured to its end", args->trace);
        return DLB_EXIT_OK;
    }
    return write_trace(args, folder, shown, doc, &err) ? dlb_print_err(&err) : DLB_EXIT_OK;
}
