#include "loaders/worker/worker.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/host/osacct.h"
#include "loaders/worker/async_read.h"
#include "loaders/worker/filling.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { PURPOSE_SHUFFLE = 3 };

static void count_request(struct dlb_io_watch *watch, uint64_t ns, size_t n_bytes)
{
    struct dlb_worker *worker =
        (struct dlb_worker *)(void *)((char *)watch - offsetof(struct dlb_worker, watch));
    dlb_hist_add(&dlb_worker_report_meters(worker->setup.report)->io.request, ns);
    dlb_worker_report_meters(worker->setup.report)->io.n_bytes += n_bytes;
}

static void count_read(struct dlb_worker *worker, const struct dlb_sample *sample)
{
    dlb_worker_report_meters(worker->setup.report)->io_bytes += sample->io_bytes;
    dlb_worker_report_meters(worker->setup.report)->n_samples++;
}

/* Reader, codec, and the memory that checksums need. */
static int open_reader(struct dlb_worker *worker, struct dlb_err *err)
{
    const struct dlb_job *job = worker->setup.job;
    const struct dlb_dataset *ds = job->dataset;

    worker->reader = dlb_mem_state(ds->format->reader->state_bytes);
    worker->codec = dlb_mem_state(ds->codec->state_bytes);
    bool makes = job->checksum && ds->augment.kind != DLB_AUGMENT_NONE;
    worker->made = makes ? dlb_mem_state(ds->augment.out_bytes) : NULL;
    if (!worker->reader || !worker->codec || (makes && !worker->made))
        return dlb_fail_memory(err, NULL,
                               ds->format->reader->state_bytes + ds->codec->state_bytes +
                                   (makes ? ds->augment.out_bytes : 0));
    int rc = ds->format->reader->open(worker->reader, ds->state, err);
    if (rc == DLB_OK && ds->codec->open)
        rc = ds->codec->open(worker->codec, &ds->transform, err);
    return rc;
}

/* Iterable data: its shards, and the buffer that shuffles their samples. */
static int open_stream(struct dlb_worker *worker, struct dlb_err *err)
{
    const struct dlb_job *job = worker->setup.job;
    size_t n = (size_t)job->dataset->shape.n_shards + 1;

    worker->shards = calloc(n, sizeof *worker->shards);
    if (!worker->shards)
        return dlb_fail_memory(err, NULL, n * sizeof *worker->shards);
    if (!job->opts->shuffle || job->opts->shuffle_buffer == 0)
        return DLB_OK;
    return dlb_shuffle_open(&worker->shuffle, (uint32_t)job->opts->shuffle_buffer,
                            (uint64_t)job->opts->shuffle_buffer_bytes, err);
}

/* Whether nothing is to be timed of a sample but that it is read, straight to its place. */
static bool may_share_stamps(const struct dlb_worker *worker)
{
    const struct dlb_job *job = worker->setup.job;
    return job->dataset->codec->identity && job->dataset->augment.kind == DLB_AUGMENT_NONE &&
           !job->checksum && job->opts->sample_sleep_us == 0 && job->opts->sample_spin_us == 0 &&
           !worker->setup.trace;
}

int dlb_worker_open(struct dlb_worker *worker, const struct dlb_worker_setup *setup,
                    struct dlb_err *err)
{
    const struct dlb_job *job = setup->job;
    int rc = DLB_OK;

    *worker = (struct dlb_worker){.setup = *setup, .watch = {count_request}, .quick = {.n = 1}};
    if (job->topo)
        rc = dlb_topo_bind_self(job->topo, (enum dlb_bind)job->opts->bind,
                                job->first_worker + setup->id, err);
    if (rc == DLB_OK)
        rc = open_reader(worker, err);
    if (rc == DLB_OK && job->opts->io != DLB_READ_SYNC)
        rc = dlb_async_open(&worker->async, &worker->setup, worker->reader, err);
    if (rc == DLB_OK && job->dataset->shape.iterable)
        rc = open_stream(worker, err);
    else if (rc == DLB_OK) {
        worker->n_at_once = dlb_many_at_once(worker);
        worker->shares_stamps = may_share_stamps(worker);
    }
    return rc == DLB_OK ? dlb_plant_open(&worker->plant, &worker->setup, err) : rc;
}

