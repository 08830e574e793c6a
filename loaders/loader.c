#include "loaders/loader.h"

#include "loaders/sampler.h"
#include "loaders/uring.h"

#define X(name) extern const struct dlb_loader dlb_ld_##name;
#include "loaders/loaders.def"
#undef X

#define X(name) &dlb_ld_##name,
const struct dlb_loader *const dlb_loaders[] = {
#include "loaders/loaders.def"
    NULL};
#undef X

#define DLB_LOADER_KINDS
static const char *const kind_names[] = {"auto",
#define X(name) #name,
#include "loaders/loaders.def"
#undef X
                                         NULL};
#undef DLB_LOADER_KINDS
static const char *const pin_mode_names[] = {"direct", "thread", NULL};
static const char *const order_names[] = {"in-order", "any", NULL};
static const char *const transport_names[] = {"pooled", "fresh", NULL};
const char *const dlb_read_io_names[] = {"sync", "io_uring", "auto", NULL};
static const char *const bind_names[] = {"none", "core", "numa", NULL};

#define FIELD(field) .offset = offsetof(struct dlb_loader_opts, field)
static const struct dlb_opt loader_opts[] = {
    {.key = "kind",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_CHOICE,
     FIELD(kind),
     .def = "auto",
     .choices = kind_names,
     .help = "Who loads: dlbench itself, in processes as PyTorch does or in threads (auto: inline "
             "for 0 "
             "workers, else threads); or torch, PyTorch's DataLoader in your interpreter"},
    {.key = "batch_size",
     .stays = true,
     .work = DLB_WORK_PER_STEP,
     .type = DLB_OPT_INT,
     FIELD(batch_size),
     .min = 1,
     .max = 16777216,
     .def = "1",
     .unit = "samples",
     .help = "Samples per batch"},
    {.key = "num_workers",
     .stays = true,
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_INT,
     FIELD(num_workers),
     .min = 0,
     .max = 512,
     .def = "0",
     .unit = "workers",
     .help = "Workers that load batches; 0 loads in the training loop itself"},
    {.key = "prefetch_factor",
     .work = DLB_WORK_SAME,
     .needs = DLB_NEEDS_WORKERS,
     .type = DLB_OPT_INT,
     FIELD(prefetch_factor),
     .min = 1,
     .max = 128,
     .def = "2",
     .unit = "batches",
     .help = "Batches that each worker may have in flight or ready"},
    {.key = "pin_memory",
     .shows_with = DLB_NEEDS_OWN_COPIES,
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_BOOL,
     FIELD(pin_memory),
     .def = "false",
     .help = "Copy to the device from page-locked memory"},
    {.key = "pin_mode",
     .native = true,
     .work = DLB_WORK_SAME,
     .needs = DLB_NEEDS_PINNING,
     .type = DLB_OPT_CHOICE,
     FIELD(pin_mode),
     .def = "direct",
     .choices = pin_mode_names,
     .help = "With pin_memory: workers write pinned slots directly, or a pin thread copies every "
             "batch as PyTorch does"},
    {.key = "persistent_workers",
     .work = DLB_WORK_SAME,
     .needs = DLB_NEEDS_WORKERS,
     .shows_with = DLB_NEEDS_EPOCH_BORDERS,
     .type = DLB_OPT_BOOL,
     FIELD(persistent_workers),
     .def = "false",
     .help = "Keep workers across epochs instead of starting them anew"},
    {.key = "shuffle",
     .stays = true,
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_BOOL,
     FIELD(shuffle),
     .def = "false",
     .help =
         "New order every epoch: a permutation, or for streams shard order and a shuffle buffer"},
    {.key = "shuffle_buffer",
     .stays = true,
     .work = DLB_WORK_SAME,
     .shows_with = DLB_NEEDS_SHUFFLED_SHARDS,
     .type = DLB_OPT_INT,
     FIELD(shuffle_buffer),
     .min = 0,
     .max = 10000000,
     .def = "1000",
     .unit = "samples",
     .help = "Samples that each worker of a shuffled stream holds; 0 shuffles shards alone"},
    {.key = "shuffle_buffer_bytes",
     .native = true,
     .stays = true,
     .work = DLB_WORK_SAME,
     .shows_with = DLB_NEEDS_SHUFFLED_SHARDS,
     .type = DLB_OPT_BYTES,
     FIELD(shuffle_buffer_bytes),
     .min = 1,
     .max = INT64_MAX,
     .def = "1GiB",
     .unit = "bytes",
     .help = "Each worker's shuffle buffer takes no more samples while it holds this many bytes"},
    {.key = "drop_last",
     .stays = true,
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_BOOL,
     FIELD(drop_last),
     .def = "false",
     .help = "Leave out the last batch when it is short; streams do so in every worker"},
    {.key = "order",
     .work = DLB_WORK_SAME,
     .needs = DLB_NEEDS_WORKERS,
     .type = DLB_OPT_CHOICE,
     FIELD(order),
     .def = "in-order",
     .choices = order_names,
     .help = "Batches in their order, or whichever is ready first (in_order=False)"},
    {.key = "timeout_s",
     .work = DLB_WORK_SAME,
     .needs = DLB_NEEDS_WORKERS,
     .type = DLB_OPT_FLOAT,
     FIELD(timeout_s),
     .min = 0,
     .max = 86400,
     .def = "0",
     .unit = "s",
     .help = "A longer wait for one batch is an error that names worker, sample and file; 0 waits "
             "for ever"},
    {.key = "transport",
     .native = true,
     .work = DLB_WORK_SAME,
     .needs = DLB_NEEDS_WORKERS,
     .type = DLB_OPT_CHOICE,
     FIELD(transport),
     .def = "pooled",
     .choices = transport_names,
     .help =
         "Batches in slots that are reused, or in fresh memory with its page faults, as PyTorch "
         "has it"},
    {.key = "io",
     .native = true,
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_CHOICE,
     FIELD(io),
     .def = "sync",
     .choices = dlb_read_io_names,
     .help = "Read samples one after the other, many of a batch at once through io_uring, or in "
             "the way that is faster in a worker's first batches"},
    {.key = "io_depth",
     .native = true,
     .work = DLB_WORK_SAME,
     .needs = DLB_NEEDS_MANY_READS,
     .type = DLB_OPT_INT,
     FIELD(io_depth),
     .min = 1,
     .max = 1024,
     .def = "32",
     .unit = "reads",
     .help = "Through io_uring: reads that each worker has in flight, at most"},
    {.key = "direct",
     .native = true,
     .work = DLB_WORK_SAME,
     .needs = DLB_NEEDS_STORED_BYTES,
     .type = DLB_OPT_BOOL,
     FIELD(direct),
     .def = "false",
     .help = "Read past the page cache (O_DIRECT), as dataset.access = \"direct\"; an error if the "
             "format or the file system cannot"},
    {.key = "bind",
     .native = true,
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_CHOICE,
     FIELD(bind),
     .def = "none",
     .choices = bind_names,
     .help = "Place each worker on a core or NUMA node of its own, round robin"},
    {.key = "sample_sleep_us",
     .native = true,
     .type = DLB_OPT_FLOAT,
     FIELD(sample_sleep_us),
     .min = 0,
     .max = 60000000,
     .def = "0",
     .unit = "us",
     .help = "Planted waiting per sample, counted as read: for demonstrations and tests"},
    {.key = "sample_spin_us",
     .native = true,
     .type = DLB_OPT_FLOAT,
     FIELD(sample_spin_us),
     .min = 0,
     .max = 60000000,
     .def = "0",
     .unit = "us",
     .help = "Planted computing (CPU time) per sample, counted as transform: for demonstrations "
             "and tests"},
    {.key = "worker_init_ms",
     .native = true,
     .type = DLB_OPT_FLOAT,
     FIELD(worker_init_ms),
     .min = 0,
     .max = 600000,
     .def = "0",
     .unit = "ms",
     .help = "Planted computing in each worker that starts, as an expensive Dataset constructor "
             "would"},
    {.key = "worker_init_mb",
     .native = true,
     .type = DLB_OPT_FLOAT,
     FIELD(worker_init_mb),
     .min = 0,
     .max = 1000000,
     .def = "0",
     .unit = "MB",
     .help = "Planted memory of each worker that starts, touched and kept"},
    DLB_OPT_END};

