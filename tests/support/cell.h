/* One repetition of a cell, in this process. Header-only. */
#ifndef DLB_TESTS_CELL_H
#define DLB_TESTS_CELL_H

#include "scenarios/cell/cell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* `settings` ends with NULL; `watch` may be NULL. *out is what it measured, whatever came of it;
 * the caller frees it. */
static inline void cell_ran(const char *const *settings, enum dlb_cell_mode mode,
                            const struct dlb_cell_watch *watch, struct dlb_cell_result *out)
{
    const struct dlb_cell_watch unwatched = {.pulse = NULL};
    struct dlb_err err;
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    struct dlb_spec *spec = calloc(1, sizeof(*spec));
    for (; *settings; settings++)
        if (dlb_config_set(cfg, *settings, &err))
            fail_msg("%s: %s", *settings, err.what);
    assert_int_equal(dlb_spec_from_config(spec, cfg, &err), DLB_OK);
    dlb_config_free(cfg);
    dlb_cell_run(spec, mode, watch ? watch : &unwatched, out);
    free(spec);
}

static inline void assert_ok(const struct dlb_cell_result *result)
{
    if (result->status != DLB_REP_OK)
        fail_msg("%s: %s", dlb_rep_status_name(result->status), result->reason);
}

#endif
