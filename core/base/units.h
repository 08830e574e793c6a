/* Formats numbers for people, and parses them.
 *
 * Floor 0. Any thread. Writers return `text`, always terminated. */
#ifndef DLB_CORE_BASE_UNITS_H
#define DLB_CORE_BASE_UNITS_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "64 MiB", "1.5GB", "4096", "10k": SI (kB MB GB TB, powers of 1000) and IEC (KiB MiB GiB TiB)
 * suffixes in any case, except for the i. DLB_E_CONFIG on anything else, or beyond int64. */
int dlb_bytes_parse(const char *text, int64_t *out_bytes, struct dlb_err *err);

/* "1700", "1e3", "12.5", "10%" (which is 0.1): n bytes of text, which are all of the number. False
 * on anything else, and for what is not finite. */
bool dlb_number_parse(const char *text, size_t n, double *out);

const char *dlb_bytes_text(uint64_t n_bytes, char *text,
                           size_t n_text); /* "1.43 GB" (SI, as storage is sold) */
const char *dlb_rate_text(double bytes_per_s, char *text, size_t n_text); /* "1.43 GB/s" */
const char *dlb_count_text(double count, char *text,
                           size_t n_text); /* "1,234,567" or "12.3" below 100 */
const char *dlb_duration_text(double seconds, char *text,
                              size_t n_text); /* "1.2 ms", "3.4 s", "2 min 5 s" */

/* Edits (insertions, deletions, substitutions, swaps of neighbours) between two words, `enough` at
 * most: for "did you mean". */
size_t dlb_edit_distance(const char *a, const char *b, size_t enough);

#endif
