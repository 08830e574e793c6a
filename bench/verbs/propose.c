#include "bench/verbs/propose.h"

#include "core/base/json.h"
#include "core/base/units.h"
#include "core/host/osacct.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLIP_S = 10 }; /* of audio: a longer clip is cropped */
enum { BATCH_SAMPLES = 256, MIN_BATCHES = 8 /* in an epoch */ };
enum { FEW_BATCHES = 30 /* fewer are measured over several epochs */, MAX_EPOCHS = 10 };
enum { LEAST_BATCHES = 20, MOST_BATCHES = 100 /* of a repetition */ };
#define RESNET50_SAMPLE_MS (224.0 / 400) /* one H100 in MLPerf Storage: 0.224 s for 400 samples */
#define SWEEP_MINUTES 8                  /* with opening and preparing within ten */
#define BLOCKS 6                         /* that a decision is given room for */
#define UNKNOWN_STEP_MS 100              /* the default of device.step_ms */
#define CACHED_FRAC 0.5                  /* of free memory that the data may take to stay there */

int dlb_propose_check(const char *path, const struct dlb_inspected *in, struct dlb_err *err)
{
    if (in->codec_said || 2 * in->seen.n_raw_images <= in->seen.n_looked)
        return DLB_OK;
    bool named = dlb_codec_takes(dlb_codec_by_name("image"), in->seen.fields[0]);
    return dlb_fail(err, DLB_ERR_DATASET_NOT_DECODED, path, DLB_NO_OFFSET,
                    "holds images that would be read as bytes, which is faster than any training: "
                    "%s. Mend them, or set dataset.codec = \"raw\" to measure reading alone",
                    named && in->shape.n_odd > 0
                        ? in->shape.odd[0]
                        : "their names do not end in .jpg, .jpeg, .png or .webp");
}

uint64_t dlb_propose_batch(const struct dlb_inspected *in)
{
    uint64_t batch = BATCH_SAMPLES;

    while (batch > 1 && batch * MIN_BATCHES > in->shape.n_samples)
        batch /= 2;
    return batch;
}

static bool is_images(const struct dlb_inspected *in)
{
    return in->codec->images;
}

double dlb_propose_step_ms(const struct dlb_inspected *in, uint64_t batch)
{
    return is_images(in) ? (double)batch * RESNET50_SAMPLE_MS : 0;
}

uint64_t dlb_propose_frames(const struct dlb_inspected *in)
{
    uint64_t median = dlb_clips_median_frames(&in->seen.clips);

    if (median == 0 || !in->codec->crops || is_images(in))
        return 0;
    uint64_t most = (uint64_t)CLIP_S * in->seen.clips.rate_hz[in->seen.clips.n / 2];
    return median < most ? median : most;
}

/* 0, 1, 2, 4 and so on to the CPUs, and no more than shards. */
static json_t *workers(const struct dlb_inspected *in)
{
    json_t *list = dlb_json_made(json_array());
    uint32_t most = dlb_os_n_cpus(&(double){0});

    if (in->shape.iterable && in->shape.n_shards > 0 && in->shape.n_shards < most)
        most = in->shape.n_shards;
    dlb_json_append(list, json_integer(0));
    for (uint32_t n = 1; n < most; n *= 2)
        dlb_json_append(list, json_integer(n));
    dlb_json_append(list, json_integer(most));
    return list;
}

/* So many that the blocks of a decision fit the sweep's time, if loading keeps up. */
static uint64_t batches_of_run(const json_t *n_workers, double step_ms)
{
    double n_cells = 1 + 2.0 * (double)(json_array_size(n_workers) - 1);
    double n =
        SWEEP_MINUTES * 60e3 / (BLOCKS * n_cells * (step_ms > 0 ? step_ms : UNKNOWN_STEP_MS));

    return (uint64_t)fmin(fmax(n, LEAST_BATCHES), MOST_BATCHES);
}

static void put_amount(json_t *flat, const struct dlb_inspected *in, uint64_t batch, uint64_t most)
{
    uint64_t n_batches = in->shape.n_samples / batch;

    if (n_batches > 2 * most)
        dlb_json_put(flat, "run.max_batches", json_integer((json_int_t)most));
    else if (n_batches > 0 && n_batches < FEW_BATCHES) {
        uint64_t n_epochs = (FEW_BATCHES - 1) / n_batches + 1;
        n_epochs = n_epochs < MAX_EPOCHS ? n_epochs : MAX_EPOCHS;
        dlb_json_put(flat, "run.epochs", json_integer((json_int_t)n_epochs));
    }
}

