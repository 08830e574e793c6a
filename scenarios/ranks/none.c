/* One process: each collective function is done at once. */
#include "core/base/mem.h"
#include "scenarios/ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char name_of_node[256];

static bool open_none(const struct dlb_ranks_idle *idle, char *why, size_t n_why)
{
    (void)idle;
    (void)why;
    (void)n_why;
    if (gethostname(name_of_node, sizeof(name_of_node) - 1))
        (void)snprintf(name_of_node, sizeof(name_of_node), "localhost");
    return true;
}

static uint32_t rank(void)
{
    return 0;
}

static uint32_t size(void)
{
    return 1;
}

static const char *node(void)
{
    return name_of_node;
}

static bool broadcast(void *bytes, size_t n_bytes)
{
    (void)bytes;
    (void)n_bytes;
    return true;
}

static bool gather(const void *mine, uint64_t n_mine, void **all, uint64_t *n_each)
{
    *all = dlb_mem_new((size_t)n_mine);
    if (n_mine > 0)
        memcpy(*all, mine, (size_t)n_mine);
    n_each[0] = n_mine;
    return true;
}

static bool reduce(struct dlb_ranks_word *word)
{
    (void)word;
    return true;
}

static bool barrier(void)
{
    return true;
}

static bool offsets(struct dlb_ranks_offset *mine)
{
    *mine = (struct dlb_ranks_offset){0, 0};
    return true;
}

static void tell(uint32_t to, const struct dlb_ranks_note *note)
{
    (void)to;
    (void)note;
}

static bool heard(struct dlb_ranks_note *note, uint32_t *from)
{
    (void)note;
    (void)from;
    return false;
}

static void abort_none(int code)
{
    _exit(code);
}

static void close_none(void)
{
}

const struct dlb_ranks dlb_ranks_none = {
    .abi = DLB_RANKS_ABI,
    .name = "one process",
    .open = open_none,
    .rank = rank,
    .size = size,
    .node = node,
    .broadcast = broadcast,
    .gather = gather,
    .reduce = reduce,
    .barrier = barrier,
    .offsets = offsets,
    .tell = tell,
    .heard = heard,
    .abort = abort_none,
    .close = close_none,
};
