#include "bench/verbs/inspect.h"

#include "bench/verbs/ascending.h"
#include "bench/verbs/inspect_path.h"
#include "core/base/escape.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "formats/codecs/image.h"
#include "formats/look.h"
#include "formats/read_apart.h"
#include "formats/undecoded.h"
#include "formats/writer.h"
#include "scenarios/spec/spec.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES_PER_CODEC 8

/* An open data set, with what reading and decoding its samples needs. */
struct looker {
    struct dlb_spec spec;
    struct dlb_dataset ds;
    void *reader, *codec;    /* states; the reader's exists only while samples are visited */
    struct dlb_image *image; /* reads dimensions; NULL in a build that decodes no image */
    struct dlb_audio *audio; /* reads headers; NULL in a build that decodes no audio */
    bool ds_open, codec_open;
};

static void looker_close(struct looker *looker)
{
    if (looker->codec_open)
        looker->ds.codec->close(looker->codec);
    if (looker->ds_open)
        dlb_dataset_close(&looker->ds);
    dlb_image_free(looker->image);
    dlb_audio_free(looker->audio);
    free(looker->codec);
    free(looker);
}

static int set_text(struct dlb_config *cfg, const char *key, const char *text, struct dlb_err *err)
{
    json_t *value = json_string(text);
    int status;

    if (!value)
        return dlb_fail(err, DLB_ERR_USAGE_NOT_UTF8, text, DLB_NO_OFFSET,
                        "is not valid UTF-8, as %s must be", key);
    status = dlb_config_set_json(cfg, key, value, "inspect", err);
    json_decref(value);
    return status;
}

static int looker_open(struct looker **out, const char *path, const struct dlb_format *format,
                       const struct dlb_codec *codec, struct dlb_config *cfg, struct dlb_err *err)
{
    struct looker *looker = dlb_mem_new(sizeof *looker);
    int status;

    status = set_text(cfg, "dataset.format", format->name, err);
    if (status == DLB_OK)
        status = set_text(cfg, "dataset.codec", codec->name, err);
    if (status == DLB_OK)
        status = set_text(cfg, "dataset.path", path, err);
    if (status == DLB_OK)
        status = dlb_spec_from_config(&looker->spec, cfg, err);
    if (status != DLB_OK)
        goto out;
    status = dlb_dataset_open(&looker->ds, &looker->spec.dataset, &looker->spec.transform,
                              &looker->spec.generate, dlb_spec_format_opts(&looker->spec), err);
    if (status != DLB_OK)
        goto out;
    looker->ds_open = true;
    looker->codec = dlb_mem_check(dlb_mem_state(codec->state_bytes));
    if (!codec->identity) {
        looker->codec_open = true;
        status = codec->open(looker->codec, &looker->spec.transform, err);
    }
out:
    if (status != DLB_OK) {
        looker_close(looker);
        looker = NULL;
    }
    *out = looker;
    return status;
}

/* Called for each sample looked at, up to the one that makes DLB_LOOK_BYTES full, as stored.
 * `sample` is NULL if it could not be read, and *why says so. Returns false to stop. */
typedef bool visit(void *ctx, struct looker *looker, const struct dlb_sample *sample,
                   const struct dlb_err *why);

static void visit_map(struct looker *looker, uint64_t n, visit *each, void *ctx)
{
    const struct dlb_reader *reader = looker->ds.format->reader;
    uint64_t n_samples = looker->ds.shape.n_samples, n_bytes = 0;
    struct dlb_sample sample = {.offset_bytes = DLB_NO_OFFSET};
    struct dlb_err err = {.status = DLB_OK};

    if (n > n_samples)
        n = n_samples;
    bool all = looker->ds.shape.max_sample_bytes < DLB_LOOK_BYTES / DLB_INSPECT_SAMPLES;
    for (uint64_t i = 0; i < n && n_bytes < DLB_LOOK_BYTES; i++) {
        uint64_t place = all ? i : dlb_look_place(i, n);
        uint64_t index = (uint64_t)((unsigned __int128)place * n_samples / n);
        bool read =
            reader->read(looker->reader, index, (struct dlb_dest){0}, &sample, &err) == DLB_OK;
        n_bytes += read ? sample.field[0].len_bytes : 0;
        if (!each(ctx, looker, read ? &sample : NULL, &err))
            return;
    }
}

