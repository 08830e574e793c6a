#include "formats/generate/generate.h"

#include "formats/codec.h"
#include "formats/format.h"
#include "formats/generate/made.h"
#include "formats/generate/manifest.h"
#include "formats/generate/target.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { REPORT_EVERY_MS = 100, MAX_THREADS = 1024 };

bool dlb_generate_is_complete(const struct dlb_gen *gen)
{
    struct dlb_err ignored;
    json_t *manifest = NULL;
    bool complete = false;

    if (!gen->format->generator)
        return true;
    json_t *params = dlb_manifest_params(gen);
    if (params && dlb_manifest_refuse_incomplete(gen->path, &ignored) == DLB_OK &&
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
        int rc = crew->gen->format->generator->unit(crew->gen, unit, &hand->worker, &err);
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
    struct crew crew = {.gen = gen, .n_units = gen->format->generator->units(gen), .gone_fd = -1};
    struct hand *hands = calloc(n_threads, sizeof *hands);
    uint32_t n_started = 0;
    uint64_t n_bytes;
    int rc = DLB_OK;

    (void)pthread_mutex_init(&crew.lock, NULL);
    crew.gone_fd = eventfd(0, EFD_CLOEXEC);
    if (!hands || crew.gone_fd < 0) {
        rc = dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
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
        rc = dlb_fail(err, DLB_ERR_CANCELLED, gen->path, DLB_NO_OFFSET,
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
        return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, "cannot write %s of %s: %s",
                        gen->format->name, gen->codec->name,
                        gen->format->missing ? gen->format->missing : gen->codec->missing);
    if (!gen->format->generator)
        return DLB_OK;
    int rc = dlb_codec_check(gen->codec, gen->format, err);
    if (rc != DLB_OK)
        return rc;
    if (!gen->path || gen->path[0] == '\0')
        return dlb_fail(err, DLB_ERR_CONFIG, NULL, DLB_NO_OFFSET,
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
    rc = gen->format->generator->prepare(&resumed, err);
    if (rc == DLB_OK)
        rc = run_crew(&resumed, n_threads, progress, n_written, err);
    if (rc == DLB_OK)
        rc = dlb_gen_target_finish(&target, &resumed, err);
out:
    dlb_gen_target_close(&target);
    return rc;
}
