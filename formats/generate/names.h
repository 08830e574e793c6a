/* The names that gen and convert give to files: which names they could have written.
 *
 * Floor 2. Any thread. Allocates nothing.
 *
 * A pattern is a path below the data set's folder. # is a digit; the last # of a row stands for one
 * or more. * is the rest of the path: one letter or more, and no slash. Any other letter is itself.
 * So class_####/########.* is class_0012/00000345.jpg, and no class_12/holiday.jpg. */
#ifndef DLB_FORMATS_GENERATE_NAMES_H
#define DLB_FORMATS_GENERATE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct dlb_gen;

/* Patterns of the names that files have while core/base/io_write.c writes them. */
#define DLB_NAMES_TEMPORARY(name) name ".#.tmp " name ".#-#.tmp"

/* Whether one of the patterns, which spaces separate, is the name of this file. NULL: no pattern.
 */
bool dlb_names_fit(const char *patterns, const char *name);

/* Whether it is the name of a folder on the way to such a file. */
bool dlb_names_fit_folder(const char *patterns, const char *name);

/* The same with the patterns of all formats (`made` in formats/format.h). */
bool dlb_names_made(const char *name);
bool dlb_names_made_folder(const char *name);

/* Whether gen writes a file of this name: not only in the format's manner, but of one of its units.
 */
bool dlb_names_of_gen(const struct dlb_gen *gen, const char *name);

/* Readers sort names byte by byte, so the numbers 0 to n - 1 have as many digits as the largest
 * needs, and at least `least`. */
int dlb_names_digits(uint64_t n, int least);

enum { DLB_UNIT_DIGITS = 6 }; /* at least, of a unit's number */

/* For formats whose units are files with a number: whether the name is `before`, the number of one
 * of n units, and `after`. */
bool dlb_names_unit(const char *name, const char *before, const char *after, uint64_t n_units);

#endif
