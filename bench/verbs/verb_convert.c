#include "bench/cli/verb.h"

#include "core/base/escape.h"
#include "bench/cli/print.h"
#include "bench/cli/progress.h"
#include "bench/cli/together.h"
#include "bench/verbs/inspect.h"
#include "bench/verbs/inspect_path.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/say.h"
#include "core/base/units.h"
#include "formats/convert/convert.h"
#include "formats/element.h"
#include "scenarios/ranks/team_convert.h"
#include "scenarios/spec/spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMED = 16 }; /* samples that are named, in the document and as notes */
enum { ERR_TEXT_CAP = sizeof(struct dlb_err) + 80 };

struct watched {
    struct dlb_progress progress;
    enum dlb_convert_phase phase;
    uint64_t start_ns; /* of the phase */
    struct named {
        uint32_t n;
        struct dlb_err err[MAX_NAMED];
    } skipped, damaged;
    struct dlb_team_convert team; /* the other ranks, where there are any */
};

struct conversion {
    struct dlb_spec from, to;
    json_t *from_said, *to_said; /* the configuration of each, for other ranks */
    struct dlb_dataset ds;
    bool open;
    int ignored_access; /* enum dlb_access; AUTO: none */
    struct watched watched;
    struct dlb_converted done;
    double seconds;
};

static void report(void *ctx, enum dlb_convert_phase phase, uint64_t n_done, uint64_t n_total,
                   uint64_t n_bytes)
{
    struct watched *watched = ctx;
    char done[40], total[40], rate[40], bytes[40], bytes_rate[40], text[256];
    uint64_t now_ns = dlb_now_ns();

    if (phase != watched->phase || watched->start_ns == 0) {
        watched->phase = phase;
        watched->start_ns = now_ns;
        dlb_progress_restart(&watched->progress);
    }
    double seconds = (double)(now_ns - watched->start_ns + DLB_NS_PER_MS) * 1e-9;
    (void)snprintf(text, sizeof text, "%s %s of %s samples  %s  %s samples/s  %s",
                   phase == DLB_CONVERT_WRITE ? "writing" : "checking",
                   dlb_count_text((double)n_done, done, sizeof done),
                   dlb_count_text((double)n_total, total, sizeof total),
                   dlb_bytes_text(n_bytes, bytes, sizeof bytes),
                   dlb_count_text(round((double)n_done / seconds), rate, sizeof rate),
                   dlb_rate_text((double)n_bytes / seconds, bytes_rate, sizeof bytes_rate));
    dlb_progress_update(&watched->progress, n_total ? (double)n_done / (double)n_total : 1.0, text);
}

/* "path @ offset: text [E_NAME]". Returns `text`. */
static const char *coded(const struct dlb_err *err, char text[ERR_TEXT_CAP])
{
    (void)dlb_err_text(err, text, ERR_TEXT_CAP);
    size_t len = strlen(text);
    (void)snprintf(text + len, ERR_TEXT_CAP - len, " [%s]", dlb_code_name(err->code));
    return text;
}

static void name(struct named *list, const char *what, const struct dlb_err *why)
{
    char text[ERR_TEXT_CAP];

    if (list->n == MAX_NAMED)
        return;
    list->err[list->n++] = *why;
    dlb_say(stderr, "convert: %s: %s", what, coded(why, text));
}

static void skipped(void *ctx, const struct dlb_err *why, bool shard)
{
    struct watched *watched = ctx;
    name(&watched->skipped, shard ? "the rest of a shard is left out" : "a sample is left out",
         why);
}

static void damaged(void *ctx, const struct dlb_err *why)
{
    struct watched *watched = ctx;
    name(&watched->damaged, "a damaged image or clip is copied as it is", why);
}

static void left(void *ctx, enum dlb_convert_left what, const char *path, const struct dlb_err *why)
{
    char text[ERR_TEXT_CAP];

    (void)ctx;
    if (what == DLB_CONVERT_REMOVED)
        dlb_say(stderr, "convert: removed %s, left by a killed convert", path);
    else if (what == DLB_CONVERT_PUT_BACK)
        dlb_say(stderr, "convert: put back %s, which a killed convert was about to replace", path);
    else
        dlb_say(stderr, "convert: %s stays: %s", path, coded(why, text));
}

