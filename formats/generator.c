#include "formats/generator.h"

#include "core/base/rng.h"
#include "formats/format.h"

#include <stdlib.h>
#include <string.h>

/* In the order of enum dlb_image_kind. */
static const char *const image_names[] = {"jpeg", "png", "webp", "mixed", NULL};
/* In the order of enum dlb_audio_kind. */
static const char *const audio_names[] = {"wav", "flac", "mixed", NULL};

static const struct dlb_opt generate_opts[] = {
    {.key = "samples",
     .type = DLB_OPT_INT,
     .offset = offsetof(struct dlb_generate_opts, samples),
     .min = 1,
     .max = INT64_C(1000000000000),
     .def = "10000",
     .unit = "samples",
     .help = "how many samples gen writes (and the synthetic format has)"},
    {.key = "sample_bytes",
     .type = DLB_OPT_BYTES,
     .offset = offsetof(struct dlb_generate_opts, sample_bytes),
     .min = 1,
     .max = INT64_C(1) << 40,
     .def = "110kB",
     .unit = "bytes",
     .help =
         "mean size of a sample; jpeg and image spread around it as photographs do, raw is exact"},
    {.key = "seed",
     .type = DLB_OPT_INT,
     .offset = offsetof(struct dlb_generate_opts, seed),
     .min = 0,
     .max = INT64_MAX,
     .def = "1",
     .help = "seed of the content: equal seeds give equal bytes"},
    {.key = "image",
     .type = DLB_OPT_CHOICE,
     .offset = offsetof(struct dlb_generate_opts, image),
     .def = "png",
     .choices = image_names,
     .help = "which kind of image gen writes with dataset.codec = image; mixed: each in turn"},
    {.key = "audio",
     .type = DLB_OPT_CHOICE,
     .offset = offsetof(struct dlb_generate_opts, audio),
     .def = "wav",
     .choices = audio_names,
     .help = "which kind of audio gen writes with dataset.codec = audio; mixed: each in turn"},
    {.key = "classes",
     .type = DLB_OPT_INT,
     .offset = offsetof(struct dlb_generate_opts, classes),
     .min = 1,
     .max = 1000000,
     .def = "100",
     .unit = "classes",
     .help = "how many labels; with format files, how many folders"},
    DLB_OPT_END,
};
const struct dlb_opt_group dlb_generate_group = {"generate", "what gen writes", generate_opts,
                                                 sizeof(struct dlb_generate_opts)};

int dlb_bytes_append(struct dlb_bytes *bytes, const void *data, size_t n_bytes, struct dlb_err *err)
{
    if (n_bytes > bytes->cap_bytes - bytes->len_bytes) {
        size_t cap = bytes->cap_bytes ? bytes->cap_bytes : 4096;
        while (cap - bytes->len_bytes < n_bytes && cap < SIZE_MAX / 2)
            cap *= 2;
        uint8_t *grown = realloc(bytes->data, cap);
        if (!grown || cap - bytes->len_bytes < n_bytes) {
            bytes->data = grown ? grown : bytes->data;
            return dlb_fail_memory(err, NULL, cap);
        }
        bytes->data = grown;
        bytes->cap_bytes = cap;
    }
    if (n_bytes)
        memcpy(bytes->data + bytes->len_bytes, data, n_bytes);
    bytes->len_bytes += n_bytes;
    return DLB_OK;
}

void dlb_bytes_free(struct dlb_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct dlb_bytes){0};
}

/* Each run of `classes` samples has every label once, in its own order: x -> a x + b, with a
 * coprime to the number of classes. With fewer samples than classes there are as many labels as
 * samples, so that no class is empty. */
uint32_t dlb_gen_label(const struct dlb_generate_opts *opts, uint64_t index)
{
    int64_t least = opts->classes < opts->samples ? opts->classes : opts->samples;
    uint64_t n = least > 0 ? (uint64_t)least : 1;
    struct dlb_rng rng =
        dlb_rng_seed((uint64_t)opts->seed, index / n, UINT64_C(0x6c6162656c)); /* "label" */
    uint64_t a = 1 + dlb_rng_below(&rng, n), b = dlb_rng_below(&rng, n);

    for (uint64_t x = a, y = n;; x = ++a, y = n) {
        while (y) {
            uint64_t rest = x % y;
            x = y;
            y = rest;
        }
        if (x == 1)
            break;
    }
    return (uint32_t)((a * (index % n) + b) % n);
}

uint64_t dlb_gen_total_bytes(const struct dlb_gen *gen)
{
    const struct dlb_generator *generator = gen->format->generator;
    if (generator && generator->bytes)
        return generator->bytes(gen);
    double n_bytes = (double)gen->opts->samples * (double)gen->opts->sample_bytes;
    return n_bytes < 0x1p63 ? (uint64_t)n_bytes : UINT64_C(1) << 63;
}
