/* A bump allocator for one worker's scratch memory.
 *
 * Floor 0. One thread. Pointers are borrowed until the next dlb_arena_reset. It grows while it
 * learns how much a batch needs; from then on a reset keeps one block that holds it all, and the
 * steady state never calls malloc. */
#ifndef DLB_CORE_BASE_ARENA_H
#define DLB_CORE_BASE_ARENA_H

#include <stddef.h>

struct dlb_arena_block;
struct dlb_arena {
    struct dlb_arena_block *head; /* newest first */
    size_t used_bytes;            /* handed out since the last reset, padding included */
};

/* 64-byte aligned, not zeroed; NULL when memory is short. A zeroed struct dlb_arena is an empty
 * arena. */
void *dlb_arena_alloc(struct dlb_arena *arena, size_t n_bytes);
void dlb_arena_reset(struct dlb_arena *arena);
void dlb_arena_free(struct dlb_arena *arena);

#endif
