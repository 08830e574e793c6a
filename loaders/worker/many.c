#include "core/base/clock.h"
#include "loaders/worker/filling.h"

/* A stamp, a call and the bookkeeping take 0.1 to 0.2 us: 5% of what it takes to copy MANY_BYTES.
 * At once are copied as many samples as stay in a core's second cache, and so many that of 400
 * bytes each loses under 5% to the stamp. */
#define MANY_BYTES 16384
#define AT_ONCE_BYTES 131072
#define MOST_AT_ONCE 256

/* Samples of one size that are copied to their place and no more. */
static bool are_plain(const struct dlb_job *job)
{
    const struct dlb_augment *augment = &job->dataset->augment;
    const struct dlb_shape *shape = &job->dataset->shape;
    return job->dataset->codec->identity &&
           shape->total_bytes == shape->n_samples * shape->max_sample_bytes &&
           job->opts->sample_sleep_us == 0 && job->opts->sample_spin_us == 0 &&
           (augment->kind == DLB_AUGMENT_NONE || augment->in_bytes == shape->max_sample_bytes);
}

uint32_t dlb_many_at_once(const struct dlb_worker *worker)
{
    const struct dlb_job *job = worker->setup.job;
    uint64_t each = job->dataset->shape.max_sample_bytes;
    if (!job->dataset->format->reader->read_many || worker->async || !are_plain(job) || each == 0 ||
        each > MANY_BYTES)
        return 0;
    if (worker->setup.trace && !job->dataset->format->synthetic) /* it shows each read by itself */
        return 0;
    uint64_t n = AT_ONCE_BYTES / each;
    return (uint32_t)(n < MOST_AT_ONCE ? n : MOST_AT_ONCE);
}

/* Each sample counts with the mean, unless one was slow: a sum is exact. From memory none is. */
static void meter(struct dlb_worker *worker, const uint64_t *index, uint32_t n, uint64_t start_ns,
                  uint64_t end_ns)
{
    const struct dlb_worker_setup *setup = &worker->setup;
    struct dlb_worker_report *report = setup->report;
    struct dlb_hist *read = &dlb_worker_report_meters(report)->stage[DLB_WS_READ];
    uint64_t from_ns = start_ns, each_ns = (end_ns - start_ns) / n;
    if (setup->job->dataset->format->synthetic)
        dlb_hist_share(read, end_ns - start_ns, n);
    else
        dlb_quick_count(&worker->quick, read, end_ns - start_ns, n);
    for (uint32_t i = 0; setup->trace && i < n; i++, from_ns += each_ns) {
        dlb_trace_at_sample(setup->trace, index[i]);
        dlb_trace_add(setup->trace, DLB_WS_READ, report->in_window, from_ns,
                      i + 1 < n ? from_ns + each_ns : end_ns);
    }
    if (setup->live)
        dlb_live_end(&setup->live->blocked, end_ns - start_ns);
}

/* Where one may be slow, so many that it is seen (loaders/worker/quick.h). */
static uint32_t group_of(struct dlb_worker *worker)
{
    if (worker->setup.job->dataset->format->synthetic)
        return worker->n_at_once;
    if (worker->quick.n > worker->n_at_once) /* else each group would pass for a batch's rest */
        worker->quick.n = worker->n_at_once;
    return worker->quick.n;
}

uint32_t dlb_many_fill(struct dlb_worker *worker, struct dlb_filling *fill, uint64_t first,
                       uint32_t n)
{
    const struct dlb_dataset *ds = worker->setup.job->dataset;
    struct dlb_worker_meters *meters = dlb_worker_report_meters(worker->setup.report);
    size_t each = (size_t)ds->shape.max_sample_bytes;
    uint64_t index[MOST_AT_ONCE];
    uint32_t label[MOST_AT_ONCE], most = group_of(worker);

    n = n < most ? n : most;
    if (n == 0 || fill->slots->payload_bytes - fill->used_bytes < n * each)
        DLB_BUG("a batch of samples of one size does not fit its slot");
    for (uint32_t i = 0; i < n; i++)
        index[i] = dlb_sampler_index(worker->setup.sampler, first + i);
    dlb_filling_publish(worker, index[0], 0, fill->done_ns);
    n = ds->format->reader->read_many(worker->reader, index, n, fill->payload + fill->used_bytes,
                                      label);
    if (n == 0) { /* its time is part of what reading them one by one takes */
        worker->n_at_once = 0;
        return 0;
    }
    uint64_t now_ns = dlb_now_ns();
    meter(worker, index, n, fill->done_ns, now_ns);
    meters->n_samples += n;
    meters->io_bytes += ds->format->synthetic ? 0 : n * each;
    for (uint32_t i = 0; i < n; i++)
        now_ns = dlb_filling_note(worker, fill, index[i], label[i], each, now_ns);
    fill->done_ns = now_ns;
    return n;
}
