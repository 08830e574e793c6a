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

/* Whether one of the patterns, which spaces separate, is the name of this file. NULL: no pattern.
 */
bool dlb_names_fit(const char *patterns, const char *name);

/* Whether it is the name of a folder on the way to such a file. */
bool dlb_names_fit_folder(const char *patterns, const char *name);

/* The same with the patterns of all formats (`made` in formats/format.h). */
bool dlb_names_made(const char *name);
bool dlb_names_made_folder(const char *name);

#endif
