/* What an error is expected to say: its code, and a figure or a name in its message. Header-only.
 */
#ifndef DLB_TESTS_SUPPORT_ERROR_H
#define DLB_TESTS_SUPPORT_ERROR_H

#include "core/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* `figure`: a number, path, option or name; "" for none. */
static inline void error_is(const struct dlb_err *err, enum dlb_code code, const char *figure)
{
    if (err->code != code || !strstr(err->what, figure))
        fail_msg("%s: \"%s\"; wanted %s with \"%s\"", dlb_code_name(err->code), err->what,
                 dlb_code_name(code), figure);
    assert_int_equal(err->status, dlb_code_status(code));
}

#endif
