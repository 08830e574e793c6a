#include "formats/generate/generate.h"

#include "formats/codec.h"
#include "formats/format.h"
#include "formats/generate/file.h"
#include "formats/generate/target.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { REPORT_EVERY_MS = 100, MAX_THREADS = 1024 };

struct generation {
    const struct dlb_gen *gen;
    struct dlb_gen_share share;
    uint64_t n_units; /* of the data set */
    _Atomic uint64_t next_unit;
    atomic_bool stop;
    int ended_fd; /* eventfd: counts threads that have ended */
    pthread_mutex_t lock;
    struct dlb_err first; /* the first error; under lock */
};

struct thread {
    pthread_t id;
    struct generation *generation;
    struct dlb_gen_worker worker;
};

static void keep_error(struct generation *generation, const struct dlb_err *err)
{
    (void)pthread_mutex_lock(&generation->lock);
    if (err->status != DLB_E_CANCELLED && generation->first.status == DLB_OK)
        generation->first = *err;
    (void)pthread_mutex_unlock(&generation->lock);
}

static void say_ended(const struct generation *generation)
{
    if (eventfd_write(generation->ended_fd, 1) != 0)
        DLB_BUG("an eventfd cannot be written");
}

static void *thread_main(void *arg)
{
    struct thread *self = arg;
    struct generation *generation = self->generation;
    struct dlb_err err = {0};

    while (!atomic_load(&generation->stop)) {
        uint64_t unit = atomic_fetch_add(&generation->next_unit, generation->share.size);
        if (unit >= generation->n_units)
            break;
        int rc =
            generation->gen->format->generator->unit(generation->gen, unit, &self->worker, &err);
        if (rc == DLB_OK)
            continue;
        keep_error(generation, &err);
        atomic_store(&generation->stop, true);
    }
    say_ended(generation);
    return NULL;
}

static uint64_t tally(struct thread *threads, uint32_t n, uint64_t *n_written, uint64_t *n_bytes)
{
    uint64_t n_samples = 0;

    *n_written = *n_bytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        n_samples += atomic_load(&threads[i].worker.n_samples);
        *n_written += atomic_load(&threads[i].worker.n_written);
        *n_bytes += atomic_load(&threads[i].worker.n_bytes);
    }
    return n_samples;
}

static bool cancelled(const struct dlb_gen_progress *progress)
{
    return progress && progress->cancel && atomic_load(progress->cancel);
}

/* Waits until n_ends threads have ended, and reports progress of the n that write. */
static void oversee(struct generation *generation, struct thread *threads, uint32_t n,
                    uint32_t n_ends, const struct dlb_gen_progress *progress)
{
    uint64_t n_written, n_bytes;
    uint64_t n_total = (uint64_t)generation->gen->opts->samples / generation->share.size;

    for (uint64_t n_ended = 0; n_ended < n_ends;) {
        struct pollfd waited = {.fd = generation->ended_fd, .events = POLLIN};
        uint64_t more = 0;
        /* An interrupted poll only checks the cancel flag earlier. */
        if (poll(&waited, 1, REPORT_EVERY_MS) > 0 && eventfd_read(generation->ended_fd, &more) == 0)
            n_ended += more;
        if (cancelled(progress))
            atomic_store(&generation->stop, true);
        uint64_t n_done = tally(threads, n, &n_written, &n_bytes);
        if (progress && progress->report)
            progress->report(progress->ctx, n_done, n_total, n_bytes);
    }
}

/* What this machine has written is on storage before the process that ends the data set removes
 * the mark: it can sync its own machine's pages alone. */
static void *sync_main(void *arg)
{
    struct generation *generation = arg;
    const char *path = generation->gen->path;
    struct dlb_err err;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || syncfs(fd) != 0) {
        (void)dlb_gen_fail_write(&err, path, DLB_NO_OFFSET, "syncing to disk");
        keep_error(generation, &err);
    }
    if (fd >= 0)
        (void)close(fd);
    say_ended(generation);
    return NULL;
}

/* A sync may take minutes: signs of life go on meanwhile. */
static void sync_share(struct generation *generation, struct thread *threads, uint32_t n,
                       const struct dlb_gen_progress *progress)
{
    pthread_t id;
    if (generation->first.status != DLB_OK || cancelled(progress))
        return;
    bool apart = pthread_create(&id, NULL, sync_main, generation) == 0;
    if (!apart)
        (void)sync_main(generation);
    oversee(generation, threads, n, 1, progress);
    if (apart)
        (void)pthread_join(id, NULL);
}

