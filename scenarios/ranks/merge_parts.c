#include "scenarios/ranks/merge_parts.h"

#include "core/base/escape.h"
#include "core/base/mem.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* *sum += more, and not measured where one is not. */
static void add(uint64_t *sum, uint64_t more)
{
    bool known = *sum != DLB_NOT_MEASURED && more != DLB_NOT_MEASURED;
    *sum = known ? *sum + more : DLB_NOT_MEASURED;
}

/* n_figures counts that follow each other in a struct. */
static void add_all(void *sums, const void *more, size_t n_figures)
{
    for (size_t i = 0; i < n_figures; i++)
        add((uint64_t *)sums + i, ((const uint64_t *)more)[i]);
}

static void add_epoch(struct dlb_epoch *into, const struct dlb_epoch *more)
{
    into->n_samples += more->n_samples;
    into->n_unique += more->n_unique;
    into->n_expected += more->n_expected;
    into->n_padded += more->n_padded;
    into->n_skipped += more->n_skipped;
    into->n_bytes += more->n_bytes;
    into->set_checksum += more->set_checksum;
    into->seq_checksum = dlb_tally_chain(into->seq_checksum, more->seq_checksum);
    into->first_batch_ns =
        more->first_batch_ns > into->first_batch_ns ? more->first_batch_ns : into->first_batch_ns;
    into->gap_ns = more->gap_ns > into->gap_ns ? more->gap_ns : into->gap_ns;
    into->wall_ns = more->wall_ns > into->wall_ns ? more->wall_ns : into->wall_ns;
    into->ended = into->ended && more->ended;
    into->whole = into->whole && more->whole;
}

/* Epochs that all ranks began. */
static void merge_epochs(const struct dlb_rank_part *parts, uint32_t n, struct dlb_loop_result *out)
{
    uint32_t n_epochs = parts[0].result.loop.n_epochs;
    for (uint32_t i = 1; i < n; i++)
        if (parts[i].result.loop.n_epochs < n_epochs)
            n_epochs = parts[i].result.loop.n_epochs;
    out->epoch = dlb_mem_array(n_epochs, sizeof(*out->epoch));
    for (uint32_t e = 0; e < n_epochs; e++) {
        out->epoch[e] = parts[0].result.loop.epoch[e];
        for (uint32_t i = 1; i < n; i++)
            add_epoch(&out->epoch[e], &parts[i].result.loop.epoch[e]);
    }
    out->n_epochs = n_epochs;
}

/* Those of all accelerators, if they are few: what a rank tells of itself may be anything. */
static void join_shares(const struct dlb_rank_part *parts, uint32_t n, struct dlb_loop_result *out)
{
    uint64_t n_shares = 0;
    for (uint32_t i = 0; i < n; i++)
        n_shares += parts[i].result.loop.n_shares;
    if (n_shares > DLB_SHARES_KEPT || out->n_accelerators > DLB_SHARES_KEPT)
        return;
    out->share = dlb_mem_array(n_shares, sizeof(*out->share));
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < parts[i].result.loop.n_shares; k++)
            out->share[out->n_shares++] = parts[i].result.loop.share[k];
}

/* A rank that stopped while others still measured left these more of the storage: rates are not of
 * one load, and their sum is more than it gave. What all have measured took as long as the slowest
 * rank. Rates within epochs and of epochs are as much more. */
static void take_longest(const struct dlb_rank_part *parts, uint32_t n, struct dlb_loop_result *out)
{
    struct dlb_share *total = &out->total;
    uint64_t longest_ns = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t window_ns = parts[i].result.loop.total.window_ns;
        longest_ns = window_ns > longest_ns ? window_ns : longest_ns;
    }
    bool known = total->window_ns > 0 && total->window_ns != DLB_NOT_MEASURED &&
                 longest_ns != DLB_NOT_MEASURED;
    if (!known || longest_ns <= total->window_ns)
        return;
    dlb_pace_stretch(&out->pace, (double)longest_ns / (double)total->window_ns);
    dlb_share_stretch(total, longest_ns);
}

static void merge_shares(const struct dlb_rank_part *parts, uint32_t n, struct dlb_loop_result *out)
{
    struct dlb_share *each = dlb_mem_array(n, sizeof(*each));
    struct dlb_pace *paces = dlb_mem_array(n, sizeof(*paces));
    uint32_t *of = dlb_mem_array(n, sizeof(*of));
    struct dlb_au *au = dlb_mem_array(2 * (size_t)n, sizeof(*au)), mean;
    uint64_t n_accelerators = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct dlb_loop_result *loop = &parts[i].result.loop;
        each[i] = loop->total;
        paces[i] = loop->pace;
        of[i] = loop->n_accelerators;
        au[i] = loop->total.au;
        au[n + i] = loop->lowest;
        n_accelerators += loop->n_accelerators;
    }
    out->n_accelerators = n_accelerators < UINT32_MAX ? (uint32_t)n_accelerators : UINT32_MAX;
    dlb_shares_add_up(each, of, n, &out->total);
    dlb_paces_add_up(paces, of, n, &out->pace);
    if (!dlb_ranks_together(parts, n))
        take_longest(parts, n, out);
    dlb_au_mean(au, n, &mean, &out->lowest);
    out->total.au = mean;
    dlb_au_mean(au + n, n, &mean, &out->lowest);
    free(each);
    free(paces);
    free(of);
    free(au);
    join_shares(parts, n, out);
}

