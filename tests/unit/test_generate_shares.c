/* gen by several processes, as ranks do it: shares of one data set, in one folder. */
#include "formats/generate/generate.h"
#include "tests/support/dataset.h"
#include "tests/support/gen_target.h"

/* As ranks do: units of three shares, of which one is missing, because its process was killed. */
static int write_two_shares(void *ctx, const struct dlb_gen *gen, const char *id,
                            uint64_t *n_written, struct dlb_err *err)
{
    uint64_t *n_each = ctx;
    int rc = DLB_OK;
    for (uint32_t rank = 0; rank < 3 && rc == DLB_OK; rank += 2) {
        const struct dlb_gen_share share = {.rank = rank, .size = 3, .id = id};
        rc = dlb_generate_share(gen, &share, NULL, &n_each[rank], err);
        *n_written += n_each[rank];
    }
    return rc;
}

static void test_shares_make_the_same(void **state)
{
    struct generation g;
    uint64_t n_each[3] = {0};
    const struct dlb_gen_progress progress = {.ctx = n_each, .together = write_two_shares};
    if (!is_built("files", "raw"))
        skip();
    generation_set(&g, "files", "raw", target, 5000, 16);
    assert_true(g.gen.format->generator->units(&g.gen) > 3);
    assert_int_equal(generation_run(&g, 2), DLB_OK);
    uint64_t whole = hash_tree();
    assert_int_equal(folder_remove(state), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(write_two_shares(n_each, &g.gen, "", &g.n_written, &g.err), DLB_E_CONFIG);
    assert_int_equal(g.err.code, DLB_ERR_RANKS_DATA); /* nobody has begun a data set there */
    assert_int_equal(rmdir(folder), 0);               /* nothing was written */
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(dlb_generate(&g.gen, 2, &progress, &g.n_written, &g.err), DLB_OK);
    assert_true(hash_tree() == whole);
    assert_int_equal(g.n_written, 5000); /* of the shares and of what was missing */
    assert_true(n_each[0] > 0 && n_each[2] > 0 && n_each[0] + n_each[2] < 5000);
}

/* The mark of another gen of the same data is not the one that rank 0 has written. */
static int write_elsewhere(void *ctx, const struct dlb_gen *gen, const char *id,
                           uint64_t *n_written, struct dlb_err *err)
{
    const char *other = ctx;
    const struct dlb_gen_share share = {.rank = 1, .size = 3, .id = other};
    assert_string_not_equal(id, "");
    assert_string_not_equal(id, other);
    /* Marks of an older program, which have no id, tell nothing. */
    const struct dlb_gen_share unknown = {.rank = 1, .size = 3, .id = ""};
    assert_int_equal(dlb_generate_share(gen, &unknown, NULL, n_written, err), DLB_E_CONFIG);
    assert_int_equal(err->code, DLB_ERR_RANKS_DATA);
    return dlb_generate_share(gen, &share, NULL, n_written, err);
}

static void test_share_of_another_folder(void **state)
{
    struct generation g;
    char other[] = "52a2b1a0-4d8e-4c39-9f0d-0d8b4a6b9f10";
    const struct dlb_gen_progress progress = {.ctx = other, .together = write_elsewhere};
    (void)state;
    if (!is_built("files", "raw"))
        skip();
    generation_set(&g, "files", "raw", target, 5000, 16);
    assert_int_equal(dlb_generate(&g.gen, 2, &progress, &g.n_written, &g.err), DLB_E_CONFIG);
    assert_int_equal(g.err.code, DLB_ERR_RANKS_DATA);
    assert_int_equal(g.n_written, 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_target, folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_shares_make_the_same),
        IN_FOLDER(test_share_of_another_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
