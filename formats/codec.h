/* Codecs turn a sample's stored bytes into its payload in the batch. One const table, one file, one
 * line in codecs.def.
 *
 * Floor 2. A codec's state is private to one worker. Codecs never read the clock: the worker calls
 * decode and transform one after the other, and times each. */
#ifndef DLB_FORMATS_CODEC_H
#define DLB_FORMATS_CODEC_H

#include "core/base/err.h"
#include "core/base/opt.h"
#include "core/base/rng.h"
#include "formats/codecs/augment.h"
#include "formats/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dlb_crop { DLB_CROP_RANDOM_RESIZED, DLB_CROP_CENTER, DLB_CROP_NONE, DLB_CROP_RANDOM };
enum dlb_pixels { DLB_PIXELS_U8, DLB_PIXELS_F32 };
enum dlb_where { DLB_WHERE_CPU, DLB_WHERE_GPU };

/* The `transform` section. */
struct dlb_transform_opts {
    int crop; /* enum dlb_crop. RANDOM_RESIZED: torchvision's RandomResizedCrop(size, scale (0.08,
               * 1), ratio (3/4, 4/3)); CENTER: resize the short side to size * 256 / 224, centre
               * crop; RANDOM: the same resizing, RandomCrop(size); NONE: the whole image, ragged
               * batches */
    int64_t size; /* output width and height, pixels */
    bool flip;    /* horizontal, p = 0.5; with either random crop */
    int pixels;   /* enum dlb_pixels. U8: height x width x 3 interleaved; F32: 3 x height x width,
                   * (x/255 - mean) / std with ImageNet's mean and std, as ToTensor and Normalize
                   * give
                   */
    int where;    /* enum dlb_where: whether worker or device crops the resized image, flips and
                   * normalises; which of them widens tokens */
    bool scaled_decode; /* let libjpeg decode at 1/2, 1/4, 1/8 where the result still has at least
                           the pixels asked for */
    bool whole_decode;  /* all of the image at full size, as PIL and torchvision's decode_jpeg do;
                           else only the pixels that the crop needs. The result is the same where
                           scaled_decode is false */
    int64_t max_decoded_bytes; /* of a sample that is unpacked; 0: estimated from some of them */
    int64_t num_frames;        /* of audio: what a crop keeps. RANDOM_RESIZED and RANDOM start it at
                                * random, CENTER in the middle; a shorter clip is followed by zeros.
                                * NONE: the whole clip, ragged batches */
    int64_t num_channels;      /* of audio; 1: the mean of a clip's channels */
};
extern const struct dlb_opt_group dlb_transform_group;

struct dlb_codec {
    const char *name, *summary;
    const char *missing;
    const char *const
        *extensions; /* of its files and fields, lower-case, ends with NULL; NULL: any */
    bool identity;   /* the payload is the sample's bytes: decode and transform are NULL, the worker
                        places or copies them */
    bool make_compresses; /* `make` gives fewer bytes than generate.sample_bytes */
    bool numbers;         /* takes only samples whose element type the format knows */
    bool images;          /* samples become pixels: size, flip and pixels of `transform` apply */
    bool crops;           /* transform.crop applies: "none" makes samples of different sizes */
    const char *wider;    /* a codec that takes all samples of this one and others; or NULL */
    /* Whether a sample is of the kind that the codec is named for, by its first bytes. NULL: all
     * that it decodes are. */
    bool (*is_own)(const uint8_t *data, size_t n_bytes);
    size_t state_bytes; /* the core allocates it, zeroed, 64-byte aligned */

    int (*open)(void *cd, const struct dlb_transform_opts *opts, struct dlb_err *err);
    void (*close)(void *cd); /* called after a failed open too */
    /* The most bytes that one sample can become in the batch. */
    uint64_t (*max_output_bytes)(const struct dlb_transform_opts *opts,
                                 const struct dlb_shape *shape);
    /* Field 0 to pixels (or plain bytes) inside the state. `rng` is the sample's own (seed, epoch,
     * index): the crop is drawn first, so that only what it needs is decoded. */
    int (*decode)(void *cd, const struct dlb_sample *in, struct dlb_rng rng, struct dlb_err *err);
    /* How many bytes transform will write for the decoded sample. For codecs whose largest output
     * is estimated from some samples (formats/look.h); else NULL. */
    uint64_t (*decoded_bytes)(const void *cd);
    /* Whether the options need that estimate. NULL: always. */
    bool (*estimates)(const struct dlb_transform_opts *opts);
    /* The decoded sample to dst; *len_bytes <= cap_bytes, or DLB_E_FORMAT. */
    int (*transform)(void *cd, uint8_t *dst, size_t cap_bytes, size_t *len_bytes,
                     struct dlb_err *err);

    /* With transform.where = "gpu": the device's part of the transform. DLB_E_CONFIG for options
     * that leave the device no work; with shape NULL only that is checked. NULL: the codec never
     * leaves work to a device. */
    int (*augment)(const struct dlb_transform_opts *opts, const struct dlb_shape *shape,
                   struct dlb_augment *out, struct dlb_err *err);

    /* Generation: sample `index` of the data set that (seed, sample_bytes) name, the same on any
     * machine and thread. `extension` names its file. Appends to out. NULL for a codec of numbers:
     * the formats make those. */
    const char *extension;
    /* Where not all samples have one. NULL: `extension`. */
    const char *(*extension_of)(const struct dlb_generate_opts *opts, uint64_t index);
    int (*make)(const struct dlb_generate_opts *opts, uint64_t index, struct dlb_bytes *out,
                struct dlb_err *err);
};

extern const struct dlb_codec *const dlb_codecs[]; /* ends with NULL; in the order of codecs.def */
extern const char *const dlb_codec_names[];

const struct dlb_codec *dlb_codec_by_name(const char *name); /* or NULL */

/* Whether `extension` (no dot, any case) is one of the codec's. Always true for a codec that takes
 * any, and for NULL. */
bool dlb_codec_takes(const struct dlb_codec *codec, const char *extension);

/* Of the file that holds generated sample `index`. */
const char *dlb_codec_extension(const struct dlb_codec *codec, const struct dlb_generate_opts *opts,
                                uint64_t index);

/* DLB_E_CONFIG when the codec needs numbers and the format does not know which its samples hold. */
int dlb_codec_check(const struct dlb_codec *codec, const struct dlb_format *format,
                    struct dlb_err *err);

/* DLB_E_CONFIG when transform.where = "gpu" and the device would have no work. */
int dlb_codec_check_where(const struct dlb_codec *codec, const struct dlb_format *format,
                          const struct dlb_transform_opts *transform, struct dlb_err *err);

#endif
