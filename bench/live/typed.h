/* Whether `q` was meant for the view, or is part of a line that was typed ahead for the shell.
 *
 * Floor 5, private to the live view. Pure. */
#ifndef DLB_BENCH_LIVE_TYPED_H
#define DLB_BENCH_LIVE_TYPED_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: no key was typed. */
struct dlb_typed {
    bool asked;     /* at the last look: nothing but `q` */
    bool was_other; /* at the last look: other keys */
};

/* A look at the keys since the last one. True: `q` was typed, and no other key in this look, nor in
 * the ones before and after it. */
bool dlb_typed_q(struct dlb_typed *typed, uint32_t n_q, uint32_t n_other);

#endif
