/* formats/codecs/photo_look: every image that gen may draw can be stored and read. */
#include "tests/support/error.h"

#include "formats/codecs/photo_look.h"

#include <stdbool.h>

enum { N = 4000 };

/* At the largest mean, and the share of images that the limits make smaller. */
static unsigned n_held(enum dlb_image_kind kind, uint64_t mean_bytes, uint32_t longest)
{
    unsigned n = 0;

    for (uint64_t i = 0; i < N; i++) {
        struct dlb_rng rng = dlb_rng_seed(1, i, 7);
        struct dlb_photo_look look = dlb_photo_look(kind, mean_bytes, &rng);
        uint64_t n_pixels = (uint64_t)look.width * look.height;
        assert_true(look.width <= longest && look.height <= longest);
        assert_true(n_pixels <= DLB_IMAGE_MAX_PIXELS);
        n += n_pixels > DLB_IMAGE_MAX_PIXELS - 1000000 || look.width == longest ||
             look.height == longest;
    }
    return n;
}

static void test_all_can_be_written(void **state)
{
    (void)state;
    unsigned jpeg = n_held(DLB_IMAGE_JPEG, 32000000, 65500),
             png = n_held(DLB_IMAGE_PNG, 32000000, 1000000),
             webp = n_held(DLB_IMAGE_WEBP, 12000000, 16383);
    assert_true(jpeg > 0 && jpeg < N / 20);
    assert_true(png < N / 200);
    assert_true(webp > 0 && webp < N / 5);
    assert_int_equal(n_held(DLB_IMAGE_JPEG, 110000, 65500), 0);
}

static void test_limits_of_the_mean(void **state)
{
    static const struct {
        enum dlb_image_kind kind;
        uint64_t mean_bytes;
        bool fits;
    } cases[] = {{DLB_IMAGE_JPEG, 1999, false},    {DLB_IMAGE_JPEG, 2000, true},
                 {DLB_IMAGE_JPEG, 32000000, true}, {DLB_IMAGE_JPEG, 32000001, false},
                 {DLB_IMAGE_PNG, 32000000, true},  {DLB_IMAGE_WEBP, 12000000, true},
                 {DLB_IMAGE_WEBP, 12000001, false}};
    struct dlb_err err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int rc = dlb_photo_check(cases[i].kind, cases[i].mean_bytes, &err);
        assert_int_equal(rc == DLB_OK, cases[i].fits);
        if (rc != DLB_OK)
            assert_int_equal(err.code, DLB_ERR_GENERATE_SIZE_UNFIT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_can_be_written),
                                       cmocka_unit_test(test_limits_of_the_mean)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