void dlb_worker_close(struct dlb_worker *worker)
{
    const struct dlb_dataset *ds = worker->setup.job->dataset;
    dlb_async_close(worker->async);
    worker->async = worker->ahead = NULL;
    if (worker->reader)
        ds->format->reader->close(worker->reader);
    if (worker->codec && ds->codec->close)
        ds->codec->close(worker->codec);
    free(worker->reader);
    free(worker->codec);
    free(worker->made);
    free(worker->shards);
    dlb_plant_close(&worker->plant);
    dlb_shuffle_close(worker->shuffle);
    worker->reader = worker->codec = NULL;
    worker->made = NULL;
    worker->shards = NULL;
    worker->shuffle = NULL;
}

void dlb_worker_begin_epoch(struct dlb_worker *worker, uint64_t epoch)
{
    const struct dlb_worker_setup *setup = &worker->setup;

    worker->epoch = epoch;
    if (!worker->shards)
        return;
    worker->n_shards =
        dlb_sampler_shards(setup->sampler, epoch, setup->id, setup->n_workers, worker->shards);
    worker->next_shard = 0;
    worker->in_shard = false;
    if (worker->shuffle)
        dlb_shuffle_reset(worker->shuffle, dlb_rng_seed(setup->job->seed, epoch,
                                                        PURPOSE_SHUFFLE + (uint64_t)setup->id));
}

/* To what is wrong with a sample, the key that leaves it out. Where the data differ from what their
 * source announced, other samples would be lost, too. */
static void advise_skip(struct dlb_err *err)
{
    static const char advice[] = "; dataset.on_error = \"skip\" leaves such samples out";
    size_t n = strlen(err->what);

    if (err->status == DLB_E_FORMAT && err->code != DLB_ERR_SOURCE_CHANGED &&
        n + sizeof advice <= sizeof err->what)
        memcpy(err->what + n, advice, sizeof advice);
}

/* With on_error = "skip" an error of the data is kept in the report and DLB_OK returned: the caller
 * counts it. Other errors are returned. */
static int record_or_fail(struct dlb_worker *worker, struct dlb_err *err)
{
    struct dlb_worker_report *report = worker->setup.report;
    bool of_the_data = err->status == DLB_E_IO || err->status == DLB_E_FORMAT;

    if (worker->setup.job->dataset->on_error != DLB_ON_ERROR_SKIP)
        advise_skip(err);
    if (worker->setup.job->dataset->on_error != DLB_ON_ERROR_SKIP || !of_the_data)
        return (int)err->status;
    if (report->n_skipped_named < DLB_MAX_SKIPPED_NAMED)
        report->skipped[report->n_skipped_named++] = *err;
    return DLB_OK;
}

static int skip_or_fail(struct dlb_worker *worker, struct dlb_filling *fill, struct dlb_err *err)
{
    int rc = record_or_fail(worker, err);
    if (rc == DLB_OK) {
        dlb_worker_report_meters(worker->setup.report)->n_skipped++;
        fill->n_skipped++;
    }
    return rc;
}

static void add_path_to_error(const struct dlb_sample *sample, struct dlb_err *err)
{
    if (err->path[0] != '\0' || !sample->path)
        return;
    struct dlb_err named;
    (void)dlb_fail(&named, err->code, sample->path,
                   err->offset_bytes != DLB_NO_OFFSET ? err->offset_bytes : sample->offset_bytes,
                   "%s", err->what);
    named.sys_errno = err->sys_errno;
    named.lib_code = err->lib_code;
    *err = named;
}

/* Identity codecs: copies the bytes to dst, unless they are there already. */
static int place_bytes(const struct dlb_sample *sample, uint8_t *dst, size_t cap_bytes,
                       size_t *len_bytes, bool *copied, struct dlb_err *err)
{
    size_t len = 0;

    for (uint32_t i = 0; i < sample->n_fields; i++)
        len += sample->field[i].len_bytes;
    if (len > cap_bytes)
        return dlb_fail(
            err, DLB_ERR_SAMPLE_TOO_LARGE, sample->path, sample->offset_bytes,
            "sample of %zu bytes is larger than the data set's largest, %zu: did it change?", len,
            cap_bytes);
    *len_bytes = len;
    *copied = sample->n_fields > 0 && sample->field[0].data != dst;
    for (uint32_t i = 0; *copied && i < sample->n_fields; i++) {
        /* May overlap: after a skipped sample, samples read ahead lie further on in the slot. */
        memmove(dst, sample->field[i].data, sample->field[i].len_bytes);
        dst += sample->field[i].len_bytes;
    }
    return DLB_OK;
}

