#include "reports/estimate.h"

#include "core/base/json.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

double dlb_estimate_end(const json_t *estimate, const char *key)
{
    bool one = strcmp(dlb_json_text(estimate, "interval"), "none") == 0;
    return one ? (double)NAN : dlb_json_number(estimate, key);
}
