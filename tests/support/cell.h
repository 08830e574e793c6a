/* One repetition of a cell, in this process. Header-only. */
#ifndef DLB_TESTS_CELL_H
#define DLB_TESTS_CELL_H

#include "scenarios/cell/cell.h"
#include "scenarios/spec/flat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* `settings` ends with NULL; `watch` may be NULL. Its document, whatever came of it; new reference.
 */
static inline json_t *cell_ran(const char *const *settings, enum dlb_cell_mode mode,
                               const struct dlb_cell_watch *watch)
{
    const struct dlb_cell_watch nobody = {NULL, NULL, NULL};
    struct dlb_err err;
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    struct dlb_spec *spec = calloc(1, sizeof(*spec));
    for (; *settings; settings++)
        if (dlb_config_set(cfg, *settings, &err))
            fail_msg("%s: %s", *settings, err.what);
    assert_int_equal(dlb_spec_from_config(spec, cfg, &err), DLB_OK);
    dlb_config_free(cfg);
    json_t *doc = dlb_cell_run(spec, mode, watch ? watch : &nobody);
    free(spec);
    assert_non_null(doc);
    return doc;
}

#endif
