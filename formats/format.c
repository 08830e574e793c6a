#include "formats/format.h"

#include "formats/codec.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define X(name) extern const struct dlb_format dlb_fmt_##name;
#include "formats/formats.def"
#include "formats/extra_formats.def"
#undef X
#define X(name) extern const struct dlb_codec dlb_codec_##name;
#include "formats/codecs.def"
#undef X

#define X(name) &dlb_fmt_##name,
const struct dlb_format *const dlb_formats[] = {
#include "formats/formats.def"
#include "formats/extra_formats.def"
    NULL};
#undef X
#define X(name) &dlb_codec_##name,
const struct dlb_codec *const dlb_codecs[] = {
#include "formats/codecs.def"
    NULL};
#undef X

#define X(name) #name,
const char *const dlb_format_names[] = {
#include "formats/formats.def"
#include "formats/extra_formats.def"
    NULL};
const char *const dlb_codec_names[] = {
#include "formats/codecs.def"
    NULL};
#undef X

const struct dlb_format *dlb_format_by_name(const char *name)
{
    for (size_t i = 0; dlb_formats[i]; i++)
        if (strcmp(dlb_formats[i]->name, name) == 0)
            return dlb_formats[i];
    return NULL;
}

const struct dlb_codec *dlb_codec_by_name(const char *name)
{
    for (size_t i = 0; dlb_codecs[i]; i++)
        if (strcmp(dlb_codecs[i]->name, name) == 0)
            return dlb_codecs[i];
    return NULL;
}

bool dlb_codec_takes(const struct dlb_codec *codec, const char *extension)
{
    if (!codec || !codec->extensions)
        return true;
    for (const char *const *known = codec->extensions; *known; known++)
        if (strcasecmp(*known, extension) == 0)
            return true;
    return false;
}

const char *dlb_codec_extension(const struct dlb_codec *codec, const struct dlb_generate_opts *opts,
                                uint64_t index)
{
    return codec->extension_of ? codec->extension_of(opts, index) : codec->extension;
}

int dlb_codec_check(const struct dlb_codec *codec, const struct dlb_format *format,
                    struct dlb_err *err)
{
    if (!codec->numbers || format->numbers || format->synthetic)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_CODEC_UNFIT, NULL, DLB_NO_OFFSET,
                    "codec %s needs a format that knows which numbers it holds, and %s does not: "
                    "use dataset.codec = \"raw\"",
                    codec->name, format->name);
}

int dlb_codec_check_where(const struct dlb_codec *codec, const struct dlb_format *format,
                          const struct dlb_transform_opts *transform, struct dlb_err *err)
{
    struct dlb_augment ignored;

    if (transform->where != DLB_WHERE_GPU)
        return DLB_OK;
    if (codec->augment && !format->synthetic)
        return codec->augment(transform, NULL, &ignored, err);
    return dlb_fail(err, DLB_ERR_TRANSFORM_WHERE_UNFIT, NULL, DLB_NO_OFFSET,
                    "transform.where = \"gpu\": %s %s has no work for a device; codecs jpeg, "
                    "image and tokens have",
                    format->synthetic ? "format" : "codec",
                    format->synthetic ? format->name : codec->name);
}

void dlb_shape_odd(struct dlb_shape *shape, const char *fmt, ...)
{
    if (shape->n_odd < sizeof shape->odd / sizeof *shape->odd) {
        va_list args;
        va_start(args, fmt);
        (void)vsnprintf(shape->odd[shape->n_odd], sizeof *shape->odd, fmt, args);
        va_end(args);
    }
    shape->n_odd++;
}

uint32_t dlb_shape_n_named(const struct dlb_shape *shape)
{
    uint32_t cap = sizeof shape->odd / sizeof *shape->odd;
    return shape->n_odd < cap ? shape->n_odd : cap;
}

int dlb_fail_at_path(struct dlb_err *err, const char *path)
{
    struct dlb_err half = *err;
    (void)dlb_fail(err, half.code, path, half.offset_bytes, "%s", half.what);
    err->sys_errno = half.sys_errno;
    err->lib_code = half.lib_code;
    return (int)err->status;
}

uint64_t dlb_gen_number_by_index(const struct dlb_sample *sample)
{
    return sample->index;
}
