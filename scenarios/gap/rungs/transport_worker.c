#include "scenarios/gap/rungs/transport_worker.h"

#include "scenarios/gap/rungs/channel.h"
#include "scenarios/gap/rungs/collate.h"

#include <unistd.h>

struct worker {
    const struct dlb_gap_transport *t;
    uint32_t id, credits;
    int channel;
    uint64_t epoch, n_made; /* batches in this epoch */
    struct dlb_gap_account *account;
    struct dlb_gap_collate collate;
};

void dlb_gap_transport_fail(struct dlb_gap_failure *failure, const struct dlb_err *err)
{
    uint32_t unclaimed = 0;
    if (!atomic_compare_exchange_strong(&failure->claimed, &unclaimed, 1))
        return;
    failure->err = *err;
    atomic_store(&failure->told, 1);
}

static int wait_for_word(struct worker *w, enum dlb_gap_word word, uint64_t *value,
                         struct dlb_err *err)
{
    struct dlb_gap_message message;
    int fd, rc = dlb_gap_receive(w->channel, &message, &fd, err);
    if (rc == DLB_OK && message.word != word)
        DLB_BUG("a worker received a message that it does not expect");
    if (rc == DLB_OK)
        *value = message.value;
    return rc;
}

static int wait_for_credit(struct worker *w, struct dlb_err *err)
{
    uint64_t ignored;
    int rc = DLB_OK;

    if (w->credits > 0) {
        w->credits--;
        return DLB_OK;
    }
    dlb_gap_begin(w->account);
    rc = wait_for_word(w, DLB_GAP_CREDIT, &ignored, err);
    dlb_gap_end(w->account, DLB_GAP_PART_wait);
    return rc;
}

/* Memory for the next batch: new memory with a descriptor to send, or one of this worker's slots.
 */
static int take_memory(struct worker *w, uint64_t n_bytes, struct dlb_gap_memory *memory, int *fd,
                       struct dlb_err *err)
{
    const struct dlb_gap_transport *t = w->t;

    *fd = -1;
    if (!t->fresh) {
        uint64_t slot = (uint64_t)w->id * DLB_GAP_PREFETCH + w->n_made % DLB_GAP_PREFETCH;
        *memory = (struct dlb_gap_memory){t->slots.addr + slot * t->slot_bytes, n_bytes};
        return DLB_OK;
    }
    dlb_gap_begin(w->account);
    int rc = dlb_gap_share_new(n_bytes, fd, err);
    if (rc == DLB_OK)
        rc =
            dlb_gap_share_map(memory, *fd, n_bytes, (enum dlb_gap_pages)t->run->params->pages, err);
    dlb_gap_end(w->account, DLB_GAP_PART_alloc);
    return rc;
}

static void give_back(struct worker *w, struct dlb_gap_memory *memory, int fd)
{
    if (!w->t->fresh)
        return;
    dlb_gap_begin(w->account);
    dlb_gap_unmap(memory);
    if (fd >= 0)
        (void)close(fd);
    dlb_gap_end(w->account, DLB_GAP_PART_free);
}

static int make_batch(struct worker *w, uint64_t batch, struct dlb_err *err)
{
    const struct dlb_gap_params *params = w->t->run->params;
    uint64_t n_rows = dlb_gap_batch_rows(params, batch);
    struct dlb_gap_memory memory = {.addr = NULL};
    struct dlb_gap_message message = {.word = DLB_GAP_BATCH, .value = batch};
    int fd = -1, rc = wait_for_credit(w, err);

    if (rc == DLB_OK)
        rc = dlb_gap_collate_fetch(&w->collate, w->account,
                                   dlb_gap_order_batch(&w->t->order, batch), n_rows, err);
    if (rc == DLB_OK)
        rc = take_memory(w, n_rows * dlb_gap_row_bytes(params), &memory, &fd, err);
    if (rc == DLB_OK)
        rc = dlb_gap_collate_stack(&w->collate, w->account, memory.addr, err);
    dlb_gap_collate_drop(&w->collate, w->account);
    if (rc == DLB_OK && w->id == 0)
        dlb_gap_look_at_batch(w->t->run, w->epoch, &memory);
    if (rc == DLB_OK) {
        dlb_gap_begin(w->account);
        rc = dlb_gap_send(w->channel, &message, fd, err);
        dlb_gap_end(w->account, DLB_GAP_PART_transport);
    }
    give_back(w, &memory, fd);
    w->n_made++;
    return rc;
}

static int one_epoch(struct worker *w, struct dlb_err *err)
{
    uint64_t n = dlb_gap_n_batches(w->t->run->params);
    struct dlb_gap_message done = {.word = DLB_GAP_DONE};
    int rc = wait_for_word(w, DLB_GAP_BEGIN, &w->epoch, err);

    if (rc != DLB_OK)
        return rc;
    dlb_gap_account_open(w->account);
    w->credits = DLB_GAP_PREFETCH;
    w->n_made = 0;
    for (uint64_t b = w->id; rc == DLB_OK && b < n; b += w->t->n_workers)
        rc = make_batch(w, b, err);
    dlb_gap_account_close(w->account);
    return rc == DLB_OK ? dlb_gap_send(w->channel, &done, -1, err) : rc;
}

void dlb_gap_transport_work(const struct dlb_gap_transport *t, uint32_t id)
{
    const struct dlb_gap_params *params = t->run->params;
    struct dlb_err err = {.offset_bytes = DLB_NO_OFFSET};
    struct worker w = {.t = t,
                       .id = id,
                       .channel = t->channel[id][1],
                       .account = &t->run->ledger->account[1 + id]};
    int rc = dlb_gap_collate_open(&w.collate, t->run->array.addr, (uint64_t)params->batch_size,
                                  dlb_gap_row_bytes(params), &err);

    while (rc == DLB_OK)
        rc = one_epoch(&w, &err);
    dlb_gap_transport_fail(t->failure, &err);
    dlb_gap_collate_close(&w.collate);
}
