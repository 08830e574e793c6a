/* What fio prints: another program's output. */
#include "scenarios/storage/fio.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    struct dlb_err err;
    json_t *doc = json_object();
    if (doc && n_bytes > 0)
        (void)dlb_fio_parse((const char *)data, n_bytes, doc, &err);
    json_decref(doc);
    return 0;
}
