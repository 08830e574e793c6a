#include "core/base/arena.h"

#include <stdint.h>
#include <stdlib.h>

enum { ALIGN_BYTES = 64, MIN_BLOCK_BYTES = 1 << 16 };

struct dlb_arena_block {
    struct dlb_arena_block *next;
    size_t cap_bytes, used_bytes;
    _Alignas(ALIGN_BYTES) uint8_t data[];
};

static struct dlb_arena_block *block_new(size_t cap_bytes)
{
    if (cap_bytes > SIZE_MAX - 2 * ALIGN_BYTES)
        return NULL;
    struct dlb_arena_block *block = aligned_alloc(ALIGN_BYTES, sizeof *block + cap_bytes);
    if (block)
        *block = (struct dlb_arena_block){.cap_bytes = cap_bytes};
    return block;
}

void *dlb_arena_alloc(struct dlb_arena *arena, size_t n_bytes)
{
    if (n_bytes > SIZE_MAX / 4)
        return NULL;
    size_t need = (n_bytes + ALIGN_BYTES - 1) & ~(size_t)(ALIGN_BYTES - 1);
    struct dlb_arena_block *block = arena->head;

    if (!block || block->cap_bytes - block->used_bytes < need) {
        size_t cap = block ? block->cap_bytes * 2 : MIN_BLOCK_BYTES;
        block = block_new(cap > need ? cap : need);
        if (!block)
            return NULL;
        block->next = arena->head;
        arena->head = block;
    }
    void *at = block->data + block->used_bytes;
    block->used_bytes += need;
    arena->used_bytes += need;
    return at;
}

void dlb_arena_reset(struct dlb_arena *arena)
{
    size_t total_bytes = 0;

    if (arena->head && arena->head->next) {
        for (struct dlb_arena_block *b = arena->head; b; b = b->next)
            total_bytes += b->cap_bytes;
        dlb_arena_free(arena);
        arena->head = block_new(total_bytes);
    }
    if (arena->head)
        arena->head->used_bytes = 0;
    arena->used_bytes = 0;
}

void dlb_arena_free(struct dlb_arena *arena)
{
    while (arena->head) {
        struct dlb_arena_block *next = arena->head->next;
        free(arena->head);
        arena->head = next;
    }
    arena->used_bytes = 0;
}
