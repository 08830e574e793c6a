/* fio as a baseline: the same pattern on the same files.
 *
 * https://fio.readthedocs.io; a program of its own, which need not be there. */
#ifndef DLB_TESTS_PERF_FIO_H
#define DLB_TESTS_PERF_FIO_H

#include <stdbool.h>
#include <stdint.h>

/* Whether there is one; else prints that the benchmark is left out, and why. */
bool perf_fio_found(void);

/* `arguments` as they stand on fio's command line: global options, then --name=... for each job.
 * Returns how long the slowest job read, by fio's own clock, without its start; *n_bytes is what
 * all of them read. */
double perf_fio(const char *arguments, uint64_t *n_bytes);

#endif
