/* What a child process is told to do: the JSON of `dlbench cell` and of `dlbench rung`. A spec that
 * is accepted is written and read again: the same. The number of CPUs, which decides a default,
 * does not come from this machine: it would be read from /sys for each input. */
#include "core/base/json.h"
#include "scenarios/gap/rungs/params.h"
#include "scenarios/spec/spec.h"
#include "tests/support/json_mutator.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
uint32_t __wrap_dlb_os_n_cpus(double *quota_cores);

uint32_t __wrap_dlb_os_n_cpus(double *quota_cores)
{
    *quota_cores = 0;
    return 2;
}

static void check_err(int rc, const struct dlb_err *err)
{
    if (rc != DLB_OK && (rc != (int)err->status || err->what[0] == '\0'))
        DLB_BUG("an error without words");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static struct dlb_spec spec, again;
    struct dlb_gap_params params;
    struct dlb_err err = {.status = DLB_OK};
    json_t *doc = json_loadb((const char *)data, n_bytes, 0, NULL);

    if (!json_is_object(doc)) {
        json_decref(doc);
        return 0;
    }
    int rc = dlb_spec_from_json(&spec, doc, "fuzz.json", &err);
    check_err(rc, &err);
    if (rc == DLB_OK) {
        json_t *flat = dlb_spec_to_json(&spec, true);
        if (dlb_spec_from_json(&again, flat, "again.json", &err) != DLB_OK)
            DLB_BUG(err.what);
        json_t *second = dlb_spec_to_json(&again, true);
        if (!json_equal(flat, second))
            DLB_BUG("another spec when read back");
        json_decref(flat);
        json_decref(second);
    }
    check_err(dlb_gap_params_flat(&params, doc, "fuzz.json", &err), &err);
    json_decref(doc);
    return 0;
}