static int together(void *ctx, const struct dlb_convert_step *step, struct dlb_err *err)
{
    const struct watched *watched = ctx;
    return dlb_team_convert(&watched->team, step, err);
}

static int set_text(struct dlb_config *cfg, const char *key, const char *text, struct dlb_err *err)
{
    json_t *value = json_string(text);

    if (!value)
        return dlb_fail(err, DLB_ERR_USAGE_NOT_UTF8, text, DLB_NO_OFFSET,
                        "is not valid UTF-8, as %s must be", key);
    int status = dlb_config_set_json(cfg, key, value, "convert", err);
    json_decref(value);
    return status;
}

static const struct dlb_format *named_format(const char *flag, const char *name,
                                             struct dlb_err *err)
{
    const struct dlb_format *format = dlb_format_by_name(name);
    char all[96] = "";

    if (format)
        return format;
    for (size_t i = 0; dlb_formats[i]; i++) {
        size_t len = strlen(all);
        (void)snprintf(all + len, sizeof all - len, "%s%s", len ? ", " : "", dlb_formats[i]->name);
    }
    (void)dlb_fail(err, DLB_ERR_USAGE_UNKNOWN_FORMAT, flag, DLB_NO_OFFSET,
                   "unknown format \"%.*s\"; there are: %s", DLB_CUT(name, 20), all);
    return NULL;
}

/* From --from, or else dataset.format, or else by looking at the data. */
static const struct dlb_format *source_format(const struct dlb_args *args, struct dlb_err *err)
{
    struct dlb_dataset_opts said;

    if (args->from)
        return named_format("--from", args->from, err);
    if (!dlb_config_has(args->cfg, "dataset.format"))
        return dlb_inspect_format(args->path, err);
    dlb_config_fill(args->cfg, &dlb_dataset_group, &said);
    const struct dlb_format *format = dlb_formats[said.format];
    if (!format)
        DLB_BUG("the option table knows a format that is not listed");
    return format;
}

/* Sets dataset.codec, which decides which files of a folder count as samples: to the configured
 * one, or the one that inspect finds. Other formats are read as raw bytes. */
static int say_codec(const struct dlb_args *args, const struct dlb_format *from,
                     struct dlb_err *err)
{
    if (!from->file_per_field)
        return set_text(args->cfg, "dataset.codec", "raw", err);
    if (dlb_config_has(args->cfg, "dataset.codec"))
        return DLB_OK;
    const struct dlb_codec *codec = dlb_inspect_codec(args->path, from, args->cfg, err);
    return codec ? set_text(args->cfg, "dataset.codec", codec->name, err) : (int)err->status;
}

/* A stream tells samples' keys and shards, without which halves of samples would not be noticed. */
static int choose_access(struct conversion *c, const struct dlb_format *from,
                         struct dlb_config *cfg, struct dlb_err *err)
{
    int rc = dlb_dataset_check_access(&c->from.dataset, from, err);

    if (rc != DLB_OK || !from->access || from->access[0] != DLB_ACCESS_STREAM)
        return rc;
    if (c->from.dataset.access != DLB_ACCESS_STREAM)
        c->ignored_access = c->from.dataset.access;
    c->from.dataset.access = DLB_ACCESS_AUTO;
    return set_text(cfg, "dataset.access", dlb_access_names[DLB_ACCESS_AUTO], err);
}

/* Fills both specs from one configuration, in which only format and codec differ. */
static int fill_specs(struct conversion *c, const struct dlb_args *args,
                      const struct dlb_format *from, const struct dlb_format *to,
                      struct dlb_err *err)
{
    int rc = say_codec(args, from, err);

    if (rc == DLB_OK)
        rc = set_text(args->cfg, "dataset.path", args->path, err);
    if (rc == DLB_OK)
        rc = set_text(args->cfg, "dataset.format", from->name, err);
    if (rc == DLB_OK)
        rc = dlb_spec_from_config(&c->from, args->cfg, err);
    if (rc == DLB_OK)
        rc = choose_access(c, from, args->cfg, err);
    c->from_said = dlb_config_said(args->cfg);
    if (rc == DLB_OK)
        rc = set_text(args->cfg, "dataset.codec", "raw", err);
    if (rc == DLB_OK)
        rc = set_text(args->cfg, "dataset.format", to->name, err);
    if (rc == DLB_OK)
        rc = dlb_spec_from_config(&c->to, args->cfg, err);
    c->to_said = dlb_config_said(args->cfg);
    return rc;
}

