#include "core/base/mem.h"

#include "core/base/last.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CACHE_LINE_BYTES 64

static struct {
    void (*put_in_order)(void *ctx);
    void *ctx;
} last;

void dlb_mem_at_exhaustion(void (*put_in_order)(void *ctx), void *ctx)
{
    last.put_in_order = put_in_order;
    last.ctx = ctx;
}

static void __attribute__((noreturn)) end(void)
{
    dlb_last_words("dlbench: out of memory: nothing was lost that was written before "
                   "[E_NOMEM]\n");
    if (last.put_in_order)
        last.put_in_order(last.ctx);
    _exit(DLB_MEM_EXIT);
}

void *dlb_mem_check(void *pointer)
{
    if (!pointer)
        end();
    return pointer;
}

void *dlb_mem_new(size_t n_bytes)
{
    return dlb_mem_array(1, n_bytes);
}

void *dlb_mem_array(size_t n, size_t n_bytes)
{
    return dlb_mem_check(calloc(n ? n : 1, n_bytes ? n_bytes : 1));
}

void *dlb_mem_grow(void *memory, size_t n, size_t n_bytes)
{
    return dlb_mem_check(reallocarray(memory, n ? n : 1, n_bytes ? n_bytes : 1));
}

char *dlb_mem_text(const char *text)
{
    return dlb_mem_check(strdup(text));
}

void *dlb_mem_state(size_t n_bytes)
{
    size_t whole = (n_bytes / CACHE_LINE_BYTES + 1) * CACHE_LINE_BYTES;
    void *state = aligned_alloc(CACHE_LINE_BYTES, whole);
    if (state)
        memset(state, 0, whole);
    return state;
}
