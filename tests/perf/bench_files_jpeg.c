/* `files` + `jpeg` against the bare libjpeg-turbo work: read, decode, transform into the slot, in
 * as many threads, without rings, meters, order or sampler. Beside it, the rate of decoding whole
 * images by the library, as an orientation. */
#include "core/base/clock.h"
#include "tests/perf/files.h"
#include "tests/perf/perf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bare {
    struct perf_files files;
    const struct dlb_dataset *dataset;
    void *codec_state[256];
    uint8_t *file_bytes[256];
    size_t cap_bytes;
    uint32_t epoch;
};

static void decode_all(struct perf_thread *thread)
{
    struct bare *bare = thread->ctx;
    const struct dlb_codec *codec = bare->dataset->codec;
    void *state = bare->codec_state[thread->number];
    uint8_t *bytes = bare->file_bytes[thread->number];
    size_t batch = thread->batch_size;
    struct dlb_err err = {0};
    uint32_t slot = 0;

    for (size_t first = thread->number * batch; first < bare->files.n; first += thread->n * batch) {
        uint8_t *dst = thread->slots + slot * thread->slot_bytes;
        size_t used = 0;
        for (size_t i = first; i < first + batch && i < bare->files.n; i++) {
            size_t len_bytes = perf_file_read(&bare->files.file[i], bytes, bare->cap_bytes);
            struct dlb_sample sample = {
                .field = {{.data = bytes, .len_bytes = len_bytes, .name = "jpg"}},
                .n_fields = 1,
                .index = i,
                .path = bare->files.file[i].name};
            if (codec->decode(state, &sample, dlb_rng_seed(1, bare->epoch, i), &err) != DLB_OK ||
                codec->transform(state, dst + used, thread->slot_bytes - used, &len_bytes, &err) !=
                    DLB_OK)
                perf_die("codec", &err);
            used += len_bytes;
            thread->n_samples++;
        }
        thread->n_bytes += used;
        slot = (slot + 1) % thread->n_slots;
    }
}

static void *new_codec(const struct dlb_codec *codec, const struct dlb_transform_opts *opts)
{
    struct dlb_err err = {0};
    size_t n_bytes = (codec->state_bytes + 63) / 64 * 64;
    void *state = aligned_alloc(64, n_bytes);

    if (!state)
        perf_die("codec", NULL);
    memset(state, 0, n_bytes);
    if (codec->open(state, opts, &err) != DLB_OK)
        perf_die("codec", &err);
    return state;
}

struct both {
    struct perf_pipeline pipe;
    struct perf_team *team;
    struct bare bare;
};

static double ours(void *ctx)
{
    struct both *both = ctx;
    return perf_pipeline_epoch(&both->pipe);
}

static double base(void *ctx)
{
    struct both *both = ctx;
    double seconds = perf_team_epoch(both->team);
    both->bare.epoch++; /* other crops, as the pipeline's next epoch has */
    return seconds;
}

/* Whole images, no crop: decode alone, one thread. */
static void whole_images(const struct bare *bare, const struct dlb_transform_opts *opts)
{
    struct dlb_transform_opts whole = *opts;
    struct dlb_err err = {0};

    whole.crop = DLB_CROP_NONE;
    whole.pixels = DLB_PIXELS_U8;
    void *state = new_codec(bare->dataset->codec, &whole);
    uint64_t start_ns = dlb_now_ns();
    for (size_t i = 0; i < bare->files.n; i++) {
        struct dlb_sample sample = {.n_fields = 1, .index = i, .path = bare->files.file[i].name};
        sample.field[0] = (struct dlb_field){
            .data = bare->file_bytes[0],
            .len_bytes = perf_file_read(&bare->files.file[i], bare->file_bytes[0], bare->cap_bytes),
            .name = "jpg"};
        if (bare->dataset->codec->decode(state, &sample, dlb_rng_seed(1, 0, i), &err) != DLB_OK)
            perf_die("codec", &err);
    }
    printf("whole images, 1 thread: %.0f images/s, read and decode only\n",
           (double)bare->files.n / ((double)(dlb_now_ns() - start_ns) * 1e-9));
    bare->dataset->codec->close(state);
    free(state);
}

static void compare(const struct dlb_spec *spec, uint32_t n_threads)
{
    struct both *both = calloc(1, sizeof *both);
    char name[64];

    if (!both)
        perf_die("memory", NULL);
    perf_pipeline_open(&both->pipe, spec);
    struct bare *bare = &both->bare;
    perf_files_open(&bare->files, spec->dataset.path);
    bare->dataset = &both->pipe.dataset;
    bare->cap_bytes = bare->dataset->shape.max_sample_bytes + 1;
    for (uint32_t i = 0; i < n_threads; i++) {
        bare->codec_state[i] = new_codec(bare->dataset->codec, &spec->transform);
        bare->file_bytes[i] = malloc(bare->cap_bytes);
    }
    both->team = perf_team_open(&both->pipe, n_threads, decode_all, bare);
    (void)snprintf(name, sizeof name, "files + jpeg, %u threads", n_threads);
    struct perf_comparison what = {
        .name = name, .unit = "images", .units = (double)bare->files.n, .should_reach = 0.95};
    (void)perf_compare(&what, &(struct perf_way){"dlbench", ours, both},
                       &(struct perf_way){"libjpeg-turbo", base, both});
    perf_team_close(both->team);
    if (n_threads == 1)
        whole_images(bare, &spec->transform);
    for (uint32_t i = 0; i < n_threads; i++) {
        bare->dataset->codec->close(bare->codec_state[i]);
        free(bare->codec_state[i]);
        free(bare->file_bytes[i]);
    }
    perf_files_close(&bare->files);
    perf_pipeline_close(&both->pipe, NULL);
    free(both);
}

int main(void)
{
    struct dlb_spec spec;
    uint32_t counts[8], n_counts = perf_thread_counts(counts);
    const struct dlb_codec *codec = dlb_codec_by_name("jpeg");

    if (!codec || codec->missing) {
        printf("skipped: %s\n", codec ? codec->missing : "no jpeg codec");
        return 0;
    }
    perf_spec(&spec,
              (const char *[]){"dataset.format=files", "dataset.codec=jpeg", "generate.samples=512",
                               "generate.sample_bytes=110000", "generate.classes=16",
                               "loader.batch_size=32", "loader.shuffle=false",
                               "loader.persistent_workers=true", "device.prefetch=1", NULL});
    perf_generate(&spec);
    for (uint32_t i = 0; i < n_counts; i++) {
        spec.loader.num_workers = counts[i];
        compare(&spec, counts[i]);
    }
    return 0;
}
