#include "formats/convert/sums.h"

#include "core/base/hash.h"
#include "core/base/rng.h"
#include "formats/writer.h"

#include <stdlib.h>
#include <string.h>

int dlb_convert_sums_add(struct dlb_convert_sums *sums, uint64_t sum, struct dlb_err *err)
{
    if (sums->n == sums->cap) {
        uint64_t cap = sums->cap ? sums->cap * 2 : 1024;
        uint64_t *grown = realloc(sums->sum, cap * sizeof *grown);
        if (!grown)
            return dlb_fail_memory(err, NULL, cap * sizeof *grown);
        sums->sum = grown;
        sums->cap = cap;
    }
    sums->sum[sums->n++] = sum;
    return DLB_OK;
}

void dlb_convert_sums_free(struct dlb_convert_sums *sums)
{
    free(sums->sum);
    *sums = (struct dlb_convert_sums){.sum = NULL};
}

uint64_t dlb_convert_field_sum(const struct dlb_field *field)
{
    return dlb_mix64(dlb_hash64(field->data, field->len_bytes, field->len_bytes));
}

uint64_t dlb_convert_sample_sum(const struct dlb_sample *sample, uint32_t *n_fields,
                                uint64_t *n_bytes)
{
    uint64_t sum = sample->labelled ? dlb_mix64(sample->label + DLB_GOLDEN) : 0;

    *n_fields = 0;
    *n_bytes = 0;
    for (uint32_t f = 0; f < sample->n_fields; f++) {
        *n_bytes += sample->field[f].len_bytes;
        if (dlb_field_is_label(sample, f))
            continue;
        sum += dlb_convert_field_sum(&sample->field[f]);
        ++*n_fields;
    }
    return sum;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

uint64_t dlb_convert_sums_differ(struct dlb_convert_sums *have, struct dlb_convert_sums *got)
{
    uint64_t n_other = 0;

    if (have->n == 0 || memcmp(have->sum, got->sum, have->n * sizeof *have->sum) == 0)
        return 0;
    qsort(have->sum, have->n, sizeof *have->sum, ascending);
    qsort(got->sum, got->n, sizeof *got->sum, ascending);
    for (uint64_t i = 0, k = 0; i < have->n; i++) {
        while (k < got->n && got->sum[k] < have->sum[i])
            k++;
        bool found = k < got->n && got->sum[k] == have->sum[i];
        k += found;
        n_other += !found;
    }
    return n_other;
}