/* Empty when every token is in a sample. */
static const char *left_tokens(const struct conversion *c, char *text, size_t n_text)
{
    uint64_t n = c->ds.shape.n_left_tokens;

    *text = '\0';
    if (n == DLB_NOT_COUNTED)
        (void)snprintf(text, n_text, "tokens that no drawn window holds");
    else if (n)
        (void)snprintf(text, n_text, "%llu token%s at the end, too few for a window",
                       (unsigned long long)n, n == 1 ? "" : "s");
    return text;
}

static void note_what_is_not_read(struct conversion *c)
{
    char tokens[80];

    if (c->ignored_access != DLB_ACCESS_AUTO)
        dlb_say(stderr,
                "convert: dataset.access = \"%s\" is not used: the source is read as a "
                "stream",
                dlb_access_names[c->ignored_access]);
    for (uint32_t i = 0; i < dlb_shape_n_named(&c->ds.shape); i++)
        dlb_say(stderr, "convert: odd: %s", c->ds.shape.odd[i]);
    if (c->ds.shape.n_odd > dlb_shape_n_named(&c->ds.shape))
        dlb_say(stderr, "convert: odd: %u more things like these",
                c->ds.shape.n_odd - dlb_shape_n_named(&c->ds.shape));
    if (*left_tokens(c, tokens, sizeof tokens))
        dlb_say(stderr, "convert: left out: %s", tokens);
}

static int open_source(struct conversion *c, const struct dlb_args *args,
                       const struct dlb_format *to, struct dlb_err *err)
{
    const struct dlb_format *from = source_format(args, err);

    if (!from)
        return dlb_failed(err);
    if (from->synthetic)
        return dlb_fail(err, DLB_ERR_CONVERT_NOTHING_STORED, NULL, DLB_NO_OFFSET,
                        "convert: format %s stores no data that could be converted; `dlbench gen` "
                        "writes generated data",
                        from->name);
    int rc = fill_specs(c, args, from, to, err);
    c->from.dataset.in_order = true;
    if (rc == DLB_OK)
        rc = dlb_dataset_open(&c->ds, &c->from.dataset, &c->from.transform, &c->from.generate,
                              dlb_spec_format_opts(&c->from), err);
    c->open = rc == DLB_OK;
    return rc;
}

static int convert(struct conversion *c, const struct dlb_args *args, struct dlb_err *err)
{
    uint64_t start_ns = dlb_now_ns();
    bool shared = false;

    if (!args->format)
        return dlb_fail(err, DLB_ERR_USAGE_MISSING_ARGUMENT, NULL, DLB_NO_OFFSET,
                        "convert: --format FORMAT is missing; see `dlbench help convert`");
    const struct dlb_format *to = named_format("--format", args->format, err);
    int rc = to ? open_source(c, args, to, err) : dlb_failed(err);
    if (rc == DLB_OK)
        rc = dlb_together_share(to->name, dlb_convert_is_shared(to), &shared, err);
    if (rc != DLB_OK)
        return rc;
    struct dlb_convert_watch watch = {.report = report,
                                      .skipped = skipped,
                                      .damaged = damaged,
                                      .left = left,
                                      .ctx = &c->watched,
                                      .cancel = &dlb_interrupted};
    struct dlb_convert how = {.from = &c->ds,
                              .from_path = args->path,
                              .to = to,
                              .to_opts = dlb_spec_format_opts(&c->to),
                              .to_path = args->target,
                              .overwrite = args->overwrite,
                              .watch = &watch,
                              .together = shared ? together : NULL,
                              .n_processes = shared ? dlb_together()->size : 1};
    c->watched.team = (struct dlb_team_convert){dlb_together(), c->from_said, c->to_said, &how};
    dlb_catch_interrupts();
    dlb_progress_begin(&c->watched.progress, "convert", args->quiet);
    c->watched.progress.view.end =
        (struct dlb_view_end){"stop, and remove what was written", "what was written is removed"};
    note_what_is_not_read(c);
    rc = dlb_convert(&how, &c->done, err);
    dlb_progress_end(&c->watched.progress);
    c->seconds = (double)(dlb_now_ns() - start_ns) * 1e-9;
    return rc;
}

