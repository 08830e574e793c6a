#include "core/host/check.h"

#include "core/host/check_report.h"

#include <stddef.h>

#define X(id, text)                                                                                \
    static const struct dlb_check check_##id = {                                                   \
        .name = #id, .summary = (text), .run = dlb_check_##id};
#include "core/host/checks.def"
#undef X

#define X(id, text) &check_##id,
const struct dlb_check *const dlb_checks[] = {
#include "core/host/checks.def"
    NULL};
#undef X
