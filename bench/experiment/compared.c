#include "bench/experiment/compared.h"

#include "core/base/json.h"
#include "core/base/units.h"
#include "core/measure/compare.h"

#include <string.h>

static int share(const char *flag, const char *text, double otherwise, double *out,
                 struct dlb_err *err)
{
    *out = otherwise;
    if (!text || (dlb_number_parse(text, strlen(text), out) && *out >= 0 && *out < 1))
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_COMPARE_SHARE, flag, DLB_NO_OFFSET,
                    "takes a share from 0 to below 1, such as 1%% or 0.01");
}

int dlb_compared_shares(const struct dlb_args *args, struct dlb_compare_request *out,
                        struct dlb_err *err)
{
    int rc = share("--smallest", args->smallest, DLB_COMPARE_SMALLEST, &out->smallest_frac, err);
    return rc ? rc
              : share("--between", args->between, DLB_COMPARE_BETWEEN, &out->between_frac, err);
}

void dlb_compared_put(const struct dlb_args *args, json_t *doc)
{
    struct dlb_compare_request request;
    struct dlb_err ignored; /* the cells say why they were not measured */
    const json_t *docs[] = {doc};
    json_t *made = NULL;
    if (dlb_compared_shares(args, &request, &ignored))
        return;
    request.a = (struct dlb_compared_side){args->path, docs, 1, 0};
    request.b = (struct dlb_compared_side){args->beside[0], docs, 1, 1};
    if (dlb_compare_documents(&request, &made, &ignored))
        return;
    dlb_json_put(doc, "compare", json_incref(json_object_get(made, "compare")));
    json_decref(made);
}
