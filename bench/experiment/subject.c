#include "bench/experiment/subject.h"

#include "bench/cli/libraries.h"
#include "bench/cli/verb.h"
#include "core/base/apart.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/shell.h"
#include "core/host/environment.h"
#include "core/host/membw.h"
#include "core/host/osacct.h"
#include "formats/shape.h"
#include "formats/undecoded.h"
#include "loaders/torch/ask.h"
#include "scenarios/spec/meaning.h"
#include "scenarios/storage/fio.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct look {
    const struct dlb_scenario *scenario;
    struct dlb_subject *out;
    void (*waiting)(void *ctx);
    void *ctx;
};

/* The base configuration with the first value of every axis: an axis may be the data set itself. */
int dlb_subject_spec(const struct dlb_config *cfg, const struct dlb_scenario *scenario,
                     struct dlb_subject *out, struct dlb_err *err)
{
    const json_t *axes = dlb_config_axes(cfg);
    const char *key;
    json_t *axis;
    if (!scenario->sweeps || json_object_size(axes) == 0)
        return dlb_spec_from_config(&out->spec, cfg, err);
    json_t *flat = dlb_json_made(dlb_config_resolved(cfg));
    json_object_foreach((json_t *)axes, key, axis) {
        dlb_json_put(flat, key, json_incref(json_array_get(axis, 0)));
    }
    int rc = dlb_spec_from_json(&out->spec, flat, "sweep", err);
    json_decref(flat);
    return rc;
}

/* `said`: by the user; 0 samples and 0 bytes ask for it. */
static int set(struct dlb_config *cfg, const char *key, bool said, const json_t *value,
               struct dlb_err *err)
{
    return said || json_is_null(value)
               ? DLB_OK
               : dlb_config_set_json(cfg, key, value, "the interpreter", err);
}

/* Whether a list is over what a sampler of the user's module would decide. */
static bool sweeps_batches(const struct dlb_config *cfg)
{
    static const char *const keys[] = {"loader.batch_size", "loader.drop_last", "loader.shuffle"};
    bool found = false;
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        found = found || json_object_get(dlb_config_axes(cfg), keys[i]);
    return found;
}

/* Whether the configuration has all that planning needs of data that only Python reads. */
static bool is_told(const struct dlb_config *cfg, const struct dlb_spec *spec)
{
    return !dlb_spec_format(spec)->elsewhere ||
           (spec->python.shape.samples > 0 && spec->python.shape.sample_bytes > 0 &&
            dlb_config_has(cfg, "python.iterable"));
}

bool dlb_subject_asks(const struct dlb_config *cfg, const struct dlb_scenario *scenario,
                      const struct dlb_spec *spec)
{
    bool own = spec->python.dataset[0] && dlb_spec_is_torch(spec);
    return !is_told(cfg, spec) || (own && scenario->sweeps && sweeps_batches(cfg));
}

/* What stands beside the data set in the user's module. */
static void take_given(const json_t *about, const struct dlb_spec *spec, struct dlb_plan_torch *out)
{
    const json_t *given = json_object_get(about, "given");
    (void)snprintf(out->dataset, sizeof(out->dataset), "%s", spec->python.dataset);
    for (size_t i = 0; i < json_array_size(given); i++) {
        const char *name = json_string_value(json_array_get(given, i));
        out->batch_sampler = out->batch_sampler || (name && strcmp(name, "batch_sampler") == 0);
        out->sampler = out->sampler || (name && strcmp(name, "sampler") == 0);
    }
}

int dlb_subject_ask(struct dlb_config *cfg, const struct dlb_scenario *scenario,
                    const char *scratch, struct dlb_subject *out, struct dlb_err *err)
{
    const struct dlb_spec *spec = &out->spec;
    bool told = is_told(cfg, spec);
    json_t *about = NULL;
    if (!dlb_subject_asks(cfg, scenario, spec))
        return DLB_OK;
    json_t *settings = dlb_spec_to_json(spec, false);
    int rc = dlb_loader_check_reads(&spec->loader, dlb_spec_format(spec), spec->dataset.access,
                                    false, err);
    rc = rc ? rc
            : dlb_torch_ask(&spec->python, settings, (uint64_t)spec->run.seed,
                            (uint64_t)spec->python.shape.samples, scratch, &dlb_interrupted, &about,
                            err);
    json_decref(settings);
    if (!rc)
        take_given(about, spec, &out->torch);
    if (rc || told) {
        json_decref(about);
        return rc;
    }
    rc = set(cfg, "python.samples", spec->python.shape.samples > 0,
             json_object_get(about, "samples"), err);
    if (!rc)
        rc = set(cfg, "python.sample_bytes", spec->python.shape.sample_bytes > 0,
                 json_object_get(about, "sample_bytes"), err);
    if (!rc)
        rc = set(cfg, "python.iterable", dlb_config_has(cfg, "python.iterable"),
                 json_object_get(about, "iterable"), err);
    json_decref(about);
    return rc ? rc : dlb_subject_spec(cfg, scenario, out, err);
}

