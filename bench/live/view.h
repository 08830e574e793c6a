/* The live view: what a command that takes long shows on a terminal while it runs.
 *
 * Floor 5. Pure: the same state gives the same frame, on terminals of any size. What does not fit
 * is left out, the least important first. */
#ifndef DLB_BENCH_LIVE_VIEW_H
#define DLB_BENCH_LIVE_VIEW_H

#include "bench/live/frame.h"
#include "bench/live/rates.h"

#include <stdbool.h>
#include <stdint.h>

#define DLB_VIEW_NOTES 8
#define DLB_VIEW_TEXT 320

/* A race between cells, after its last block. */
struct dlb_view_race {
    bool there;
    uint32_t n_left, n_all;     /* cells that still run, and all that can */
    char leader[DLB_VIEW_TEXT]; /* "": none yet */
    double probability;         /* of the leader; NaN: not known */
    double needed;              /* the probability that an answer has at least */
};

/* What the user is told of `q`: what it does, and that it was done. */
struct dlb_view_end {
    const char *offer, *ending;
};

struct dlb_view {
    char title[64];          /* "sweep" */
    struct dlb_view_end end; /* offer NULL: what was measured is kept */
    char text[DLB_VIEW_TEXT];
    double frac, eta_s; /* NaN: not known */
    double gone_s;
    bool measures;       /* a process runs, whose rates are shown */
    double demand_per_s; /* samples that the device asks for; NaN: not known */
    struct dlb_rates rates;
    bool elsewhere; /* another program has the workers: nothing is known of them */
    struct dlb_view_race race;
    bool ending;                              /* the user asked for the end */
    bool reads;                               /* keys that are typed */
    char note[DLB_VIEW_NOTES][DLB_VIEW_TEXT]; /* a ring */
    uint32_t n_notes;                         /* all so far */
};

/* Adds to the notes. */
void dlb_view_note(struct dlb_view *view, const char *text);

void dlb_view_draw(const struct dlb_view *view, uint32_t n_rows, uint32_t n_columns,
                   struct dlb_frame *frame);

#endif