static void visit_shards(struct looker *looker, uint64_t n, visit *each, void *ctx)
{
    const struct dlb_reader *reader = looker->ds.format->reader;
    uint32_t n_shards = looker->ds.shape.n_shards;
    uint32_t n_asked = n_shards < DLB_INSPECT_SHARDS ? n_shards : DLB_INSPECT_SHARDS;
    uint64_t n_bytes = 0;
    struct dlb_sample sample = {.offset_bytes = DLB_NO_OFFSET};
    struct dlb_err err = {.status = DLB_OK};

    for (uint32_t i = 0; i < n_asked; i++) {
        uint64_t n_here = n / n_asked + (i < n % n_asked);
        int status =
            reader->shard_open(looker->reader, (uint32_t)((uint64_t)i * n_shards / n_asked), &err);
        for (uint64_t k = 0; status == DLB_OK && k < n_here && n_bytes < DLB_LOOK_BYTES; k++) {
            status = reader->next(looker->reader, (struct dlb_dest){0}, &sample, &err);
            n_bytes += status == DLB_OK ? sample.field[0].len_bytes : 0;
            if (status == DLB_OK && !each(ctx, looker, &sample, &err))
                return;
        }
        if (status != DLB_OK && status != DLB_END && !each(ctx, looker, NULL, &err))
            return;
    }
}

struct visits {
    struct looker *looker;
    uint64_t n;
    visit *each;
    void *ctx; /* n_ctx bytes, without pointers of its own: a child may fill them */
    size_t n_ctx;
    bool (*makes_sense)(const void *ctx);
};

static int visit_here(void *ctx, struct dlb_err *err)
{
    struct visits *visits = ctx;
    struct looker *looker = visits->looker;
    const struct dlb_reader *reader = looker->ds.format->reader;

    looker->reader = dlb_mem_check(dlb_mem_state(reader->state_bytes));
    int status = reader->open(looker->reader, looker->ds.state, err);
    if (status == DLB_OK && looker->ds.shape.iterable)
        visit_shards(looker, visits->n, visits->each, visits->ctx);
    else if (status == DLB_OK)
        visit_map(looker, visits->n, visits->each, visits->ctx);
    reader->close(looker->reader); /* required after a failed open, too */
    free(looker->reader);
    looker->reader = NULL;
    return status;
}

static bool pass_visited(void *ctx, struct dlb_pipe *pipe)
{
    struct visits *visits = ctx;
    return dlb_pass(pipe, visits->ctx, visits->n_ctx) && visits->makes_sense(visits->ctx);
}

/* In a child process, because damaged files can crash the library that reads them. */
static int visit_samples(struct visits *visits, struct dlb_err *err)
{
    struct dlb_apart how = {.path = visits->looker->spec.dataset.path,
                            .work = visit_here,
                            .pass = pass_visited,
                            .ctx = visits,
                            .sandboxed = true,
                            .patience_s = DLB_LOOK_PATIENCE_S};
    return dlb_read_apart(&visits->looker->ds.shape, how, err);
}

static bool decodes(struct looker *looker, const struct dlb_sample *sample, struct dlb_err *err)
{
    struct dlb_rng rng = dlb_rng_seed(0, 0, sample->index);

    if (looker->ds.codec->identity)
        return true;
    return looker->ds.codec->decode(looker->codec, sample, rng, err) == DLB_OK;
}

static bool tries_make_sense(const void *tries)
{
    return dlb_tries_make_sense(tries);
}

