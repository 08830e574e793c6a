/* What ranks need of each other: some functions and a note. A module of MPI has them
 * (scenarios/ranks/mpi/module.c). One process alone needs none.
 *
 * Floor 4. Only the speaker of a rank calls them (speaker.h), on one thread. A module is built
 * apart from the program and calls nothing of it. All but the notes are collective: every rank
 * calls the same in the same order. While a function waits it sleeps, and calls `idle` now and
 * then. Once that says false, or MPI fails, the function returns false. From then on no other may
 * be called but tell, heard, why and abort. */
#ifndef DLB_SCENARIOS_RANKS_RANKS_H
#define DLB_SCENARIOS_RANKS_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DLB_RANKS_ABI 2 /* of this header: a module with another number is refused */
#define DLB_RANKS_SYMBOL "dlb_ranks_module"

/* One round at a barrier over all ranks. */
struct dlb_ranks_word {
    int64_t left_ns;  /* the largest of all ranks ... */
    int64_t input_ns; /* ... and this of the same rank */
    int64_t least_ns; /* the smallest: what the last round cost the rank that came last */
    int64_t n_active; /* the sum: ranks whose cell still runs */
};

/* The clock of another rank less that of rank 0, by the least round trip of several. */
struct dlb_ranks_offset {
    int64_t offset_ns, error_ns; /* error: half of that round trip */
};

/* What one rank tells another at any time. Fixed in size, so that it is on its way at once. */
struct dlb_ranks_note {
    uint32_t kind; /* enum dlb_note_kind of watch.c */
    uint32_t rank; /* that it describes */
    int32_t signal;
    uint32_t number;
    char text[176];
};

struct dlb_ranks_idle {
    bool (*idle)(void *ctx);
    void *ctx;
};

struct dlb_ranks {
    uint32_t abi;
    const char *name; /* "OpenMPI" */
    /* False: *why says why. */
    bool (*open)(const struct dlb_ranks_idle *idle, char *why, size_t n_why);
    uint32_t (*rank)(void);
    uint32_t (*size)(void);
    const char *(*node)(void);                      /* the machine's name */
    bool (*broadcast)(void *bytes, size_t n_bytes); /* from rank 0 */
    /* To rank 0, where *all gets all ranks' bytes one after the other, and n_each[size] their
     * numbers; the caller frees *all. Elsewhere both may be NULL. */
    bool (*gather)(const void *mine, uint64_t n_mine, void **all, uint64_t *n_each);
    bool (*reduce)(struct dlb_ranks_word *word); /* every rank gets it */
    bool (*barrier)(void);
    bool (*offsets)(struct dlb_ranks_offset *mine);               /* to rank 0 */
    void (*tell)(uint32_t to, const struct dlb_ranks_note *note); /* does not wait */
    bool (*heard)(struct dlb_ranks_note *note, uint32_t *from);   /* false: there is none */
    const char *(*why)(void); /* what failed, and what MPI says of it; "": nothing has */
    void (*abort)(int code);  /* ends all ranks; may return before it has */
    void (*close)(void);      /* once, at the end */
};

#endif
