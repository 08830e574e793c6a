#include "scenarios/cell/data.h"

#include "core/base/clock.h"
#include "core/host/osacct.h"

#include <stdio.h>

#define WARM_BATCH_BYTES (UINT64_C(4) << 20) /* the warm pass only has to touch the bytes */

/* The warm pass uses small batches, independent of the configuration, and gives up if memory
 * cannot hold the data. */
static void fit_warm(struct dlb_spec *spec, const struct dlb_dataset *dataset, char *not_done,
                     size_t n_not_done)
{
    uint64_t available = dlb_os_mem_available_bytes();
    if (available != DLB_NOT_MEASURED && dataset->shape.total_bytes > available) {
        (void)snprintf(not_done, n_not_done,
                       "the data (%.1f GB) do not fit in the memory that is available (%.1f GB): "
                       "no warm pass",
                       (double)dataset->shape.total_bytes / 1e9, (double)available / 1e9);
        return;
    }
    uint64_t sample = dataset->max_payload_bytes ? dataset->max_payload_bytes : 1;
    int64_t fits = (int64_t)(WARM_BATCH_BYTES / sample);
    if (fits < 1)
        fits = 1;
    if (spec->loader.batch_size > fits)
        spec->loader.batch_size = fits;
    if (dlb_spec_is_torch(spec)) /* the page cache does not depend on the reader */
        spec->loader.kind = 0;
}

static int check_unchanged(const struct dlb_spec *spec, const struct dlb_shape *shape,
                           uint64_t data_id, struct dlb_err *err)
{
    if (data_id == 0 || data_id == shape->id)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_DATASET_CHANGED, spec->dataset.path, DLB_NO_OFFSET,
                    "the data set changed since the run began: it has %llu samples of %llu bytes "
                    "now; measure again while nothing writes to it",
                    (unsigned long long)shape->n_samples, (unsigned long long)shape->total_bytes);
}

int dlb_cell_data_open(struct dlb_cell_data *data, struct dlb_spec *spec, enum dlb_cell_mode mode,
                       uint64_t id, struct dlb_err *err)
{
    int rc = dlb_dataset_open(&data->set, &spec->dataset, &spec->transform, &spec->generate,
                              dlb_spec_format_opts(spec), err);
    data->id = rc ? 0 : data->set.shape.id;
    if (!rc)
        rc = check_unchanged(spec, &data->set.shape, id, err);
    if (!rc && mode == DLB_MODE_WARM)
        fit_warm(spec, &data->set, data->not_done, sizeof(data->not_done));
    return rc;
}