/* What the source's samples are numbers of, if the target does not say so; or NULL. */
static const char *lost_numbers(const struct conversion *c)
{
    enum dlb_element from = (enum dlb_element)c->ds.shape.element;
    enum dlb_element to = (enum dlb_element)c->done.element;

    bool bytes = from == DLB_ELEMENT_NONE || from == DLB_ELEMENT_U8;

    return bytes || from == to ? NULL : dlb_element_name(from);
}

static void print_text(const struct conversion *c, const struct dlb_args *args)
{
    char samples[40], bytes[40], duration[40], count[40];

    dlb_say(stdout,
            "%s: %s samples, %s, as %s: written, then read back with equal bytes and labels, in %s",
            args->target, dlb_count_text((double)c->done.n_samples, samples, sizeof samples),
            dlb_bytes_text(c->done.n_bytes, bytes, sizeof bytes), args->format,
            dlb_duration_text(c->seconds, duration, sizeof duration));
    if (c->done.n_skipped)
        dlb_say(stdout,
                "  left out: %s of the source's samples, which cannot be read or have no payload",
                dlb_count_text((double)c->done.n_skipped, count, sizeof count));
    if (c->done.n_cut_shards)
        dlb_say(stdout, "  left out: the rest of %s of the source's shards, which cannot be read",
                dlb_count_text((double)c->done.n_cut_shards, count, sizeof count));
    if (c->done.n_damaged && c->done.n_damaged != DLB_NOT_COUNTED)
        dlb_say(stdout,
                "  damaged: %s samples have an image or a clip that cannot be decoded, as in the "
                "source",
                dlb_count_text((double)c->done.n_damaged, count, sizeof count));
    if (c->done.n_unlabelled)
        dlb_say(stdout, "  unlabelled: %s samples, as in the source",
                dlb_count_text((double)c->done.n_unlabelled, count, sizeof count));
    if (lost_numbers(c))
        dlb_say(stdout, "  numbers: the source's are %s; the target holds them as bytes alone",
                lost_numbers(c));
    if (c->done.n_forgotten_keys)
        dlb_say(
            stdout,
            "  keys: %s were not compared with those of later shards, because they are too many",
            dlb_count_text((double)c->done.n_forgotten_keys, count, sizeof count));
}

static json_t *named_json(const struct named *list)
{
    json_t *out = dlb_json_made(json_array());
    char text[ERR_TEXT_CAP];
    for (uint32_t i = 0; i < list->n; i++)
        dlb_json_append(out, dlb_json_safe_text(coded(&list->err[i], text)));
    return out;
}

static json_t *count_json(uint64_t n)
{
    return n == DLB_NOT_COUNTED ? json_null() : dlb_json_made(json_integer((json_int_t)n));
}

static json_t *document(const struct conversion *c, const struct dlb_args *args)
{
    return dlb_json_made(json_pack(
        "{s:s, s:o, s:s, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:I, s:i, "
        "s:o, s:s?, s:f}",
        "command", "convert", "source", dlb_json_safe_text(args->path), "source_format",
        c->ds.format->name, "path", dlb_json_safe_text(args->target), "format", args->format,
        "samples", (json_int_t)c->done.n_samples, "bytes", (json_int_t)c->done.n_bytes, "verified",
        (json_int_t)c->done.n_verified, "unlabelled", (json_int_t)c->done.n_unlabelled,
        "skipped_samples", (json_int_t)c->done.n_skipped, "cut_shards",
        (json_int_t)c->done.n_cut_shards, "skipped", named_json(&c->watched.skipped),
        "damaged_samples", count_json(c->done.n_damaged), "damaged",
        named_json(&c->watched.damaged), "left_out_tokens", count_json(c->ds.shape.n_left_tokens),
        "forgotten_keys", (json_int_t)c->done.n_forgotten_keys, "n_odd", (int)c->ds.shape.n_odd,
        "odd", dlb_odd_json(&c->ds.shape), "numbers_lost", lost_numbers(c), "seconds", c->seconds));
}