static bool try_decode(void *ctx, struct looker *looker, const struct dlb_sample *sample,
                       const struct dlb_err *why)
{
    struct dlb_tries *tries = ctx;
    const struct dlb_codec *codec = looker->ds.codec;
    struct dlb_err err;

    (void)why;
    if (!sample)
        return true;
    tries->n++;
    if (decodes(looker, sample, &err)) {
        tries->n_decoded++;
        tries->n_other +=
            codec->is_own && !codec->is_own(sample->field[0].data, sample->field[0].len_bytes);
    } else if (codec->extensions && dlb_codec_takes(codec, sample->field[0].name) &&
               tries->n_broken++ == 0)
        tries->first = err;
    return true;
}

/* Puts it before the other oddities. */
static void note_broken(struct dlb_shape *shape, const struct dlb_codec *codec,
                        const struct dlb_tries *tries)
{
    char text[sizeof tries->first];

    memmove(shape->odd[1], shape->odd[0], sizeof shape->odd - sizeof shape->odd[0]);
    (void)snprintf(shape->odd[0], sizeof shape->odd[0],
                   "%u of %u samples tried are named as codec %s's, which cannot decode them, so "
                   "they are taken for bytes; the first: %s",
                   tries->n_broken, tries->n, codec->name,
                   dlb_err_text(&tries->first, text, sizeof text));
    shape->n_odd++;
}

/* Whether the codec that takes more finds more: samples of another kind among those tried, or files
 * that this one leaves out. */
static bool is_too_narrow(const char *path, const struct looker *looker, struct dlb_config *cfg,
                          const struct dlb_tries *tries)
{
    const struct dlb_codec *wider =
        looker->ds.codec->wider ? dlb_codec_by_name(looker->ds.codec->wider) : NULL;
    struct looker *other;
    struct dlb_err ignored;

    if (!wider || wider->missing)
        return false;
    if (tries->n_other > 0)
        return true;
    if (looker_open(&other, path, looker->ds.format, wider, cfg, &ignored) != DLB_OK)
        return false;
    bool more = other->ds.shape.n_samples > looker->ds.shape.n_samples;
    looker_close(other);
    return more;
}

/* Opens the data set with the first codec that decodes most of the samples tried, or else with raw,
 * which accepts any bytes. */
static int choose_codec(const char *path, const struct dlb_format *format, struct dlb_config *cfg,
                        struct looker **out, struct dlb_err *err)
{
    const struct dlb_codec *raw = NULL, *suspected = NULL;
    struct dlb_tries broken = {0};

    for (const struct dlb_codec *const *codec = dlb_codecs; *codec; codec++) {
        struct dlb_tries tries = {0};
        if ((*codec)->missing)
            continue;
        if ((*codec)->identity) {
            raw = raw ? raw : *codec;
            continue;
        }
        if (looker_open(out, path, format, *codec, cfg, err) != DLB_OK)
            continue; /* no samples of this kind; any other problem makes raw fail, too */
        struct visits visits = {*out,   TRIES_PER_CODEC, try_decode,
                                &tries, sizeof tries,    tries_make_sense};
        int status = visit_samples(&visits, err);
        if (status == DLB_OK && tries.n_decoded * 2 > tries.n &&
            !is_too_narrow(path, *out, cfg, &tries))
            return DLB_OK;
        looker_close(*out);
        if (status != DLB_OK)
            return status; /* reading fails for every codec */
        if (tries.n_broken > broken.n_broken) {
            suspected = *codec;
            broken = tries;
        }
    }
    if (!raw)
        return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, "this build has no codec");
    int status = looker_open(out, path, format, raw, cfg, err);
    if (status == DLB_OK && suspected)
        note_broken(&(*out)->ds.shape, suspected, &broken);
    return status;
}

static void image_size(struct dlb_seen *out, struct dlb_image *image, const struct dlb_field *field)
{
    uint32_t width, height;
    struct dlb_err ignored;

    if (!image || dlb_image_start(image, field->data, field->len_bytes, false, &width, &height,
                                  &ignored) != DLB_OK)
        return;
    out->width[out->n_images] = width;
    out->height[out->n_images++] = height;
}

