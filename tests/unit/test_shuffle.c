/* The shuffle buffer's memory: what is allocated, not what it says of itself. */
#include "loaders/worker/shuffle.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

enum {
    CAP = 1000,
    N_EPOCHS = 20,
    N_SAMPLES = 5000,
    CAP_BYTES = 16 << 20,
    LARGE_BYTES = 1000000,
    SMALL_BYTES = 1000,
    TINY_CAP = 1000000,
    TINY_CAP_BYTES = 1 << 20,
    N_TINY = 20000,
    MALLOC_BYTES = 32, /* what malloc may add to a piece */
    KEPT_BYTES = 4096  /* freed small pieces that malloc counts as allocated */
};

static size_t allocated(void)
{
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

static uint8_t bytes[LARGE_BYTES];

static struct dlb_sample sample_of(uint64_t index, struct dlb_rng *rng)
{
    size_t n = dlb_rng_below(rng, 50) == 0 ? LARGE_BYTES : SMALL_BYTES;

    memcpy(bytes, &index, sizeof index);
    return (struct dlb_sample){.field = {{.data = bytes, .len_bytes = n - 2, .name = "jpg"},
                                         {.data = bytes + n - 2, .len_bytes = 2, .name = "cls"}},
                               .n_fields = 2,
                               .index = index,
                               .path = "shard"};
}

/* Few large samples among small ones: each place has held a large one at some time. */
static void the_cap_is_one_of_what_is_allocated(void **state)
{
    struct dlb_shuffle *shuffle;
    struct dlb_sample out;
    struct dlb_err err;
    size_t before = allocated(), most = 0;
    struct dlb_rng sizes = dlb_rng_seed(1, 2, 3);

    (void)state;
    assert_int_equal(dlb_shuffle_open(&shuffle, CAP, CAP_BYTES, &err), DLB_OK);
    for (uint64_t epoch = 0; epoch < N_EPOCHS; epoch++) {
        uint64_t n_put = 0, n_drawn = 0, sum = 0;
        dlb_shuffle_reset(shuffle, dlb_rng_seed(1, epoch, 3));
        for (;;) {
            while (n_put < N_SAMPLES && dlb_shuffle_wants(shuffle)) {
                struct dlb_sample in = sample_of(n_put++, &sizes);
                assert_int_equal(dlb_shuffle_put(shuffle, &in, &err), DLB_OK);
            }
            size_t now = allocated() - before;
            most = now > most ? now : most;
            if (dlb_shuffle_draw(shuffle, &out) == DLB_END)
                break;
            assert_memory_equal(out.field[0].data, &out.index, sizeof out.index);
            assert_ptr_equal(out.field[1].data, out.field[0].data + out.field[0].len_bytes);
            assert_string_equal(out.path, "shard");
            n_drawn++;
            sum += out.index;
        }
        assert_int_equal(n_drawn, N_SAMPLES);
        assert_int_equal(sum, (uint64_t)N_SAMPLES * (N_SAMPLES - 1) / 2);
    }
    /* The last that was taken may go over it. */
    assert_in_range(most, 0, CAP_BYTES + 2 * LARGE_BYTES + CAP * MALLOC_BYTES);
    dlb_shuffle_close(shuffle);
    assert_in_range(allocated(), 0, before + KEPT_BYTES);
}

/* A sample that is larger than the cap goes through alone. */
static void one_sample_always_fits(void **state)
{
    struct dlb_shuffle *shuffle;
    struct dlb_sample out;
    struct dlb_err err;
    struct dlb_rng sizes = dlb_rng_seed(1, 2, 3);

    (void)state;
    assert_int_equal(dlb_shuffle_open(&shuffle, CAP, 1, &err), DLB_OK);
    dlb_shuffle_reset(shuffle, dlb_rng_seed(1, 0, 3));
    for (uint64_t i = 0; i < 10; i++) {
        struct dlb_sample in = sample_of(i, &sizes);
        assert_true(dlb_shuffle_wants(shuffle));
        assert_int_equal(dlb_shuffle_put(shuffle, &in, &err), DLB_OK);
        assert_false(dlb_shuffle_wants(shuffle));
        assert_int_equal(dlb_shuffle_draw(shuffle, &out), DLB_OK);
        assert_int_equal(out.index, i);
    }
    assert_int_equal(dlb_shuffle_draw(shuffle, &out), DLB_END);
    dlb_shuffle_close(shuffle);
}

/* Samples of a byte need much more memory than their fields. */
static void the_cap_counts_all_of_a_sample(void **state)
{
    struct dlb_sample in = {
        .field = {{.data = bytes, .len_bytes = 1, .name = "jpg"}}, .n_fields = 1, .path = "shard"};
    struct dlb_shuffle *shuffle;
    struct dlb_sample out;
    struct dlb_err err;

    (void)state;
    assert_int_equal(dlb_shuffle_open(&shuffle, TINY_CAP, TINY_CAP_BYTES, &err), DLB_OK);
    dlb_shuffle_reset(shuffle, dlb_rng_seed(1, 0, 3));
    size_t before = allocated(), most = 0;
    for (uint32_t i = 0; i < N_TINY; i++) {
        while (dlb_shuffle_wants(shuffle))
            assert_int_equal(dlb_shuffle_put(shuffle, &in, &err), DLB_OK);
        most = allocated() - before > most ? allocated() - before : most;
        assert_int_equal(dlb_shuffle_draw(shuffle, &out), DLB_OK);
    }
    assert_in_range(most, 0, TINY_CAP_BYTES + TINY_CAP_BYTES / 10); /* with what malloc adds */
    dlb_shuffle_close(shuffle);
}

/* What the reader lends is overwritten by its next call. */
static void a_sample_is_held_whole(void **state)
{
    char name[] = "jpg", path[] = "shard", key[] = "a";
    uint8_t data[] = {1};
    struct dlb_sample in = {.field = {{.data = data, .len_bytes = 1, .name = name}},
                            .n_fields = 1,
                            .path = path,
                            .key = key,
                            .n_key_bytes = 1};
    struct dlb_shuffle *shuffle;
    struct dlb_sample out;
    struct dlb_err err;

    (void)state;
    assert_int_equal(dlb_shuffle_open(&shuffle, CAP, CAP_BYTES, &err), DLB_OK);
    dlb_shuffle_reset(shuffle, dlb_rng_seed(1, 0, 3));
    assert_int_equal(dlb_shuffle_put(shuffle, &in, &err), DLB_OK);
    data[0] = 0;
    name[0] = path[0] = key[0] = 'x';
    assert_int_equal(dlb_shuffle_draw(shuffle, &out), DLB_OK);
    assert_int_equal(out.field[0].data[0], 1);
    assert_string_equal(out.field[0].name, "jpg");
    assert_string_equal(out.path, "shard");
    assert_null(out.key);
    assert_int_equal(out.n_key_bytes, 0);
    dlb_shuffle_close(shuffle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cap_is_one_of_what_is_allocated),
        cmocka_unit_test(one_sample_always_fits),
        cmocka_unit_test(the_cap_counts_all_of_a_sample),
        cmocka_unit_test(a_sample_is_held_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
