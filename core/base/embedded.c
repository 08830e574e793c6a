#include "core/base/embedded.h"

#include "core/base/io.h"

#include <stdlib.h>

int dlb_embedded_write(const struct dlb_embedded *table, const char *folder, struct dlb_err *err)
{
    int rc = DLB_OK;

    for (; rc == DLB_OK && table->name; table++) {
        char *path = dlb_path_join(folder, table->name);
        if (path)
            rc = dlb_write_file_atomic(path, table->bytes, table->n_bytes, err);
        else
            rc = dlb_fail(err, DLB_ERR_NOMEM, folder, DLB_NO_OFFSET, "no memory for a path in it");
        free(path);
    }
    return rc;
}