/* The share of a machine's CPU time that a rank's own processes took. */
static double own_frac(const struct dlb_loop_result *loop)
{
    double tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
    return (dlb_measured(loop->os.utime_ns) + dlb_measured(loop->os.stime_ns)) / tick_ns /
           loop->strain.n_ticks;
}

/* What other programs took on a rank's machine. Its own view counts the ranks beside it among
 * them. */
static double others_frac(const struct dlb_rank_part *parts, uint32_t n, uint32_t rank)
{
    double others = parts[rank].result.loop.strain.others_frac;
    for (uint32_t i = 0; i < n; i++)
        if (i != rank && strcmp(parts[i].node, parts[rank].node) == 0)
            others -= own_frac(&parts[i].result.loop);
    return isnan(others) ? others : fmax(others, 0);
}

/* The most strained machine, figure by figure. */
static void merge_strain(const struct dlb_rank_part *parts, uint32_t n, struct dlb_strain *out)
{
    *out = parts[0].result.loop.strain;
    out->others_frac = others_frac(parts, n, 0);
    for (uint32_t i = 1; i < n; i++) {
        const struct dlb_strain *one = &parts[i].result.loop.strain;
        out->n_ticks = fmin(out->n_ticks, one->n_ticks);
        out->stolen_frac = fmax(out->stolen_frac, one->stolen_frac);
        out->others_frac = fmax(out->others_frac, others_frac(parts, n, i));
        out->idle_frac = fmin(out->idle_frac, one->idle_frac);
        out->pressure_frac = fmax(out->pressure_frac, one->pressure_frac);
        out->throttled_frac = fmax(out->throttled_frac, one->throttled_frac);
        out->n_hot = fmax(out->n_hot, one->n_hot);
    }
}

/* What some did not measure is that of the others. */
static void add_real(double *sum, double more)
{
    if (!isnan(more))
        *sum = isnan(*sum) ? more : *sum + more;
}

static bool is_first_of_node(const struct dlb_rank_part *parts, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++)
        if (strcmp(parts[i].node, parts[rank].node) == 0)
            return false;
    return true;
}

void dlb_merge_loops(const struct dlb_rank_part *parts, uint32_t n, struct dlb_loop_result *out)
{
    *out = parts[0].result.loop;
    out->share = NULL;
    out->epoch = NULL;
    out->n_shares = out->n_epochs = 0;
    for (uint32_t i = 1; i < n; i++) {
        const struct dlb_loop_result *loop = &parts[i].result.loop;
        add(&out->n_batches, loop->n_batches);
        add(&out->consumer_cpu_ns, loop->consumer_cpu_ns);
        add(&out->n_checksum_mismatches, loop->n_checksum_mismatches);
        add_all(&out->os, &loop->os, sizeof(out->os) / sizeof(uint64_t));
        out->machine_busy_frac = fmax(out->machine_busy_frac, loop->machine_busy_frac);
        out->machine_stolen_frac = fmax(out->machine_stolen_frac, loop->machine_stolen_frac);
        if (is_first_of_node(parts, i)) /* its time is counted once */
            add_real(&out->machine_stolen_ns, loop->machine_stolen_ns);
    }
    merge_shares(parts, n, out);
    merge_epochs(parts, n, out);
    merge_strain(parts, n, &out->strain);
}

static void add_io(struct dlb_io_result *into, const struct dlb_io_result *more)
{
    into->used = into->used == more->used ? into->used : DLB_IO_USED_MIXED;
    if (!into->reason[0])
        memcpy(into->reason, more->reason, sizeof(into->reason));
    if (more->max_in_flight != DLB_NOT_MEASURED &&
        (into->max_in_flight == DLB_NOT_MEASURED || more->max_in_flight > into->max_in_flight))
        into->max_in_flight = more->max_in_flight;
    add(&into->n_requests, more->n_requests);
    add(&into->n_resubmitted, more->n_resubmitted);
    add(&into->n_bytes, more->n_bytes);
    into->registered_buffers = into->registered_buffers && more->registered_buffers;
}

void dlb_merge_workers(const struct dlb_rank_part *parts, uint32_t n,
                       struct dlb_workers_result *out)
{
    for (uint32_t i = 1; i < n; i++) {
        const struct dlb_workers_result *one = &parts[i].result.workers;
        out->reads_are_requests = out->reads_are_requests && one->reads_are_requests;
        add_io(&out->io, &one->io);
        add(&out->io_bytes, one->io_bytes);
        add(&out->n_samples, one->n_samples);
        add(&out->cpu_ns, one->cpu_ns);
        add(&out->runqueue_ns, one->runqueue_ns);
        add(&out->order_wait_ns, one->order_wait_ns);
        add(&out->n_skipped, one->n_skipped);
        add(&out->n_cut_shards, one->n_cut_shards);
        out->n_idle += one->n_idle;
    }
}