/* A device that makes samples takes samples of one size. */
static int check_size(const struct dlb_worker *worker, size_t len_bytes, struct dlb_err *err)
{
    const struct dlb_augment *augment = &worker->setup.job->dataset->augment;

    if (augment->kind == DLB_AUGMENT_NONE || len_bytes == augment->in_bytes)
        return DLB_OK;
    return dlb_fail(
        err, DLB_ERR_READ_SIZE_VARIES, NULL, DLB_NO_OFFSET,
        "a sample of %zu bytes: with transform.where = \"gpu\" all must be of one size, "
        "here %zu",
        len_bytes, augment->in_bytes);
}

/* Of fill->n_unstamped samples, which were read since fill->done_ns. */
static void meter_read(struct dlb_worker *worker, struct dlb_filling *fill, uint64_t now_ns)
{
    const struct dlb_worker_setup *setup = &worker->setup;
    uint32_t n = fill->n_unstamped;
    fill->n_unstamped = 0;
    if (!worker->shares_stamps) {
        dlb_worker_meter(setup, DLB_WS_READ, fill->done_ns, now_ns);
        return;
    }
    dlb_quick_count(&worker->quick, &dlb_worker_report_meters(setup->report)->stage[DLB_WS_READ],
                    now_ns - fill->done_ns, n);
    if (setup->live)
        dlb_live_end(&setup->live->blocked, now_ns - fill->done_ns);
}

/* Decodes and places one sample, which was read between fill->done_ns and read_ns. */
static int add_sample(struct dlb_worker *worker, struct dlb_filling *fill,
                      const struct dlb_sample *sample, uint64_t read_ns, struct dlb_err *err)
{
    const struct dlb_codec *codec = worker->setup.job->dataset->codec;
    const struct dlb_loader_opts *opts = worker->setup.job->opts;
    uint8_t *dst = fill->payload + fill->used_bytes;
    size_t cap_bytes = fill->slots->payload_bytes - fill->used_bytes, len_bytes = 0;
    int rc = DLB_OK;

    dlb_trace_at_sample(worker->setup.trace, sample->index);
    uint64_t now_ns = dlb_plant_sleep(&worker->plant, read_ns);
    if (dlb_worker_told_to_stop(&worker->setup)) /* the sleep may have been cut short */
        return DLB_E_CANCELLED;
    fill->n_unstamped++;
    meter_read(worker, fill, now_ns);
    uint64_t from_ns = now_ns;
    if (codec->identity) {
        bool copied = false;
        rc = place_bytes(sample, dst, cap_bytes, &len_bytes, &copied, err);
        if (copied) {
            now_ns = dlb_now_ns();
            dlb_worker_meter(&worker->setup, DLB_WS_COLLATE, from_ns, now_ns);
        }
        if (rc == DLB_OK && opts->sample_spin_us > 0) {
            from_ns = now_ns;
            now_ns = dlb_plant_spin(&worker->plant, now_ns);
            dlb_worker_meter(&worker->setup, DLB_WS_TRANSFORM, from_ns, now_ns);
        }
    } else {
        rc =
            codec->decode(worker->codec, sample,
                          dlb_rng_seed(worker->setup.job->seed, worker->epoch, sample->index), err);
        now_ns = dlb_now_ns();
        dlb_worker_meter(&worker->setup, DLB_WS_DECODE, from_ns, now_ns);
        if (rc == DLB_OK) {
            from_ns = now_ns;
            rc = codec->transform(worker->codec, dst, cap_bytes, &len_bytes, err);
            now_ns = dlb_plant_spin(&worker->plant, dlb_now_ns());
            dlb_worker_meter(&worker->setup, DLB_WS_TRANSFORM, from_ns, now_ns);
        }
    }
    if (rc == DLB_OK)
        rc = check_size(worker, len_bytes, err);
    if (rc != DLB_OK) {
        fill->done_ns = now_ns;
        dlb_worker_report_meters(worker->setup.report)
            ->n_samples--; /* its bytes still count as read */
        add_path_to_error(sample, err);
        return skip_or_fail(worker, fill, err);
    }
    fill->done_ns = dlb_filling_note(worker, fill, sample->index, sample->label, len_bytes, now_ns);
    return DLB_OK;
}

static struct dlb_dest dest_of(const struct dlb_worker *worker, const struct dlb_filling *fill)
{
    if (!worker->setup.job->dataset->codec->identity)
        return (struct dlb_dest){0};
    return (struct dlb_dest){.data = fill->payload + fill->used_bytes,
                             .cap_bytes = fill->slots->payload_bytes - fill->used_bytes};
}

