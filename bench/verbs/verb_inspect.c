#include "bench/cli/verb.h"

#include "bench/cli/print.h"
#include "bench/verbs/inspect.h"
#include "bench/verbs/inspect_text.h"
#include "core/base/json.h"

#include <stdio.h>
#include <string.h>

static uint64_t middle(const struct dlb_inspected *in)
{
    return in->seen.n_bytes[in->seen.n_looked / 2];
}

/* The first sample, as it is stored: what `xxhsum -H1` of these bytes prints is xxh64. */
static json_t *first_json(const struct dlb_seen_first *first)
{
    return dlb_json_made(json_pack("{s:o, s:o, s:o, s:o}", "path",
                                   *first->path ? dlb_json_safe_text(first->path) : json_null(),
                                   "offset_bytes", dlb_json_u64_or_null(first->offset_bytes),
                                   "bytes", dlb_json_u64_or_null(first->n_bytes), "xxh64",
                                   dlb_json_hex(first->xxh64)));
}

/* Figures that do not exist or are not known are null. */
static json_t *looked_json(const struct dlb_inspected *in)
{
    const char *code = NULL;
    json_t *bad = NULL;
    char text[sizeof in->seen.first_bad.path + sizeof in->seen.first_bad.what + 40];

    if (in->seen.n_bad > 0) {
        bad = dlb_json_safe_text(dlb_err_text(&in->seen.first_bad, text, sizeof text));
        code = dlb_code_name(in->seen.first_bad.code);
    }
    json_t *looked =
        dlb_json_made(json_pack("{s:i, s:i, s:o?, s:s?}", "samples", (int)in->seen.n_looked, "bad",
                                (int)in->seen.n_bad, "first_bad", bad, "first_bad_code", code));
    if (in->seen.n_looked == 0)
        return looked;
    dlb_json_put(looked, "first", first_json(&in->seen.first));
    dlb_json_put(looked, "min_bytes", dlb_json_u64_or_null(in->seen.n_bytes[0]));
    dlb_json_put(looked, "median_bytes", dlb_json_u64_or_null(middle(in)));
    dlb_json_put(looked, "max_bytes",
                 dlb_json_u64_or_null(in->seen.n_bytes[in->seen.n_looked - 1]));
    return looked;
}

static json_t *images_json(const struct dlb_inspected *in)
{
    uint32_t n = in->seen.n_images;

    if (n == 0)
        return json_null();
    return dlb_json_made(json_pack("{s:i, s:[iii], s:[iii]}", "samples", (int)n, "width",
                                   (int)in->seen.width[0], (int)in->seen.width[n / 2],
                                   (int)in->seen.width[n - 1], "height", (int)in->seen.height[0],
                                   (int)in->seen.height[n / 2], (int)in->seen.height[n - 1]));
}

static json_t *document(const char *path, const struct dlb_inspected *in)
{
    const struct dlb_shape *shape = &in->shape;
    json_t *fields = dlb_json_made(json_array());

    for (uint32_t i = 0; i < in->seen.n_fields; i++)
        if (*in->seen.fields[i]) /* some formats name only some of their fields */
            dlb_json_append(fields, dlb_json_safe_text(in->seen.fields[i]));
    return dlb_json_made(json_pack(
        "{s:s, s:o, s:s, s:s, s:o, s:s?, s:o, s:b, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:i, "
        "s:o}",
        "command", "inspect", "path", dlb_json_safe_text(path), "format", in->format->name, "codec",
        in->codec->name, "about", *shape->about ? dlb_json_safe_text(shape->about) : json_null(),
        "element", shape->element == DLB_ELEMENT_NONE ? NULL : dlb_element_name(shape->element),
        "id", dlb_json_hex(shape->id), "iterable", (int)shape->iterable, "samples",
        (json_int_t)shape->n_samples, "bytes", (json_int_t)shape->total_bytes, "max_sample_bytes",
        (json_int_t)shape->max_sample_bytes, "classes", (json_int_t)shape->n_classes, "shards",
        (json_int_t)shape->n_shards, "fields", fields, "looked_at", looked_json(in), "images",
        images_json(in), "n_odd", (int)shape->n_odd, "odd", dlb_odd_json(shape)));
}

static int run(const struct dlb_args *args)
{
    struct dlb_inspected in;
    struct dlb_err err;

    if (dlb_inspect(args->path, args->cfg, &in, &err) != DLB_OK) {
        (void)dlb_print_err(&err);
        return DLB_EXIT_FAILED; /* the data is wrong, not the command, whatever the status */
    }
    if (!args->json) {
        dlb_inspect_print(args->path, &in);
        dlb_inspect_print_command(args->path, &in);
        dlb_inspect_print_kinds(args->path, &in);
        return DLB_EXIT_OK;
    }
    json_t *doc = document(args->path, &in);
    dlb_json_put(doc, "audio", dlb_clips_json(&in.seen.clips));
    dlb_json_put(doc, "kinds", dlb_kinds_json(&in.kinds));
    dlb_print_json(doc);
    json_decref(doc);
    return DLB_EXIT_OK;
}

const struct dlb_verb dlb_verb_inspect = {
    .name = "inspect",
    .summary = "Find out what data set is at a path, and what is odd about it",
    .usage = "dlbench inspect PATH [--json]",
    .details =
        "Open PATH with the format that recognises it best, and look at 64 samples spread evenly "
        "over it: their sizes, whether they can be read and decoded, the dimensions of images, and "
        "rate and length of audio. "
        "Use it before a measurement: it prints the `dlbench sweep` command for this data set. "
        "Video, MP3, Parquet, text and the like are not decoded, and refused (exit code 3).\n\n"
        "  dlbench inspect /data/imagenet/train\n\n"
        "With --json: command, path, format, codec, about (what the format found, or null), "
        "element (type of the numbers, or null), id, iterable, samples, bytes, max_sample_bytes, "
        "classes, shards, fields, looked_at (samples, bad, first_bad and first_bad_code or null, "
        "min_bytes, median_bytes, max_bytes), images (samples, width and height as [least, median, "
        "most], or null), n_odd, odd (the first 16 of them), audio (samples, rate_hz, channels, "
        "frames and seconds, "
        "likewise), "
        "kinds (of a folder: kind, files, format or null, first).",
    .flags = DLB_FLAG_PATH | DLB_FLAG_JSON,
    .run = run,
};
