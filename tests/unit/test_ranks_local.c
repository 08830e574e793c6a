/* Which rank of its machine a rank is, and how many there are, by the machines' names. */
#include "scenarios/ranks/local.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MAX 6

static const struct {
    const char *names[MAX + 1];
    struct dlb_ranks_local local[MAX];
} rows[] = {
    {{"a"}, {{0, 1}}},
    {{"a", "a", "a", "a"}, {{0, 4}, {1, 4}, {2, 4}, {3, 4}}},
    {{"a", "b", "a", "b", "a", "c"}, {{0, 3}, {0, 2}, {1, 3}, {1, 2}, {2, 3}, {0, 1}}},
    {{"node1", "node10", "node1", "node"}, {{0, 2}, {0, 1}, {1, 2}, {0, 1}}}, /* no ends between */
    {{"", "a", ""}, {{0, 2}, {0, 1}, {1, 2}}},
};

static void test_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct dlb_ranks_local all[MAX];
        uint64_t n_each[MAX];
        char names[256] = "";
        uint32_t n = 0;
        for (; rows[i].names[n]; n++) {
            n_each[n] = strlen(rows[i].names[n]);
            strcat(names, rows[i].names[n]);
        }
        dlb_ranks_number_all(names, n_each, n, all);
        for (uint32_t k = 0; k < n; k++) {
            assert_int_equal(all[k].rank, rows[i].local[k].rank);
            assert_int_equal(all[k].n, rows[i].local[k].n);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