/* What a codec of this build decodes is damaged then, which is said elsewhere. */
static const char *undecoded(const struct looker *looker, const struct dlb_sample *sample)
{
    if (!looker->ds.codec->identity || looker->ds.shape.element != DLB_ELEMENT_NONE)
        return NULL;
    if (looker->ds.shape.n_samples == 1 && strcmp(sample->field[0].name, "json") == 0)
        return NULL; /* a single JSON file describes something; many are samples */
    const char *kind = dlb_undecoded_sample(sample);
    return kind && dlb_undecoded_codec(kind) ? NULL : kind;
}

/* Images that no codec takes, because of their names or because they are damaged. */
static bool is_raw_image(const struct looker *looker, const struct dlb_field *field)
{
    const struct dlb_codec *images = dlb_codec_by_name("image");

    return looker->ds.codec->identity && looker->ds.shape.element == DLB_ELEMENT_NONE &&
           (dlb_codec_takes(images, field->name) ||
            dlb_image_kind(field->data, field->len_bytes) != DLB_IMAGE_UNKNOWN);
}

/* convert keeps such a label only where fields are kept (dlb_field_is_label). */
static void look_at_label(struct dlb_seen *out, const struct dlb_sample *sample)
{
    for (uint32_t i = 0; i < sample->n_fields && sample->n_fields > 1; i++) {
        const struct dlb_field *field = &sample->field[i];
        if (strcmp(field->name, "cls") != 0 || dlb_field_is_label(sample, i))
            continue;
        if (out->n_unfit_labels++ == 0)
            (void)snprintf(out->unfit_label, sizeof out->unfit_label, "%.*s",
                           (int)(field->len_bytes < INT_MAX ? field->len_bytes : INT_MAX),
                           (const char *)field->data);
        return;
    }
}

static void note_labels(const struct dlb_seen *seen, struct dlb_shape *shape)
{
    if (seen->n_unfit_labels > 0)
        dlb_shape_odd(
            shape, "%u of %u samples looked at have a \"cls\" that is no class number, as \"%s\"",
            seen->n_unfit_labels, seen->n_looked, seen->unfit_label);
}

static bool look_at(void *ctx, struct looker *looker, const struct dlb_sample *sample,
                    const struct dlb_err *why)
{
    struct dlb_seen *out = ctx;
    struct dlb_err err = *why;

    if (!sample || !decodes(looker, sample, &err)) {
        if (out->n_bad++ == 0)
            out->first_bad = err;
    }
    if (!sample || out->n_looked == DLB_INSPECT_SAMPLES)
        return true;
    if (out->n_looked == 0) {
        out->first = (struct dlb_seen_first){
            .offset_bytes = sample->offset_bytes,
            .n_bytes = sample->field[0].len_bytes,
            .xxh64 = dlb_hash64(sample->field[0].data, sample->field[0].len_bytes, 0)};
        (void)snprintf(out->first.path, sizeof out->first.path, "%s",
                       sample->path ? sample->path : "");
        const char *kind = undecoded(looker, sample);
        (void)snprintf(out->undecoded, sizeof out->undecoded, "%s", kind ? kind : "");
        out->n_fields = sample->n_fields;
        for (uint32_t i = 0; i < sample->n_fields; i++)
            (void)snprintf(out->fields[i], sizeof out->fields[i], "%s", sample->field[i].name);
    }
    out->n_bytes[out->n_looked++] = sample->field[0].len_bytes;
    out->n_raw_images += is_raw_image(looker, &sample->field[0]);
    look_at_label(out, sample);
    image_size(out, looker->image, &sample->field[0]);
    dlb_clips_add(&out->clips, looker->audio, sample->field[0].data, sample->field[0].len_bytes);
    return true;
}