/* Whether a sample that was read lies where it belongs, and another one has the stamp. */
static bool leaves_stamp(const struct dlb_worker *worker, const struct dlb_filling *fill,
                         const struct dlb_sample *sample)
{
    return worker->shares_stamps && !worker->ahead && fill->n_unstamped + 1 < worker->quick.n &&
           sample->n_fields == 1 && sample->field[0].data == fill->payload + fill->used_bytes &&
           sample->field[0].len_bytes <= fill->slots->payload_bytes - fill->used_bytes;
}

static int fill_one(struct dlb_worker *worker, uint64_t index, struct dlb_filling *fill,
                    struct dlb_err *err)
{
    const struct dlb_reader *reader = worker->setup.job->dataset->format->reader;
    struct dlb_sample sample;

    dlb_sample_clear(&sample);
    dlb_filling_publish(worker, index, fill->n_unstamped, fill->done_ns);
    int rc = worker->ahead
                 ? dlb_async_take(worker->ahead, dest_of(worker, fill), &sample, err)
                 : reader->read(worker->reader, index, dest_of(worker, fill), &sample, err);
    if (rc == DLB_E_CANCELLED)
        return rc;
    if (rc == DLB_OK && leaves_stamp(worker, fill, &sample)) {
        count_read(worker, &sample);
        (void)dlb_filling_note(worker, fill, index, sample.label, sample.field[0].len_bytes,
                               fill->done_ns);
        fill->n_unstamped++;
        return DLB_OK;
    }
    uint64_t read_ns = dlb_now_ns();
    if (rc == DLB_OK) {
        count_read(worker, &sample);
        return add_sample(worker, fill, &sample, read_ns, err);
    }
    dlb_trace_at_sample(worker->setup.trace, index);
    fill->n_unstamped++;
    meter_read(worker, fill, read_ns);
    fill->done_ns = read_ns;
    return skip_or_fail(worker, fill, err);
}

static int fill_map(struct dlb_worker *worker, uint64_t batch, struct dlb_filling *fill,
                    struct dlb_err *err)
{
    const struct dlb_sampler *sampler = worker->setup.sampler;
    uint64_t first = batch * sampler->opts.batch_size;

    if (batch >= sampler->n_batches)
        return DLB_END;
    uint32_t n = dlb_sampler_batch_samples(sampler, batch);
    if (worker->ahead)
        dlb_async_begin(worker->ahead, first, n, dest_of(worker, fill));
    for (uint32_t i = 0, n_done; i < n; i += n_done) {
        if (dlb_worker_told_to_stop(&worker->setup))
            return DLB_E_CANCELLED;
        n_done = worker->n_at_once > 0 ? dlb_many_fill(worker, fill, first + i, n - i) : 0;
        if (n_done > 0)
            continue;
        n_done = 1;
        int rc = fill_one(worker, dlb_sampler_index(sampler, first + i), fill, err);
        if (rc != DLB_OK)
            return rc;
    }
    return DLB_OK;
}

/* However the batch ended, what was read counts. */
static void meter_rest(struct dlb_worker *worker, struct dlb_filling *fill)
{
    if (fill->n_unstamped == 0)
        return;
    uint64_t now_ns = dlb_now_ns();
    meter_read(worker, fill, now_ns);
    fill->done_ns = now_ns;
}

/* The next sample of the worker's shards, one shard after the other. The rest of a broken shard is
 * skipped, or the error is fatal (dataset.on_error). */
static int stream_next(struct dlb_worker *worker, struct dlb_dest dest, struct dlb_sample *out,
                       struct dlb_err *err)
{
    const struct dlb_format *format = worker->setup.job->dataset->format;

    for (;;) {
        int rc = DLB_OK;
        if (!worker->in_shard) {
            if (worker->next_shard == worker->n_shards)
                return DLB_END;
            worker->n_of_shard = 0;
            dlb_filling_publish(worker, worker->shards[worker->next_shard], 0, dlb_now_ns());
            rc = format->reader->shard_open(worker->reader, worker->shards[worker->next_shard++],
                                            err);
            worker->in_shard = rc == DLB_OK;
        }
        if (rc == DLB_OK) {
            dlb_sample_clear(out);
            dlb_filling_publish(worker, worker->shards[worker->next_shard - 1],
                                worker->n_of_shard++, dlb_now_ns());
            rc = format->reader->next(worker->reader, dest, out, err);
            if (rc == DLB_OK) {
                count_read(worker, out);
                return DLB_OK;
            }
            worker->in_shard = false;
        }
        if (rc != DLB_END) {
            rc = record_or_fail(worker, err);
            if (rc != DLB_OK)
                return rc;
            dlb_worker_report_meters(worker->setup.report)->n_cut_shards++;
        }
    }
}

