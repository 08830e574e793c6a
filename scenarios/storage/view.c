#include "scenarios/storage/view.h"

#include "scenarios/spec/flat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint32_t dlb_storage_count_of(const struct dlb_plan *plan, uint32_t cell)
{
    return (uint32_t)dlb_json_u64(plan->cells[cell].config, "accelerators.count", 1);
}

int64_t dlb_storage_cell_of(const struct dlb_plan *plan, uint32_t n)
{
    for (uint32_t i = 0; i < plan->n_cells; i++)
        if (dlb_storage_count_of(plan, i) == n)
            return i;
    return -1;
}

/* Shards go round: accelerator, then worker. A worker makes batches of its own shards alone. */
static double steps_of_shards(const struct dlb_plan *plan, uint32_t n)
{
    const json_t *config = plan->cells[0].config;
    double workers = fmax(dlb_json_number(config, "loader.num_workers"), 1);
    double batch = dlb_json_number(config, "loader.batch_size");
    bool drop_last = json_is_true(json_object_get(config, "loader.drop_last"));
    double shards = floor((double)plan->host.n_shards / n); /* of the last accelerator */
    double least = floor(shards / workers), n_with_more = shards - least * workers;
    double each = least * (double)plan->host.min_shard_samples / batch;
    double more = (least + 1) * (double)plan->host.min_shard_samples / batch;
    double steps = drop_last ? floor(each) : ceil(each);
    return (workers - n_with_more) * steps + n_with_more * (drop_last ? floor(more) : ceil(more));
}

static bool shares_workers(const struct dlb_plan *plan)
{
    return json_is_true(json_object_get(plan->base, "accelerators.shared_workers"));
}

/* Else all draw from the whole set, by samples or from one pool. */
static bool deals_shards(const struct dlb_plan *plan)
{
    return plan->host.n_shards > 0 && !shares_workers(plan);
}

/* How many can have a batch of each epoch, however often the samples are read. */
static double n_with_a_batch(const struct dlb_plan *plan)
{
    const json_t *config = plan->cells[0].config;
    double samples = (double)plan->host.n_samples;
    double batches = samples / dlb_json_number(config, "loader.batch_size");
    if (json_is_true(json_object_get(config, "loader.drop_last")))
        return floor(batches);
    return shares_workers(plan) ? ceil(batches) : samples;
}

double dlb_storage_steps_per_epoch(const struct dlb_plan *plan, uint32_t n)
{
    double batch = dlb_json_number(plan->cells[0].config, "loader.batch_size");
    double steps = floor((double)plan->host.n_samples / batch / n);
    return deals_shards(plan) ? fmin(steps, steps_of_shards(plan, n)) : steps;
}

uint32_t dlb_storage_data_limit(const struct dlb_plan *plan, const char **of)
{
    const json_t *config = plan->cells[0].config;
    /* The step behind the last measured one closes the window. */
    double steps = dlb_json_number(config, "run.max_batches") +
                   dlb_json_number(config, "run.warmup_batches") + 1;
    bool again = json_is_true(json_object_get(config, "storage.allow_small")) ||
                 !(dlb_json_number(config, "run.max_batches") > 0);
    double batch = dlb_json_number(config, "loader.batch_size");
    double samples =
        again ? n_with_a_batch(plan) : floor((double)plan->host.n_samples / (steps * batch));
    uint32_t limit =
        plan->host.n_samples > 0 && samples < UINT32_MAX ? (uint32_t)samples : UINT32_MAX;
    uint32_t by_shards = 0;

    if (of)
        *of = "samples";
    if (!deals_shards(plan))
        return limit;
    while (by_shards < plan->host.n_shards && by_shards < limit &&
           steps_of_shards(plan, by_shards + 1) >= (again ? 1 : steps))
        by_shards++;
    if (of && by_shards < limit)
        *of = "shards";
    return by_shards;
}

/* What one repetition says of its point. */
static void take(struct dlb_storage_view *view, const json_t *doc, struct dlb_search_point *point,
                 double *values)
{
    const char *status = dlb_json_text(doc, "status");
    double au = dlb_json_number(json_object_get(doc, "au"), "nominal");
    if (strcmp(status, "failed") == 0) {
        if (dlb_json_u64(doc, "error", DLB_E_WORKER) == DLB_E_NOMEM)
            point->impossible = true;
        else
            view->stopped = true;
    } else if (strcmp(status, "ok") == 0) {
        if (isfinite(au))
            values[point->n_values++] = au;
        else
            view->stopped = true; /* too few batches for a window */
    }
}

int dlb_storage_view_open(struct dlb_storage_view *view, const struct dlb_plan *plan,
                          const struct dlb_results *results, struct dlb_err *err)
{
    const json_t *config = plan->cells[0].config, *doc;
    size_t n_docs = 0, k;

    *view = (struct dlb_storage_view){0};
    for (uint32_t i = 0; i < results->n_cells; i++)
        n_docs += json_array_size(results->cells[i]);
    view->points = calloc((size_t)plan->n_cells + 1, sizeof(*view->points));
    view->values = calloc(n_docs + 1, sizeof(*view->values));
    if (!view->points || !view->values) {
        dlb_storage_view_close(view);
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for the search");
    }
    double *values = view->values;
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        struct dlb_search_point *point = &view->points[i];
        *point = (struct dlb_search_point){.n = dlb_storage_count_of(plan, i), .au = values};
        if (i < results->n_cells)
            json_array_foreach(results->cells[i], k, doc)
                if (dlb_json_u64(doc, "block", 0) < plan->n_blocks)
                    take(view, doc, point, values);
        values += point->n_values;
    }
    uint32_t limit = dlb_storage_data_limit(plan, NULL);
    uint64_t asked = dlb_json_u64(config, "storage.max_accelerators", 1);
    view->search = (struct dlb_search){
        .gate = dlb_json_number(config, "workload.gate"),
        .max_n = asked < limit ? (uint32_t)asked : limit,
        .repeats = plan->n_blocks,
        .points = view->points,
        .n_points = plan->n_cells,
    };
    return DLB_OK;
}

void dlb_storage_view_close(struct dlb_storage_view *view)
{
    free(view->points);
    free(view->values);
    *view = (struct dlb_storage_view){0};
}
