#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "loaders/sampler.h"
#include "loaders/worker/shuffle.h"

#include <stdlib.h>
#include <string.h>

static struct dlb_sampler sampler_of(uint64_t n, uint32_t n_shards, struct dlb_sampler_opts opts)
{
    struct dlb_shape shape = {.n_samples = n, .n_shards = n_shards, .iterable = n_shards > 0};
    struct dlb_sampler sampler;
    struct dlb_err err;
    assert_int_equal(dlb_sampler_open(&sampler, &shape, &opts, false, &err), DLB_OK);
    dlb_sampler_begin_epoch(&sampler, 0);
    return sampler;
}

static void order_is_a_permutation_of_seed_and_epoch(void **state)
{
    (void)state;
    enum { N = 1000 };
    uint64_t first[N];
    struct dlb_sampler s = sampler_of(
        N, 0, (struct dlb_sampler_opts){.world = 1, .batch_size = 7, .shuffle = true, .seed = 9});
    bool seen[N] = {false};
    int moved = 0;
    for (uint64_t i = 0; i < N; i++) {
        first[i] = dlb_sampler_index(&s, i);
        assert_true(first[i] < N);
        assert_false(seen[first[i]]);
        seen[first[i]] = true;
        moved += first[i] != i;
    }
    assert_true(moved > N - 20); /* a random permutation has one fixed point on average */
    dlb_sampler_begin_epoch(&s, 1);
    int same = 0;
    for (uint64_t i = 0; i < N; i++)
        same += dlb_sampler_index(&s, i) == first[i];
    assert_true(same < 20);
    dlb_sampler_begin_epoch(&s, 0); /* the same epoch again: the same order */
    for (uint64_t i = 0; i < N; i++)
        assert_int_equal(dlb_sampler_index(&s, i), first[i]);
    dlb_sampler_close(&s);
}

static void batches_follow_drop_last(void **state)
{
    (void)state;
    struct dlb_sampler keep =
        sampler_of(10, 0, (struct dlb_sampler_opts){.world = 1, .batch_size = 4});
    assert_int_equal(keep.n_batches, 3);
    assert_int_equal(dlb_sampler_batch_samples(&keep, 0), 4);
    assert_int_equal(dlb_sampler_batch_samples(&keep, 2), 2);
    struct dlb_sampler drop = sampler_of(
        10, 0, (struct dlb_sampler_opts){.world = 1, .batch_size = 4, .drop_last = true});
    assert_int_equal(drop.n_batches, 2);
    struct dlb_sampler big =
        sampler_of(3, 0, (struct dlb_sampler_opts){.world = 1, .batch_size = 4, .drop_last = true});
    assert_int_equal(big.n_batches, 0);
}

/* torch.utils.data.DistributedSampler: padded from the start, so that all ranks have equally many.
 */
static void ranks_are_padded_as_by_distributed_sampler(void **state)
{
    (void)state;
    int count[10] = {0};
    for (uint32_t rank = 0; rank < 4; rank++) {
        struct dlb_sampler s =
            sampler_of(10, 0, (struct dlb_sampler_opts){.rank = rank, .world = 4, .batch_size = 2});
        assert_int_equal(s.n_positions, 3);
        for (uint64_t i = 0; i < 3; i++)
            count[dlb_sampler_index(&s, i)]++;
    }
    assert_int_equal(count[0], 2);
    assert_int_equal(count[1], 2);
    for (int i = 2; i < 10; i++)
        assert_int_equal(count[i], 1);
    struct dlb_sampler_opts bad = {.rank = 4, .world = 4, .batch_size = 1};
    struct dlb_shape shape = {.n_samples = 10};
    struct dlb_sampler s;
    struct dlb_err err;
    assert_int_equal(dlb_sampler_open(&s, &shape, &bad, false, &err), DLB_E_CONFIG);
}

/* The first of a process's ranks makes an epoch's order, the others find it made; each has the
 * share of it that it would have of its own. */
static void ranks_of_a_process_share_an_order(void **state)
{
    (void)state;
    enum { N = 101, WORLD = 3 };
    struct dlb_shuffled order = {0};
    struct dlb_sampler_opts opts = {
        .world = WORLD, .batch_size = 7, .shuffle = true, .seed = 9, .order = &order};
    struct dlb_sampler alone, shared[WORLD];
    for (opts.rank = 0; opts.rank < WORLD; opts.rank++)
        shared[opts.rank] = sampler_of(N, 0, opts);
    for (uint64_t epoch = 0; epoch < 3; epoch++)
        for (uint32_t rank = 0; rank < WORLD; rank++) {
            opts.rank = rank;
            opts.order = NULL;
            alone = sampler_of(N, 0, opts);
            dlb_sampler_begin_epoch(&alone, epoch);
            uint32_t *first = order.memory.addr, kept = *first;
            *first = rank > 0 ? N : kept; /* who permuted again would write over it */
            dlb_sampler_begin_epoch(&shared[rank], epoch);
            assert_true(rank == 0 || *first == N);
            *first = rank > 0 ? kept : *first;
            for (uint64_t i = 0; i < alone.n_positions; i++)
                assert_int_equal(dlb_sampler_index(&shared[rank], i), dlb_sampler_index(&alone, i));
            dlb_sampler_close(&alone);
        }
    for (uint32_t rank = 0; rank < WORLD; rank++)
        dlb_sampler_close(&shared[rank]);
    assert_non_null(order.memory.addr); /* borrowed */
    dlb_shm_free(&order.memory);
}

