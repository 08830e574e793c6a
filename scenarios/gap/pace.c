#include "scenarios/gap/pace.h"

#include "core/base/clock.h"
#include "core/base/rng.h"
#include "formats/memory/array_fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_BYTES (UINT64_C(32) << 20) /* beyond the caches */
#define BATCH_BYTES (UINT64_C(8) << 20)

/* Each row to an allocation of its own, then all of them to one batch. */
static bool take_rows(const float *array, uint64_t n_rows, uint64_t row_bytes, uint8_t **rows,
                      uint8_t *batch, uint64_t n_taken)
{
    struct dlb_rng rng = dlb_rng_seed(0, n_rows, n_taken);
    bool taken = true;

    for (uint64_t i = 0; i < n_taken; i++) {
        uint64_t at = dlb_rng_below(&rng, n_rows);
        rows[i] = malloc(row_bytes);
        taken &= rows[i] != NULL;
        if (rows[i])
            memcpy(rows[i], (const uint8_t *)array + at * row_bytes, row_bytes);
    }
    for (uint64_t i = 0; i < n_taken; i++) {
        if (rows[i])
            memcpy(batch + i * row_bytes, rows[i], row_bytes);
        free(rows[i]);
    }
    return taken;
}

static double seconds_since(uint64_t start_ns)
{
    return (double)(dlb_now_ns() - start_ns) * 1e-9;
}

void dlb_gap_pace_measure(const struct dlb_gap_params *params, struct dlb_gap_pace *pace)
{
    uint64_t row_bytes = dlb_gap_row_bytes(params);
    uint64_t n_rows = ARRAY_BYTES / row_bytes + 1, n_taken = BATCH_BYTES / row_bytes + 1;
    float *array = malloc(n_rows * row_bytes);
    uint8_t *batch = malloc(n_taken * row_bytes), **rows = malloc(n_taken * sizeof *rows);

    pace->array_row_s = pace->row_s = (double)NAN;
    if (array && batch && rows) {
        uint64_t start_ns = dlb_now_ns();
        dlb_array_fill_rows(array, 0, n_rows, (uint64_t)params->features, (uint64_t)params->seed);
        pace->array_row_s = seconds_since(start_ns) / (double)n_rows;
        start_ns = dlb_now_ns();
        if (take_rows(array, n_rows, row_bytes, rows, batch, n_taken))
            pace->row_s = seconds_since(start_ns) / (double)n_taken;
    }
    free(array);
    free(batch);
    free(rows);
}
