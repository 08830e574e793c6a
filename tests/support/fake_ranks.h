/* Ranks without MPI: forked processes that share memory. One set at a time. */
#ifndef DLB_TESTS_SUPPORT_FAKE_RANKS_H
#define DLB_TESTS_SUPPORT_FAKE_RANKS_H

#include "scenarios/ranks/ranks.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define FAKE_RANKS 3
#define FAKE_BYTES (1 << 20)
#define FAKE_NOTES 256

struct fake_mail {
    _Atomic uint32_t n_sent; /* of this sender to this receiver */
    struct dlb_ranks_note note[FAKE_NOTES];
};

struct fake_shared {
    _Atomic uint64_t n_arrived;
    uint64_t n_bytes[FAKE_RANKS];
    char bytes[FAKE_RANKS][FAKE_BYTES];
    struct dlb_ranks_word word[FAKE_RANKS];
    struct fake_mail mail[FAKE_RANKS][FAKE_RANKS]; /* [from][to] */
    _Atomic uint32_t n_aborted;
    _Atomic pid_t speaker[FAKE_RANKS], runner[FAKE_RANKS];
    _Atomic uint32_t n_gave_up;           /* ranks other than 0 that ended the job themselves */
    _Atomic uint32_t late_ms[FAKE_RANKS]; /* so much later a broadcast returns at this rank */
    char why[512];                        /* the error of rank 0's speaker */
};

static struct fake_shared *fake;
static uint32_t fake_rank, fake_taken[FAKE_RANKS];
static uint64_t fake_met;
static struct dlb_ranks_idle fake_idle;

static void fake_begin(void)
{
    fake = mmap(NULL, sizeof(*fake), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (fake == MAP_FAILED)
        abort();
}

static void fake_end(void)
{
    (void)munmap(fake, sizeof(*fake));
}

static bool fake_open(const struct dlb_ranks_idle *idle, char *why, size_t n_why)
{
    (void)why;
    (void)n_why;
    fake_idle = *idle;
    return true;
}

static uint32_t fake_rank_here(void)
{
    return fake_rank;
}

static uint32_t fake_size(void)
{
    return FAKE_RANKS;
}

static const char *fake_node(void)
{
    static char name[8] = "node0";
    name[4] = (char)('0' + fake_rank);
    return name;
}

static bool fake_barrier(void)
{
    const struct timespec nap = {.tv_nsec = 200000};
    fake_met += FAKE_RANKS;
    atomic_fetch_add(&fake->n_arrived, 1);
    while (atomic_load(&fake->n_arrived) < fake_met) {
        if (!fake_idle.idle(fake_idle.ctx))
            return false;
        (void)nanosleep(&nap, NULL);
    }
    return true;
}

static bool fake_linger(void)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    for (uint32_t i = 0; i < atomic_load(&fake->late_ms[fake_rank]); i++) {
        if (!fake_idle.idle(fake_idle.ctx))
            return false;
        (void)nanosleep(&nap, NULL);
    }
    return true;
}

static bool fake_broadcast(void *bytes, size_t n_bytes)
{
    if (fake_rank == 0)
        memcpy(fake->bytes[0], bytes, n_bytes);
    if (!fake_barrier())
        return false;
    memcpy(bytes, fake->bytes[0], n_bytes);
    return fake_barrier() && fake_linger();
}

static bool fake_gather(const void *mine, uint64_t n_mine, void **all, uint64_t *n_each)
{
    char *at;
    if (n_mine > FAKE_BYTES)
        abort();
    memcpy(fake->bytes[fake_rank], mine, n_mine);
    fake->n_bytes[fake_rank] = n_mine;
    if (!fake_barrier())
        return false;
    if (fake_rank == 0) {
        *all = at = malloc((size_t)FAKE_RANKS * FAKE_BYTES);
        for (uint32_t i = 0; i < FAKE_RANKS; i++, at += n_each[i - 1]) {
            n_each[i] = fake->n_bytes[i];
            memcpy(at, fake->bytes[i], n_each[i]);
        }
    }
    return fake_barrier();
}

static bool fake_reduce(struct dlb_ranks_word *word)
{
    fake->word[fake_rank] = *word;
    if (!fake_barrier())
        return false;
    *word = fake->word[0];
    for (uint32_t i = 1; i < FAKE_RANKS; i++) {
        const struct dlb_ranks_word *one = &fake->word[i];
        if (one->left_ns > word->left_ns) {
            word->left_ns = one->left_ns;
            word->input_ns = one->input_ns;
        }
        word->least_ns = one->least_ns < word->least_ns ? one->least_ns : word->least_ns;
        word->n_active += one->n_active;
    }
    return fake_barrier();
}

static bool fake_offsets(struct dlb_ranks_offset *mine)
{
    *mine = (struct dlb_ranks_offset){.offset_ns = 1000 * (int64_t)fake_rank, .error_ns = 500};
    return true;
}

static void fake_tell(uint32_t to, const struct dlb_ranks_note *note)
{
    struct fake_mail *mail = &fake->mail[fake_rank][to];
    uint32_t n = atomic_load(&mail->n_sent);
    if (n == FAKE_NOTES)
        return;
    mail->note[n] = *note;
    atomic_store(&mail->n_sent, n + 1);
}

static bool fake_heard(struct dlb_ranks_note *note, uint32_t *from)
{
    for (uint32_t i = 0; i < FAKE_RANKS; i++)
        if (fake_taken[i] < atomic_load(&fake->mail[i][fake_rank].n_sent)) {
            *note = fake->mail[i][fake_rank].note[fake_taken[i]++];
            *from = i;
            return true;
        }
    return false;
}

static const char *fake_why(void)
{
    return "";
}

static void fake_abort(int code)
{
    atomic_fetch_add(&fake->n_aborted, 1);
    _exit(code);
}

static void fake_close(void)
{
}

static const struct dlb_ranks fake_ranks = {
    .abi = DLB_RANKS_ABI,
    .name = "forked processes",
    .open = fake_open,
    .rank = fake_rank_here,
    .size = fake_size,
    .node = fake_node,
    .broadcast = fake_broadcast,
    .gather = fake_gather,
    .reduce = fake_reduce,
    .barrier = fake_barrier,
    .offsets = fake_offsets,
    .tell = fake_tell,
    .heard = fake_heard,
    .why = fake_why,
    .abort = fake_abort,
    .close = fake_close,
};

#endif
