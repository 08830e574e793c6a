#include "scenarios/cell/cache.h"

#include "core/base/escape.h"
#include "core/base/pulse.h"
#include "core/host/held.h"
#include "core/measure/cache_label.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOKED_AT_FILES 256 /* where no file has to be touched anyway; more tell little more */
#define CANCEL_EVERY 1024   /* files between looks at `cancel` */

static bool is_cancelled(const atomic_bool *cancel, uint64_t number)
{
    return cancel && number % CANCEL_EVERY == 0 && atomic_load(cancel);
}

/* The number of files, and the path of file `number` if there is one; 0 without files. */
static uint64_t file_of(const struct dlb_dataset *dataset, uint64_t number, char path[PATH_MAX])
{
    const struct dlb_reader *reader = dataset->format->reader;
    return reader->files ? reader->files(dataset->state, number, path, PATH_MAX) : 0;
}

/* At most `max` of the data set's files, evenly spread. False when it was cancelled. */
static bool look(const struct dlb_dataset *dataset, uint64_t max, bool evict,
                 const atomic_bool *cancel, struct dlb_residency *out)
{
    char path[PATH_MAX];
    uint64_t n = file_of(dataset, UINT64_MAX, path);
    uint64_t n_asked = n < max ? n : max;

    *out = (struct dlb_residency){0};
    for (uint64_t i = 0; i < n_asked; i++) {
        if (is_cancelled(cancel, i))
            return false;
        /* 128 bits: a product of two counts */
        uint64_t number = (uint64_t)((unsigned __int128)i * n / n_asked);
        (void)file_of(dataset, number, path);
        dlb_residency_file(path, evict, out);
        dlb_pulse_sign(dlb_pulse_opening);
    }
    return true;
}

/* Files of several devices have no counter of their own. */
static void find_backing(struct dlb_cell_cache *cache, const struct dlb_dataset *dataset)
{
    char path[PATH_MAX] = "";
    (void)file_of(dataset, 0, path);
    dlb_backing_of(path, &cache->backing);
    if (cache->before.n_elsewhere > 0)
        cache->backing.device[0] = '\0';
}

/* Whether the data set keeps files open or mapped. Its own are those below dataset.path, or beside
 * the first of a list. */
static bool holds_any(const struct dlb_spec *spec, const struct dlb_dataset *dataset)
{
    char path[PATH_MAX] = "", *root = realpath(spec->dataset.path, NULL);
    if (!root) {
        (void)file_of(dataset, 0, path);
        char *slash = strrchr(path, '/');
        if (slash)
            slash[slash == path] = '\0';
        root = realpath(slash ? path : ".", NULL);
    }
    bool held = !root || dlb_held_below(root);
    free(root);
    return held;
}