const struct dlb_opt_group dlb_loader_group = {
    .section = "loader",
    .title = "How batches are loaded, in the terms of torch.utils.data.DataLoader",
    .opts = loader_opts,
    .n_bytes = sizeof(struct dlb_loader_opts)};

const struct dlb_loader *dlb_loader_choose(const struct dlb_loader_opts *opts, struct dlb_err *err)
{
    const struct dlb_loader *inline_loader = &dlb_ld_inline;
    const struct dlb_loader *chosen =
        opts->kind > 0 ? dlb_loaders[opts->kind - 1]
                       : (opts->num_workers == 0 ? inline_loader : &dlb_ld_threads);

    if (chosen->missing) {
        (void)dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, "loader.kind = \"%s\": %s",
                       chosen->name, chosen->missing);
        return NULL;
    }
    if (chosen == &dlb_ld_torch) /* what it has no setting for, it ignores */
        return chosen;
    if (chosen == inline_loader && opts->num_workers > 0) {
        (void)dlb_fail(err, DLB_ERR_LOADER_WORKERS_CONTRADICT, NULL, DLB_NO_OFFSET,
                       "loader.kind = \"inline\" has no workers: set loader.num_workers = 0, or "
                       "loader.kind = \"threads\"");
        return NULL;
    }
    if (chosen != inline_loader && opts->num_workers == 0) {
        (void)dlb_fail(
            err, DLB_ERR_LOADER_WORKERS_CONTRADICT, NULL, DLB_NO_OFFSET,
            "loader.kind = \"%s\" needs loader.num_workers of 1 or more; 0 workers is \"inline\"",
            chosen->name);
        return NULL;
    }
    if (opts->transport == DLB_TRANSPORT_FRESH && opts->pin_memory &&
        opts->pin_mode == DLB_PIN_DIRECT && chosen != inline_loader) {
        (void)dlb_fail(err, DLB_ERR_LOADER_FRESH_PINNED, NULL, DLB_NO_OFFSET,
                       "loader.transport = \"fresh\" cannot be pinned in place: set "
                       "loader.pin_mode = \"thread\", as PyTorch does");
        return NULL;
    }
    if (opts->io == DLB_READ_URING && dlb_uring_missing()) {
        (void)dlb_fail(err, DLB_ERR_URING_NOT_BUILT, NULL, DLB_NO_OFFSET,
                       "loader.io = \"io_uring\": %s", dlb_uring_missing());
        return NULL;
    }
    return chosen;
}