static void shards_go_to_one_worker_each(void **state)
{
    (void)state;
    for (int shuffle = 0; shuffle <= 1; shuffle++) {
        int count[23] = {0};
        for (uint32_t rank = 0; rank < 2; rank++) {
            struct dlb_sampler s =
                sampler_of(0, 23,
                           (struct dlb_sampler_opts){
                               .rank = rank, .world = 2, .batch_size = 1, .shuffle = shuffle});
            for (uint32_t w = 0; w < 3; w++) {
                uint32_t shards[23], n = dlb_sampler_shards(&s, 0, w, 3, shards);
                assert_int_equal(n, dlb_sampler_shards(&s, 0, w, 3, NULL));
                for (uint32_t i = 0; i < n; i++) {
                    assert_int_equal(shards[i] % 2, rank);
                    assert_int_equal(shards[i] / 2 % 3, w);
                    count[shards[i]]++;
                }
            }
        }
        for (int i = 0; i < 23; i++)
            assert_int_equal(count[i], 1);
    }
}

static struct dlb_sample sample_of(uint64_t index, uint8_t *bytes)
{
    struct dlb_sample sample = {
        .n_fields = 2, .index = index, .path = "somewhere", .offset_bytes = index};
    memset(bytes, (int)index, 16);
    sample.field[0] = (struct dlb_field){bytes, 10, "jpg"};
    sample.field[1] = (struct dlb_field){bytes + 10, 6, "cls"};
    return sample;
}

/* All samples come out once, with their own bytes, in another order. */
static void the_buffer_shuffles_copies(void **state)
{
    (void)state;
    enum { N = 500 };
    struct dlb_shuffle *shuffle;
    struct dlb_err err;
    uint8_t bytes[16];
    int seen[N] = {0}, moved = 0;
    uint64_t next = 0, out_at = 0;

    assert_int_equal(dlb_shuffle_open(&shuffle, 50, 1 << 20, &err), DLB_OK);
    dlb_shuffle_reset(shuffle, dlb_rng_seed(1, 2, 3));
    for (;;) {
        while (next < N && dlb_shuffle_wants(shuffle)) {
            struct dlb_sample in = sample_of(next, bytes);
            assert_int_equal(dlb_shuffle_put(shuffle, &in, &err), DLB_OK);
            next++;
        }
        memset(bytes, 0xff, sizeof bytes); /* what was put in is borrowed no longer */
        struct dlb_sample out;
        if (dlb_shuffle_draw(shuffle, &out) == DLB_END)
            break;
        seen[out.index]++;
        moved += out.index != out_at++;
        assert_string_equal(out.path, "somewhere");
        for (int f = 0; f < 2; f++)
            for (size_t i = 0; i < out.field[f].len_bytes; i++)
                assert_int_equal(out.field[f].data[i], (uint8_t)out.index);
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(seen[i], 1);
    assert_true(moved > N / 2);
    dlb_shuffle_close(shuffle);
}

/* webdataset: nothing is drawn before `initial` are there, and it holds no more than its cap of
 * samples or of bytes. */
static void the_buffer_keeps_its_bounds(void **state)
{
    (void)state;
    struct dlb_shuffle *shuffle;
    struct dlb_err err;
    static uint8_t large[1 << 16];
    uint8_t bytes[16];
    struct dlb_sample out;
    uint32_t n = 0;

    assert_int_equal(dlb_shuffle_open(&shuffle, 300, 1 << 20, &err), DLB_OK);
    dlb_shuffle_reset(shuffle, dlb_rng_seed(1, 2, 3));
    for (; dlb_shuffle_wants(shuffle); n++) {
        struct dlb_sample in = sample_of(n, bytes);
        assert_int_equal(dlb_shuffle_put(shuffle, &in, &err), DLB_OK);
    }
    assert_int_equal(n, DLB_SHUFFLE_INITIAL);
    for (uint32_t draws = 0; draws < 1000; draws++) {
        assert_int_equal(dlb_shuffle_draw(shuffle, &out), DLB_OK);
        uint32_t puts = 0;
        for (; dlb_shuffle_wants(shuffle); puts++) {
            struct dlb_sample in = sample_of(n++, bytes);
            assert_int_equal(dlb_shuffle_put(shuffle, &in, &err), DLB_OK);
        }
        assert_int_equal(puts, draws < 200 ? 2 : 1);
    }
    dlb_shuffle_close(shuffle);

    assert_int_equal(dlb_shuffle_open(&shuffle, 300, 4 * sizeof large, &err), DLB_OK);
    dlb_shuffle_reset(shuffle, dlb_rng_seed(1, 2, 3));
    for (n = 0; dlb_shuffle_wants(shuffle); n++) {
        struct dlb_sample in = sample_of(n, bytes);
        in.field[0] = (struct dlb_field){large, sizeof large, "jpg"};
        assert_int_equal(dlb_shuffle_put(shuffle, &in, &err), DLB_OK);
    }
    assert_int_equal(n, 4);
    dlb_shuffle_close(shuffle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_a_permutation_of_seed_and_epoch),
        cmocka_unit_test(batches_follow_drop_last),
        cmocka_unit_test(ranks_are_padded_as_by_distributed_sampler),
        cmocka_unit_test(ranks_of_a_process_share_an_order),
        cmocka_unit_test(shards_go_to_one_worker_each),
        cmocka_unit_test(the_buffer_shuffles_copies),
        cmocka_unit_test(the_buffer_keeps_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
