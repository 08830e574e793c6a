#include "core/host/memwatch.h"

#include "core/base/clock.h"
#include "core/host/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LEAST_INTERVAL_NS (20 * UINT64_C(1000000))
#define COST 1000 /* an interval is this many times as long as a sample takes */
#define FIRST_PROCESSES 1024

struct dlb_memwatch {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopped;
    bool stop;
    uint64_t interval_ns;
    double bytes[DLB_MEMWATCH_MAX];
    uint32_t n;
};

struct process {
    uint64_t pid, parent;
    bool ours;
};

static bool read_process(const char *name, struct process *out)
{
    char path[64], text[512];
    (void)snprintf(path, sizeof path, "/proc/%.20s/stat", name);
    if (!dlb_procfs_text(path, text, sizeof text))
        return false;
    const char *at = strrchr(text, ')'); /* the name before it may hold blanks */
    unsigned long parent;
    if (!at || sscanf(at, ") %*c %lu", &parent) != 1)
        return false;
    *out = (struct process){strtoull(name, NULL, 10), parent, false};
    return true;
}

/* All of them, owned by the caller, in *n; NULL: memory is short, or they cannot be listed. */
static struct process *read_processes(uint32_t *n)
{
    DIR *proc = opendir("/proc");
    uint32_t cap = FIRST_PROCESSES;
    struct process *all = proc ? malloc(cap * sizeof *all) : NULL;
    *n = 0;
    for (struct dirent *entry; all && (entry = readdir(proc));) {
        if (*n == cap) {
            struct process *more = realloc(all, 2 * (size_t)cap * sizeof *all);
            if (!more)
                free(all);
            all = more;
            cap *= 2;
        }
        if (all && entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
            read_process(entry->d_name, &all[*n]))
            (*n)++;
    }
    if (proc)
        (void)closedir(proc);
    return all;
}

static bool is_child(const struct process *all, uint32_t n, uint64_t parent)
{
    for (uint32_t i = 0; i < n; i++)
        if (all[i].ours && all[i].pid == parent)
            return true;
    return false;
}

/* Marks this process and its descendants, in as many passes as they are generations. */
static void mark(struct process *all, uint32_t n)
{
    bool more = true;
    for (uint32_t i = 0; i < n; i++)
        all[i].ours = all[i].pid == (uint64_t)getpid();
    while (more) {
        more = false;
        for (size_t i = 0; i < n; i++)
            if (!all[i].ours && is_child(all, n, all[i].parent))
                more = all[i].ours = true;
    }
}

double dlb_memwatch_now(void)
{
    uint32_t n;
    struct process *all = read_processes(&n);
    uint64_t sum = 0, kib;
    bool any = false;
    if (all)
        mark(all, n);
    for (uint32_t i = 0; all && i < n; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "/proc/%llu/status", (unsigned long long)all[i].pid);
        if (!all[i].ours || !dlb_procfs_field(path, "RssAnon:", &kib))
            continue;
        sum += kib * 1024;
        any = true;
    }
    free(all);
    return any ? (double)sum : (double)NAN;
}

static void keep(struct dlb_memwatch *w, double bytes)
{
    if (!isfinite(bytes))
        return;
    if (w->n == DLB_MEMWATCH_MAX) {
        for (size_t i = 0; i < DLB_MEMWATCH_MAX / 2; i++)
            w->bytes[i] = w->bytes[2 * i];
        w->n = DLB_MEMWATCH_MAX / 2;
        w->interval_ns *= 2;
    }
    w->bytes[w->n++] = bytes;
}

/* A sample that takes longer than before makes the interval longer from there on. */
static void *watch(void *arg)
{
    struct dlb_memwatch *w = arg;
    (void)pthread_mutex_lock(&w->lock);
    while (!w->stop) {
        struct timespec began, ended, until;
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &began);
        keep(w, dlb_memwatch_now());
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
        uint64_t took_ns = (uint64_t)(ended.tv_sec - began.tv_sec) * DLB_NS_PER_S +
                           (uint64_t)ended.tv_nsec - (uint64_t)began.tv_nsec;
        uint64_t wanted_ns = took_ns * COST;
        w->interval_ns = wanted_ns > w->interval_ns ? wanted_ns : w->interval_ns;
        (void)clock_gettime(CLOCK_REALTIME, &until);
        uint64_t end_ns = (uint64_t)until.tv_nsec + w->interval_ns;
        until.tv_sec += (time_t)(end_ns / DLB_NS_PER_S);
        until.tv_nsec = (long)(end_ns % DLB_NS_PER_S);
        while (!w->stop && pthread_cond_timedwait(&w->stopped, &w->lock, &until) != ETIMEDOUT)
            continue;
    }
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
}

struct dlb_memwatch *dlb_memwatch_start(void)
{
    struct dlb_memwatch *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->interval_ns = LEAST_INTERVAL_NS;
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->stopped, NULL);
    if (pthread_create(&w->thread, NULL, watch, w) == 0)
        return w;
    (void)pthread_cond_destroy(&w->stopped);
    (void)pthread_mutex_destroy(&w->lock);
    free(w);
    return NULL;
}

uint32_t dlb_memwatch_stop(struct dlb_memwatch *w, double bytes[DLB_MEMWATCH_MAX])
{
    if (!w)
        return 0;
    (void)pthread_mutex_lock(&w->lock);
    w->stop = true;
    (void)pthread_cond_signal(&w->stopped);
    (void)pthread_mutex_unlock(&w->lock);
    (void)pthread_join(w->thread, NULL);
    (void)pthread_cond_destroy(&w->stopped);
    (void)pthread_mutex_destroy(&w->lock);
    uint32_t n = w->n;
    memcpy(bytes, w->bytes, n * sizeof *bytes);
    free(w);
    return n;
}