static bool seen_makes_sense(const void *seen)
{
    return dlb_seen_makes_sense(seen);
}

const struct dlb_codec *dlb_inspect_codec(const char *path, const struct dlb_format *format,
                                          struct dlb_config *cfg, struct dlb_err *err)
{
    struct looker *looker;

    if (choose_codec(path, format, cfg, &looker, err) != DLB_OK)
        return NULL;
    const struct dlb_codec *codec = looker->ds.codec;
    looker_close(looker);
    return codec;
}

/* What the user has set is taken as it is; NULL: left to be found. */
struct said {
    const struct dlb_format *format;
    const struct dlb_codec *codec;
};

static struct said read_said(const struct dlb_config *cfg)
{
    struct dlb_dataset_opts opts;

    dlb_config_fill(cfg, &dlb_dataset_group, &opts);
    const struct dlb_format *format = dlb_formats[opts.format];
    bool readable = format->probe && !format->missing; /* others have no files to look at */
    return (struct said){dlb_config_has(cfg, "dataset.format") && readable ? format : NULL,
                         dlb_config_has(cfg, "dataset.codec") ? dlb_codecs[opts.codec] : NULL};
}

/* NULL: err says why. */
static struct looker *open_it(const char *path, const struct said *said, struct dlb_config *cfg,
                              struct dlb_inspected *out, struct dlb_err *err)
{
    struct looker *looker = NULL;

    out->format = dlb_inspect_format(path, err);
    if (said->format && (out->format || err->code == DLB_ERR_INSPECT_UNKNOWN))
        out->format = said->format;
    if (!out->format)
        return NULL;
    int status = said->codec ? looker_open(&looker, path, out->format, said->codec, cfg, err)
                             : choose_codec(path, out->format, cfg, &looker, err);
    if (status != DLB_OK || !looker)
        return NULL;
    out->codec_said = said->codec != NULL;
    out->codec = looker->ds.codec;
    out->shape = looker->ds.shape;
    return looker;
}

int dlb_inspect(const char *path, struct dlb_config *cfg, struct dlb_inspected *out,
                struct dlb_err *err)
{
    const struct said said = read_said(cfg);

    memset(out, 0, sizeof *out);
    struct looker *looker = open_it(path, &said, cfg, out, err);
    if (!looker)
        return (int)err->status;
    looker->image = dlb_image_new();
    looker->audio = dlb_audio_new();
    dlb_kinds_find(path, &out->kinds);
    struct dlb_seen *seen = &out->seen;
    struct visits visits = {looker, DLB_INSPECT_SAMPLES, look_at,
                            seen,   sizeof *seen,        seen_makes_sense};
    int status = visit_samples(&visits, err);
    looker_close(looker);
    if (status != DLB_OK)
        return status; /* what was seen may make no sense */
    qsort(seen->n_bytes, seen->n_looked, sizeof seen->n_bytes[0], dlb_ascending_u64);
    qsort(seen->width, seen->n_images, sizeof seen->width[0], dlb_ascending_u32);
    qsort(seen->height, seen->n_images, sizeof seen->height[0], dlb_ascending_u32);
    dlb_clips_sort(&seen->clips);
    dlb_clips_note(&seen->clips, &out->shape);
    note_labels(seen, &out->shape);
    if (seen->n_looked == 0 &&
        seen->first_bad.status == DLB_E_NOMEM) { /* says nothing of the data */
        *err = seen->first_bad;
        return (int)err->status;
    }
    if (seen->undecoded[0] && !out->codec_said)
        return dlb_undecoded_fail(err, path, seen->undecoded);
    return DLB_OK;
}

json_t *dlb_odd_json(const struct dlb_shape *shape)
{
    json_t *odd = dlb_json_made(json_array());

    for (uint32_t i = 0; i < dlb_shape_n_named(shape); i++)
        dlb_json_append(odd, dlb_json_safe_text(shape->odd[i]));
    return odd;
}
