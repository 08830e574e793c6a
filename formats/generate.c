#include "formats/generate.h"

#include "bench/base/rng.h"
#include "formats/codec.h"
#include "formats/format.h"
#include "formats/gen_target.h"
#include "formats/made.h"
#include "formats/manifest.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REPORT_EVERY_MS = 100, MAX_THREADS = 1024 };

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
     .help = "mean size of a sample; jpeg spreads around it as photographs do, raw is exact"},
    {.key = "seed",
     .type = DLB_OPT_INT,
     .offset = offsetof(struct dlb_generate_opts, seed),
     .min = 0,
     .max = INT64_MAX,
     .def = "1",
     .help = "what the content is drawn from: equal seeds, equal bytes"},
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
            return dlb_fail(err, DLB_E_NOMEM, NULL, DLB_NO_OFFSET, "no memory for %zu bytes", cap);
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

/* Each run of `classes` samples has every label once, in an order of its own: x -> a x + b with a
 * coprime to the number of classes. With fewer samples than classes the labels are cut to the
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

int dlb_generate_refuse_incomplete(const char *path, struct dlb_err *err)
{
    struct stat st;
    char *mark = dlb_manifest_path(path, DLB_INCOMPLETE_MARK);

    if (!mark)
        return dlb_fail(err, DLB_E_NOMEM, path, DLB_NO_OFFSET, "no memory for its name");
    bool there = stat(mark, &st) == 0;
    free(mark);
    if (there)
        return dlb_fail(
            err, DLB_E_FORMAT, path, DLB_NO_OFFSET,
            "gen has not finished here: run the same gen again, it goes on where it stopped");
    return DLB_OK;
}

uint64_t dlb_gen_total_bytes(const struct dlb_gen *gen)
{
    if (gen->format->gen_bytes)
        return gen->format->gen_bytes(gen);
    double n_bytes = (double)gen->opts->samples * (double)gen->opts->sample_bytes;
    return n_bytes < 0x1p63 ? (uint64_t)n_bytes : UINT64_C(1) << 63;
}

bool dlb_generate_is_complete(const struct dlb_gen *gen)
{
    struct dlb_err ignored;
    json_t *manifest = NULL;
    bool complete = false;

    if (!gen->format->gen_units)
        return true;
    json_t *params = dlb_manifest_params(gen);
    if (params && dlb_generate_refuse_incomplete(gen->path, &ignored) == DLB_OK &&
        dlb_manifest_load(gen->path, &manifest, &ignored) == DLB_OK && manifest)
        complete = dlb_manifest_same(json_object_get(manifest, "params"), params, gen->path,
                                     &ignored) == DLB_OK;
    struct dlb_made made;
    complete = complete && dlb_made_check(gen, false, &made, &ignored) == DLB_OK && made.noted &&
               made.n_bad == 0;
    json_decref(manifest);
    json_decref(params);
    return complete;
}

struct crew {
    const struct dlb_gen *gen;
    uint64_t n_units;
    _Atomic uint64_t next_unit;
    atomic_bool stop;
    int gone_fd; /* eventfd: threads that have ended */
    pthread_mutex_t lock;
    struct dlb_err first; /* error that made it stop; under lock */
};

struct hand {
    pthread_t id;
    struct crew *crew;
    struct dlb_gen_worker worker;
};

static void *hand_main(void *arg)
{
    struct hand *hand = arg;
    struct crew *crew = hand->crew;
    struct dlb_err err = {0};

    while (!atomic_load(&crew->stop)) {
        uint64_t unit = atomic_fetch_add(&crew->next_unit, 1);
        if (unit >= crew->n_units)
            break;
        int rc = crew->gen->format->gen_unit(crew->gen, unit, &hand->worker, &err);
        if (rc == DLB_OK)
            continue;
        (void)pthread_mutex_lock(&crew->lock);
        if (rc != DLB_E_CANCELLED && crew->first.status == DLB_OK)
            crew->first = err;
        (void)pthread_mutex_unlock(&crew->lock);
        atomic_store(&crew->stop, true);
    }
    if (eventfd_write(crew->gone_fd, 1) != 0)
        DLB_BUG("an eventfd that cannot count");
    return NULL;
}

static uint64_t tally(struct hand *hands, uint32_t n, uint64_t *n_written, uint64_t *n_bytes)
{
    uint64_t n_samples = 0;

    *n_written = *n_bytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        n_samples += atomic_load(&hands[i].worker.n_samples);
        *n_written += atomic_load(&hands[i].worker.n_written);
        *n_bytes += atomic_load(&hands[i].worker.n_bytes);
    }
    return n_samples;
}

static bool cancelled(const struct dlb_gen_progress *progress)
{
    return progress && progress->cancel && atomic_load(progress->cancel);
}

