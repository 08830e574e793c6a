/* What a process leaves of its share of a conversion, on whatever machine: the first byte says how
 * many keys of the list follow; the rest is the file `kept`, and zeros behind it. What is believed
 * is joined with what the shares before it left. */
#include "core/base/told.h"
#include "formats/convert/kept.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void use(const struct dlb_convert_kept *kept, const struct dlb_convert_seen *seen,
                size_t n_seen)
{
    struct dlb_convert_check check = {.most_key_bytes = 1 << 16};
    struct dlb_err err = {.status = DLB_OK};
    int rc = DLB_OK;
    for (uint32_t i = 0; i < kept->n_notes; i++)
        if (strlen(kept->note[i].why.what) >= sizeof(kept->note[i].why.what))
            DLB_BUG("a text without an end");
    for (size_t i = 0; rc == DLB_OK && i < n_seen; i++)
        rc = dlb_convert_check_seen(&check, &kept->check, &seen[i], "source", &err);
    rc = dlb_convert_facet_join(&check.payload, &kept->check.payload, &err);
    if (rc == DLB_OK)
        rc = dlb_convert_facet_join(&check.label, &kept->check.label, &err);
    if (rc != DLB_OK && !dlb_told_err(&err))
        DLB_BUG("an error that is none");
    if (check.n_names > DLB_CONVERT_NAMES)
        DLB_BUG("more names than there is room for");
    dlb_convert_check_free(&check);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static struct dlb_convert_kept kept;
    struct dlb_convert_seen seen[16];
    if (n_bytes == 0)
        return 0;
    size_t n_seen = data[0] % 16, at = 1 + n_seen * sizeof(*seen);
    if (n_bytes < at || n_bytes - at > sizeof(kept))
        return 0;
    memcpy(seen, data + 1, n_seen * sizeof(*seen));
    memset(&kept, 0, sizeof(kept));
    memcpy(&kept, data + at, n_bytes - at);
    if (dlb_convert_kept_is_whole(&kept))
        use(&kept, seen, n_seen);
    return 0;
}
