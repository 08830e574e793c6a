#include "bench/cli/verb.h"

#include "bench/cli/print.h"
#include "bench/verbs/inspect.h"
#include "core/base/units.h"

#include <inttypes.h>
#include <stdio.h>
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
        (void)printf("  sizes      %s to %s, median %s (of %u samples, evenly spread)\n",
                     dlb_bytes_text(in->n_bytes[0], low, sizeof low),
                     dlb_bytes_text(in->n_bytes[in->n_looked - 1], high, sizeof high),
                     dlb_bytes_text(middle(in), mid, sizeof mid), in->n_looked);
    if (in->n_images > 0)
        (void)printf(
            "  images     width %u to %u, median %u; height %u to %u, median %u (pixels)\n",
            in->width[0], in->width[in->n_images - 1], in->width[in->n_images / 2], in->height[0],
            in->height[in->n_images - 1], in->height[in->n_images / 2]);
    if (in->n_bad > 0)
        (void)printf("  bad        %u of the samples looked at; the first: %s\n", in->n_bad,
                     dlb_err_text(&in->first_bad, text, sizeof text));
}

static void print_fields(const struct dlb_inspected *in)
{
    if (in->n_fields < 2)
        return;
    (void)printf("  fields     ");
    for (uint32_t i = 0; i < in->n_fields; i++)
        (void)printf("%s%s", i ? ", " : "", in->fields[i]);
    (void)putchar('\n');
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

/* As a shell takes it for one word, whatever is in it. */
static void print_word(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";

    if (text[strspn(text, plain)] == '\0') {
        (void)fputs(text, stdout);
        return;
    }
    (void)putchar('\'');
    for (const char *c = text; *c; c++)
        (void)fputs(*c == '\'' ? "'\\''" : (char[]){*c, '\0'}, stdout);
    (void)putchar('\'');
}

/* A sweep that means something: order, batches and pixels as training has them, and a step that is
 * some network's; as much of a large data set as tells. */
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
                 part, strcmp(in->codec->name, "jpeg") == 0 ? " --set transform.pixels=f32" : "",
                 batch);
    if (strcmp(in->codec->name, "jpeg") == 0)
        (void)printf(" --set device.step_ms=%.4g\n"
                     "(device.step_ms: what training ResNet-50 on one H100 takes for such a batch, "
                     "per MLPerf Storage; set your own network's)\n",
                     (double)batch * RESNET50_SAMPLE_MS);
    else
        (void)printf(" --set device.step_ms=100\n"
                     "(device.step_ms: replace 100 by the milliseconds that your training takes "
                     "for such a batch, or the verdict says nothing about it)\n");
}

static void print_text(const char *path, const struct dlb_inspected *in)
{
    const struct dlb_shape *shape = &in->shape;
    char samples[40], bytes[40], largest[40], count[40];

    (void)printf("%s\n  format     %s: %s\n  codec      %s: %s\n", path, in->format->name,
                 in->format->summary, in->codec->name, in->codec->summary);
    (void)printf("  samples    %s, %s\n  bytes      %s, largest sample %s\n",
                 dlb_count_text((double)shape->n_samples, samples, sizeof samples),
                 shape->iterable ? "read in the order of the shards" : "any by its number",
                 dlb_bytes_text(shape->total_bytes, bytes, sizeof bytes),
                 dlb_bytes_text(shape->max_sample_bytes, largest, sizeof largest));
    if (*shape->about)
        (void)printf("  found      %s\n", shape->about);
    if (shape->element != DLB_ELEMENT_NONE)
        (void)printf("  numbers    %s\n", dlb_element_name(shape->element));
    print_access(in->format);
    if (shape->n_classes > 0)
        (void)printf("  classes    %s\n",
                     dlb_count_text((double)shape->n_classes, count, sizeof count));
    if (shape->iterable)
        (void)printf("  shards     %s: more workers than that stay idle\n",
                     dlb_count_text((double)shape->n_shards, count, sizeof count));
    print_fields(in);
    print_looked(in);
    for (uint32_t i = 0; i < dlb_shape_n_named(shape); i++)
        (void)printf("  odd        %s\n", shape->odd[i]);
    if (shape->n_odd > dlb_shape_n_named(shape))
        (void)printf("  odd        %u more things like these\n",
                     shape->n_odd - dlb_shape_n_named(shape));
    print_command(path, in);
}

