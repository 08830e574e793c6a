/* What fio prints: another program's output. */
#include "scenarios/storage/fio.h"
#include "tests/support/json_mutator.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    struct dlb_err err;
    struct dlb_baseline_result out;
    if (n_bytes > 0)
        (void)dlb_fio_parse((const char *)data, n_bytes, &out, &err);
    return 0;
}
