/* A rung's result, as dlbench or PyTorch's rung.py wrote it. What is read is written, read and
 * written again: twice the same. */
#include "core/base/err.h"
#include "scenarios/gap/rungs/rung_result.h"
#include "tests/support/json_mutator.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    json_t *doc = json_loadb((const char *)data, n_bytes, 0, NULL);
    static struct dlb_rung_result result, again;

    dlb_rung_result_from_json(doc, &result);
    json_decref(doc);
    json_t *first = dlb_rung_result_to_json(&result);
    json_t *parts = dlb_rung_parts_json(&result.worker_parts);
    json_t *start_up = dlb_rung_start_up_json(&result.start_up);
    json_t *kernel = dlb_rung_kernel_json(&result);
    dlb_rung_result_from_json(first, &again);
    json_t *second = dlb_rung_result_to_json(&again);
    if (!json_equal(first, second))
        DLB_BUG("another result when read back");
    json_decref(first);
    json_decref(second);
    json_decref(parts);
    json_decref(start_up);
    json_decref(kernel);
    dlb_rung_result_free(&result);
    dlb_rung_result_free(&again);
    return 0;
}
