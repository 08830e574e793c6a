#include "scenarios/cell/doc.h"

#include "scenarios/spec/flat.h"

#include <inttypes.h>
#include <stdio.h>

static json_t *hex(uint64_t value)
{
    char text[17];
    (void)snprintf(text, sizeof(text), "%016" PRIx64, value);
    return json_string(text);
}

static json_t *ns(uint64_t value)
{
    return dlb_json_u64_or_null(value);
}

static json_t *stage(const struct dlb_hist *hist)
{
    json_t *out = json_object();
    bool any = hist->count > 0;
    bool ok =
        out && dlb_json_put(out, "count", ns(hist->count)) &&
        dlb_json_put(out, "sum_ns", ns(hist->sum_ns)) &&
        dlb_json_put(out, "p50_ns", any ? ns(dlb_hist_quantile_ns(hist, 0.5)) : json_null()) &&
        dlb_json_put(out, "p99_ns", any ? ns(dlb_hist_quantile_ns(hist, 0.99)) : json_null()) &&
        dlb_json_put(out, "p999_ns", any ? ns(dlb_hist_quantile_ns(hist, 0.999)) : json_null()) &&
        dlb_json_put(out, "max_ns", any ? ns(hist->max_ns) : json_null());
    if (ok)
        return out;
    json_decref(out);
    return NULL;
}

static json_t *stages(const struct dlb_hist *hists, const char *const *names, int n)
{
    json_t *out = json_object();
    for (int i = 0; out && i < n; i++)
        if (!dlb_json_put(out, names[i], stage(&hists[i]))) {
            json_decref(out);
            return NULL;
        }
    return out;
}

static json_t *epoch(const struct dlb_epoch *e)
{
    return json_pack("{so, so, so, so, so, so, so, so, so, so, so, sb}", "samples",
                     ns(e->n_samples), "unique", ns(e->n_unique), "expected", ns(e->n_expected),
                     "padded", ns(e->n_padded), "skipped", ns(e->n_skipped), "bytes",
                     ns(e->n_bytes), "set_checksum", hex(e->set_checksum), "seq_checksum",
                     hex(e->seq_checksum), "first_batch_ns", ns(e->first_batch_ns), "gap_ns",
                     ns(e->gap_ns), "wall_ns", ns(e->wall_ns), "whole", e->whole);
}

static json_t *au(const struct dlb_au *mean, const struct dlb_au *lowest)
{
    return json_pack(
        "{so, so, so, so, so, so, s{so, so, so, so}}", "nominal",
        dlb_json_real_or_null(mean->nominal), "measured", dlb_json_real_or_null(mean->measured),
        "mlperf_v1", dlb_json_real_or_null(mean->mlperf_v1), "mlperf_v2",
        dlb_json_real_or_null(mean->mlperf_v2), "mlperf_v1_samples_per_s",
        dlb_json_real_or_null(mean->mlperf_v1_samples_per_s), "mlperf_v2_samples_per_s",
        dlb_json_real_or_null(mean->mlperf_v2_samples_per_s), "lowest", "nominal",
        dlb_json_real_or_null(lowest->nominal), "measured", dlb_json_real_or_null(lowest->measured),
        "mlperf_v1", dlb_json_real_or_null(lowest->mlperf_v1), "mlperf_v2",
        dlb_json_real_or_null(lowest->mlperf_v2));
}

/* Each one where they are few. */
static json_t *accelerators(const struct dlb_consumed *c)
{
    json_t *each = c->n_accelerators <= DLB_SHARES_KEPT ? json_array() : json_null();
    for (uint32_t i = 0; each && json_is_array(each) && i < c->n_accelerators; i++) {
        const struct dlb_share *one = &c->share[i];
        if (json_array_append_new(
                each, json_pack("{so, so, so, so, so}", "steps", ns(one->n_steps), "samples",
                                ns(one->n_samples), "window_ns", ns(one->window_ns), "au_nominal",
                                dlb_json_real_or_null(one->au.nominal), "au_measured",
                                dlb_json_real_or_null(one->au.measured)))) {
            json_decref(each);
            return NULL;
        }
    }
    return json_pack("{so, so}", "count", ns(c->n_accelerators), "each", each);
}

