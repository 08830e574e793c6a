/* Checks of what a process tells that a hostile file may have taken over. Its bytes are copied as
 * they are; these look at them before they are used as what they should be.
 *
 * Floor 0. Any thread. */
#ifndef DLB_CORE_BASE_TOLD_H
#define DLB_CORE_BASE_TOLD_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the byte is 0 or 1: any other, read as a bool, has no meaning in C. */
bool dlb_told_bool(const bool *told);

/* Whether the text ends within n_text bytes. */
bool dlb_told_text(const char *text, size_t n_text);

/* Whether status and code are among those that exist, and both texts end. */
bool dlb_told_err(const struct dlb_err *err);

#endif
