#include "scenarios/gap/rungs/rung_doc.h"

#include "scenarios/spec/flat.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const page_names[] = {"small", "huge", "kernel"};

/* The epoch in the middle; of two, the faster. */
static uint32_t median_epoch(const uint64_t *wall_ns, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t below = 0;
        for (uint32_t k = 0; k < n; k++)
            below += wall_ns[k] < wall_ns[i] || (wall_ns[k] == wall_ns[i] && k < i);
        if (below == (n - 1) / 2)
            return i;
    }
    return 0;
}

static json_t *epochs_json(const struct dlb_gap_facts *facts)
{
    json_t *epochs = json_array();
    for (int64_t e = 0; epochs && e < facts->run->params->epochs; e++)
        if (json_array_append_new(epochs, json_real((double)facts->wall_ns[e] * 1e-9)) != 0) {
            json_decref(epochs);
            return NULL;
        }
    return epochs;
}

static json_t *huge_json(const struct dlb_gap_facts *facts)
{
    const char *asked = page_names[facts->run->params->pages];
    return json_pack("{ss, ss, so, so}", "asked", asked, "batches_asked", asked, "array_frac",
                     dlb_json_real_or_null(facts->array_huge_frac), "batch_frac",
                     dlb_json_real_or_null(facts->run->ledger->batch_huge_frac));
}

static json_t *checksum_json(const struct dlb_gap_run *run)
{
    char text[17];
    if (run->params->warmup_epochs == 0)
        return json_null();
    (void)snprintf(text, sizeof text, "%016" PRIx64, run->checksum);
    return json_string(text);
}

/* Faults in a batch's memory, by whoever fills, copies or reads it. The rest are malloc's, and a
 * process's own: private, whatever batches are. */
static uint64_t batch_faults(const struct dlb_gap_account *a)
{
    return a->part_faults[DLB_GAP_PART_gather] + a->part_faults[DLB_GAP_PART_stack] +
           a->part_faults[DLB_GAP_PART_pin] + a->part_faults[DLB_GAP_PART_copy];
}

/* Of all faults of the epoch; and those of filling batches: a share of the epoch's last batch may
 * be missing, so that samples are counted. */
static json_t *faults_json(const struct dlb_gap_facts *facts, const struct dlb_gap_ledger *ledger)
{
    const struct dlb_gap_params *params = facts->run->params;
    const struct dlb_gap_fault_cost *price = &facts->batch_fault;
    uint64_t filling = 0;
    double ns = 0;

    for (uint32_t i = 0; i < ledger->n_accounts; i++) {
        const struct dlb_gap_account *a = &ledger->account[i];
        if (!a->closed)
            continue;
        uint64_t all = dlb_gap_faults(a), of_batches = batch_faults(a);
        ns += (double)of_batches * price->ns +
              (double)(all > of_batches ? all - of_batches : 0) * facts->own_fault.ns;
        filling += a->part_faults[DLB_GAP_PART_gather] + a->part_faults[DLB_GAP_PART_stack];
    }
    return json_pack(
        "{so, ss, sI, so, so}", "ns", dlb_json_real_or_null(price->ns), "kind",
        facts->rung->fault_kind == DLB_GAP_SHARED ? "shared" : "private", "page_bytes",
        (json_int_t)price->page_bytes, "seconds", dlb_json_real_or_null(ns * 1e-9), "per_batch",
        json_real((double)filling * (double)params->batch_size / (double)params->samples));
}

static bool put_ledger(json_t *doc, const struct dlb_gap_facts *facts, uint32_t epoch)
{
    const struct dlb_gap_ledger *ledger =
        (const struct dlb_gap_ledger *)(const void *)(facts->ledgers +
                                                      (size_t)epoch * facts->ledger_bytes);
    return dlb_json_put(doc, "parts",
                        dlb_gap_parts_json(ledger->account, 1, facts->wall_ns[epoch])) &&
           dlb_json_put(doc, "worker_parts",
                        dlb_gap_parts_json(ledger->account + 1, ledger->n_accounts - 1, 0)) &&
           dlb_json_put(doc, "faults", faults_json(facts, ledger)) &&
           dlb_json_put(doc, "os", dlb_gap_os_json(ledger));
}

static bool put_sizes(json_t *doc, const struct dlb_gap_facts *facts)
{
    const struct dlb_gap_params *params = facts->run->params;
    return dlb_json_put(doc, "n_samples", json_integer(params->samples)) &&
           dlb_json_put(doc, "n_batches", json_integer((json_int_t)dlb_gap_n_batches(params))) &&
           dlb_json_put(doc, "batch_bytes",
                        json_integer((json_int_t)dlb_gap_batch_bytes(params))) &&
           dlb_json_put(doc, "n_workers", json_integer(facts->rung->workers ? params->workers : 0));
}

json_t *dlb_gap_rung_json(const struct dlb_gap_facts *facts)
{
    const struct dlb_gap_run *run = facts->run;
    uint32_t epoch = median_epoch(facts->wall_ns, (uint32_t)run->params->epochs);
    json_t *doc = json_pack("{ss, ss, sf}", "rung", facts->name, "status", "ok", "seconds",
                            (double)facts->wall_ns[epoch] * 1e-9);

    if (doc && dlb_json_put(doc, "epochs", epochs_json(facts)) && put_sizes(doc, facts) &&
        dlb_json_put(doc, "device", dlb_gap_target_json(&run->target)) &&
        dlb_json_put(doc, "huge_pages", huge_json(facts)) &&
        dlb_json_put(doc, "checksum", checksum_json(run)) &&
        dlb_json_put(doc, "start_up",
                     json_pack("{sf, sf, sf, sf}", "array", facts->array_s, "prepare",
                               facts->prepare_s, "device", facts->device_s, "start",
                               facts->start_s)) &&
        put_ledger(doc, facts, epoch) &&
        dlb_json_put(doc, "copy_calls", dlb_gap_calls_json(&run->target.copy_calls)) &&
        dlb_json_put(doc, "sync_calls", dlb_gap_calls_json(&run->target.sync_calls)))
        return doc;
    json_decref(doc);
    return NULL;
}

json_t *dlb_gap_failed_json(const char *name, int status, const struct dlb_err *err)
{
    char text[sizeof(struct dlb_err) + 64];
    (void)dlb_err_text(err, text, sizeof text);
    return json_pack("{so, ss, so, si}", "rung", dlb_json_safe_text(name), "status",
                     status == DLB_E_CANCELLED ? "cancelled" : "failed", "reason",
                     dlb_json_safe_text(text), "error", status);
}
