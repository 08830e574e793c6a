#include "scenarios/plan/preflight.h"

#include "core/base/units.h"
#include "loaders/sampler.h"
#include "loaders/slots.h"
#include "scenarios/spec/rounds.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Samples of the shards of one worker of a rank. */
static uint64_t worker_samples(const struct dlb_plan_host *host, uint64_t first, uint64_t stride)
{
    uint64_t sum = 0;
    for (uint64_t s = first; s < host->n_shards; s += stride)
        sum += host->shard_samples[s];
    return sum;
}

/* Batches of one epoch of an iterable rank: each worker makes its own of its own shards. */
static double rank_batches(const struct dlb_plan_host *host, const struct dlb_spec *spec,
                           uint64_t rank)
{
    uint64_t batch = (uint64_t)spec->loader.batch_size, world = dlb_spec_ranks(spec), sum = 0;
    uint64_t n_workers = spec->loader.num_workers ? (uint64_t)spec->loader.num_workers : 1;
    for (uint64_t w = 0; w < n_workers && rank + w * world < host->n_shards; w++) {
        uint64_t n = worker_samples(host, rank + w * world, world * n_workers);
        sum += spec->loader.drop_last ? n / batch : (n + batch - 1) / batch;
    }
    return (double)sum;
}

/* Batches of an epoch: of all ranks of this process, and of the one with the most. */
struct epoch {
    double all, most;
};

static struct epoch iterable_epoch(const struct dlb_plan_host *host, const struct dlb_spec *spec)
{
    struct epoch out = {0, 0};
    uint32_t n_loaders = dlb_spec_loaders(spec);
    if (!host->shard_samples)
        return (struct epoch){NAN, NAN};
    for (uint32_t i = 0; i < n_loaders; i++) {
        double n = rank_batches(host, spec, (uint64_t)spec->run.rank * n_loaders + i);
        out.all += n;
        out.most = fmax(out.most, n);
    }
    return out;
}

static struct epoch map_epoch(uint64_t n_samples, const struct dlb_spec *spec)
{
    struct dlb_sampler sampler;
    struct dlb_err ignored;
    struct dlb_shape shape = {.n_samples = n_samples};
    struct dlb_sampler_opts opts = {.world = (uint32_t)dlb_spec_ranks(spec),
                                    .batch_size = (uint32_t)spec->loader.batch_size,
                                    .drop_last = spec->loader.drop_last};
    if (n_samples == 0 || dlb_sampler_open(&sampler, &shape, &opts, false, &ignored))
        return (struct epoch){NAN, NAN};
    double n = (double)sampler.n_batches;
    dlb_sampler_close(&sampler);
    return (struct epoch){n * dlb_spec_loaders(spec), n};
}

/* Of data that no storage holds. */
static uint64_t told_samples(const struct dlb_spec *spec)
{
    return (uint64_t)(dlb_spec_format(spec)->elsewhere ? spec->python.shape.samples
                                                       : spec->generate.samples);
}

static struct epoch epoch_of(const struct dlb_plan *plan, const struct dlb_plan_cell *cell,
                             bool known)
{
    const struct dlb_spec *spec = cell->spec;
    if (dlb_spec_format(spec)->synthetic)
        return map_epoch(told_samples(spec), spec);
    if (!known)
        return (struct epoch){NAN, NAN};
    return cell->iterable ? iterable_epoch(&plan->host, spec)
                          : map_epoch(plan->host.n_samples, spec);
}

static void need_batches(const struct dlb_spec *spec, struct epoch epoch, struct dlb_need *out)
{
    double n_epochs = (double)spec->run.epochs, count = (double)spec->accelerators.count;
    double wanted = INFINITY;
    if (spec->run.max_batches > 0)
        wanted = count * dlb_spec_wanted(spec);
    out->least_batches = (double)spec->run.warmup_batches + 2;
    out->epoch_batches = epoch.all;
    out->most_batches = epoch.most * n_epochs;
    out->n_batches = fmin(epoch.all * n_epochs, wanted);
    if (isinf(out->n_batches))
        out->n_batches = (double)NAN;
}

static struct dlb_job_memory workers_memory(const struct dlb_plan *plan,
                                            const struct dlb_plan_cell *cell)
{
    const struct dlb_spec *spec = cell->spec;
    const struct dlb_plan_host *host = &plan->host;
    struct dlb_dataset data = {.shape = {.iterable = cell->iterable && host->n_shards > 0,
                                         .n_shards = host->n_shards,
                                         .n_samples = host->n_samples,
                                         .total_bytes = host->n_bytes,
                                         .reader_bytes = host->reader_bytes}};
    uint32_t n_loaders = dlb_spec_loaders(spec);
    struct dlb_job job = {.dataset = &data,
                          .opts = &spec->loader,
                          .rank = (uint32_t)spec->run.rank * n_loaders,
                          .world = (uint32_t)dlb_spec_ranks(spec),
                          .n_loaders = n_loaders};
    return dlb_job_memory(&job);
}