int dlb_loader_check_reads(const struct dlb_loader_opts *opts, const struct dlb_format *format,
                           int access, bool iterable, struct dlb_err *err)
{
    const char *name = dlb_access_names[access];
    bool locates = format->reader && format->reader->locate; /* no reader in a build without it */

    if (format->elsewhere && (opts->kind == 0 || dlb_loaders[opts->kind - 1] != &dlb_ld_torch))
        return dlb_fail(err, DLB_ERR_PYTHON_ONLY, NULL, DLB_NO_OFFSET,
                        "data of format \"%s\" are read by your own code in Python: set "
                        "loader.kind = \"torch\"",
                        format->name);
    if (opts->io != DLB_READ_URING)
        return DLB_OK;
    if (iterable)
        return dlb_fail(err, DLB_ERR_URING_FORMAT_UNFIT, NULL, DLB_NO_OFFSET,
                        "loader.io = \"io_uring\" reads samples by their places, and format %s "
                        "streams its shards: set loader.io = \"sync\"%s",
                        format->name, locates ? ", or dataset.access = \"indexed\"" : "");
    if (!locates)
        return dlb_fail(err, DLB_ERR_URING_FORMAT_UNFIT, NULL, DLB_NO_OFFSET,
                        "loader.io = \"io_uring\": format %s does not tell where its samples lie: "
                        "set loader.io = \"sync\"",
                        format->name);
    if (!dlb_access_locates(access))
        return dlb_fail(err, DLB_ERR_URING_ACCESS_UNFIT, NULL, DLB_NO_OFFSET,
                        "loader.io = \"io_uring\" and dataset.access = \"%s\" contradict each "
                        "other: leave one of them out",
                        name);
    return DLB_OK;
}

struct dlb_job_share dlb_job_share(const struct dlb_job *job)
{
    struct dlb_job_share share = {0};
    uint64_t n_workers = (uint64_t)job->opts->num_workers;
    uint32_t n_loaders = job->n_loaders ? job->n_loaders : 1;
    uint32_t first_rank = job->rank - job->rank % n_loaders;

    for (uint32_t i = 0; i < n_loaders; i++) {
        uint64_t own =
            dlb_sampler_rank_shards(job->dataset->shape.n_shards, first_rank + i, job->world);
        share.n_shards += own;
        share.n_busy += own < n_workers ? own : n_workers;
    }
    return share;
}

/* Each sample of this process is in one buffer at most, and a worker without shards has an empty
 * buffer. */
static double shuffle_bytes(const struct dlb_job *job)
{
    const struct dlb_loader_opts *opts = job->opts;
    const struct dlb_shape *shape = &job->dataset->shape;

    if (!shape->iterable || !opts->shuffle || shape->n_samples == 0)
        return 0;
    struct dlb_job_share share = dlb_job_share(job);
    double total = (double)shape->total_bytes;
    double own = total * (double)share.n_shards / (double)shape->n_shards;
    double each = total / (double)shape->n_samples * (double)opts->shuffle_buffer;
    if (each > (double)opts->shuffle_buffer_bytes)
        each = (double)opts->shuffle_buffer_bytes;
    double held = each * (double)share.n_busy;
    return held < own ? held : own;
}

struct dlb_job_memory dlb_job_memory(const struct dlb_job *job)
{
    double n_loaders = (double)(job->n_loaders ? job->n_loaders : 1);
    double n_workers = (double)job->opts->num_workers * n_loaders;
    double n_readers = n_workers > 0 ? n_workers : n_loaders;
    return (struct dlb_job_memory){job->opts->worker_init_mb * 1e6 * n_workers, shuffle_bytes(job),
                                   (double)job->dataset->shape.reader_bytes * n_readers};
}