/* Whether memory can hold the data between repetitions. */
static bool stays_cached(const struct dlb_inspected *in)
{
    uint64_t available = dlb_os_mem_available_bytes();

    return available == DLB_NOT_MEASURED ||
           (double)in->shape.total_bytes < CACHED_FRAC * (double)available;
}

/* As it was given where a folder above it has a name that no configuration can hold. */
static void put_path(json_t *flat, const char *path)
{
    char whole[PATH_MAX];
    json_t *text = realpath(path, whole) ? json_string(whole) : NULL; /* NULL: it is not UTF-8 */

    dlb_json_put(flat, "dataset.path", text ? text : json_string(path));
}

static json_t *list_of(const char *text)
{
    return dlb_json_made(json_loads(text, 0, NULL));
}

json_t *dlb_propose(const char *path, const struct dlb_inspected *in, uint64_t batch)
{
    double step_ms = dlb_propose_step_ms(in, batch);
    json_t *flat = dlb_json_made(json_object()), *n_workers = workers(in);

    dlb_json_put(flat, "dataset.format", json_string(in->format->name));
    dlb_json_put(flat, "dataset.codec", json_string(in->codec->name));
    put_path(flat, path);
    if (in->seen.n_bad > 0)
        dlb_json_put(flat, "dataset.on_error", json_string("skip"));
    if (is_images(in))
        dlb_json_put(flat, "transform.pixels", json_string("f32"));
    if (dlb_propose_frames(in) > 0) {
        dlb_json_put(flat, "transform.num_frames",
                     json_integer((json_int_t)dlb_propose_frames(in)));
        dlb_json_put(flat, "transform.num_channels",
                     json_integer(dlb_clips_channels(&in->seen.clips)));
    }
    dlb_json_put(flat, "loader.batch_size", json_integer((json_int_t)batch));
    dlb_json_put(flat, "loader.shuffle", json_true());
    dlb_json_put(flat, "loader.drop_last", json_true());
    dlb_json_put(flat, "loader.pin_memory", json_true());
    dlb_json_put(flat, "loader.persistent_workers", json_true());
    if (step_ms > 0) {
        dlb_json_put(flat, "device.step_ms", json_real(step_ms));
        dlb_json_put(flat, "device.step_source", json_string(DLB_PROPOSE_RESNET50_SOURCE));
    }
    put_amount(flat, in, batch, batches_of_run(n_workers, step_ms));
    if (!stays_cached(in))
        dlb_json_put(flat, "run.cache", json_string("cold"));
    dlb_json_put(flat, "sweep.max_minutes", json_integer(SWEEP_MINUTES));
    dlb_json_put(flat, "sweep.loader.num_workers", n_workers);
    dlb_json_put(flat, "sweep.loader.prefetch_factor", list_of("[2, 4]"));
    return flat;
}

static const char *of_data(const char *key, const struct dlb_inspected *in, char *text,
                           size_t n_text)
{
    char bytes[40];

    if (strcmp(key, "dataset.format") == 0)
        (void)snprintf(text, n_text, "%s", in->format->summary);
    else if (strcmp(key, "dataset.codec") == 0)
        (void)snprintf(text, n_text, "%s", in->codec->summary);
    else if (strcmp(key, "dataset.on_error") == 0)
        (void)snprintf(text, n_text, "%u of the samples looked at cannot be read or decoded",
                       in->seen.n_bad);
    else if (strcmp(key, "run.cache") == 0)
        (void)snprintf(text, n_text, "memory cannot hold the %s of data",
                       dlb_bytes_text(in->shape.total_bytes, bytes, sizeof bytes));
    return text;
}

const char *dlb_propose_why(const char *key, const struct dlb_inspected *in, char *text,
                            size_t n_text)
{
    static const char *const words[][2] = {
        {"transform.pixels", "floats, as ToTensor and Normalize give"},
        {"transform.num_frames", "a guess, the median clip or 10 s: replace it by that of your "
                                 "training"},
        {"transform.num_channels", "as all clips have; 1: mono, or the mean of the channels"},
        {"loader.batch_size", "a guess: replace it by that of your training"},
        {"loader.shuffle", "as training does"},
        {"device.step_ms", "milliseconds of one training step with this batch: replace it by your "
                           "own, which `dlbench calibrate` measures"},
        {"run.max_batches", "a part of an epoch, so that the sweep ends in minutes"},
        {"run.epochs", "the data are few: several passes make a measurement"},
        {"sweep.max_minutes", "a sweep that has not decided ends then"},
        {"sweep.loader.num_workers", "up to this machine's CPUs, or the data's shards"},
    };

    text[0] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], key) == 0)
            (void)snprintf(text, n_text, "%s", words[i][1]);
    return text[0] ? text : of_data(key, in, text, n_text);
}