int dlb_cell_cache_begin(struct dlb_cell_cache *cache, const struct dlb_spec *spec,
                         const struct dlb_dataset *dataset, const atomic_bool *cancel,
                         struct dlb_err *err)
{
    bool cold = spec->run.cache == DLB_RUN_COLD;
    *cache = (struct dlb_cell_cache){.asked = spec->run.cache,
                                     .on_storage = dataset->format->reader->files != NULL,
                                     .direct = spec->loader.direct ||
                                               spec->dataset.access == DLB_ACCESS_DIRECT};
    if (!cache->on_storage)
        return DLB_OK;
    if (!look(dataset, cold ? UINT64_MAX : LOOKED_AT_FILES, cold, cancel, &cache->before))
        return dlb_fail(err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
    find_backing(cache, dataset);
    /* Last, because examining files caches their names again. */
    int rc = cold && spec->run.drop_caches ? dlb_pagecache_drop_all(err) : DLB_OK;
    cache->dropped = cold && spec->run.drop_caches && rc == DLB_OK;
    cache->held = cache->dropped && holds_any(spec, dataset);
    cache->device_before_bytes = dlb_backing_read_bytes(&cache->backing);
    dlb_os_process(&cache->process_before);
    return rc;
}

void dlb_cell_cache_end(struct dlb_cell_cache *cache, const struct dlb_dataset *dataset,
                        const struct dlb_loader_stats *stats)
{
    if (!cache->on_storage)
        return;
    dlb_os_process(&cache->process_after);
    dlb_os_process_add(&cache->process_after, &stats->os);
    cache->device_after_bytes = dlb_backing_read_bytes(&cache->backing);
    cache->delivered_bytes = stats->workers.io_bytes;
    (void)look(dataset, LOOKED_AT_FILES, false, NULL, &cache->after);
    cache->ended = true;
}

static double resident_frac(const struct dlb_residency *r)
{
    return r->n_unknown > 0 || r->total_bytes == 0
               ? (double)NAN
               : (double)r->resident_bytes / (double)r->total_bytes;
}

/* What cannot be seen from here. */
_Static_assert(DLB_BACKING_LIMITS + 2 <= DLB_CACHE_LIMITS, "fill_limits adds two of its own");

static void fill_limits(const struct dlb_cell_cache *cache, struct dlb_cache_result *out)
{
    char text[DLB_BACKING_LIMITS][DLB_BACKING_LIMIT_BYTES];
    uint32_t n = cache->on_storage ? dlb_backing_limits(&cache->backing, text) : 0;
    const struct dlb_residency *seen = &cache->before;
    unsigned long long n_files = seen->n_files + seen->n_unknown;

    for (uint32_t i = 0; i < n; i++)
        dlb_cut_text(out->limits[out->n_limits++], DLB_CACHE_LIMIT_BYTES, text[i]);
    if (seen->n_elsewhere > 0)
        (void)snprintf(out->limits[out->n_limits++], DLB_CACHE_LIMIT_BYTES,
                       "the files lie on several devices: none of their counters is shown");
    if (seen->n_sparse > 0)
        (void)snprintf(out->limits[out->n_limits++], DLB_CACHE_LIMIT_BYTES,
                       "%llu of the %llu files looked at take less room than they are long (holes, "
                       "compression, inlining): what is not stored is not read",
                       (unsigned long long)seen->n_sparse, n_files);
}

void dlb_cell_cache_result(const struct dlb_cell_cache *cache, struct dlb_cache_result *out)
{
    const struct dlb_fs_traits *fs = &cache->backing.traits;

    *out = (struct dlb_cache_result){.asked = cache->asked};
    out->resident_before_frac = resident_frac(&cache->before);
    out->resident_after_frac = resident_frac(&cache->after);
    out->process_bytes = out->device_bytes = out->delivered_bytes = DLB_NOT_MEASURED;
    if (cache->ended) {
        out->process_bytes = dlb_count_rise(cache->process_after.read_device_bytes,
                                            cache->process_before.read_device_bytes);
        out->device_bytes = dlb_count_rise(cache->device_after_bytes, cache->device_before_bytes);
        out->delivered_bytes = cache->delivered_bytes;
    }
    struct dlb_cache_evidence e = {
        .in_memory = fs->in_memory,
        .elsewhere = fs->elsewhere,
        .direct = cache->direct,
        .counted = fs->counted,
        .resident_before_frac = out->resident_before_frac,
        .process_bytes = dlb_measured(out->process_bytes),
        .device_bytes = dlb_measured(out->device_bytes),
        .delivered_bytes = cache->on_storage ? dlb_measured(out->delivered_bytes) : 0,
    };
    out->label = dlb_cache_judge(&e, out->why, sizeof(out->why));
    out->metadata = cache->on_storage ? dlb_cache_metadata(cache->dropped, cache->held, true,
                                                           fs->remote || fs->by_process)
                                      : DLB_CACHE_UNKNOWN;
    (void)snprintf(out->filesystem, sizeof(out->filesystem), "%s", cache->backing.type);
    (void)snprintf(out->device, sizeof(out->device), "%s", cache->backing.device);
    (void)snprintf(
        out->residency_by, sizeof(out->residency_by), "%s",
        dlb_residency_name(cache->on_storage ? cache->before.how : DLB_RESIDENCY_UNKNOWN));
    fill_limits(cache, out);
}
