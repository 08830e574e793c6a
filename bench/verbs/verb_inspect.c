#include "bench/cli/verb.h"

#include "bench/cli/print.h"
#include "bench/verbs/inspect.h"
#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/say.h"
#include "core/base/units.h"
#include "formats/undecoded.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_SAMPLES = 256, MIN_BATCHES = 8 /* in an epoch */, MAX_BATCHES = 100 };
#define RESNET50_SAMPLE_MS (224.0 / 400) /* one H100 in MLPerf Storage: 0.224 s for 400 samples */

static uint64_t middle(const struct dlb_inspected *in)
{
    return in->n_bytes[in->n_looked / 2];
}

static void print_looked(const struct dlb_inspected *in)
{
    char low[40], mid[40], high[40],
        text[sizeof in->first_bad.path + sizeof in->first_bad.what + 40];

    if (in->n_looked > 0)
        dlb_say(stdout, "  sizes      %s to %s, median %s (of %u samples, evenly spread)",
                dlb_bytes_text(in->n_bytes[0], low, sizeof low),
                dlb_bytes_text(in->n_bytes[in->n_looked - 1], high, sizeof high),
                dlb_bytes_text(middle(in), mid, sizeof mid), in->n_looked);
    if (in->n_images > 0)
        dlb_say(stdout,
                "  images     width %u to %u, median %u; height %u to %u, median %u (pixels)",
                in->width[0], in->width[in->n_images - 1], in->width[in->n_images / 2],
                in->height[0], in->height[in->n_images - 1], in->height[in->n_images / 2]);
    if (in->n_bad > 0)
        dlb_say(stdout, "  bad        %u of the samples looked at; the first: %s [%s]", in->n_bad,
                dlb_err_text(&in->first_bad, text, sizeof text), dlb_code_name(in->first_bad.code));
}

static void print_fields(const struct dlb_inspected *in)
{
    if (in->n_fields < 2)
        return;
    char names[sizeof in->fields + sizeof in->fields / sizeof *in->fields * 2] = "";
    for (uint32_t i = 0; i < in->n_fields; i++) {
        size_t len = strlen(names);
        (void)snprintf(names + len, sizeof names - len, "%s%s", i ? ", " : "", in->fields[i]);
    }
    dlb_say(stdout, "  fields     %s", names);
}

/* dataset.access, the default first. */
static void print_access(const struct dlb_format *format)
{
    if (!format->access)
        return;
    (void)printf("  access     ");
    for (const int *way = format->access; *way != DLB_ACCESS_AUTO; way++)
        (void)printf("%s%s", way == format->access ? "" : ", ", dlb_access_names[*way]);
    (void)putchar('\n');
}

/* For a shell, which reads \xHH in $'...' as a byte. */
static void print_bytes(const char *text)
{
    char *escaped = dlb_escaped(text, DLB_ESCAPE_NAME);

    (void)fputs("$'", stdout);
    for (const char *c = escaped; *c; c++) {
        bool written = *c == '\\' && c[1] == 'x'; /* by dlb_escaped */
        (void)printf((*c == '\\' && !written) || *c == '\'' ? "\\%c" : "%c", *c);
    }
    (void)putchar('\'');
    free(escaped);
}

/* Quoted for a shell, if it needs that. */
static void print_word(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";

    if (text[strspn(text, plain)] == '\0') {
        (void)fputs(text, stdout);
        return;
    }
    if (dlb_escape(text, SIZE_MAX, DLB_ESCAPE_CONTROLS, NULL, 0) > strlen(text)) {
        print_bytes(text);
        return;
    }
    (void)putchar('\'');
    for (const char *c = text; *c; c++)
        (void)fputs(*c == '\'' ? "'\\''" : (char[]){*c, '\0'}, stdout);
    (void)putchar('\'');
}

/* A sweep with settings like those of training: shuffled, full batches of float pixels, and the
 * step of a known network. Of a large data set a part is enough. */
static void print_command(const char *path, const struct dlb_inspected *in)
{
    uint64_t batch = BATCH_SAMPLES;
    char part[48] = "";

    while (batch > 1 && batch * MIN_BATCHES > in->shape.n_samples)
        batch /= 2;
    if (in->shape.n_samples / batch > 2 * (uint64_t)MAX_BATCHES) /* else all of it */
        (void)snprintf(part, sizeof part, " --set run.max_batches=%d", MAX_BATCHES);
    (void)printf("\nTo measure it: dlbench sweep --set dataset.format=%s --set dataset.codec=%s "
                 "--set dataset.path=",
                 in->format->name, in->codec->name);
    print_word(path);
    (void)printf(" --set loader.shuffle=true --set loader.drop_last=true%s%s --set "
                 "loader.batch_size=%" PRIu64,
                 part, in->codec->images ? " --set transform.pixels=f32" : "", batch);
    if (in->codec->images)
        (void)printf(" --set device.step_ms=%.4g\n"
                     "(device.step_ms: the time of one ResNet-50 step with this batch on an H100, "
                     "from MLPerf Storage; replace it by your own network's)\n",
                     (double)batch * RESNET50_SAMPLE_MS);
    else
        (void)printf(" --set device.step_ms=100\n"
                     "(device.step_ms: replace 100 by the milliseconds of one step of your "
                     "training with this batch; the verdict depends on it)\n");
}

