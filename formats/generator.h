/* How `gen` makes a data set: what a format offers for it, its options, its threads' scratch,
 * growable byte strings.
 *
 * Floor 2. struct dlb_gen is read-only while threads generate; a struct dlb_gen_worker belongs to
 * its thread. The content of a sample depends on the seed and its index alone. The driver is
 * formats/generate: it runs the threads, reports progress, and marks the data set complete. */
#ifndef DLB_FORMATS_GENERATOR_H
#define DLB_FORMATS_GENERATOR_H

#include "core/base/err.h"
#include "core/base/opt.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_format;
struct dlb_codec;
struct dlb_sample;

/* The `generate` section. */
struct dlb_generate_opts {
    int64_t samples;
    int64_t sample_bytes; /* mean; sizes of jpeg vary as those of photographs, raw is exact */
    int64_t seed;
    int image; /* of codec image: enum dlb_image_kind, or how many there are for all in turn */
    int audio; /* of codec audio: enum dlb_audio_kind, likewise */
    int64_t classes; /* labels: index mod classes, shuffled by the seed */
};
extern const struct dlb_opt_group dlb_generate_group;

/* A growable byte string; zeroed is empty; owned by its holder. */
struct dlb_bytes {
    uint8_t *data;
    size_t len_bytes, cap_bytes;
};
int dlb_bytes_append(struct dlb_bytes *bytes, const void *data, size_t n_bytes,
                     struct dlb_err *err);
void dlb_bytes_free(struct dlb_bytes *bytes);

/* One generation, shared read-only by its threads. */
struct dlb_gen {
    const struct dlb_generate_opts *opts;
    const struct dlb_format *format;
    const struct dlb_codec *codec;
    const void *format_opts; /* the format's own, or NULL */
    const char *path;
    bool rewrite; /* set by the driver: existing files may be damaged (the machine went down), so
                     every unit is written again */
};

/* One thread's scratch and its share of the progress. */
struct dlb_gen_worker {
    struct dlb_bytes sample;
    const atomic_bool *stop;    /* `unit` checks it between samples and returns DLB_E_CANCELLED */
    _Atomic uint64_t n_samples; /* complete so far, whether written or found */
    _Atomic uint64_t n_written;
    _Atomic uint64_t n_bytes; /* written: the size of the files on disk */
};

/* Generation goes unit by unit (a slice of a class folder, a shard), in parallel, and can be
 * resumed. All but `unit` run on the control thread. */
struct dlb_generator {
    uint64_t (*units)(const struct dlb_gen *gen);                   /* how many */
    int (*prepare)(const struct dlb_gen *gen, struct dlb_err *err); /* makes folders */

    /* Writes unit `unit` whole or not at all. Skips it when it exists, unless gen->rewrite. Any
     * thread. */
    int (*unit)(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                struct dlb_err *err);

    /* Whether a file with this name, which fits the format's `made`, is one of a unit. NULL: all
     * such files are. */
    bool (*makes)(const struct dlb_gen *gen, const char *name);

    /* Approximate bytes of all files. NULL: samples x sample_bytes. */
    uint64_t (*bytes)(const struct dlb_gen *gen);
    /* Whether the files will be smaller than that, by as much as the data allow. NULL: never. */
    bool (*compresses)(const struct dlb_gen *gen);

    /* Adds to the manifest what dataset_open needs to know. All units exist by then. Optional. */
    int (*describe)(const struct dlb_gen *gen, json_t *manifest, struct dlb_err *err);

    /* For checking: which of gen's samples was read. Field 0 then holds what the codec made for
     * that number. NULL: the samples are not the codec's, or cannot be told apart. */
    uint64_t (*number)(const struct dlb_sample *sample);
    /* Replaces the bytes that the codec made by those that the format stores. NULL: they are the
     * same. */
    void (*stored)(const struct dlb_gen *gen, struct dlb_bytes *made);
};

/* `number` of formats that keep gen's order. */
uint64_t dlb_gen_number_by_index(const struct dlb_sample *sample);

/* Label of a sample of generated data. */
uint32_t dlb_gen_label(const struct dlb_generate_opts *opts, uint64_t index);

/* Approximate bytes that gen will write in all. */
uint64_t dlb_gen_total_bytes(const struct dlb_gen *gen);

#endif
