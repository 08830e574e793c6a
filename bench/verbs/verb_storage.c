#include "bench/cli/print.h"
#include "bench/cli/together.h"
#include "bench/cli/verb.h"
#include "bench/experiment/experiment.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/say.h"
#include "core/base/units.h"
#include "core/host/osacct.h"
#include "formats/codec.h"
#include "formats/generate/generate.h"
#include "scenarios/spec/spec.h"
#include "scenarios/storage/fio.h"
#include "scenarios/storage/sizing.h"
#include "scenarios/storage/write_speed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The data set that the workload asks for, planned before anything is written. */
struct sizing {
    struct dlb_gen gen;
    struct dlb_sizing size;
    uint64_t n_files;
    bool compresses;            /* files will be smaller than size.n_bytes, by an unknown factor */
    double storage_bytes_per_s; /* at which the storage takes data; NaN if not measured */
    double made_bytes_per_s;    /* at which the CPUs generate it */
    char speed_why[512];        /* why the time of writing is not known; or "" */
};

/* Of as many threads as `dlbench gen` would use. */
static double make_speed(const struct sizing *s)
{
    double n_cpus = dlb_os_n_cpus(&(double){0}), n_units = (double)s->n_files;
    return dlb_make_speed(&s->gen) * fmin(n_cpus, fmax(n_units, 1));
}

static void measure_speed(const char *path, struct sizing *s)
{
    struct dlb_err slow;
    s->made_bytes_per_s = make_speed(s);
    s->storage_bytes_per_s = (double)NAN;
    if (!path[0])
        (void)snprintf(s->speed_why, sizeof(s->speed_why), "give --path");
    else if (dlb_write_speed(path, &s->storage_bytes_per_s, &slow) != DLB_OK)
        (void)dlb_err_text(&slow, s->speed_why, sizeof(s->speed_why));
    else if (s->compresses)
        (void)snprintf(s->speed_why, sizeof(s->speed_why),
                       "compression takes time of its own, and leaves less to write");
    else
        s->size.write_bytes_per_s = fmin(s->storage_bytes_per_s, s->made_bytes_per_s);
}

/* Of the machines of all ranks. */
static uint64_t ram_bytes(void)
{
    const struct dlb_link *team = dlb_together();
    return team ? team->share.ram_bytes : dlb_os_ram_bytes();
}

/* On each rank storage.max_accelerators if it was set, else 1. */
static uint64_t n_wanted(const struct dlb_args *args, const struct dlb_spec *spec)
{
    uint64_t world = (uint64_t)spec->run.world;
    return dlb_config_has(args->cfg, "storage.max_accelerators")
               ? (uint64_t)spec->storage.max_accelerators * world
               : world;
}

static int fill(const struct dlb_args *args, const struct dlb_spec *spec, struct sizing *s,
                struct dlb_err *err)
{
    s->gen = dlb_spec_gen(spec);
    if (!s->gen.format->generator)
        return dlb_fail(err, DLB_ERR_STORAGE_NOTHING_TO_WRITE, NULL, DLB_NO_OFFSET,
                        "format %s stores no data, so there is no size to plan",
                        s->gen.format->name);
    s->n_files = s->gen.format->generator->units(&s->gen);
    s->compresses =
        s->gen.codec->make_compresses ||
        (s->gen.format->generator->compresses && s->gen.format->generator->compresses(&s->gen));
    s->size = (struct dlb_sizing){.n_samples = (uint64_t)spec->generate.samples,
                                  .n_bytes = dlb_gen_total_bytes(&s->gen),
                                  .batch_size = (uint64_t)spec->loader.batch_size,
                                  .n_accelerators = n_wanted(args, spec),
                                  .ram_bytes = ram_bytes(),
                                  .write_bytes_per_s = (double)NAN};
    measure_speed(spec->dataset.path, s);
    dlb_sizing_fill(&s->size);
    return DLB_OK;
}

