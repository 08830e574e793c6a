/* The race: which cells of a sweep run in the next block, and when the answer is known.
 *
 * Floor 1. Control thread: allocates with core/base/mem.h. Pure: what a race says is a function of
 * its input, of the rates recorded so far and of the budgets that were passed. To repeat a race,
 * record its blocks in the same order and call dlb_race_next before each.
 *
 *   dlb_race_init(&race, &input);
 *   while (dlb_race_next(&race, budget)) {
 *       run each cell c with race.cells[c].runs, in random order, as block race.n_blocks
 *       dlb_race_record(&race, block, c, samples_per_s) for each
 *   }
 *   race.recommended, race.probability, race.loss_frac, race.stopped, race.cells, race.keys
 *   dlb_race_free(&race);
 *
 * Wanted is the smallest cell that is within the tolerance of the best. Values of keys that the
 * first block has left far behind are screened: but for one cell each, which confirms it, their
 * cells rest until the first look (core/measure/race_screen.h). From then on the model
 * (core/measure/race_model.h) gives each cell's probability after every block. The *leader* is the
 * smallest cell whose probability is not much lower than the highest one. Cells run on if they are
 * the leader, or may be better than it by more than the tolerance. So do those of which this is in
 * *doubt*: their own runs do not exclude it if the cell is an exception. Others are dropped, or
 * screened: they rest, and run again if a later leader makes them matter.
 *
 * Once the leader is certain, it is chosen; once what is left is only enough for the last phase,
 * the smallest cell with DLB_RACE_PREFER, or else the most probable one, if it has 94%. It and its
 * rival (the best of the others) run afresh, in pairs. The interval of its loss is of these runs
 * alone: figures that also chose a cell flatter it. If they contradict the chosen cell, the race
 * goes on. Else the smaller one of the two is recommended if it now has DLB_RACE_PREFER, or else
 * the more probable one. It is good enough if it has DLB_RACE_DECIDE, the fresh figures do not
 * contradict it, and the interval of its loss ends below four tolerances. If it is not, the other
 * one is recommended, if that is good enough and was chosen, or nothing is left for going on; else
 * the race goes on.
 *
 * Sources: racing with blocks is Maron and Moore's (NIPS 1993) and F-Race (Birattari et al., GECCO
 * 2002); running what may still beat the leader is top-two sampling (Russo, COLT 2016). The
 * constants were chosen by simulation: docs/measurement.md has the table,
 * tests/unit/test_race_grids.c repeats it. */
#ifndef DLB_CORE_MEASURE_RACE_H
#define DLB_CORE_MEASURE_RACE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define DLB_RACE_TOLERANCE 0.02 /* default: what a smaller cell may lose to the best */
#define DLB_RACE_DECIDE 0.965   /* probability of a recommended cell, all runs together */
#define DLB_RACE_ALIKE 0.995    /* likewise without a race, which has a last phase */
#define DLB_RACE_PREFER 0.98    /* of a smaller cell that is preferred to a more probable one */
#define DLB_RACE_SAME 0.95      /* probability from which a key makes no difference */

/* What there is to spend, and what things cost, in one unit: seconds, say. */
struct dlb_race_budget {
    double left;  /* INFINITY: no limit */
    double block; /* what a block takes beside its runs: a reference, ceilings; not in the last
                     phase */
    double run;   /* one run of one cell */
};
#define DLB_RACE_FIRST_LOOK 3   /* blocks: two give no scatter of its own to a cell */
#define DLB_RACE_BLOCKS_MAX 128 /* a decision that would take more is left to a quieter machine */

#define DLB_RACE_RUNS(n) ((struct dlb_race_budget){(n), 0, 1})
#define DLB_RACE_UNLIMITED DLB_RACE_RUNS((double)INFINITY)

enum dlb_race_state {
    DLB_RACE_RACING,
    DLB_RACE_SCREENED, /* rests, but for what confirms that or runs beside the others: it may be
                          good, but cannot be much better than the leader */
    DLB_RACE_DROPPED,  /* improbable to be within the tolerance of the best */
    DLB_RACE_FINALIST,
    DLB_RACE_FAILED, /* has no rates, or none that can be judged */
};