/* Sums the k-th histogram of all ranks. */
static struct dlb_stage_result merged(const struct dlb_rank_part *parts, uint32_t n, size_t offset)
{
    struct dlb_hist *sum = dlb_mem_new(sizeof(*sum));
    for (uint32_t i = 0; i < n; i++)
        dlb_hist_merge(sum,
                       (const struct dlb_hist *)((const char *)parts[i].result.hists + offset));
    struct dlb_stage_result out = dlb_stage_result_of(sum);
    free(sum);
    return out;
}

static size_t place(size_t list, int i)
{
    return list + (size_t)i * sizeof(struct dlb_hist);
}

void dlb_merge_stages(const struct dlb_rank_part *parts, uint32_t n, struct dlb_cell_result *out)
{
    struct dlb_workers_result *w = &out->workers;
    for (uint32_t i = 0; i < n; i++)
        if (!parts[i].result.hists)
            return;
    for (int i = 0; out->has_loop && i < DLB_CS_COUNT; i++)
        out->loop.consumer[i] =
            merged(parts, n, place(offsetof(struct dlb_cell_hists, consumer), i));
    for (int i = 0; out->has_loop && i < DLB_DS_COUNT; i++)
        out->loop.device[i] = merged(parts, n, place(offsetof(struct dlb_cell_hists, device), i));
    if (!out->has_workers || out->python) /* another program timed its own stages */
        return;
    for (int i = 0; i < DLB_WS_COUNT; i++)
        w->stage[i] = merged(parts, n, place(offsetof(struct dlb_cell_hists, worker), i));
    struct dlb_stage_result requests = merged(parts, n, offsetof(struct dlb_cell_hists, request));
    w->reads = w->reads_are_requests ? requests : w->stage[DLB_WS_READ];
    if (w->io.used == DLB_IO_USED_SYNC)
        return;
    w->io.sum_ns = requests.sum_ns;
    w->io.p50_ns = requests.p50_ns;
    w->io.p99_ns = requests.p99_ns;
    w->io.p999_ns = requests.p999_ns;
    w->io.max_ns = requests.max_ns;
}

void dlb_merge_memory(const struct dlb_rank_part *parts, uint32_t n, struct dlb_memory_result *out)
{
    for (uint32_t i = 1; i < n; i++) {
        const struct dlb_memory_result *one = &parts[i].result.memory;
        add(&out->peak_pss_bytes, one->peak_pss_bytes);
        add(&out->slots_bytes, one->slots_bytes);
        add(&out->pinned_bytes, one->pinned_bytes);
        out->huge_pages = out->huge_pages && one->huge_pages;
        out->early_bytes += one->early_bytes;
        out->recent_bytes += one->recent_bytes;
        if (!out->growth[0])
            memcpy(out->growth, one->growth, sizeof(out->growth));
    }
}

/* Rank 0's figures do not say why the whole is not as its own part. */
static void say_whose(const struct dlb_rank_part *parts, uint32_t n, struct dlb_cache_result *out)
{
    for (uint32_t i = 1; i < n; i++) {
        const struct dlb_cache_result *one = &parts[i].result.cache;
        if (out->label == parts[0].result.cache.label || one->label == parts[0].result.cache.label)
            continue;
        (void)snprintf(out->why, sizeof(out->why), "rank %u on %.*s: %s: %.*s", i,
                       DLB_CUT(parts[i].node, 64), dlb_cache_label_name(one->label),
                       DLB_CUT(one->why, 200));
        return;
    }
}

void dlb_merge_cache(const struct dlb_rank_part *parts, uint32_t n, struct dlb_cache_result *out)
{
    enum dlb_cache_label *labels = dlb_mem_array(2 * (size_t)n, sizeof(*labels));
    for (uint32_t i = 0; i < n; i++) {
        labels[i] = parts[i].result.cache.label;
        labels[n + i] = parts[i].result.cache.metadata;
    }
    out->label = dlb_cache_over(labels, n);
    out->metadata = dlb_cache_over(labels + n, n);
    free(labels);
    say_whose(parts, n, out);
    for (uint32_t i = 1; i < n; i++) {
        const struct dlb_cache_result *one = &parts[i].result.cache;
        out->resident_before_frac = fmax(out->resident_before_frac, one->resident_before_frac);
        out->resident_after_frac = fmax(out->resident_after_frac, one->resident_after_frac);
        add(&out->process_bytes, one->process_bytes);
        add(&out->delivered_bytes, one->delivered_bytes);
        if (is_first_of_node(parts, i)) /* one device's bytes are counted once */
            add(&out->device_bytes, one->device_bytes);
    }
}