/* Waits for all hands, handing progress on. */
static void oversee(struct crew *crew, struct hand *hands, uint32_t n,
                    const struct dlb_gen_progress *progress)
{
    uint64_t n_written, n_bytes, n_total = (uint64_t)crew->gen->opts->samples;

    for (uint64_t gone = 0; gone < n;) {
        struct pollfd waited = {.fd = crew->gone_fd, .events = POLLIN};
        uint64_t more = 0;
        /* An interrupted poll only looks at the cancel flag earlier. */
        if (poll(&waited, 1, REPORT_EVERY_MS) > 0 && eventfd_read(crew->gone_fd, &more) == 0)
            gone += more;
        if (cancelled(progress))
            atomic_store(&crew->stop, true);
        uint64_t n_done = tally(hands, n, &n_written, &n_bytes);
        if (progress && progress->report)
            progress->report(progress->ctx, n_done, n_total, n_bytes);
    }
}

static int run_crew(const struct dlb_gen *gen, uint32_t n_threads,
                    const struct dlb_gen_progress *progress, uint64_t *n_written,
                    struct dlb_err *err)
{
    struct crew crew = {.gen = gen, .n_units = gen->format->gen_units(gen), .gone_fd = -1};
    struct hand *hands = calloc(n_threads, sizeof *hands);
    uint32_t n_started = 0;
    uint64_t n_bytes;
    int rc = DLB_OK;

    (void)pthread_mutex_init(&crew.lock, NULL);
    crew.gone_fd = eventfd(0, EFD_CLOEXEC);
    if (!hands || crew.gone_fd < 0) {
        rc = dlb_fail(err, DLB_E_NOMEM, NULL, DLB_NO_OFFSET,
                      "no memory or descriptors for %u threads", n_threads);
        goto out;
    }
    for (; n_started < n_threads && n_started < crew.n_units; n_started++) {
        struct hand *hand = &hands[n_started];
        hand->crew = &crew;
        hand->worker.stop = &crew.stop;
        int code = pthread_create(&hand->id, NULL, hand_main, hand);
        if (code != 0 && n_started == 0) {
            errno = code;
            rc = dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "starting a thread");
        }
        if (code != 0)
            break; /* fewer will do */
    }
    oversee(&crew, hands, n_started, progress);
    for (uint32_t i = 0; i < n_started; i++)
        (void)pthread_join(hands[i].id, NULL);
    (void)tally(hands, n_started, n_written, &n_bytes);
    for (uint32_t i = 0; i < n_started; i++)
        dlb_bytes_free(&hands[i].worker.sample);
    if (crew.first.status != DLB_OK) {
        *err = crew.first;
        rc = (int)err->status;
    } else if (rc == DLB_OK && cancelled(progress)) {
        rc = dlb_fail(err, DLB_E_CANCELLED, gen->path, DLB_NO_OFFSET,
                      "interrupted: run the same gen again, it goes on where it stopped");
    }
out:
    if (crew.gone_fd >= 0)
        (void)close(crew.gone_fd);
    (void)pthread_mutex_destroy(&crew.lock);
    free(hands);
    return rc;
}

int dlb_generate(const struct dlb_gen *gen, uint32_t n_threads,
                 const struct dlb_gen_progress *progress, uint64_t *n_written, struct dlb_err *err)
{
    struct dlb_gen_target target;
    struct dlb_gen resumed = *gen;

    *n_written = 0;
    if (gen->format->missing || gen->codec->missing)
        return dlb_fail(err, DLB_E_MISSING, NULL, DLB_NO_OFFSET, "cannot write %s of %s: %s",
                        gen->format->name, gen->codec->name,
                        gen->format->missing ? gen->format->missing : gen->codec->missing);
    if (!gen->format->gen_units)
        return DLB_OK;
    int rc = dlb_codec_check(gen->codec, gen->format, err);
    if (rc != DLB_OK)
        return rc;
    if (!gen->path || gen->path[0] == '\0')
        return dlb_fail(err, DLB_E_CONFIG, NULL, DLB_NO_OFFSET,
                        "dataset.path is not set: it names the folder to write the data set into");
    if (n_threads == 0) {
        cpu_set_t allowed; /* a container may not have them all */
        int n_cpus = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
        n_threads = (uint32_t)n_cpus;
    }
    if (n_threads > MAX_THREADS)
        n_threads = MAX_THREADS;
    rc = dlb_gen_target_open(&target, gen, err);
    if (rc != DLB_OK || target.complete)
        goto out;
    resumed.rewrite = target.suspect;
    if (target.made.n_bad > 0 && progress && progress->damaged)
        progress->damaged(progress->ctx, target.made.n_bad, target.made.first);
    rc = gen->format->gen_prepare(&resumed, err);
    if (rc == DLB_OK)
        rc = run_crew(&resumed, n_threads, progress, n_written, err);
    if (rc == DLB_OK)
        rc = dlb_gen_target_finish(&target, &resumed, err);
out:
    dlb_gen_target_close(&target);
    return rc;
}
