#include "tests/perf/perf.h"

#include "core/base/clock.h"
#include "core/base/config.h"
#include "core/base/units.h"
#include "core/measure/stats.h"
#include "formats/generate/generate.h"
#include "tests/perf/row.h"

#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { MAX_ROUNDS = 256, DEFAULT_ROUNDS = 11 };
/* A consumer that sleeps gets up late, on a virtual machine by milliseconds now and then. With the
 * usual two batches ahead the worker runs out of credits meanwhile (13% of its time at 16 samples
 * of 110 KB a batch), and every ratio would be one of wake-ups, which bench_handoff measures. */
#define AHEAD "loader.prefetch_factor=8"
#define TMPFS_MAGIC 0x01021994 /* linux/magic.h */

static char scratch[4][256]; /* folders to remove at exit */
static uint32_t n_scratch;

_Noreturn void perf_die(const char *what, const struct dlb_err *err)
{
    char text[512];
    (void)fprintf(stderr, "%s: %s\n", what, err ? dlb_err_text(err, text, sizeof text) : "failed");
    exit(1);
}

void perf_spec(struct dlb_spec *spec, const char *const *settings)
{
    struct dlb_err err = {0};
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    if (!cfg)
        perf_die("config", NULL);
    if (dlb_config_set(cfg, AHEAD, &err) != DLB_OK)
        perf_die(AHEAD, &err);
    for (; *settings; settings++)
        if (dlb_config_set(cfg, *settings, &err) != DLB_OK)
            perf_die(*settings, &err);
    if (dlb_spec_from_config(spec, cfg, &err) != DLB_OK)
        perf_die("spec", &err);
    dlb_config_free(cfg);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st, (void)kind, (void)where;
    return remove(path);
}

