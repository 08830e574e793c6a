#include "formats/webdataset/pack.h"

#include "core/base/little.h"

#include <string.h>

const char *const dlb_tar_pack_names[] = {"none", "gz", "zst", NULL};

/* RFC 1952 and RFC 8878. */
enum dlb_tar_pack dlb_tar_pack_of(const uint8_t *data, size_t n_bytes)
{
    static const uint8_t gz[] = {0x1f, 0x8b, 8}, zst[] = {0x28, 0xb5, 0x2f, 0xfd};

    if (n_bytes >= sizeof gz && memcmp(data, gz, sizeof gz) == 0)
        return DLB_TAR_GZ;
    return n_bytes >= sizeof zst && memcmp(data, zst, sizeof zst) == 0 ? DLB_TAR_ZST
                                                                       : DLB_TAR_PLAIN;
}

uint64_t dlb_tar_skippable_bytes(const uint8_t *data, size_t n_bytes)
{
    static const uint8_t magic[] = {0x2a, 0x4d, 0x18}; /* behind 0x50 to 0x5f */
    enum { HEAD_BYTES = 8 };

    return n_bytes >= HEAD_BYTES && data[0] >> 4 == 5 && memcmp(data + 1, magic, sizeof magic) == 0
               ? HEAD_BYTES + dlb_little_get(data + 4, 4)
               : 0;
}
