/* Allocation for control code: it does not fail. When memory is short the process ends, with a
 * message and exit code 3, after what was registered here has put the results folder in order.
 *
 * Floor 0. dlb_mem_*: any thread of control code. What workers share and what a file's content
 * decides the size of is not allocated here: that reports DLB_ERR_NOMEM and costs its cell or its
 * sample, never the program. */
#ifndef DLB_CORE_BASE_MEM_H
#define DLB_CORE_BASE_MEM_H

#include <stddef.h>

/* Zeroed; free() gives it back. Of 0 bytes: a pointer that is not NULL. */
__attribute__((malloc, returns_nonnull)) void *dlb_mem_new(size_t n_bytes);

/* n elements of n_bytes each, zeroed; the product is checked. */
__attribute__((malloc, returns_nonnull)) void *dlb_mem_array(size_t n, size_t n_bytes);

/* As realloc to n elements; what is added is not set to anything. */
__attribute__((returns_nonnull)) void *dlb_mem_grow(void *memory, size_t n, size_t n_bytes);

__attribute__((malloc, returns_nonnull)) char *dlb_mem_text(const char *text);

/* For a module's state, as its table gives the size: zeroed, aligned to a cache line. NULL when
 * memory is short: whoever opens a module reports that as its error. */
void *dlb_mem_state(size_t n_bytes);

/* `pointer`, or the end of the process where it is NULL: for libraries that allocate. */
__attribute__((returns_nonnull)) void *dlb_mem_check(void *pointer);

/* What is to be done before the process ends for want of memory: at most one, NULL takes it away.
 * It must not allocate through here. */
void dlb_mem_at_exhaustion(void (*put_in_order)(void *ctx), void *ctx);

#endif