int dlb_subject_torch(const char *scratch, struct dlb_subject *out, struct dlb_err *err)
{
    const struct dlb_spec *asked = &out->spec;
    struct dlb_plan_torch *torch = &out->torch;
    json_t *about = NULL;
    torch->code = DLB_N_CODES;
    if (dlb_spec_is_torch(asked))
        return DLB_OK;
    bool none = asked->sweep.confirm == DLB_CONFIRM_NONE;
    if (none || (asked->sweep.exhaustive && asked->sweep.confirm == DLB_CONFIRM_AUTO)) {
        (void)snprintf(torch->why, sizeof(torch->why),
                       none ? "sweep.confirm is \"none\"" : "sweep.exhaustive has no race");
        return DLB_OK;
    }
    struct dlb_spec *spec = dlb_mem_new(sizeof(*spec));
    *spec = *asked;
    dlb_spec_make_torch(spec);
    spec->loader.num_workers = 0;
    dlb_meaning_settle(spec, out->shape.iterable);
    json_t *settings = dlb_spec_to_json(spec, out->shape.iterable);
    int rc = dlb_torch_ask(&spec->python, settings, (uint64_t)spec->run.seed, out->shape.n_samples,
                           scratch, &dlb_interrupted, &about, err);
    json_decref(settings);
    if (rc == DLB_OK)
        take_given(about, spec, torch);
    json_decref(about);
    free(spec);
    torch->there = rc == DLB_OK;
    torch->configured = *asked;
    if (rc == DLB_OK || rc == DLB_E_CANCELLED || asked->sweep.confirm == DLB_CONFIRM_TORCH)
        return rc;
    torch->code = err->code;
    (void)snprintf(torch->why, sizeof(torch->why), "%.300s [%s]", err->what,
                   dlb_code_name(err->code));
    return DLB_OK;
}

/* Bytes of the data set's files on the storage: compressed, without holes, with the framing of
 * the format. */
static uint64_t stored_bytes(const struct dlb_dataset *dataset)
{
    const struct dlb_reader *reader = dataset->format->reader;
    char path[PATH_MAX];
    struct stat st;
    uint64_t sum = 0,
             n = reader->files ? reader->files(dataset->state, UINT64_MAX, path, sizeof(path)) : 0;
    for (uint64_t i = 0; i < n; i++) {
        (void)reader->files(dataset->state, i, path, sizeof(path));
        if (stat(path, &st) != 0)
            continue;
        /* Blocks are of 512 bytes, whatever the file system's are (stat(2)). */
        uint64_t long_bytes = (uint64_t)st.st_size, held_bytes = (uint64_t)st.st_blocks * 512;
        sum += held_bytes < long_bytes ? held_bytes : long_bytes;
    }
    return sum;
}

/* How many samples each shard has. */
static void count_shards(const struct dlb_dataset *dataset, struct dlb_subject *out)
{
    if (!dataset->shape.iterable)
        return;
    out->shard_samples = dlb_mem_array(dataset->shape.n_shards, sizeof(*out->shard_samples));
    for (uint32_t i = 0; i < dataset->shape.n_shards; i++)
        out->shard_samples[i] = dataset->format->reader->shard_samples(dataset->state, i);
}

/* In the child. */
static int open_data(void *ctx, struct dlb_err *err)
{
    const struct look *look = ctx;
    const struct dlb_spec *spec = &look->out->spec;
    struct dlb_dataset dataset;
    int rc = dlb_dataset_open(&dataset, &spec->dataset, &spec->transform, &spec->generate,
                              dlb_spec_format_opts(spec), err);
    if (rc)
        return rc;
    dlb_undecoded_look(&dataset);
    look->out->shape = dataset.shape;
    look->out->max_payload_bytes = dataset.max_payload_bytes;
    count_shards(&dataset, look->out);
    look->out->stored_bytes = look->scenario->weighs_host ? stored_bytes(&dataset) : 0;
    if (spec->storage.baseline == DLB_BASELINE_FIO) { /* found out now whether it can read them */
        char *files = NULL;
        rc = dlb_fio_files(spec, &dataset, &files, err);
        free(files);
    }
    dlb_dataset_close(&dataset);
    return rc;
}