static bool put_consumed(json_t *doc, const struct dlb_cell_facts *facts)
{
    const struct dlb_consumed *c = facts->consumed;
    json_t *epochs = json_array();
    bool ok = epochs != NULL;
    for (uint32_t i = 0; ok && i < c->n_epochs && i < DLB_MAX_EPOCHS_KEPT; i++)
        ok = json_array_append_new(epochs, epoch(&c->epoch[i])) == 0;
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {
        {"n_steps", c->total.n_steps},
        {"n_samples", c->total.n_samples},
        {"n_bytes", c->total.n_bytes},
        {"window_ns", c->total.window_ns},
        {"busy_ns", c->total.busy_ns},
        {"idle_input_ns", c->total.idle_input_ns},
        {"idle_copy_ns", c->total.idle_copy_ns},
        {"idle_other_ns", c->total.idle_other_ns},
        {"late_copy_ns", c->total.late_copy_ns},
        {"epoch_idle_ns", c->total.epoch_idle_ns},
        {"epoch_other_ns", c->total.epoch_other_ns},
        {"n_batches", facts->n_batches},
        {"wall_ns", c->total.wall_ns},
        {"unaccounted_ns", c->total.unaccounted_ns},
        {"n_checksum_mismatches", c->n_checksum_mismatches},
        {"consumer_cpu_ns", c->cpu_ns},
    };
    for (size_t i = 0; ok && i < sizeof(numbers) / sizeof(numbers[0]); i++)
        ok = dlb_json_put(doc, numbers[i].key, ns(numbers[i].value));
    ok =
        ok &&
        dlb_json_put(doc, "consumer_stages",
                     stages(c->consumer, dlb_consumer_stage_names, DLB_CS_COUNT)) &&
        dlb_json_put(doc, "device_stages", stages(c->device, dlb_device_stage_names, DLB_DS_COUNT));
    ok = ok && dlb_json_put(doc, "au", au(&c->total.au, &c->lowest)) &&
         dlb_json_put(doc, "accelerators", accelerators(c));
    if (ok)
        return dlb_json_put(doc, "epochs", epochs);
    json_decref(epochs);
    return false;
}

/* How workers read; with io_uring, each read's own time too. */
static json_t *io(const struct dlb_loader_opts *opts, const struct dlb_loader_stats *s)
{
    const struct dlb_io_used *used = &s->io;
    const struct dlb_hist *hist = &s->workers.io.request;
    bool asked = opts->io == DLB_READ_URING;
    const char *name = used->n_uring == 0 ? "sync" : used->n_sync > 0 ? "mixed" : "io_uring";
    json_t *out =
        json_pack("{ss, ss, so}", "asked", asked ? "io_uring" : "sync", "used", name, "reason",
                  used->n_sync > 0 ? dlb_json_safe_text(used->reason) : json_null());
    bool own = used->n_uring > 0, any = own && hist->count > 0;
    const struct {
        const char *key;
        uint64_t value;
        bool known;
    } numbers[] = {
        {"depth", (uint64_t)opts->io_depth, own},
        {"max_in_flight", s->workers.io.max_in_flight, own},
        {"requests", hist->count, own},
        {"resubmitted", s->workers.io.n_again, own},
        {"bytes", s->workers.io.n_bytes, own},
        {"sum_ns", hist->sum_ns, own},
        {"p50_ns", dlb_hist_quantile_ns(hist, 0.5), any},
        {"p99_ns", dlb_hist_quantile_ns(hist, 0.99), any},
        {"p999_ns", dlb_hist_quantile_ns(hist, 0.999), any},
        {"max_ns", hist->max_ns, any},
    };
    bool ok = out != NULL;
    for (size_t i = 0; ok && i < sizeof(numbers) / sizeof(numbers[0]); i++)
        ok = dlb_json_put(out, numbers[i].key,
                          numbers[i].known ? ns(numbers[i].value) : json_null());
    ok = ok && dlb_json_put(out, "registered_buffers",
                            own ? json_boolean(used->n_registered > 0) : json_null());
    if (ok)
        return out;
    json_decref(out);
    return NULL;
}

/* Of the bytes: the rest were framing, or came at the end of an epoch. */
#define REQUESTS_SEEN 0.9

/* What one read took: of requests to the kernel where these brought the bytes, else (maps,
 * libraries that read by themselves) of whole samples, which may be fetched in several pieces. */
static json_t *reads(const struct dlb_loader_stats *s)
{
    bool requests = s->workers.io.request.count > 0 &&
                    (double)s->workers.io.n_bytes >= REQUESTS_SEEN * (double)s->workers.io_bytes;
    json_t *out = stage(requests ? &s->workers.io.request : &s->workers.stage[DLB_WS_READ]);
    if (out && dlb_json_put(out, "of", json_string(requests ? "requests" : "samples")))
        return out;
    json_decref(out);
    return NULL;
}

