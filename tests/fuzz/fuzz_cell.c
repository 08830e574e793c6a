/* A cell's result.json, which another process wrote. What is read is written, read and written
 * again: twice the same. */
#include "core/base/json.h"
#include "scenarios/cell/cell_result.h"
#include "tests/support/json_mutator.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    json_t *doc = json_loadb((const char *)data, n_bytes, 0, NULL);
    static struct dlb_cell_result result, again;
    struct dlb_err err = {.status = DLB_OK};

    int rc = dlb_cell_result_from_json(&result, doc, &err);
    json_decref(doc);
    if (rc != DLB_OK) {
        if (rc != (int)err.status || err.what[0] == '\0')
            DLB_BUG("an error without words");
        dlb_cell_result_free(&result);
        return 0;
    }
    json_t *first = dlb_cell_result_to_json(&result);
    (void)dlb_cell_result_samples_per_s(&result);
    if (dlb_cell_result_from_json(&again, first, &err) != DLB_OK)
        DLB_BUG("a result that cannot be read back");
    json_t *second = dlb_cell_result_to_json(&again);
    if (!json_equal(first, second))
        DLB_BUG("another result when read back");
    json_decref(first);
    json_decref(second);
    dlb_cell_result_free(&result);
    dlb_cell_result_free(&again);
    return 0;
}