static struct dlb_slots_size slots_of(const struct dlb_plan *plan, const struct dlb_spec *spec)
{
    uint32_t n_others = (uint32_t)spec->accelerators.count / dlb_spec_loaders(spec) - 1;
    return dlb_slots_size(&spec->loader, (uint32_t)spec->device.prefetch, n_others,
                          plan->host.max_payload_bytes);
}

/* Bytes go into a batch as they are stored, unless the codec makes others of them. */
static double decoding_bytes(const struct dlb_plan *plan, const struct dlb_spec *spec)
{
    double n_threads = fmax((double)spec->loader.num_workers, 1) * dlb_spec_loaders(spec);
    if (dlb_spec_format(spec)->synthetic || dlb_codecs[spec->dataset.codec]->identity)
        return 0;
    return n_threads * ((double)plan->host.max_sample_bytes + (double)plan->host.max_decoded_bytes);
}

static void need_memory(const struct dlb_plan *plan, const struct dlb_plan_cell *cell,
                        struct dlb_need *out)
{
    const struct dlb_spec *spec = cell->spec;
    struct dlb_slots_size slots = slots_of(plan, spec);
    struct dlb_job_memory own = workers_memory(plan, cell);
    out->workers_bytes = own.init_bytes + own.shuffle_bytes + own.readers_bytes;
    out->decode_bytes = decoding_bytes(plan, spec);
    if (plan->host.max_payload_bytes == 0)
        return;
    out->slots_bytes = (double)slots.all_bytes * dlb_spec_loaders(spec);
    out->pinned_bytes =
        spec->loader.pin_memory ? (double)slots.delivered_bytes * dlb_spec_loaders(spec) : 0;
    out->each_bytes = (out->slots_bytes + out->workers_bytes) / fmax(out->n_workers, 1);
}

/* What is known of the time of one batch: the step, and what is planted in the workers. */
static double batch_s(const struct dlb_spec *spec, double n_workers)
{
    const struct dlb_loader_opts *loader = &spec->loader;
    double planted =
        (double)loader->batch_size * (loader->sample_sleep_us + loader->sample_spin_us) * 1e-6;
    double step_s = spec->device.step_ms * 1e-3 / (double)spec->accelerators.count;
    return n_workers > 0 ? fmax(step_s, planted / n_workers) : step_s + planted;
}

static void need_of(const struct dlb_plan *plan, const struct dlb_plan_cell *cell,
                    struct dlb_need *out)
{
    const struct dlb_spec *spec = cell->spec;
    const double nan = (double)NAN;
    bool known = dlb_spec_same_data(spec, plan->cells[0].spec);
    *out =
        (struct dlb_need){.slots_bytes = nan,
                          .pinned_bytes = nan,
                          .workers_bytes = nan,
                          .decode_bytes = nan,
                          .each_bytes = nan,
                          .read_bytes = nan,
                          .n_workers = (double)spec->loader.num_workers * dlb_spec_loaders(spec)};
    need_batches(spec, epoch_of(plan, cell, known), out);
    if (known)
        need_memory(plan, cell, out);
    if (dlb_spec_format(spec)->synthetic)
        out->read_bytes = 0;
    else if (known && plan->host.n_samples > 0)
        out->read_bytes = out->n_batches * (double)spec->loader.batch_size *
                          (double)plan->host.n_bytes / (double)plan->host.n_samples;
    out->least_s = out->n_batches * batch_s(spec, out->n_workers);
}

void dlb_preflight_need(const struct dlb_plan *plan, uint32_t number, struct dlb_need *out)
{
    need_of(plan, &plan->cells[number], out);
}

static int no_full_batch(const struct dlb_plan *plan, const struct dlb_plan_cell *cell,
                         struct dlb_err *err)
{
    const struct dlb_spec *spec = cell->spec;
    char each[80] = "";
    uint64_t n_ranks = dlb_spec_ranks(spec);
    uint64_t n = dlb_spec_format(spec)->synthetic ? told_samples(spec) : plan->host.n_samples;
    if (n_ranks > 1)
        (void)snprintf(each, sizeof(each), ", divided by %llu ranks,", (unsigned long long)n_ranks);
    else if (cell->iterable)
        (void)snprintf(each, sizeof(each), ", divided by the workers,");
    return dlb_fail(err, DLB_ERR_TOO_FEW_BATCHES, NULL, DLB_NO_OFFSET,
                    "%llu samples%s make no full batch of %lld: lower loader.batch_size%s or set "
                    "loader.drop_last=false",
                    (unsigned long long)n, each, (long long)spec->loader.batch_size,
                    n_ranks > 1 ? " or run.world" : "");
}