static int shuffled_next(struct dlb_worker *worker, struct dlb_sample *out, struct dlb_err *err)
{
    while (dlb_shuffle_wants(worker->shuffle)) {
        if (dlb_worker_told_to_stop(&worker->setup))
            return DLB_E_CANCELLED;
        struct dlb_sample sample;
        int rc = stream_next(worker, (struct dlb_dest){0}, &sample, err);
        if (rc == DLB_END)
            break;
        if (rc == DLB_OK)
            rc = dlb_shuffle_put(worker->shuffle, &sample, err);
        if (rc != DLB_OK)
            return rc;
    }
    return dlb_shuffle_draw(worker->shuffle, out);
}

static int fill_stream(struct dlb_worker *worker, struct dlb_filling *fill, struct dlb_err *err)
{
    uint32_t batch_size = fill->slots->batch_size;

    while (fill->n_samples < batch_size) {
        if (dlb_worker_told_to_stop(&worker->setup))
            return DLB_E_CANCELLED;
        struct dlb_sample sample;
        int rc = worker->shuffle ? shuffled_next(worker, &sample, err)
                                 : stream_next(worker, dest_of(worker, fill), &sample, err);
        if (rc == DLB_END)
            break;
        if (rc == DLB_OK)
            rc = add_sample(worker, fill, &sample, dlb_now_ns(), err);
        if (rc != DLB_OK)
            return rc;
    }
    bool dropped = fill->n_samples < batch_size && worker->setup.job->opts->drop_last;
    /* A last batch whose samples were all skipped is handed on, so that they are counted. */
    return (fill->n_samples == 0 && fill->n_skipped == 0) || dropped ? DLB_END : DLB_OK;
}

int dlb_worker_fill(struct dlb_worker *worker, uint64_t batch, const struct dlb_slots *slots,
                    uint32_t slot, struct dlb_err *err)
{
    struct dlb_filling fill = {.slots = slots,
                               .slot = slot,
                               .payload = dlb_slot_payload(slots, slot),
                               .done_ns = dlb_now_ns()};
    uint64_t start_ns = fill.done_ns;
    dlb_trace_at_batch(worker->setup.trace, worker->epoch, batch);
    worker->ahead = dlb_async_of(worker->async);
    if (worker->setup.job->checksum)
        dlb_hash_begin(&fill.delivered, 0);
    /* Reads by io_uring are counted in async_read.c. */
    dlb_io_watch = worker->ahead ? NULL : &worker->watch;
    int rc = worker->shards ? fill_stream(worker, &fill, err) : fill_map(worker, batch, &fill, err);
    dlb_io_watch = NULL;
    meter_rest(worker, &fill);

    dlb_filling_publish(worker, 0, 0, 0);
    if (rc != DLB_OK) {
        dlb_async_abandon(worker->ahead);
        return rc;
    }
    struct dlb_slot *head = dlb_slot_head(slots, slot);
    *head = (struct dlb_slot){.n_bytes = fill.used_bytes,
                              .n_samples = fill.n_samples,
                              .n_skipped = fill.n_skipped,
                              .number = batch,
                              .epoch = worker->epoch,
                              .made_hash = fill.made_hash};
    dlb_slot_offset(slots, slot)[fill.n_samples] = fill.used_bytes;
    if (worker->setup.job->checksum)
        head->payload_hash = dlb_hash_end(&fill.delivered);
    head->ready_ns = dlb_now_ns();
    dlb_trace_at_sample(worker->setup.trace, DLB_TRACE_NO_SAMPLE);
    dlb_worker_meter(&worker->setup, DLB_WS_COLLATE, fill.done_ns, head->ready_ns);
    dlb_trace_at_batch(worker->setup.trace, worker->epoch, DLB_TRACE_NO_BATCH);
    dlb_worker_report_meters(worker->setup.report)->n_batches++;
    dlb_async_loaded(worker->async, head->ready_ns - start_ns, fill.n_samples);
    return DLB_OK;
}