static int run(const struct dlb_args *args)
{
    struct conversion *c = dlb_mem_new(sizeof *c);
    struct dlb_err err;
    int code = DLB_EXIT_OK;

    if (convert(c, args, &err) != DLB_OK) {
        code = dlb_print_err(&err);
    } else if (!args->json) {
        print_text(c, args);
    } else {
        json_t *doc = document(c, args);
        dlb_print_json(doc);
        json_decref(doc);
    }
    if (c->open)
        dlb_dataset_close(&c->ds);
    json_decref(c->from_said);
    json_decref(c->to_said);
    free(c);
    return code;
}

const struct dlb_verb dlb_verb_convert = {
    .name = "convert",
    .summary = "Repack a data set of your own in another format",
    .usage = "dlbench convert SOURCE TARGET --format FORMAT [--from FORMAT] [--overwrite] "
             "[--config FILE] [--set KEY=VALUE ...] [--json]",
    .details =
        "Write every sample of SOURCE to TARGET with its bytes unchanged. Then open TARGET, read "
        "all of it, and compare each sample's fields and label with SOURCE. Use it to "
        "measure the same data in several formats.\n\n"
        "  dlbench convert photos photos.shards --format webdataset\n"
        "  dlbench convert photos.shards photos2 --format files\n\n"
        "Until the comparison is done the data is in TARGET.part-PID. An error, a full disk or an "
        "interruption leaves neither. What a killed convert left is removed by the next one to the "
        "same TARGET. --overwrite replaces a TARGET that is empty, or that gen or convert wrote "
        "and "
        "nobody added to; any other TARGET is refused.\n\n"
        "SOURCE's format is recognised as by `dlbench inspect`, unless --from or dataset.format "
        "names it. In a folder of files the files that inspect counts are samples, and other files "
        "are named in the output. --set dataset.codec=raw makes every file a sample.\n\n"
        "Labels are kept as numbers. Files of class 7 are in a folder class_000007: names of class "
        "folders are not kept. Nor are names of samples: keys (webdataset's __key__, LMDB's) and "
        "file names become running numbers. A sample of several fields becomes several files of "
        "one name. Tokens become windows one after the other, unless tokens.sampling names another "
        "way; how many do not fill a last window is said. Rows of numbers become rows of one "
        "dimension. hdf5 alone keeps their type, if it is a little-endian whole number or float, "
        "and "
        "all rows have one size.\n\n"
        "Nothing is made up: samples without labels get none, a sample without a payload is "
        "refused, and so is a source in which only some samples have labels, unless TARGET is "
        "webdataset. Two samples of one key in a shard, or members of a sample that are not "
        "adjacent, are refused too. So are samples of one key in two shards that look like halves "
        "of "
        "one: they have other fields, and one lacks a payload or a label.\n\n"
        "dataset.on_error = \"skip\" leaves out samples that cannot be read (of a shard, the rest "
        "of it) or have no payload, and names them.\n\n"
        "Under a launcher of MPI all ranks convert to webdataset and files, in a folder that they "
        "share; rank 0 alone writes other formats.\n\n"
        "With --json: command, source, source_format, path, format, samples, bytes, verified, "
        "unlabelled, skipped_samples, cut_shards, skipped (the first of them), damaged_samples "
        "(null: this build cannot tell), damaged (the first of them), left_out_tokens "
        "(null: not counted), forgotten_keys (too many to compare with later shards' keys), n_odd, "
        "odd (the first 16 of them), numbers_lost (their type, where TARGET does not keep it), "
        "seconds.",
    .flags = DLB_FLAG_RANKS | DLB_FLAG_CONFIG | DLB_FLAG_JSON | DLB_FLAG_PATH | DLB_FLAG_TARGET |
             DLB_FLAG_QUIET,
    .examples = {"dlbench convert photos photos.shards --format webdataset",
                 "dlbench convert photos.shards photos2 --format files",
                 "dlbench convert photos out.shards --format webdataset --dataset.on_error skip"},
    .keys = {"dataset.on_error", "dataset.codec"},
    .run = run,
};