/* Whether there are as many in the shards as in all; finds the smallest shard. */
static bool shards_make_sense(struct dlb_subject *out)
{
    uint64_t n_left = out->shape.n_samples;
    if (!out->shape.iterable)
        return true;
    out->min_shard_samples = UINT64_MAX;
    for (uint32_t i = 0; i < out->shape.n_shards; i++) {
        uint64_t n = out->shard_samples[i];
        if (n > n_left)
            return false;
        n_left -= n;
        if (n < out->min_shard_samples)
            out->min_shard_samples = n;
    }
    return true;
}

static bool pass(void *ctx, struct dlb_pipe *pipe)
{
    struct dlb_subject *out = ((struct look *)ctx)->out;
    void *shards = out->shard_samples;
    bool passed = dlb_pass(pipe, &out->shape, sizeof(out->shape)) &&
                  dlb_shape_makes_sense(&out->shape) &&
                  dlb_pass(pipe, &out->max_payload_bytes, sizeof(out->max_payload_bytes)) &&
                  dlb_pass_array(pipe, &shards, out->shape.iterable ? out->shape.n_shards : 0,
                                 sizeof(*out->shard_samples)) &&
                  dlb_pass(pipe, &out->stored_bytes, sizeof(out->stored_bytes));
    out->shard_samples = shards;
    return passed && shards_make_sense(out);
}

static void say_waiting(void *ctx)
{
    const struct look *look = ctx;
    if (look->waiting)
        look->waiting(look->ctx);
}

/* For data that are not what dataset.format says: the command that finds out what they are. */
static void advise(const char *path, struct dlb_err *err)
{
    size_t n = strlen(err->what);
    char advice[sizeof err->what];
    char *word = dlb_shell_word(path);

    size_t n_advice =
        (size_t)snprintf(advice, sizeof advice, "; `dlbench inspect %s` says what it is", word);
    if (err->status == DLB_E_FORMAT && n_advice < sizeof err->what - n)
        memcpy(err->what + n, advice, n_advice + 1);
    free(word);
}

int dlb_subject_look(const struct dlb_scenario *scenario, struct dlb_subject *out,
                     void (*waiting)(void *ctx), void *ctx, struct dlb_err *err)
{
    struct look look = {scenario, out, waiting, ctx};
    char who[48];
    (void)snprintf(who, sizeof(who), "format %s", dlb_spec_format(&out->spec)->name);
    struct dlb_apart how = {.path = out->spec.dataset.path,
                            .who = who,
                            .work = open_data,
                            .pass = pass,
                            .ctx = &look,
                            .cancel = &dlb_interrupted,
                            .waiting = say_waiting};
    int rc = dlb_apart(&how, err);
    if (rc)
        advise(out->spec.dataset.path, err);
    return rc;
}

void dlb_subject_host(const struct dlb_subject *subject, const struct dlb_scenario *scenario,
                      uint32_t n_cpus, struct dlb_plan_host *out)
{
    uint64_t available = dlb_os_mem_available_bytes();
    *out = (struct dlb_plan_host){
        .n_samples = subject->shape.n_samples,
        .n_bytes = subject->shape.total_bytes,
        .undecoded = subject->shape.undecoded,
        .stored_bytes = subject->stored_bytes,
        .min_shard_samples = subject->min_shard_samples,
        .n_shards = subject->shape.iterable ? subject->shape.n_shards : 0,
        .shard_samples = subject->shard_samples,
        .max_payload_bytes = subject->max_payload_bytes,
        .max_sample_bytes = subject->shape.max_sample_bytes,
        .max_decoded_bytes = subject->shape.max_decoded_bytes,
        .reader_bytes = subject->shape.reader_bytes,
        .available_bytes = available == DLB_NOT_MEASURED ? 0 : available,
        .ram_bytes = dlb_os_ram_bytes(),
        .memcpy_bytes_per_s = scenario->weighs_host ? dlb_memory_bytes_per_s(n_cpus) : (double)NAN,
    };
}

json_t *dlb_subject_environment(const struct dlb_subject *subject)
{
    const struct dlb_spec *spec = &subject->spec;
    bool on_disk = !dlb_spec_format(spec)->synthetic && spec->dataset.path[0];
    json_t *environment = dlb_json_made(dlb_environment(on_disk ? spec->dataset.path : NULL));
    dlb_libraries_add(environment);
    return environment;
}
