/* Tails of the distributions that intervals and tests need.
 *
 * Floor 1. Any thread. Pure. */
#ifndef DLB_CORE_MEASURE_TAIL_H
#define DLB_CORE_MEASURE_TAIL_H

/* The probability that an F-distributed value exceeds f, of n1 and n2 degrees of freedom (both
 * above 0). NaN if f is. */
double dlb_f_tail(double f, double n1, double n2);

/* Student's t, of n > 0 degrees of freedom: its absolute value exceeds this with the probability
 * `beyond`, above 0 and below 1. */
double dlb_t_beyond(double beyond, double n);

/* Student's t for a two-sided 95% interval, of n > 0 degrees of freedom: 12.71 for 1, 1.96 for
 * many. */
double dlb_t_95(double n);

#endif