static int run_generation(const struct dlb_gen *gen, const struct dlb_gen_share *share,
                          uint32_t n_threads, const struct dlb_gen_progress *progress,
                          uint64_t *n_written, struct dlb_err *err)
{
    struct generation generation = {.gen = gen,
                                    .share = *share,
                                    .n_units = gen->format->generator->units(gen),
                                    .next_unit = share->rank,
                                    .ended_fd = -1};
    struct thread *threads = calloc(n_threads, sizeof *threads);
    uint32_t n_started = 0;
    uint64_t n_bytes;
    int rc = DLB_OK;

    (void)pthread_mutex_init(&generation.lock, NULL);
    generation.ended_fd = eventfd(0, EFD_CLOEXEC);
    if (!threads || generation.ended_fd < 0) {
        rc = dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                      "out of memory or file descriptors for %u threads", n_threads);
        goto out;
    }
    for (; n_started < n_threads && n_started < generation.n_units; n_started++) {
        struct thread *self = &threads[n_started];
        self->generation = &generation;
        self->worker.stop = &generation.stop;
        int code = pthread_create(&self->id, NULL, thread_main, self);
        if (code != 0 && n_started == 0) {
            errno = code;
            rc = dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "starting a thread");
        }
        if (code != 0)
            break; /* the others do the work */
    }
    oversee(&generation, threads, n_started, n_started, progress);
    for (uint32_t i = 0; i < n_started; i++)
        (void)pthread_join(threads[i].id, NULL);
    if (share->size > 1)
        sync_share(&generation, threads, n_started, progress);
    (void)tally(threads, n_started, n_written, &n_bytes);
    for (uint32_t i = 0; i < n_started; i++)
        dlb_bytes_free(&threads[i].worker.sample);
    if (generation.first.status != DLB_OK) {
        *err = generation.first;
        rc = (int)err->status;
    } else if (rc == DLB_OK && cancelled(progress)) {
        rc = dlb_fail(err, DLB_ERR_CANCELLED, gen->path, DLB_NO_OFFSET,
                      "interrupted: run the same gen again, it resumes where it stopped");
    }
out:
    if (generation.ended_fd >= 0)
        (void)close(generation.ended_fd);
    (void)pthread_mutex_destroy(&generation.lock);
    free(threads);
    return rc;
}

static uint32_t cpus_here(void)
{
    cpu_set_t allowed; /* a container may have fewer CPUs than the machine */
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? (uint32_t)CPU_COUNT(&allowed) : 1;
}

int dlb_generate_share(const struct dlb_gen *gen, const struct dlb_gen_share *share,
                       const struct dlb_gen_progress *progress, uint64_t *n_written,
                       struct dlb_err *err)
{
    uint32_t n_threads = cpus_here();
    *n_written = 0;
    int rc = dlb_gen_target_is_shared(gen, share->id, err);
    if (rc != DLB_OK)
        return rc;
    return run_generation(gen, share, n_threads < MAX_THREADS ? n_threads : MAX_THREADS, progress,
                          n_written, err);
}

/* The units, first of all processes where there are others, then those that are missing. */
static int write_units(struct dlb_gen *gen, const char *id, uint32_t n_threads,
                       const struct dlb_gen_progress *progress, uint64_t *n_written,
                       struct dlb_err *err)
{
    static const struct dlb_gen_share whole = {.rank = 0, .size = 1};
    uint64_t n_together = 0;
    if (progress && progress->together) {
        int rc = progress->together(progress->ctx, gen, id, &n_together, err);
        if (rc != DLB_OK)
            return rc;
        gen->rewrite = gen->rewrite && n_together == 0;
    }
    int rc = run_generation(gen, &whole, n_threads, progress, n_written, err);
    *n_written += n_together;
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
        return dlb_fail(err, DLB_ERR_DATASET_PATH_NOT_SET, NULL, DLB_NO_OFFSET,
                        "dataset.path is not set: it names the folder to write the data set into");
    if (n_threads == 0)
        n_threads = cpus_here();
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
        rc = write_units(&resumed, target.id, n_threads, progress, n_written, err);
    if (rc == DLB_OK)
        rc = dlb_gen_target_finish(&target, &resumed, err);
out:
    dlb_gen_target_close(&target);
    return rc;
}
