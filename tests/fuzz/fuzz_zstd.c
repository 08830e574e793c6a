/* Samples that should be zstd frames: never more bytes than allowed, and the same ones again when a
 * context has been through something else. */
#include "formats/codecs/zstd.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static struct dlb_unzstd used; /* for all inputs: what one leaves behind must not matter */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    uint64_t most = (uint64_t)n_bytes * DLB_UNZSTD_EXPANSION + DLB_UNZSTD_FREE_BYTES;
    struct dlb_unzstd fresh = {.context = NULL};
    struct dlb_err err = {0}, again = {0};

    int rc = dlb_unzstd(&used, data, n_bytes, 0, &err);
    if (rc != DLB_OK && ((int)err.status != rc || err.what[0] == '\0'))
        abort();
    if (rc == DLB_OK && used.out.len_bytes > most)
        abort();
    if (dlb_unzstd(&fresh, data, n_bytes, 0, &again) != rc)
        abort();
    size_t len = fresh.out.len_bytes;
    if (rc == DLB_OK &&
        (len != used.out.len_bytes || (len && memcmp(fresh.out.data, used.out.data, len) != 0)))
        abort();
    for (uint64_t limit = len > 2 ? len - 1 : 1; rc == DLB_OK && limit <= len; limit++) {
        int limited = dlb_unzstd(&fresh, data, n_bytes, limit, &again);
        if (limited != (limit < len ? DLB_E_FORMAT : DLB_OK))
            abort();
    }
    dlb_unzstd_free(&fresh);
    return 0;
}