static bool put_stats(json_t *doc, const struct dlb_loader_stats *s, uint32_t n_idle_workers)
{
    json_t *skipped = json_array();
    bool ok = skipped != NULL;
    for (uint32_t i = 0; ok && i < s->n_skipped_named && i < DLB_MAX_SKIPPED_NAMED; i++) {
        char text[sizeof(struct dlb_err) + 64];
        ok = json_array_append_new(skipped, dlb_json_safe_text(dlb_err_text(&s->skipped[i], text,
                                                                            sizeof(text)))) == 0;
    }
    ok = ok && dlb_json_put(doc, "reads", reads(s)) &&
         dlb_json_put(doc, "io_bytes", ns(s->workers.io_bytes)) &&
         dlb_json_put(doc, "worker_samples", ns(s->workers.n_samples)) &&
         dlb_json_put(doc, "worker_cpu_ns", ns(s->workers.cpu_ns)) &&
         dlb_json_put(doc, "runqueue_ns", ns(s->runqueue_ns)) &&
         dlb_json_put(doc, "order_wait_ns", ns(s->order_wait_ns)) &&
         dlb_json_put(doc, "n_skipped", ns(s->workers.n_skipped)) &&
         dlb_json_put(doc, "n_cut_shards", ns(s->workers.n_cut_shards)) &&
         dlb_json_put(doc, "n_idle_workers", ns(n_idle_workers)) &&
         dlb_json_put(doc, "worker_stages",
                      stages(s->workers.stage, dlb_worker_stage_names, DLB_WS_COUNT));
    if (ok)
        return dlb_json_put(doc, "skipped", skipped);
    json_decref(skipped);
    return false;
}

static json_t *difference(uint64_t after, uint64_t before)
{
    if (after == DLB_NOT_MEASURED || before == DLB_NOT_MEASURED || after < before)
        return json_null();
    return ns(after - before);
}

static bool put_os(json_t *doc, const struct dlb_os_process *b, const struct dlb_os_process *a)
{
    return dlb_json_put(
        doc, "os",
        json_pack("{so, so, so, so, so, so, so, so}", "utime_ns",
                  difference(a->utime_ns, b->utime_ns), "stime_ns",
                  difference(a->stime_ns, b->stime_ns), "minor_faults",
                  difference(a->minor_faults, b->minor_faults), "major_faults",
                  difference(a->major_faults, b->major_faults), "voluntary_switches",
                  difference(a->voluntary_switches, b->voluntary_switches), "involuntary_switches",
                  difference(a->involuntary_switches, b->involuntary_switches), "read_chars",
                  difference(a->read_chars, b->read_chars), "read_device_bytes",
                  difference(a->read_device_bytes, b->read_device_bytes)));
}

/* The GPU's facts with `numa` and what NVML saw; null where no GPU was measured. */
static json_t *gpu_json(const struct dlb_cell_facts *facts)
{
    json_t *gpu = facts->gpu ? json_copy(facts->gpu) : json_null();
    if (facts->gpu && gpu &&
        (!dlb_json_put(gpu, "numa", json_incref(facts->numa)) ||
         !dlb_json_put(gpu, "nvml", facts->nvml ? json_incref(facts->nvml) : json_null()))) {
        json_decref(gpu);
        return NULL;
    }
    return gpu;
}

static bool put_cache(json_t *doc, const struct dlb_cell_cache *cache)
{
    static const struct dlb_cell_cache none;
    json_t *told = dlb_cell_cache_json(cache ? cache : &none);
    enum dlb_residency_how how = cache ? cache->before.how : DLB_RESIDENCY_UNKNOWN;
    return dlb_json_put(doc, "cache", told) &&
           dlb_json_put(doc, "resident_frac",
                        json_incref(json_object_get(told, "resident_before_frac"))) &&
           dlb_json_put(doc, "residency_by", json_string(dlb_residency_name(how)));
}

bool dlb_cell_doc_fill(json_t *doc, const struct dlb_cell_facts *facts)
{
    bool ok = put_cache(doc, facts->cache);
    if (ok && facts->device_kind)
        ok = dlb_json_put(doc, "device",
                          json_pack("{ss, so, ss, so}", "kind", facts->device_kind, "name",
                                    dlb_json_safe_text(facts->device_name), "why",
                                    facts->device_why, "gpu", gpu_json(facts)));
    if (ok && facts->memory)
        ok = dlb_json_put(doc, "memory",
                          json_pack("{so, so, so, sb}", "peak_pss_bytes", ns(facts->peak_pss_bytes),
                                    "slots_bytes", ns(facts->memory->slots_bytes), "pinned_bytes",
                                    ns(facts->pinned_bytes), "huge_pages", facts->memory->huge));
    if (ok && facts->consumed)
        ok = put_consumed(doc, facts) && put_os(doc, &facts->before, &facts->after) &&
             dlb_json_put(doc, "machine_busy_frac",
                          dlb_json_real_or_null(
                              dlb_os_busy_frac(&facts->machine_before, &facts->machine_after))) &&
             dlb_json_put(doc, "machine_stolen_frac",
                          dlb_json_real_or_null(
                              dlb_os_stolen_frac(&facts->machine_before, &facts->machine_after))) &&
             dlb_json_put(doc, "machine_stolen_ns",
                          dlb_json_real_or_null(
                              dlb_os_stolen_ns(&facts->machine_before, &facts->machine_after)));
    if (ok && facts->stats)
        ok = put_stats(doc, facts->stats, facts->n_idle_workers) &&
             dlb_json_put(doc, "io", io(facts->loader_opts, facts->stats));
    return ok;
}
