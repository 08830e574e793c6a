/* Which GPU a rank uses. */
#include "scenarios/ranks/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct {
    const char *visible;
    uint32_t n_gpus, local_rank;
    const char *chosen; /* NULL: it stays as it is */
} rows[] = {
    {NULL, 8, 0, "0"},
    {NULL, 8, 7, "7"},
    {NULL, 4, 5, "1"},
    {NULL, 1, 1, NULL},
    {NULL, 0, 3, NULL},
    {"3", 8, 1, NULL}, /* the launcher chose */
    {"", 8, 1, NULL},
    {"-1", 8, 1, NULL},
    {"4,6", 8, 1, "6"},
    {"4,6", 8, 2, "4"},
    {"GPU-0a1b,GPU-2c3d,", 8, 1, "GPU-2c3d"},
    {"GPU-0a1b,GPU-2c3d,", 8, 2, NULL},
};

static void test_by_local_rank(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char out[128] = "";
        bool chosen =
            dlb_rank_gpu_of(rows[i].visible, rows[i].n_gpus, rows[i].local_rank, out, sizeof(out));
        assert_int_equal(chosen, rows[i].chosen != NULL);
        if (chosen)
            assert_string_equal(out, rows[i].chosen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_local_rank)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