static void remove_scratch(void)
{
    while (n_scratch > 0)
        (void)nftw(scratch[--n_scratch], remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void perf_folder(char *path, size_t n_path)
{
    const char *parent = getenv("DLB_PERF_DIR");
    struct statfs fs;

    if (n_scratch == sizeof scratch / sizeof *scratch)
        perf_die("a benchmark has fewer data sets", NULL);
    (void)snprintf(path, n_path, "%s/dlbench-perf-XXXXXX", parent ? parent : "/var/tmp");
    if (!mkdtemp(path)) {
        perror(path);
        exit(1);
    }
    (void)snprintf(scratch[n_scratch++], sizeof scratch[0], "%s", path);
    (void)atexit(remove_scratch);
    if (statfs(path, &fs) == 0 && fs.f_type == TMPFS_MAGIC)
        (void)fprintf(stderr, "%s is memory, not a disk: set DLB_PERF_DIR\n", path);
}

void perf_generate(struct dlb_spec *spec)
{
    char folder[256];
    struct dlb_err err = {0};
    uint64_t n_written;

    perf_folder(folder, sizeof folder);
    (void)snprintf(spec->dataset.path, sizeof spec->dataset.path, "%s/data", folder);
    struct dlb_gen gen = {.opts = &spec->generate,
                          .format = dlb_formats[spec->dataset.format],
                          .codec = dlb_codecs[spec->dataset.codec],
                          .format_opts = dlb_spec_format_opts(spec),
                          .path = spec->dataset.path};
    if (dlb_generate(&gen, 0, NULL, &n_written, &err) != DLB_OK)
        perf_die("generate", &err);
    sync(); /* writing back would run beside the first rounds */
}

void perf_pipeline_open(struct perf_pipeline *pipe, const struct dlb_spec *spec)
{
    struct dlb_err err = {0};

    *pipe = (struct perf_pipeline){.spec = *spec};
    const struct dlb_spec *own = &pipe->spec;
    if (dlb_dataset_open(&pipe->dataset, &own->dataset, &own->transform, &own->generate,
                         dlb_spec_format_opts(own), &err) != DLB_OK)
        perf_die("data set", &err);
    pipe->loader = dlb_loader_choose(&own->loader, &err);
    if (!pipe->loader)
        perf_die("loader", &err);
    pipe->job = (struct dlb_job){.dataset = &pipe->dataset,
                                 .opts = &own->loader,
                                 .world = 1,
                                 .seed = 1,
                                 .device_prefetch = (uint32_t)own->device.prefetch};
    size_t n_bytes = (pipe->loader->state_bytes + 63) / 64 * 64;
    pipe->state = aligned_alloc(64, n_bytes);
    if (!pipe->state)
        perf_die("loader state", NULL);
    memset(pipe->state, 0, n_bytes);
    if (pipe->loader->start(pipe->state, &pipe->job, &err) != DLB_OK)
        perf_die("loader", &err);
}

double perf_pipeline_epoch(struct perf_pipeline *pipe)
{
    struct dlb_err err = {0};
    struct dlb_batch batch;
    bool got;
    int status;

    uint64_t start_ns = dlb_now_ns();
    if (pipe->loader->begin_epoch(pipe->state, pipe->epoch++, &err) != DLB_OK)
        perf_die("epoch", &err);
    while ((status = pipe->loader->next(pipe->state, DLB_NS_PER_S, &batch, &got, &err)) == DLB_OK)
        if (got)
            pipe->loader->release(pipe->state, &batch);
    if (status != DLB_END)
        perf_die("next", &err);
    return (double)(dlb_now_ns() - start_ns) * 1e-9;
}

void perf_pipeline_close(struct perf_pipeline *pipe, struct dlb_loader_stats *stats)
{
    struct dlb_err err = {0};
    if (pipe->loader->stop(pipe->state, &err) != DLB_OK)
        perf_die("stop", &err);
    if (stats)
        pipe->loader->stats(pipe->state, stats);
    pipe->loader->close(pipe->state);
    free(pipe->state);
    dlb_dataset_close(&pipe->dataset);
}

struct member {
    struct perf_thread thread;
    struct perf_team *team;
    pthread_t id;
};

struct perf_team {
    uint32_t n;
    perf_body *body;
    bool stop;
    pthread_barrier_t begin, end;
    struct dlb_shm shm;
    struct member *member;
};

static void *member_main(void *arg)
{
    struct member *self = arg;
    for (;;) {
        (void)pthread_barrier_wait(&self->team->begin);
        if (self->team->stop)
            return NULL;
        self->thread.n_samples = self->thread.n_bytes = 0;
        self->team->body(&self->thread);
        (void)pthread_barrier_wait(&self->team->end);
    }
}

struct perf_team *perf_team_open(const struct perf_pipeline *like, uint32_t n_threads,
                                 perf_body *body, void *ctx)
{
    struct dlb_err err = {0};
    const struct dlb_loader_opts *opts = like->job.opts;
    uint32_t n_slots = (uint32_t)opts->prefetch_factor + 1 + like->job.device_prefetch;
    size_t slot_bytes = like->dataset.max_payload_bytes * (size_t)opts->batch_size;
    struct perf_team *team = calloc(1, sizeof *team);

    slot_bytes = (slot_bytes + 4096) / 4096 * 4096; /* room to ask for one byte too many */
    if (!team || !(team->member = calloc(n_threads, sizeof *team->member)))
        perf_die("threads", NULL);
    if (dlb_shm_create(&team->shm, slot_bytes * n_slots * n_threads, false, &err) != DLB_OK)
        perf_die("slots", &err);
    team->n = n_threads;
    team->body = body;
    (void)pthread_barrier_init(&team->begin, NULL, n_threads + 1);
    (void)pthread_barrier_init(&team->end, NULL, n_threads + 1);
    for (uint32_t i = 0; i < n_threads; i++) {
        struct member *member = &team->member[i];
        member->team = team;
        member->thread = (struct perf_thread){.number = i,
                                              .n = n_threads,
                                              .dataset = &like->dataset,
                                              .batch_size = (uint32_t)opts->batch_size,
                                              .slots = (uint8_t *)team->shm.addr +
                                                       (size_t)i * n_slots * slot_bytes,
                                              .slot_bytes = slot_bytes,
                                              .n_slots = n_slots,
                                              .ctx = ctx};
        if (pthread_create(&member->id, NULL, member_main, member) != 0)
            perf_die("thread", NULL);
    }
    return team;
}

double perf_team_epoch(struct perf_team *team)
{
    uint64_t start_ns = dlb_now_ns();
    (void)pthread_barrier_wait(&team->begin);
    (void)pthread_barrier_wait(&team->end);
    return (double)(dlb_now_ns() - start_ns) * 1e-9;
}

void perf_team_done(const struct perf_team *team, uint64_t *n_samples, uint64_t *n_bytes)
{
    *n_samples = *n_bytes = 0;
    for (uint32_t i = 0; i < team->n; i++) {
        *n_samples += team->member[i].thread.n_samples;
        *n_bytes += team->member[i].thread.n_bytes;
    }
}

void perf_team_close(struct perf_team *team)
{
    team->stop = true;
    (void)pthread_barrier_wait(&team->begin);
    for (uint32_t i = 0; i < team->n; i++)
        (void)pthread_join(team->member[i].id, NULL);
    (void)pthread_barrier_destroy(&team->begin);
    (void)pthread_barrier_destroy(&team->end);
    dlb_shm_free(&team->shm);
    free(team->member);
    free(team);
}

static double rate_of(const double *seconds, uint32_t n, double units)
{
    return units / dlb_median(seconds, n);
}

static double run_way(const struct perf_way *way, struct perf_usage *usage)
{
    struct perf_usage before = perf_usage_now();
    double seconds = way->run(way->ctx);
    perf_usage_add(usage, &before);
    return seconds;
}

static void print_row(const struct perf_row *row)
{
    char ours_rate[32], base_rate[32];
    printf("%-34s %s %s %s/s   %s %s %s/s   ratio %.3f (%.3f to %.3f, %u rounds)", row->name,
           row->ours.name, dlb_count_text(row->ours.per_s, ours_rate, sizeof ours_rate), row->unit,
           row->base.name, dlb_count_text(row->base.per_s, base_rate, sizeof base_rate), row->unit,
           row->ratio.median, row->ratio.low, row->ratio.high, row->rounds);
    if (row->should_reach > 0)
        printf("   should reach %.2f: %s", row->should_reach,
               row->ratio.median >= row->should_reach ? "yes" : "NO");
    printf("\n");
    (void)fflush(stdout);
}

double perf_compare(const struct perf_comparison *what, const struct perf_way *ours,
                    const struct perf_way *base)
{
    double ours_s[MAX_ROUNDS], base_s[MAX_ROUNDS];
    uint32_t n = what->rounds ? what->rounds : DEFAULT_ROUNDS;
    struct perf_row row = {.name = what->name,
                           .unit = what->unit,
                           .units = what->units * n,
                           .should_reach = what->should_reach,
                           .rounds = n,
                           .ours = {.name = ours->name},
                           .base = {.name = base->name}};

    if (n > MAX_ROUNDS)
        perf_die("fewer rounds", NULL);
    (void)ours->run(ours->ctx);
    (void)base->run(base->ctx);
    for (uint32_t i = 0; i < n; i++) {
        if (i % 2 == 0)
            ours_s[i] = run_way(ours, &row.ours.usage);
        base_s[i] = run_way(base, &row.base.usage);
        if (i % 2 == 1)
            ours_s[i] = run_way(ours, &row.ours.usage);
    }
    row.ours.per_s = rate_of(ours_s, n, what->units);
    row.base.per_s = rate_of(base_s, n, what->units);
    /* Rates compare as the inverse of times. */
    row.ratio = dlb_estimate_paired_ratio(base_s, ours_s, n);
    print_row(&row);
    perf_row_write(&row);
    return row.ratio.median;
}

struct side {
    struct perf_pipeline *pipe;
    struct perf_team *team;
    uint32_t epochs;
};

static double pipeline_epochs(void *ctx)
{
    const struct side *side = ctx;
    double seconds = 0;
    for (uint32_t i = 0; i < side->epochs; i++)
        seconds += perf_pipeline_epoch(side->pipe);
    return seconds;
}

static double team_epochs(void *ctx)
{
    const struct side *side = ctx;
    double seconds = 0;
    for (uint32_t i = 0; i < side->epochs; i++)
        seconds += perf_team_epoch(side->team);
    return seconds;
}

double perf_match(const struct dlb_spec *spec, const struct perf_match *match)
{
    struct perf_pipeline pipe, layout;
    uint32_t n_threads = (uint32_t)spec->loader.num_workers;
    uint64_t n_samples, n_bytes;
    char name[64];

    perf_pipeline_open(&pipe, spec);
    perf_pipeline_open(&layout, match->layout ? match->layout : spec);
    const struct dlb_shape *shape = &layout.dataset.shape;
    struct side side = {&pipe, perf_team_open(&layout, n_threads, match->body, match->ctx),
                        match->epochs};
    (void)snprintf(name, sizeof name, "%s, %u threads", match->name, n_threads);
    struct perf_comparison what = {.name = name,
                                   .unit = match->unit,
                                   .units = (double)shape->n_samples * match->epochs,
                                   .should_reach = match->should_reach};
    double ratio = perf_compare(&what, &(struct perf_way){"dlbench", pipeline_epochs, &side},
                                &(struct perf_way){match->base_name, team_epochs, &side});
    perf_team_done(side.team, &n_samples, &n_bytes);
    if (n_samples != shape->n_samples || n_bytes != shape->total_bytes)
        (void)fprintf(stderr, "the baseline read %llu samples, dlbench %llu\n",
                      (unsigned long long)n_samples, (unsigned long long)shape->n_samples);
    perf_team_close(side.team);
    perf_pipeline_close(&layout, NULL);
    perf_pipeline_close(&pipe, NULL);
    return ratio;
}

uint32_t perf_thread_counts(uint32_t counts[8])
{
    const char *text = getenv("DLB_PERF_THREADS");
    uint32_t n = 0;
    char *end;

    for (text = text ? text : "1 2"; n < 8; text = end) {
        unsigned long count = strtoul(text, &end, 10);
        if (end == text || count == 0 || count > 256)
            break;
        counts[n++] = (uint32_t)count;
    }
    return n;
}

uint64_t perf_thread_cpu_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * DLB_NS_PER_S + (uint64_t)ts.tv_nsec;
}
