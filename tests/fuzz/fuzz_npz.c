/* A .npz file: the ZIP's directory, its members' headers, the array's header, inflating. The first
 * byte says which array is asked for; no input may crash, leak, or give rows outside of the file.
 */
#include "formats/numpy/npz.h"
#include "tests/support/memory_io.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_err(int rc, const struct dlb_err *err)
{
    if (rc != DLB_OK && (rc != (int)err->status || err->what[0] == '\0' || err->path[0] == '\0'))
        DLB_BUG("an error without words");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const char *const names[] = {"", "a", "b.npy", "x/y"};
    struct dlb_shape shape = {.n_samples = 0};
    struct dlb_err err = {.status = DLB_OK};
    const struct dlb_zip_file file = {.io = &memory_io, .path = "fuzz.npz"};
    struct dlb_npz_array array;
    uint8_t *inflated = NULL;

    if (n_bytes < 1)
        return 0;
    memory_io_set(data + 1, n_bytes - 1);
    int rc = dlb_npz_find(&array, &file, names[data[0] % 4], &shape, &err);
    check_err(rc, &err);
    if (rc == DLB_OK) {
        if (array.data_at > n_bytes - 1 || array.stored_bytes > n_bytes - 1 - array.data_at)
            DLB_BUG("a member beyond the file");
        if (array.n_rows == 0 || array.row_bytes == 0 || array.npy.data_at > array.n_bytes ||
            array.n_rows > (array.n_bytes - array.npy.data_at) / array.row_bytes)
            DLB_BUG("rows beyond the member");
    }
    if (rc == DLB_OK && array.deflated) {
        rc = dlb_npz_inflate(&array, &file, &inflated, &err);
        check_err(rc, &err);
        if ((rc == DLB_OK) != (inflated != NULL))
            DLB_BUG("an error with data, or none without");
    }
    free(inflated);
    dlb_npz_free(&array);
    return 0;
}