enum dlb_race_stop {
    DLB_RACE_GOES_ON,
    DLB_RACE_DECIDED,
    DLB_RACE_BUDGET, /* no runs were left, and no cell was good enough */
    DLB_RACE_NOISE,  /* likewise, because a decision would take too many blocks */
};

/* Fractions: 0.02 is a loss of 2%. NaN: not known. */
struct dlb_race_interval {
    double median, low, high; /* 95% */
};

struct dlb_race_cell {
    enum dlb_race_state state;
    bool runs; /* in the next block */
    double
        probability; /* to be within the tolerance of the best; at the last look that weighed it */
    double behind;   /* the best, in ln rate: mean, at that look */
    double threat;   /* probability to be better than the leader by more than the tolerance */
    double doubt;    /* probability that it beats the choice by more than the tolerance, if it is an
                        exception (race_model.h) and the choice is none */
    struct dlb_race_interval loss_frac; /* to the best, by the model; at the end of the race */
};

/* A key at one cell, `base`. */
struct dlb_race_key {
    uint32_t n_others; /* measured cells that differ from base in this key alone */
    double same; /* probability that none of them loses more than the tolerance to base, nor base to
                    any of them; NaN: there are none */
};

/* All borrowed until dlb_race_free. */
struct dlb_race_input {
    uint32_t n_cells, n_keys;
    const uint32_t *rank;   /* [n_cells] 0: the smallest, which is preferred; no two are equal */
    const uint32_t *levels; /* [n_cells][n_keys] which value of the key the cell has, from 0 */
    double tolerance;       /* 0 to 1, both exclusive */
    uint64_t seed;
};

struct dlb_race {
    struct dlb_race_input input;
    struct dlb_race_cell *cells; /* [n_cells]; owned */
    uint32_t n_blocks;           /* recorded, fresh ones included */
    double *ln_rate;             /* [n_blocks][n_cells]; owned */
    uint32_t n_looked;           /* blocks at the last look */
    uint32_t first_look;         /* blocks before it, if the budget affords them */

    int64_t leader;               /* cell; -1: none */
    int64_t recommended, rival;   /* likewise; set in the last phase and when decided */
    uint32_t fresh_from, n_fresh; /* blocks of the last phase; n_fresh 0: it has not begun */

    enum dlb_race_stop stopped;
    double probability;                 /* of `recommended`, over all blocks */
    struct dlb_race_interval loss_frac; /* of `recommended` to its rival, 0 at least; fresh blocks;
                                           NaN without a rival */
    double loss_level;  /* of that interval: 0.95, or 0.975 where the two changed places */
    double blocks_more; /* that a decision would still take, about, the last phase included; 0 when
                           decided; NaN before the first look */
    double noise_floor_frac; /* a difference below this is noise, of two cells that ran as often as
                                the leader; NaN before a look */
    double scatter;          /* standard deviation of one run's ln rate; NaN before a look */

    int64_t base; /* cell, at the end: the recommended one, else the one that loses least; -1 */
    struct dlb_race_key *keys; /* [n_keys] at the end of the race; owned */
};

void dlb_race_init(struct dlb_race *race, const struct dlb_race_input *input);
void dlb_race_free(struct dlb_race *race);

/* Of every cell that ran, also where it failed. Not finite, or not above 0: not measured. */
void dlb_race_record(struct dlb_race *race, uint32_t block, uint32_t cell, double samples_per_s);

/* The cell cannot be judged: it runs no more and is never recommended. */
void dlb_race_fail(struct dlb_race *race, uint32_t cell);

/* Instead of a race: judges blocks in each of which all cells ran, when no more are to come. With
 * fewer than DLB_RACE_FIRST_LOOK it says nothing. `loss_frac` is then to the best, by the model.
 * Recommended is the smallest cell with DLB_RACE_ALIKE, unless another one may be an exception that
 * beats it by more than the tolerance. */
void dlb_race_judge(struct dlb_race *race);

/* Marks the cells of the next block, one at least. False: the race has ended, and `stopped` says
 * why. */
bool dlb_race_next(struct dlb_race *race, struct dlb_race_budget budget);

/* What a decision between cells that lose nothing takes, about, the last phase left out. scatter:
 * standard deviation of one run's ln rate. */
double dlb_race_blocks(double scatter, double tolerance);

/* What the next block takes. */
uint32_t dlb_race_block_runs(const struct dlb_race *race);

#endif
