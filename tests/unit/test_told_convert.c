/* What a child process tells while it converts is checked, as in test_told.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/convert/event.h"
#include "tests/support/error.h"
#include "tests/support/folder.h"
#include "tests/support/dataset.h"
#include "tests/support/hdf5.h"
#include "tests/support/lie.h"

static void conversions(void **state)
{
    (void)state;
    static const struct lie of_told[] = {
        LIE(struct dlb_convert_told, phase, DLB_CONVERT_CHECK + 1),
        LIE(struct dlb_convert_told, phase, UINT32_MAX),
        LIE(struct dlb_convert_told, n_done, N + 1),
        LIE(struct dlb_convert_told, rc, UINT32_MAX),
        LIE(struct dlb_convert_told, rc, DLB_E_CANCELLED + 1),
        LIE(struct dlb_convert_told, rc, DLB_E_IO), /* without an error */
    };
    static const struct lie of_converted[] = {
        LIE(struct dlb_converted, n_verified, N + 1),
        LIE(struct dlb_converted, n_unlabelled, N + 1),
        LIE(struct dlb_converted, n_damaged, N + 1),
        LIE(struct dlb_converted, element, DLB_ELEMENT_F64 + 1),
        LIE(struct dlb_converted, n_samples, 0),
    };
    struct dlb_err err = {.status = DLB_OK};
    const struct dlb_convert_told told = {DLB_CONVERT_WRITE, N, N, DLB_OK, &err};
    const struct dlb_converted converted = {.n_samples = N, .n_verified = N};
    assert_true(dlb_convert_told_makes_sense(&told));
    assert_true(dlb_converted_makes_sense(&converted));
    for (size_t i = 0; i < sizeof of_told / sizeof *of_told; i++) {
        struct dlb_convert_told lied = told;
        tell(&lied, &of_told[i]);
        assert_false(dlb_convert_told_makes_sense(&lied));
    }
    for (size_t i = 0; i < sizeof of_converted / sizeof *of_converted; i++) {
        struct dlb_converted lied = converted;
        tell(&lied, &of_converted[i]);
        assert_false(dlb_converted_makes_sense(&lied));
    }
    for (size_t i = 0; i < sizeof of_an_error / sizeof *of_an_error; i++) {
        err = (struct dlb_err){.status = DLB_OK};
        tell(&err, &of_an_error[i]);
        assert_false(dlb_convert_told_makes_sense(&told));
    }
}

static uint32_t n_reports;

static void report(void *ctx, enum dlb_convert_phase phase, uint64_t n_done, uint64_t n_total,
                   uint64_t n_bytes)
{
    (void)ctx, (void)n_bytes;
    assert_true(phase == DLB_CONVERT_WRITE || phase == DLB_CONVERT_CHECK);
    assert_true(n_done <= n_total);
    n_reports++;
}

/* The child's messages are larger than an error. Their kind comes first, and their phase third. The
 * caller does not listen to what is skipped (kind 1) or damaged (2). */
static void converting(void **state)
{
    (void)state;
    const struct dlb_convert_watch watch = {.report = report};
    struct dlb_converted done;
    struct hdf5_set set;
    struct dlb_err err;
    char from[512], to[512];
    make("hdf5", "raw");
    (void)snprintf(from, sizeof from, "%s", folder_path("g"));
    assert_int_equal(hdf5_open_path(&set, from, DLB_ACCESS_LIBRARY, NULL), DLB_OK);
    (void)snprintf(to, sizeof to, "%s", folder_path("to"));
    const struct dlb_convert how = {.from = &set.ds,
                                    .from_path = from,
                                    .to = dlb_format_by_name("files"),
                                    .to_path = to,
                                    .watch = &watch};
    static const struct lie lies[] = {{LARGER_THAN_AN_ERROR, 2 * sizeof(int), 7, sizeof(int)},
                                      {LARGER_THAN_AN_ERROR, 0, 1, sizeof(int)},
                                      {LARGER_THAN_AN_ERROR, 0, 2, sizeof(int)}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        now = lies[i];
        assert_int_equal(dlb_convert(&how, &done, &err), DLB_E_FORMAT);
        error_is(&err, DLB_ERR_CHILD_GAVE_UP, "");
        assert_int_equal(n_reports, 0);
    }
    now = (struct lie){.n_told = 0};
    assert_int_equal(dlb_convert(&how, &done, &err), DLB_OK);
    assert_int_equal(done.n_verified, N);
    assert_true(n_reports > 0);
    dlb_dataset_close(&set.ds);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {TEST(conversions), TEST(converting)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
