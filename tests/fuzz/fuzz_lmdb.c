/* LMDB's meta pages, read without liblmdb: what is accepted can be handed on, with a page size that
 * one can divide by. */
#include "formats/lmdb/lmdb.h"
#include "tests/support/memory_io.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    struct dlb_lmdb_head head;
    struct dlb_err err = {.status = DLB_OK};

    memory_io_set(data, n_bytes);
    int rc = dlb_lmdb_look("fuzz.mdb", &memory_io, &head, &err);
    if (rc != DLB_OK && (rc != (int)err.status || err.what[0] == '\0' || err.path[0] == '\0'))
        DLB_BUG("an error without words");
    if (rc == DLB_OK && (head.page_bytes == 0 || head.page_bytes % 512 != 0 ||
                         head.last_page > UINT64_MAX / head.page_bytes - 1))
        DLB_BUG("a head that cannot be");
    return 0;
}
