#include "scenarios/judge/fault.h"

#include "formats/codec.h"

#include <inttypes.h>
#include <stdio.h>

/* By how many samples a cell's count may differ from what is expected: usually 0. With drop_last
 * over shards a skipped sample moves others into the worker's last batch, which is dropped, or
 * out of it. Each worker's sum is then off by less than a batch. */
static uint64_t slack_of(const struct dlb_plan_cell *planned, const struct dlb_cell_result *rep)
{
    const struct dlb_spec *spec = planned->spec;
    uint64_t workers = spec->loader.num_workers ? (uint64_t)spec->loader.num_workers : 1;
    if (!planned->iterable || spec->dataset.on_error != DLB_ON_ERROR_SKIP ||
        !spec->loader.drop_last)
        return 0;
    return workers * dlb_spec_loaders(spec) * dlb_cell_result_n_ranks(rep) *
           (uint64_t)spec->loader.batch_size;
}

/* Whether an epoch that ran to its end delivered what it should. */
static bool is_complete(const struct dlb_epoch *epoch, uint64_t slack, bool cut)
{
    uint64_t found = epoch->n_samples + epoch->n_skipped, expected = epoch->n_expected;
    return found == expected || (found < expected && (cut || expected - found < slack)) ||
           (found > expected && found - expected < slack && epoch->n_skipped > 0);
}

enum dlb_code dlb_fault_of(const struct dlb_plan_cell *planned, const struct dlb_cell_result *rep,
                           char *reason, size_t n_reason)
{
    uint64_t mismatches = dlb_count_or_zero(rep->loop.n_checksum_mismatches);
    /* It is not known how many samples a cut shard lost. */
    bool cut = dlb_count_or_zero(rep->workers.n_cut_shards) > 0;
    uint64_t slack = slack_of(planned, rep);
    if (mismatches > 0) {
        (void)snprintf(reason, n_reason,
                       "%llu batches reached the device with other bytes than the workers wrote",
                       (unsigned long long)mismatches);
        return DLB_ERR_CHECKSUM_MISMATCH;
    }
    for (uint32_t i = 0; i < rep->loop.n_epochs; i++) {
        const struct dlb_epoch *e = &rep->loop.epoch[i];
        /* Samples that pad a rank are another rank's. */
        if (e->n_samples - e->n_unique > e->n_padded) {
            (void)snprintf(reason, n_reason, "epoch %u delivered %llu of %llu samples twice", i,
                           (unsigned long long)(e->n_samples - e->n_unique),
                           (unsigned long long)e->n_samples);
            return DLB_ERR_SAMPLES_TWICE;
        }
        if (!e->ended || is_complete(e, slack, cut))
            continue;
        char and_skipped[60] = "";
        if (e->n_skipped > 0)
            (void)snprintf(and_skipped, sizeof(and_skipped), " and skipped %llu",
                           (unsigned long long)e->n_skipped);
        (void)snprintf(reason, n_reason, "epoch %u delivered %llu samples%s instead of %llu", i,
                       (unsigned long long)e->n_samples, and_skipped,
                       (unsigned long long)e->n_expected);
        return DLB_ERR_SAMPLES_MISSING;
    }
    return DLB_N_CODES;
}

/* Whether the block's seed decides which samples an epoch delivers, or with which bytes: a shuffled
 * order decides what drop_last drops, and what is a rank's. Shards are a rank's in any order. */
static bool seed_decides(const struct dlb_plan_cell *planned)
{
    const struct dlb_spec *spec = planned->spec;
    bool crops = spec->transform.crop != DLB_CROP_CENTER && spec->transform.crop != DLB_CROP_NONE;
    if (spec->run.checksum && crops && !dlb_codecs[spec->dataset.codec]->identity)
        return true;
    return spec->loader.shuffle &&
           (spec->loader.drop_last || (!planned->iterable && dlb_spec_ranks(spec) > 1));
}

static const struct dlb_epoch *whole_epoch(const struct dlb_cell_result *rep)
{
    bool ended = rep->status == DLB_REP_OK && rep->loop.n_epochs > 0 && rep->loop.epoch[0].ended;
    return ended ? &rep->loop.epoch[0] : NULL;
}

bool dlb_reps_disagree(const struct dlb_plan_cell *planned, const struct dlb_reps *reps,
                       char *reason, size_t n_reason)
{
    for (uint32_t i = 0; i < reps->n; i++)
        for (uint32_t k = 0; k < i; k++) {
            const struct dlb_epoch *a = whole_epoch(&reps->rep[k]), *b = whole_epoch(&reps->rep[i]);
            if (!a || !b || a->set_checksum == b->set_checksum ||
                (reps->rep[i].block != reps->rep[k].block && seed_decides(planned)))
                continue;
            (void)snprintf(reason, n_reason,
                           "repetitions delivered different content: set_checksum %016" PRIx64
                           " and %016" PRIx64,
                           a->set_checksum, b->set_checksum);
            return true;
        }
    return false;
}