/* Ranks with nothing to read, which a cell's process would refuse. */
static int check_shares(const struct dlb_plan *plan, const struct dlb_plan_cell *cell,
                        const struct dlb_need *need, struct dlb_err *err)
{
    const struct dlb_spec *spec = cell->spec;
    bool made = dlb_spec_format(spec)->synthetic;
    uint64_t n_items = made             ? told_samples(spec)
                       : cell->iterable ? plan->host.n_shards
                                        : plan->host.n_samples;
    if (isnan(need->epoch_batches) || dlb_spec_loaders(spec) == 1 ||
        n_items >= dlb_spec_ranks(spec))
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_ACCELERATORS_SHARE_TOO_LITTLE, NULL, DLB_NO_OFFSET,
                    "%u accelerators have %llu %s to share: lower accelerators.count, set "
                    "accelerators.shared_workers = true, or write more of them",
                    dlb_spec_loaders(spec), (unsigned long long)n_items,
                    !made && cell->iterable ? "shards" : "samples");
}

static int check_batches(const struct dlb_plan *plan, const struct dlb_plan_cell *cell,
                         const struct dlb_need *need, struct dlb_err *err)
{
    const struct dlb_spec *spec = cell->spec;
    /* Accelerators that share a loader share its batches, in a proportion that is not known. */
    if (!(need->most_batches < need->least_batches))
        return DLB_OK;
    if (need->epoch_batches == 0 && spec->loader.drop_last)
        return no_full_batch(plan, cell, err);
    return dlb_fail(err, DLB_ERR_TOO_FEW_BATCHES, NULL, DLB_NO_OFFSET,
                    "no batch would be measured: the epochs hold %.0f batches, of which %lld are "
                    "warm-up and 1 closes the window; raise run.epochs, or lower "
                    "run.warmup_batches or loader.batch_size",
                    need->most_batches, (long long)spec->run.warmup_batches);
}

static const char *size_text(double n_bytes, char *text, size_t n_text)
{
    return dlb_bytes_text(n_bytes < (double)UINT64_MAX ? (uint64_t)n_bytes : UINT64_MAX, text,
                          n_text);
}

static int too_much_memory(const struct dlb_plan *plan, const struct dlb_spec *spec,
                           const struct dlb_need *need, struct dlb_err *err)
{
    char slots_text[32], own_text[32], have_text[32];
    double slots_bytes = isnan(need->slots_bytes) ? 0 : need->slots_bytes;
    bool most_are_slots = slots_bytes >= need->workers_bytes;
    uint64_t n_slots = slots_of(plan, spec).n_slots * dlb_spec_loaders(spec);
    return dlb_fail(
        err, most_are_slots ? DLB_ERR_LOADER_SLOTS_MEMORY : DLB_ERR_LOADER_WORKERS_MEMORY, NULL,
        DLB_NO_OFFSET,
        "%llu batch slots of %u loader%s need %s, %.0f %s %s of their own; %s is available: %s%s",
        (unsigned long long)n_slots, dlb_spec_loaders(spec), dlb_spec_loaders(spec) == 1 ? "" : "s",
        size_text(slots_bytes, slots_text, sizeof(slots_text)),
        need->n_workers > 0 ? need->n_workers : (double)dlb_spec_loaders(spec),
        need->n_workers > 0 ? "workers" : "readers",
        size_text(need->workers_bytes, own_text, sizeof(own_text)),
        dlb_bytes_text(plan->host.available_bytes, have_text, sizeof(have_text)),
        need->n_workers > 0 ? "lower num_workers, " : "lower ",
        most_are_slots ? "batch_size, prefetch_factor or accelerators.count"
                       : "shuffle_buffer, worker_init_mb or accelerators.count, or store the data "
                         "so that a reader unpacks less at once (uncompressed, smaller chunks)");
}

/* The slots of all loaders and the workers' own memory exist at the same time. */
static int check_memory(const struct dlb_plan *plan, const struct dlb_plan_cell *cell,
                        const struct dlb_need *need, struct dlb_err *err)
{
    double slots_bytes = isnan(need->slots_bytes) ? 0 : need->slots_bytes;
    double own_bytes = isnan(need->workers_bytes) ? 0 : need->workers_bytes;
    if (plan->host.available_bytes == 0 ||
        slots_bytes + own_bytes <= (double)plan->host.available_bytes)
        return DLB_OK;
    return too_much_memory(plan, cell->spec, need, err);
}

int dlb_preflight_cell(const struct dlb_plan *plan, const struct dlb_plan_cell *cell,
                       struct dlb_err *err)
{
    struct dlb_need need;
    need_of(plan, cell, &need);
    int rc = check_shares(plan, cell, &need, err);
    rc = rc ? rc : check_batches(plan, cell, &need, err);
    return rc ? rc : check_memory(plan, cell, &need, err);
}

int dlb_preflight(struct dlb_plan *plan, struct dlb_err *err)
{
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        struct dlb_plan_cell *cell = &plan->cells[i];
        if (cell->skipped)
            continue;
        int rc = dlb_preflight_cell(plan, cell, err);
        if (rc && plan->axes.n == 0)
            return rc;
        if (!rc)
            continue;
        cell->skipped = true;
        cell->code = err->code;
        (void)snprintf(cell->reason, sizeof(cell->reason), "%s", err->what);
    }
    return DLB_OK;
}
