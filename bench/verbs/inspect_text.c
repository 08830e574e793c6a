#include "bench/verbs/inspect_text.h"

#include "bench/verbs/propose.h"
#include "core/base/escape.h"
#include "core/base/say.h"
#include "core/base/shell.h"
#include "core/base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BATCHES = 100 };

static uint64_t middle(const struct dlb_inspected *in)
{
    return in->seen.n_bytes[in->seen.n_looked / 2];
}

static void print_looked(const struct dlb_inspected *in)
{
    char low[40], mid[40], high[40],
        text[sizeof in->seen.first_bad.path + sizeof in->seen.first_bad.what + 40];

    if (in->seen.n_looked > 0)
        dlb_say(stdout, "  sizes      %s to %s, median %s (of %u samples, evenly spread)",
                dlb_bytes_text(in->seen.n_bytes[0], low, sizeof low),
                dlb_bytes_text(in->seen.n_bytes[in->seen.n_looked - 1], high, sizeof high),
                dlb_bytes_text(middle(in), mid, sizeof mid), in->seen.n_looked);
    if (in->seen.n_images > 0)
        dlb_say(stdout,
                "  images     width %u to %u, median %u; height %u to %u, median %u (pixels)",
                in->seen.width[0], in->seen.width[in->seen.n_images - 1],
                in->seen.width[in->seen.n_images / 2], in->seen.height[0],
                in->seen.height[in->seen.n_images - 1], in->seen.height[in->seen.n_images / 2]);
    dlb_clips_print(&in->seen.clips);
    if (in->seen.n_bad > 0)
        dlb_say(stdout, "  bad        %u of the samples looked at; the first: %s [%s]",
                in->seen.n_bad, dlb_err_text(&in->seen.first_bad, text, sizeof text),
                dlb_code_name(in->seen.first_bad.code));
}

static void print_fields(const struct dlb_inspected *in)
{
    if (in->seen.n_fields < 2)
        return;
    char names[sizeof in->seen.fields + sizeof in->seen.fields / sizeof *in->seen.fields * 2] = "";
    for (uint32_t i = 0; i < in->seen.n_fields; i++) {
        size_t len = strlen(names);
        (void)snprintf(names + len, sizeof names - len, "%s%s", i ? ", " : "", in->seen.fields[i]);
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

static void print_word(const char *text)
{
    char *word = dlb_shell_word(text);

    (void)fputs(word, stdout);
    free(word);
}

static void print_path_setting(const char *path)
{
    char *word = dlb_shell_path_setting("dataset.path", path);

    (void)printf(" --set %s", word);
    free(word);
}

/* A sweep with settings like those of training: shuffled, full batches of float pixels, and the
 * step of a known network. Of a large data set a part is enough. */
void dlb_inspect_print_command(const char *path, const struct dlb_inspected *in)
{
    uint64_t batch = dlb_propose_batch(in);
    double step_ms = dlb_propose_step_ms(in, batch);
    char part[48] = "";
    struct dlb_err why;

    if (dlb_propose_check(path, in, &why) != DLB_OK) {
        (void)putchar('\n');
        dlb_say(stdout, "No sweep is offered: %s %s", path, why.what);
        return;
    }
    if (in->shape.n_samples / batch > 2 * (uint64_t)MAX_BATCHES) /* else all of it */
        (void)snprintf(part, sizeof part, " --set run.max_batches=%d", MAX_BATCHES);
    (void)printf("\nTo measure it: dlbench sweep --set dataset.format=%s --set dataset.codec=%s",
                 in->format->name, in->codec->name);
    print_path_setting(path);
    if (in->seen.n_bad > 0)
        (void)fputs(" --set dataset.on_error=skip", stdout);
    (void)printf(" --set loader.shuffle=true --set loader.drop_last=true%s%s --set "
                 "loader.batch_size=%" PRIu64,
                 part, step_ms > 0 ? " --set transform.pixels=f32" : "", batch);
    if (dlb_propose_frames(in) > 0)
        (void)printf(" --set transform.num_frames=%" PRIu64 " --set transform.num_channels=%u",
                     dlb_propose_frames(in), dlb_clips_channels(&in->seen.clips));
    if (step_ms > 0)
        (void)printf(" --set device.step_ms=%.4g\n"
                     "(device.step_ms: the time of one ResNet-50 step with this batch on an H100, "
                     "from MLPerf Storage; replace it by your own network's)\n",
                     step_ms);
    else
        (void)printf(" --set device.step_ms=100\n"
                     "(device.step_ms: replace 100 by the milliseconds of one step of your "
                     "training with this batch; the verdict depends on it)\n");
}

static void print_kinds(const struct dlb_kinds *kinds)
{
    char text[400] = "", n[40];

    if (kinds->n_found < 2)
        return;
    for (int i = 0; i < DLB_N_KINDS; i++) {
        size_t len = strlen(text);
        const struct dlb_kind *kind = &kinds->kind[i];
        if (kind->n_files > 0)
            (void)snprintf(text + len, sizeof text - len, "%s %s, ", kind->name,
                           dlb_count_text((double)kind->n_files, n, sizeof n));
    }
    dlb_say(stdout, "  kinds      %sother files %s%s: one of these kinds is read", text,
            dlb_count_text((double)kinds->n_others, n, sizeof n),
            kinds->ended ? " (of the first 50,000)" : "");
}

/* A folder with one array: most often its rows are meant, and not the array, as a sample. */
static void print_rows(const struct dlb_inspected *in)
{
    for (int i = 0; in->shape.n_samples == 1 && i < DLB_N_KINDS; i++) {
        const struct dlb_kind *kind = &in->kinds.kind[i];
        if (kind->n_files == 1 && kind->first[0] && kind->format &&
            strcmp(kind->format, "npz") == 0) {
            (void)fputs("The rows of its array as samples: dlbench ", stdout);
            print_word(kind->first);
            (void)putchar('\n');
        }
    }
}

/* Of each kind that another format reads, or that lies in other files than what was inspected. */
void dlb_inspect_print_kinds(const char *path, const struct dlb_inspected *in)
{
    print_rows(in);
    for (int i = 0; in->kinds.n_found > 1 && i < DLB_N_KINDS; i++) {
        const struct dlb_kind *kind = &in->kinds.kind[i];
        if (kind->n_files == 0 || !kind->first[0])
            continue;
        (void)printf("The %s: ", kind->name);
        if (!kind->format) {
            (void)puts("no format reads them; measure your own Python code with dataset.format = "
                       "\"python\"");
            continue;
        }
        bool whole = kind->folder && strcmp(kind->format, "files") == 0;
        (void)fputs("dlbench ", stdout);
        if (kind->folder) {
            print_word(whole ? path : kind->parent);
            (void)printf(" --dataset.format %s", kind->format);
            if (kind->codec)
                (void)printf(" --dataset.codec %s", kind->codec);
        } else {
            print_word(strcmp(kind->format, "lmdb") == 0 ? kind->parent : kind->first);
            (void)printf("%s", kind->n_files > 1 ? "   (one of them)" : "");
        }
        (void)putchar('\n');
    }
}

void dlb_inspect_print(const char *path, const struct dlb_inspected *in)
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
    print_kinds(&in->kinds);
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
}