static void print_json(const struct dlb_spec *spec, const struct sizing *s)
{
    const struct dlb_sizing *z = &s->size;
    json_t *doc = dlb_json_made(json_pack(
        "{ss, sb, so, so, sI, sI, sI, sb, sI, sI, sI, so, sb, sb, sI, sI, so, so, so}", "command",
        "storage", "dry_run", 1, "workload", dlb_json_safe_text(spec->workload.name), "path",
        dlb_json_safe_text(spec->dataset.path), "files", (json_int_t)s->n_files, "samples",
        (json_int_t)z->n_samples, "bytes", (json_int_t)z->n_bytes, "before_compression",
        s->compresses, "accelerators", (json_int_t)z->n_accelerators, "steps_per_epoch",
        (json_int_t)z->steps_per_epoch, "ram_bytes", (json_int_t)z->ram_bytes, "ram_multiple",
        dlb_json_real_or_null(z->ram_multiple), "covers_ram", z->covers_ram, "covers_steps",
        z->covers_steps, "needed_samples", (json_int_t)z->needed_samples, "needed_bytes",
        (json_int_t)z->needed_bytes, "write_bytes_per_s",
        dlb_json_real_or_null(s->storage_bytes_per_s), "make_bytes_per_s",
        dlb_json_real_or_null(s->made_bytes_per_s), "write_s", dlb_json_real_or_null(z->write_s)));
    dlb_print_json(doc);
    json_decref(doc);
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static const char *yes(bool holds)
{
    return holds ? "yes" : "no";
}

static void print_text(const struct dlb_spec *spec, const struct sizing *s)
{
    const struct dlb_sizing *z = &s->size;
    char a[40], b[40], c[40];

    dlb_say(stdout, "%s on %s", spec->workload.name[0] ? spec->workload.name : "this workload",
            spec->dataset.path[0] ? spec->dataset.path : "(no --path yet)");
    dlb_say(stdout, "  to write           %s sample%s in %s file%s, %s%s",
            dlb_count_text((double)z->n_samples, a, sizeof a), plural(z->n_samples),
            dlb_count_text((double)s->n_files, b, sizeof b), plural(s->n_files),
            dlb_bytes_text(z->n_bytes, c, sizeof c), s->compresses ? " before compression" : "");
    if (isfinite(z->write_s))
        dlb_say(stdout,
                "  time to write      %s: the storage takes %s from one thread, the CPUs "
                "generate %s",
                dlb_duration_text(z->write_s, a, sizeof a),
                dlb_rate_text(s->storage_bytes_per_s, b, sizeof b),
                isfinite(s->made_bytes_per_s) ? dlb_rate_text(s->made_bytes_per_s, c, sizeof c)
                                              : "more");
    else
        dlb_say(stdout, "  time to write      not measured%s%s", s->speed_why[0] ? ": " : "",
                s->speed_why);
    dlb_say(stdout, "  5 x memory         %s: %.1f times the %s %s%s", yes(z->covers_ram),
            z->ram_multiple, dlb_bytes_text(z->ram_bytes, a, sizeof a),
            dlb_together() ? "of all ranks' machines" : "here",
            s->compresses ? ", before compression" : "");
    dlb_say(stdout, "  500 steps an epoch %s: %s for each of %llu accelerator%s",
            yes(z->covers_steps), dlb_count_text((double)z->steps_per_epoch, a, sizeof a),
            (unsigned long long)z->n_accelerators, plural(z->n_accelerators));
    if (!z->covers_ram || !z->covers_steps)
        dlb_say(stdout, "  for both           --set generate.samples=%llu, %s",
                (unsigned long long)z->needed_samples,
                dlb_bytes_text(z->needed_bytes, a, sizeof a));
}

static int dry_run(const struct dlb_args *args, struct dlb_err *err)
{
    struct dlb_spec *spec = dlb_mem_new(sizeof(*spec));
    struct sizing s = {.n_files = 0};
    json_t *nodes = NULL;
    int rc = dlb_together_meet(dlb_together(), args->cfg, &nodes, err);
    json_decref(nodes);
    if (!rc)
        rc = dlb_spec_from_config(spec, args->cfg, err);
    if (!rc)
        rc = fill(args, spec, &s, err);
    if (!rc && !args->json)
        print_text(spec, &s);
    else if (!rc)
        print_json(spec, &s);
    free(spec);
    return rc;
}

/* Data served from the page cache says nothing of the storage, so the default is cold here. */
static int ask_for_cold(struct dlb_config *cfg, struct dlb_err *err)
{
    struct dlb_dataset_opts dataset;
    dlb_config_fill(cfg, &dlb_dataset_group, &dataset);
    if (dlb_config_has(cfg, "run.cache") || dlb_formats[dataset.format]->synthetic)
        return DLB_OK;
    return dlb_config_set(cfg, "run.cache=cold", err);
}

static int run(const struct dlb_args *args)
{
    struct dlb_err err;
    int rc = DLB_OK;

    if (args->dry_run)
        return dry_run(args, &err) ? dlb_print_err(&err) : DLB_EXIT_OK;
    if (args->resume && !dlb_config_is_set(args->cfg)) /* the run's folder has all of it */
        return dlb_experiment_run(args, dlb_scenario_by_name("storage"));
    struct dlb_storage_opts opts;
    dlb_config_fill(args->cfg, &dlb_storage_group, &opts);
    if (opts.baseline == DLB_BASELINE_FIO)
        rc = dlb_fio_check(&err);
    if (!rc)
        rc = dlb_workload_apply(args->cfg, &err);
    /* The default is emulated accelerators: a real GPU would be one, where many are needed. */
    if (!rc && !dlb_config_has(args->cfg, "device.kind"))
        rc = dlb_config_set(args->cfg, "device.kind=emulated", &err);
    if (!rc)
        rc = ask_for_cold(args->cfg, &err);
    return rc ? dlb_print_err(&err) : dlb_experiment_run(args, dlb_scenario_by_name("storage"));
}

const struct dlb_verb dlb_verb_storage = {
    .name = "storage",
    .summary = "Find out how many accelerators a storage can feed, before you buy it",
    .usage = "dlbench storage --workload NAME --accelerator NAME --path FOLDER [--dry-run] "
             "[--baseline fio] [--config FILE] [--set KEY=VALUE ...] [--json]",
    .details =
        "Emulated accelerators train on the data set in FOLDER. Each has readers of its own, or "
        "all share one pool (accelerators.shared_workers). Their number doubles until their "
        "utilisation falls below the workload's gate. Bisection, repetitions and a curve through "
        "them then find the largest number N that stays above it, its 95% interval, and what "
        "limits N + 1. storage.max_minutes ends that earlier, with the interval so far. The "
        "storage is not named as the limit while the CPUs or dlbench itself are.\n\n"
        "  dlbench gen --workload resnet50 --path /mnt/new/resnet50\n"
        "  dlbench storage --workload resnet50 --accelerator h100 --path /mnt/new/resnet50\n\n"
        "The data is dropped from the page cache before each repetition, unless run.cache says "
        "otherwise. A result that was served from the page cache says so.\n\n"
        "The data set must be 5 times as large as the machine's memory and last for 500 steps an "
        "epoch, or caches would hide the storage. --dry-run prints what that means here, and how "
        "long writing it takes. storage.allow_small=true accepts less, and the result says that it "
        "is not cold-proof.\n\n"
        "Workloads: unet3d, resnet50, cosmoflow and retinanet (like MLPerf Storage: its sizes, "
        "batches, readers and step times), llm-tokens, imagenet-files, imagenet-tar, hdf5-cosmo, "
        "or a TOML file of your own.\n\n"
        "Under mpirun or srun all ranks read at the same time, each with as many accelerators, and "
        "the result says what all of them get: see docs/cluster.md.\n\n"
        "--baseline fio lets fio read the same files with the same sizes, depth and kind of reads, "
        "in turns with N + 1 accelerators, and shows which share of its rate they reach.\n\n"
        "--resume DIR, the result's folder, goes on with a search that was cut off.",
    .flags = DLB_FLAG_RANKS | DLB_FLAG_CONFIG | DLB_FLAG_RESULTS | DLB_FLAG_RESUME | DLB_FLAG_JSON |
             DLB_FLAG_WORKLOAD | DLB_FLAG_STORAGE | DLB_FLAG_RULES | DLB_FLAG_QUIET,
    .examples = {"dlbench gen --workload resnet50 --path /mnt/resnet50",
                 "dlbench storage --workload resnet50 --accelerator h100 --path /mnt/resnet50",
                 "dlbench storage --workload unet3d --path /mnt/unet3d --dry-run"},
    .keys = {"dataset.path", "workload.accelerator", "workload.gate", "loader.num_workers",
             "loader.batch_size", "run.cache", "storage.max_accelerators", "storage.max_minutes",
             "storage.allow_small"},
    .run = run,
};
