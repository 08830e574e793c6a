/* Lists of shards: any text ends, with paths or with an error that says so. */
#include "formats/webdataset/braces.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { ENOUGH = 50 };

static int take(void *ctx, const char *path, struct dlb_err *err)
{
    (void)path, (void)err;
    return ++*(int *)ctx < ENOUGH ? DLB_OK : DLB_END;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    struct dlb_err err = {0};
    int n = 0;
    char *text = malloc(n_bytes + 1);

    if (!text)
        abort();
    if (n_bytes)
        memcpy(text, data, n_bytes);
    text[n_bytes] = '\0';
    int rc = dlb_wds_expand(text, take, &n, &err);
    if (rc == DLB_OK && (n == 0 || n >= ENOUGH))
        abort();
    if (rc != DLB_OK && rc != DLB_END && ((int)err.status != rc || err.what[0] == '\0'))
        abort();
    if (!dlb_wds_is_pattern(text) && rc != DLB_END && n > 1)
        abort();
    free(text);
    return 0;
}
