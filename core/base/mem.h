/* Allocation for control code: it does not fail. When memory is short the process ends, with a
 * message and exit code 3, after the function that was registered here has put the results
 * folder in order.
 *
 * Floor 0. dlb_mem_*: any thread of control code. Memory that workers share, and memory whose
 * size a file's content decides, is not allocated here: such code reports DLB_ERR_NOMEM, and the
 * cell or the sample fails, not the program. */
#ifndef DLB_CORE_BASE_MEM_H
#define DLB_CORE_BASE_MEM_H

#include <stddef.h>

enum { DLB_MEM_EXIT = 3 }; /* DLB_EXIT_FAILED of bench/cli/verb.h */

/* Zeroed; free() gives it back. Never NULL, also for 0 bytes. */
__attribute__((malloc, returns_nonnull)) void *dlb_mem_new(size_t n_bytes);

/* n elements of n_bytes each, zeroed; the product is checked. */
__attribute__((malloc, returns_nonnull)) void *dlb_mem_array(size_t n, size_t n_bytes);

/* As realloc, to n elements; the added elements are not initialised. */
__attribute__((returns_nonnull)) void *dlb_mem_grow(void *memory, size_t n, size_t n_bytes);

__attribute__((malloc, returns_nonnull)) char *dlb_mem_text(const char *text);

/* For a module's state, whose size its table gives: zeroed, aligned to a cache line. NULL when
 * memory is short: the code that opens the module reports the error. */
void *dlb_mem_state(size_t n_bytes);

/* `pointer`; the process ends if it is NULL. For results of libraries that allocate. */
__attribute__((returns_nonnull)) void *dlb_mem_check(void *pointer);

/* Registers a function that is called before the process ends because memory is short. There is
 * at most one; NULL removes it. It must not allocate through this header. A child of fork() has its
 * parent's, and removes it where it must not put the parent's folder in order. */
void dlb_mem_at_exhaustion(void (*put_in_order)(void *ctx), void *ctx);

#endif