static void print_text(const char *path, const struct dlb_inspected *in)
{
    const struct dlb_shape *shape = &in->shape;
    char samples[40], bytes[40], largest[40], count[40];

    dlb_say(stdout, "%s", path);
    dlb_say(stdout, "  format     %s: %s", in->format->name, in->format->summary);
    dlb_say(stdout, "  codec      %s: %s", in->codec->name, in->codec->summary);
    dlb_say(stdout, "  samples    %s, %s",
            dlb_count_text((double)shape->n_samples, samples, sizeof samples),
            shape->iterable ? "read in the order of the shards" : "read in any order");
    dlb_say(stdout, "  bytes      %s, largest sample %s",
            dlb_bytes_text(shape->total_bytes, bytes, sizeof bytes),
            dlb_bytes_text(shape->max_sample_bytes, largest, sizeof largest));
    if (*shape->about)
        dlb_say(stdout, "  found      %s", shape->about);
    if (shape->element != DLB_ELEMENT_NONE)
        dlb_say(stdout, "  numbers    %s", dlb_element_name(shape->element));
    print_access(in->format);
    if (shape->n_classes > 0)
        dlb_say(stdout, "  classes    %s",
                dlb_count_text((double)shape->n_classes, count, sizeof count));
    if (shape->iterable)
        dlb_say(stdout, "  shards     %s: no more workers than this have work",
                dlb_count_text((double)shape->n_shards, count, sizeof count));
    print_fields(in);
    print_looked(in);
    for (uint32_t i = 0; i < dlb_shape_n_named(shape); i++)
        dlb_say(stdout, "  odd        %s", shape->odd[i]);
    if (shape->n_odd > dlb_shape_n_named(shape))
        dlb_say(stdout, "  odd        %u more things like these",
                shape->n_odd - dlb_shape_n_named(shape));
    print_command(path, in);
}

/* The first sample, as it is stored: what `xxhsum -H1` of these bytes prints is xxh64. */
static json_t *first_json(const struct dlb_inspected_sample *first)
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
    char text[sizeof in->first_bad.path + sizeof in->first_bad.what + 40];

    if (in->n_bad > 0) {
        bad = dlb_json_safe_text(dlb_err_text(&in->first_bad, text, sizeof text));
        code = dlb_code_name(in->first_bad.code);
    }
    json_t *looked =
        dlb_json_made(json_pack("{s:i, s:i, s:o?, s:s?}", "samples", (int)in->n_looked, "bad",
                                (int)in->n_bad, "first_bad", bad, "first_bad_code", code));
    if (in->n_looked == 0)
        return looked;
    dlb_json_put(looked, "first", first_json(&in->first));
    dlb_json_put(looked, "min_bytes", dlb_json_u64_or_null(in->n_bytes[0]));
    dlb_json_put(looked, "median_bytes", dlb_json_u64_or_null(middle(in)));
    dlb_json_put(looked, "max_bytes", dlb_json_u64_or_null(in->n_bytes[in->n_looked - 1]));
    return looked;
}

static json_t *images_json(const struct dlb_inspected *in)
{
    uint32_t n = in->n_images;

    if (n == 0)
        return json_null();
    return dlb_json_made(json_pack("{s:i, s:[iii], s:[iii]}", "samples", (int)n, "width",
                                   (int)in->width[0], (int)in->width[n / 2], (int)in->width[n - 1],
                                   "height", (int)in->height[0], (int)in->height[n / 2],
                                   (int)in->height[n - 1]));
}

static json_t *document(const char *path, const struct dlb_inspected *in)
{
    const struct dlb_shape *shape = &in->shape;
    json_t *fields = dlb_json_made(json_array());

    for (uint32_t i = 0; i < in->n_fields; i++)
        if (*in->fields[i]) /* some formats name only some of their fields */
            dlb_json_append(fields, dlb_json_safe_text(in->fields[i]));
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
    if (in.undecoded) {
        (void)dlb_undecoded_fail(&err, args->path, in.undecoded);
        (void)dlb_print_err(&err);
        return DLB_EXIT_FAILED;
    }
    if (!args->json) {
        print_text(args->path, &in);
        return DLB_EXIT_OK;
    }
    json_t *doc = document(args->path, &in);
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
        "over it: their sizes, whether they can be read and decoded, and the dimensions of images. "
        "Use it before a measurement: it prints the `dlbench sweep` command for this data set.\n\n"
        "  dlbench inspect /data/imagenet/train\n\n"
        "With --json: command, path, format, codec, about (what the format found, or null), "
        "element (type of the numbers, or null), id, iterable, samples, bytes, max_sample_bytes, "
        "classes, shards, fields, looked_at (samples, bad, first_bad and first_bad_code or null, "
        "min_bytes, median_bytes, max_bytes), images (samples, width and height as [least, median, "
        "most], or null), n_odd, odd.\n\n"
        "Video, audio, Parquet, text and the like are not decoded. They are refused, with exit "
        "code 3: measured as bytes they would look cheap to load.",
    .flags = DLB_FLAG_PATH | DLB_FLAG_JSON,
    .run = run,
};