/* NULL values are null in the document: not known, or no such thing. */
static json_t *looked_json(const struct dlb_inspected *in)
{
    json_t *bad = NULL;
    char text[sizeof in->first_bad.path + sizeof in->first_bad.what + 40];

    if (in->n_bad > 0)
        bad = json_string(dlb_err_text(&in->first_bad, text, sizeof text));
    if (in->n_looked == 0)
        return json_pack("{s:i, s:i, s:o?}", "samples", 0, "bad", (int)in->n_bad, "first_bad", bad);
    return json_pack("{s:i, s:i, s:o?, s:I, s:I, s:I}", "samples", (int)in->n_looked, "bad",
                     (int)in->n_bad, "first_bad", bad, "min_bytes", (json_int_t)in->n_bytes[0],
                     "median_bytes", (json_int_t)middle(in), "max_bytes",
                     (json_int_t)in->n_bytes[in->n_looked - 1]);
}

static json_t *images_json(const struct dlb_inspected *in)
{
    uint32_t n = in->n_images;

    if (n == 0)
        return json_null();
    return json_pack("{s:i, s:[iii], s:[iii]}", "samples", (int)n, "width", (int)in->width[0],
                     (int)in->width[n / 2], (int)in->width[n - 1], "height", (int)in->height[0],
                     (int)in->height[n / 2], (int)in->height[n - 1]);
}

static json_t *document(const char *path, const struct dlb_inspected *in)
{
    const struct dlb_shape *shape = &in->shape;
    json_t *fields = json_array();
    char id[17];

    (void)snprintf(id, sizeof id, "%016" PRIx64, shape->id);
    for (uint32_t i = 0; i < in->n_fields; i++)
        if (*in->fields[i]) /* the format does not name them all */
            (void)json_array_append_new(fields, json_string(in->fields[i]));
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s?, s:s?, s:s, s:b, s:I, s:I, s:I, s:i, s:i, s:o, s:o, s:o, s:i, "
        "s:o}",
        "command", "inspect", "path", path, "format", in->format->name, "codec", in->codec->name,
        "about", *shape->about ? shape->about : NULL, "element",
        shape->element == DLB_ELEMENT_NONE ? NULL : dlb_element_name(shape->element), "id", id,
        "iterable", (int)shape->iterable, "samples", (json_int_t)shape->n_samples, "bytes",
        (json_int_t)shape->total_bytes, "max_sample_bytes", (json_int_t)shape->max_sample_bytes,
        "classes", (int)shape->n_classes, "shards", (int)shape->n_shards, "fields", fields,
        "looked_at", looked_json(in), "images", images_json(in), "n_odd", (int)shape->n_odd, "odd",
        dlb_odd_json(shape));
}

static int run(const struct dlb_args *args)
{
    struct dlb_inspected in;
    struct dlb_err err;
    int code = DLB_EXIT_OK;

    if (dlb_inspect(args->path, args->cfg, &in, &err) != DLB_OK) {
        (void)dlb_print_err(&err);
        return DLB_EXIT_FAILED; /* whatever is wrong, it is the data, not the command */
    }
    if (!args->json) {
        print_text(args->path, &in);
        return code;
    }
    json_t *doc = document(args->path, &in);
    if (!doc || !dlb_print_json(doc)) {
        (void)dlb_fail(&err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "inspect: out of memory");
        code = dlb_print_err(&err);
    }
    json_decref(doc);
    return code;
}

const struct dlb_verb dlb_verb_inspect = {
    .name = "inspect",
    .summary = "Say what the data set at a path is, and what is odd about it",
    .usage = "dlbench inspect PATH [--json]",
    .details = "Asks every format whether it knows what lies there, opens it with the one that is "
               "surest, and looks at 64 "
               "samples spread evenly over it: their sizes, whether they can be read and decoded, "
               "and the dimensions of "
               "images.\n\n"
               "With --json: command, path, format, codec, about (what the format found, or null), "
               "element (which numbers, or null), id, iterable, samples, bytes, "
               "max_sample_bytes, classes, shards, "
               "fields, looked_at (samples, bad, first_bad, min_bytes, median_bytes, max_bytes), "
               "images (samples, width and "
               "height as [least, median, most], or null), n_odd, odd.",
    .flags = DLB_FLAG_PATH | DLB_FLAG_JSON,
    .run = run,
};
