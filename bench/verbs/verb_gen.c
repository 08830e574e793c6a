#include "bench/cli/verb.h"

#include "bench/cli/print.h"
#include "bench/cli/progress.h"
#include "bench/cli/together.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/say.h"
#include "core/base/units.h"
#include "formats/dataset.h"
#include "formats/generate/generate.h"
#include "formats/generate/mark.h"
#include "formats/generate/verify.h"
#include "scenarios/ranks/team_gen.h"
#include "scenarios/spec/spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct watched {
    struct dlb_progress progress;
    uint64_t sample_bytes;                      /* planned mean */
    uint64_t start_ns, first_done, first_bytes; /* what the pace is counted from */
    uint64_t n_done, n_bytes;                   /* at the last report */
    struct dlb_team_gen team;                   /* the other ranks, where there are any */
    const char *resumed; /* a folder that an earlier call left unfinished; NULL once reported */
};

/* Finding samples of an earlier gen is much faster than writing new ones. While more samples are
 * done than the bytes written account for, the pace is counted anew. */
static void watch_pace(struct watched *watched, uint64_t n_done, uint64_t n_bytes, uint64_t now_ns)
{
    uint64_t written =
        (n_bytes - watched->n_bytes) / (watched->sample_bytes ? watched->sample_bytes : 1);

    if (n_done - watched->n_done <= 2 * written + 16)
        return;
    watched->start_ns = now_ns;
    watched->first_done = n_done;
    watched->first_bytes = n_bytes;
    dlb_progress_restart(&watched->progress);
}

static void report(void *ctx, uint64_t n_done, uint64_t n_total, uint64_t n_bytes)
{
    struct watched *watched = ctx;
    char done[40], total[40], rate[40], bytes[40], bytes_rate[40], text[256];
    uint64_t now_ns = dlb_now_ns();

    if (watched->resumed) /* dlb_generate has accepted the folder before it reports */
        dlb_say(stderr, "gen: resuming what an earlier call began in %s", watched->resumed);
    watched->resumed = NULL;
    watch_pace(watched, n_done, n_bytes, now_ns);
    watched->n_done = n_done;
    watched->n_bytes = n_bytes;
    double seconds = (double)(now_ns - watched->start_ns + DLB_NS_PER_MS) * 1e-9;
    (void)snprintf(
        text, sizeof text, "%s of %s samples  %s written  %s samples/s  %s",
        dlb_count_text((double)n_done, done, sizeof done),
        dlb_count_text((double)n_total, total, sizeof total),
        dlb_bytes_text(n_bytes, bytes, sizeof bytes),
        dlb_count_text(round((double)(n_done - watched->first_done) / seconds), rate, sizeof rate),
        dlb_rate_text((double)(n_bytes - watched->first_bytes) / seconds, bytes_rate,
                      sizeof bytes_rate));
    dlb_progress_update(&watched->progress, n_total ? (double)n_done / (double)n_total : 1.0, text);
}

static void damaged(void *ctx, uint64_t n_files, const char *first)
{
    char count[40];

    (void)ctx;
    dlb_say(stderr,
            "gen: %s of the files written earlier %s missing or damaged, the first is %s: "
            "written again",
            dlb_count_text((double)n_files, count, sizeof count), n_files == 1 ? "is" : "are",
            first);
}

static int together(void *ctx, const struct dlb_gen *gen, const char *id, uint64_t *n_written,
                    struct dlb_err *err)
{
    const struct watched *watched = ctx;
    return dlb_team_generate(&watched->team, gen, id, n_written, err);
}

/* Opens the finished data set: its figures are read back from disk, and some samples compared. */
static int look(const struct dlb_spec *spec, const struct dlb_gen *gen, struct dlb_shape *shape,
                uint32_t *n_checked, struct dlb_err *err)
{
    struct dlb_dataset ds;
    int status = dlb_dataset_open(&ds, &spec->dataset, &spec->transform, &spec->generate,
                                  dlb_spec_format_opts(spec), err);

    if (status != DLB_OK)
        return status;
    *shape = ds.shape;
    status = dlb_gen_verify(gen, &ds, n_checked, err);
    dlb_dataset_close(&ds);
    return status;
}

static void print_text(const struct dlb_gen *gen, const struct dlb_shape *shape, uint64_t n_written,
                       uint32_t n_checked, double seconds)
{
    char samples[40], bytes[40], duration[40], count[64] = "";

    if (n_written < (uint64_t)gen->opts->samples) {
        char number[40];
        (void)snprintf(count, sizeof count, "%s of them ",
                       dlb_count_text((double)n_written, number, sizeof number));
    }
    (void)dlb_count_text((double)shape->n_samples, samples, sizeof samples);
    (void)dlb_bytes_text(shape->total_bytes, bytes, sizeof bytes);
    if (!gen->format->generator)
        dlb_say(stdout,
                "%s: nothing to write: samples are generated when they are read (%s samples, %s)",
                gen->format->name, samples, bytes);
    else if (n_written == 0)
        dlb_say(stdout, "%s: already complete: %s samples, %s", gen->path, samples, bytes);
    else
        dlb_say(stdout, "%s: %s samples, %s, %swritten in %s", gen->path, samples, bytes, count,
                dlb_duration_text(seconds, duration, sizeof duration));
    if (gen->format->generator && n_checked == 0)
        dlb_say(stdout,
                "%s: not compared: samples of %s are cut from a stream that can only be "
                "generated from its start",
                gen->path, gen->format->name);
    if (n_checked > 0)
        dlb_say(stdout, "%s: %u sample%s read back and compared: equal", gen->path, n_checked,
                n_checked == 1 ? "" : "s");
}

