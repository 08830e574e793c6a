#include "scenarios/cell/cache.h"

#include "core/base/pulse.h"
#include "core/host/held.h"
#include "core/measure/cache_label.h"
#include "scenarios/spec/flat.h"

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

/* At most `max` of the data set's files, evenly spread. False when it was cancelled. */
static bool look(const struct dlb_dataset *dataset, uint64_t max, bool evict,
                 const atomic_bool *cancel, struct dlb_residency *out)
{
    char path[PATH_MAX];
    uint64_t n = dataset->format->reader->files(dataset->state, UINT64_MAX, path, sizeof(path));
    uint64_t n_asked = n < max ? n : max;

    *out = (struct dlb_residency){0};
    for (uint64_t i = 0; i < n_asked; i++) {
        if (is_cancelled(cancel, i))
            return false;
        /* 128 bits: a product of two counts */
        uint64_t number = (uint64_t)((unsigned __int128)i * n / n_asked);
        (void)dataset->format->reader->files(dataset->state, number, path, sizeof(path));
        dlb_residency_file(path, evict, out);
        dlb_pulse_sign(dlb_pulse_opening);
    }
    return true;
}

/* Files of several devices have no counter of their own. */
static void find_backing(struct dlb_cell_cache *cache, const struct dlb_dataset *dataset)
{
    char path[PATH_MAX] = "";
    if (!dataset->format->reader->files)
        return;
    (void)dataset->format->reader->files(dataset->state, 0, path, sizeof(path));
    dlb_backing_of(path, &cache->backing);
    if (cache->before.n_elsewhere > 0)
        cache->backing.device[0] = '\0';
}

/* Whether the data set keeps files open or mapped. Its own are those below dataset.path, or beside
 * the first of a list. */
static bool holds_any(const struct dlb_spec *spec, const struct dlb_dataset *dataset)
{
    char path[PATH_MAX] = "", *root = realpath(spec->dataset.path, NULL);
    if (!root && dataset->format->reader->files) {
        (void)dataset->format->reader->files(dataset->state, 0, path, sizeof(path));
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
    /* Last: looking at files brings their names back. */
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

static double difference(uint64_t after, uint64_t before)
{
    return after == DLB_NOT_MEASURED || before == DLB_NOT_MEASURED || after < before
               ? (double)NAN
               : (double)(after - before);
}

static double resident_frac(const struct dlb_residency *r)
{
    return r->n_unknown > 0 || r->total_bytes == 0
               ? (double)NAN
               : (double)r->resident_bytes / (double)r->total_bytes;
}

static json_t *bytes_or_null(double n_bytes)
{
    return isfinite(n_bytes) ? json_integer((json_int_t)n_bytes) : json_null();
}

static json_t *limits_json(const struct dlb_cell_cache *cache)
{
    char text[DLB_BACKING_LIMITS][DLB_BACKING_LIMIT_BYTES];
    uint32_t n = cache->on_storage ? dlb_backing_limits(&cache->backing, text) : 0;
    json_t *out = json_array();
    bool ok = out != NULL;

    for (uint32_t i = 0; ok && i < n; i++)
        ok = json_array_append_new(out, dlb_json_safe_text(text[i])) == 0;
    if (ok && cache->before.n_elsewhere > 0)
        ok = json_array_append_new(out, json_string("the files lie on several devices: none of "
                                                    "their counters is shown")) == 0;
    if (ok && cache->before.n_sparse > 0)
        ok = json_array_append_new(
                 out, json_sprintf("%llu of the %llu files looked at take less room than they are "
                                   "long (holes, compression, inlining): what is not stored is "
                                   "not read",
                                   (unsigned long long)cache->before.n_sparse,
                                   (unsigned long long)cache->before.n_files +
                                       cache->before.n_unknown)) == 0;
    if (ok)
        return out;
    json_decref(out);
    return NULL;
}

json_t *dlb_cell_cache_json(const struct dlb_cell_cache *cache)
{
    const struct dlb_fs_traits *fs = &cache->backing.traits;
    bool ended = cache->ended;
    char why[300];
    struct dlb_cache_evidence e = {
        .in_memory = fs->in_memory,
        .elsewhere = fs->elsewhere,
        .direct = cache->direct,
        .counted = fs->counted,
        .resident_before_frac = resident_frac(&cache->before),
        .process_bytes = ended ? difference(cache->process_after.read_device_bytes,
                                            cache->process_before.read_device_bytes)
                               : (double)NAN,
        .device_bytes =
            ended ? difference(cache->device_after_bytes, cache->device_before_bytes) : (double)NAN,
        .delivered_bytes = ended ? (double)cache->delivered_bytes : (double)NAN,
    };
    enum dlb_cache_label label = dlb_cache_judge(&e, why, sizeof(why));
    enum dlb_cache_label metadata =
        cache->on_storage
            ? dlb_cache_metadata(cache->dropped, cache->held, true, fs->remote || fs->by_process)
            : DLB_CACHE_UNKNOWN;

    return json_pack(
        "{ss, ss, ss, ss, so, so, so, so, so, so, so, so}", "asked",
        dlb_run_cache_names[cache->asked], "label", dlb_cache_label_name(label), "metadata",
        dlb_cache_label_name(metadata), "why", why, "resident_before_frac",
        dlb_json_real_or_null(e.resident_before_frac), "resident_after_frac",
        dlb_json_real_or_null(resident_frac(&cache->after)), "process_bytes",
        bytes_or_null(e.process_bytes), "device_bytes", bytes_or_null(e.device_bytes),
        "delivered_bytes", bytes_or_null(e.delivered_bytes), "filesystem",
        cache->backing.type[0] ? dlb_json_safe_text(cache->backing.type) : json_null(), "device",
        cache->backing.device[0] ? dlb_json_safe_text(cache->backing.device) : json_null(),
        "limits", limits_json(cache));
}
