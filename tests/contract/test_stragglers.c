/* Cells of three ranks, of which one has slow samples or slow steps: it is named, with the reason,
 * in 20 of 20 runs, and of equal ranks none is. With a barrier at each step, and without. */
#include "core/base/json.h"
#include "tests/support/fake_cells.h"

#include <stdio.h>
#include <string.h>

#define RUNS 20
#define PLANTED 1 /* the rank */

static const struct plant {
    const char *setting; /* of the planted rank; NULL: all are equal */
    const char *class;
} plants[] = {
    {"loader.sample_sleep_us=1500", "INPUT STRAGGLER"}, /* 12 ms for a batch, beside steps of 4 */
    {"device.step_ms=8", "COMPUTE STRAGGLER"},
    {NULL, ""},
};

static const struct plant *plant;
static bool barrier;

static json_t *measure(struct dlb_link *link)
{
    const char *planted = link->rank == PLANTED ? plant->setting : NULL;
    const char *const settings[] = {"dataset.format=synthetic",
                                    "dataset.codec=raw",
                                    "generate.samples=512",
                                    "generate.sample_bytes=1000",
                                    "loader.batch_size=8",
                                    "loader.num_workers=1",
                                    "device.step_ms=4",
                                    barrier ? "accelerators.barrier=true" : "run.epochs=1",
                                    planted,
                                    NULL};
    return answer_of_cell(link, settings, NULL);
}

/* 0: the class is the one that was planted, and the rank. */
static int judge(const struct dlb_rank_part *parts, const struct dlb_cell_result *all)
{
    (void)parts;
    const json_t *found = json_object_get(all->ranks, "straggler");
    const char *class = dlb_json_text(found, "class");
    if (all->status != DLB_REP_OK) {
        (void)fprintf(stderr, "%s\n", all->reason);
        return 6;
    }
    if (strcmp(class, plant->class) != 0)
        return 4;
    return plant->setting && dlb_json_u64(found, "rank", 9) != PLANTED ? 5 : 0;
}

static void run_all(bool with_barrier)
{
    part_fn *const parts[FAKE_RANKS] = {lead, follow, follow};
    barrier = with_barrier;
    fake_cells = (struct fake_cells){measure, judge};
    for (size_t k = 0; k < sizeof(plants) / sizeof(*plants); k++) {
        uint32_t n_right = 0;
        plant = &plants[k];
        for (int i = 0; i < RUNS; i++) {
            int codes[FAKE_RANKS];
            run_ranks(parts, codes);
            n_right += codes[0] == 0;
            assert_int_equal(codes[1] + codes[2], 0);
        }
        print_message("%s: %u of %d\n", plant->setting ? plant->class : "equal ranks", n_right,
                      RUNS);
        assert_int_equal(n_right, RUNS);
    }
}

static void test_without_a_barrier(void **state)
{
    (void)state;
    run_all(false);
}

static void test_with_a_barrier(void **state)
{
    (void)state;
    run_all(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_without_a_barrier),
                                       cmocka_unit_test(test_with_a_barrier)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