static void print_json(const struct dlb_gen *gen, const struct dlb_shape *shape, uint64_t n_written,
                       uint32_t n_checked, double seconds)
{
    json_t *doc = dlb_json_made(json_pack(
        "{s:s, s:o, s:s, s:s, s:I, s:I, s:I, s:I, s:f}", "command", "gen", "path",
        dlb_json_safe_text(gen->path), "format", gen->format->name, "codec", gen->codec->name,
        "samples", (json_int_t)shape->n_samples, "bytes", (json_int_t)shape->total_bytes, "written",
        (json_int_t)n_written, "verified", (json_int_t)n_checked, "seconds", seconds));

    dlb_print_json(doc);
    json_decref(doc);
}

static bool was_interrupted(const char *path)
{
    char mark[DLB_OPT_STRING_CAP + sizeof DLB_INCOMPLETE_MARK + 1];

    (void)snprintf(mark, sizeof mark, "%s/%s", path, DLB_INCOMPLETE_MARK);
    return access(mark, F_OK) == 0;
}

static int generate(const struct dlb_args *args, const struct dlb_gen *gen, uint64_t *n_written,
                    struct dlb_err *err)
{
    struct watched watched = {.start_ns = dlb_now_ns(),
                              .sample_bytes =
                                  dlb_gen_total_bytes(gen) / (uint64_t)gen->opts->samples};
    struct dlb_gen_progress progress = {report, &watched, &dlb_interrupted, damaged, NULL};
    json_t *config = dlb_config_said(args->cfg);
    bool many = gen->format->generator && gen->format->generator->units(gen) > 1, shared;
    int status = dlb_together_share(gen->format->name, many, &shared, err);

    watched.team = (struct dlb_team_gen){dlb_together(), config, &progress};
    if (shared)
        progress.together = together;
    if (status != DLB_OK) {
        json_decref(config);
        return status;
    }

    dlb_catch_interrupts();
    dlb_progress_begin(&watched.progress, "gen", args->quiet);
    watched.progress.view.end =
        (struct dlb_view_end){"stop; the same call goes on later", "what was written is kept"};
    if (was_interrupted(gen->path))
        watched.resumed = gen->path;
    status = dlb_generate(gen, 0, &progress, n_written, err);
    dlb_progress_end(&watched.progress);
    json_decref(config);
    if (status == DLB_E_CANCELLED)
        (void)dlb_fail(err, DLB_ERR_CANCELLED, gen->path, DLB_NO_OFFSET,
                       "interrupted; no work is lost: the same command resumes it");
    return status;
}

static int run(const struct dlb_args *args)
{
    struct dlb_spec *spec = dlb_mem_new(sizeof *spec);
    uint64_t start_ns = dlb_now_ns(), n_written = 0;
    uint32_t n_checked = 0;
    struct dlb_shape shape;
    struct dlb_err err;
    struct dlb_gen gen;
    int code = DLB_EXIT_OK;

    if (dlb_spec_from_config(spec, args->cfg, &err) != DLB_OK)
        goto failed;
    gen = dlb_spec_gen(spec);
    if (generate(args, &gen, &n_written, &err) != DLB_OK)
        goto failed;
    if (look(spec, &gen, &shape, &n_checked, &err) != DLB_OK)
        goto failed;

    double seconds = (double)(dlb_now_ns() - start_ns) * 1e-9;
    if (args->json)
        print_json(&gen, &shape, n_written, n_checked, seconds);
    else
        print_text(&gen, &shape, n_written, n_checked, seconds);
    goto out;
failed:
    code = dlb_print_err(&err);
out:
    free(spec);
    return code;
}

const struct dlb_verb dlb_verb_gen = {
    .name = "gen",
    .summary = "Write the data set that a configuration describes",
    .usage =
        "dlbench gen --config FILE | --workload NAME --path FOLDER [--set KEY=VALUE ...] [--json]",
    .details =
        "Write generate.samples samples of about generate.sample_bytes each to dataset.path, in "
        "parallel, in the layout of dataset.format. Use it to measure without real data, or at a "
        "size that you choose. The content depends on generate.seed and a sample's number alone, "
        "so the same configuration gives the same bytes on any machine.\n\n"
        "  dlbench gen --config configs/quickstart.toml\n"
        "  dlbench gen --workload resnet50 --path /mnt/new/resnet50\n\n"
        "A data set counts as complete only when all of it is written. After an interruption or a "
        "crash the same command resumes. If everything is there it ends at once. Files that are "
        "missing or have another length than when they were written are written again.\n\n"
        "Files of 1 MiB and more bypass the page cache if the file system allows it. At the end "
        "some samples are read back and compared with what was generated (tokens are not).\n\n"
        "Under a launcher of MPI all ranks write, to a folder that they share.\n\n"
        "With --json: command, path, format, codec, samples, bytes, written (samples, by this "
        "call), verified (samples compared), seconds.",
    .flags = DLB_FLAG_RANKS | DLB_FLAG_CONFIG | DLB_FLAG_JSON | DLB_FLAG_WORKLOAD | DLB_FLAG_QUIET,
    .examples = {"dlbench gen --config quickstart.toml",
                 "dlbench gen --workload resnet50 --path /mnt/resnet50",
                 "dlbench gen --config quickstart.toml --dataset.path /tmp/d"},
    .keys = {"dataset.path", "dataset.format", "dataset.codec", "generate.samples",
             "generate.sample_bytes", "generate.classes", "generate.seed",
             "webdataset.shard_samples"},
    .run = run,
};
