/* Every loader delivers each sample exactly once, with its bytes, in the order that PyTorch has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/fake_format.h"
#include "tests/support/pipeline.h"

static const uint32_t worker_counts[] = {0, 1, 2, 3, 8};
enum { N_COUNTS = sizeof worker_counts / sizeof *worker_counts };

/* Every way that workers can run. */
static const struct way {
    const char *kind;
    int order, transport;
} ways[] = {
    {"threads", DLB_ORDER_IN_ORDER, DLB_TRANSPORT_POOLED},
    {"threads", DLB_ORDER_ANY, DLB_TRANSPORT_POOLED},
    {"threads", DLB_ORDER_IN_ORDER, DLB_TRANSPORT_FRESH},
    {"processes", DLB_ORDER_IN_ORDER, DLB_TRANSPORT_POOLED},
    {"processes", DLB_ORDER_ANY, DLB_TRANSPORT_POOLED},
    {"processes", DLB_ORDER_ANY, DLB_TRANSPORT_FRESH},
};
enum { N_WAYS = sizeof ways / sizeof *ways };

static void go(struct dlb_loader_opts *opts, const struct way *way)
{
    if (opts->num_workers == 0)
        return;
    opts->kind = pipeline_kind(way->kind);
    opts->order = way->order;
    opts->transport = way->transport;
    if (way->transport == DLB_TRANSPORT_FRESH)
        opts->pin_mode = DLB_PIN_THREAD;
}

static void run_ok(struct pipeline *p)
{
    pipeline_run(p);
    if (p->rc != DLB_OK) {
        char text[512];
        fail_msg("%s", dlb_err_text(&p->err, text, sizeof text));
    }
    assert_true(p->out->n_checksum_mismatches == 0);
}

static void check_epochs(const struct pipeline *p, uint64_t n)
{
    for (uint32_t e = 0; e < p->out->n_epochs; e++) {
        const struct dlb_epoch *epoch = &p->out->epoch[e];
        assert_true(epoch->whole);
        assert_int_equal(epoch->n_samples, n);
        assert_int_equal(epoch->n_unique, n);
        assert_int_equal(epoch->n_expected, n);
    }
}

struct sums {
    uint64_t seq[3], set[3];
};

static void check_sums(const struct pipeline *p, struct sums *sums, bool first, bool ordered)
{
    for (int e = 0; e < 3; e++) {
        if (first) {
            sums->seq[e] = p->out->epoch[e].seq_checksum;
            sums->set[e] = p->out->epoch[e].set_checksum;
        }
        if (ordered)
            assert_true(sums->seq[e] == p->out->epoch[e].seq_checksum);
        assert_true(sums->set[e] == p->out->epoch[e].set_checksum);
    }
}

/* Map-style: content and order equal those of 0 workers, whatever the workers, pins, depths. In any
 * order the content does. */
static void map_style_is_exact_by(const struct way *way)
{
    for (int variant = 0; variant < 16; variant++) {
        bool shuffle = variant & 1, drop_last = variant & 2, persistent = variant & 4,
             no_place = variant & 8;
        struct fake fake = fake_map(103);
        fake.no_place = no_place;
        struct dlb_dataset ds = fake_dataset(&fake);
        struct sums sums = {0};
        for (int i = 0; i < N_COUNTS * 3; i++) {
            int w = i / 3, pin = i % 3;
            if (way != ways && i > 0 && (variant + i) % 5 != 0)
                continue; /* a fifth of them, another one in each variant: processes are slow to
                             start */
            struct pipeline p = {
                .dataset = &ds,
                .seed = 5,
                .n_epochs = 3,
                .checksum = true,
                .loader = {.num_workers = worker_counts[w],
                           .shuffle = shuffle,
                           .drop_last = drop_last,
                           .persistent_workers = persistent && worker_counts[w] > 0,
                           .pin_memory = pin > 0,
                           .pin_mode = pin == 2 ? DLB_PIN_THREAD : DLB_PIN_DIRECT},
                .device = {.prefetch = (w + pin) % 3}};
            go(&p.loader, way);
            run_ok(&p);
            assert_int_equal(p.out->n_epochs, 3);
            check_epochs(&p, drop_last ? 103 - 103 % 4 : 103);
            /* Which samples the short last batch would have had is the permutation's to say. */
            check_sums(&p, &sums, i == 0, w == 0 || way->order == DLB_ORDER_IN_ORDER);
            pipeline_free(&p);
        }
        if (!drop_last)
            assert_true(sums.set[0] == sums.set[1]);
        assert_int_equal(sums.seq[0] != sums.seq[1], shuffle);
    }
}

static void map_style_is_exact(void **state)
{
    (void)state;
    for (int i = 0; i < N_WAYS; i++)
        map_style_is_exact_by(&ways[i]);
}

/* A checksum that could not tell would make every other check here worthless. */
static void checksums_see_content_and_order(void **state)
{
    (void)state;
    struct fake fake = fake_map(40);
    struct dlb_dataset ds = fake_dataset(&fake);
    struct pipeline a = {.dataset = &ds, .checksum = true, .loader = {.shuffle = true}, .seed = 1};
    struct pipeline b = {.dataset = &ds, .checksum = true, .loader = {.shuffle = true}, .seed = 2};
    struct pipeline c = {.dataset = &ds, .checksum = false, .loader = {.shuffle = true}, .seed = 1};
    run_ok(&a);
    run_ok(&b);
    run_ok(&c);
    assert_true(a.out->epoch[0].set_checksum == b.out->epoch[0].set_checksum);
    assert_true(a.out->epoch[0].seq_checksum != b.out->epoch[0].seq_checksum);
    assert_true(a.out->epoch[0].set_checksum != c.out->epoch[0].set_checksum);
    pipeline_free(&a);
    pipeline_free(&b);
    pipeline_free(&c);
}

/* Iterable: the same set for any number of workers; drop_last is per worker: the sum of floor(n_w /
 * B) * B. */
static void iterable_is_exact_by(const struct way *way)
{
    struct fake fake = fake_map(0);
    fake.n_shards = 7;
    const uint32_t sizes[] = {13, 1, 20, 9, 4, 17, 2};
    memcpy(fake.shard_samples, sizes, sizeof sizes);
    struct dlb_dataset ds = fake_dataset(&fake);
    uint64_t set = 0;

    for (int variant = 0; variant < 8; variant++) {
        bool shuffle = variant & 1, drop_last = variant & 2, pin_thread = variant & 4;
        for (int w = 0; w < N_COUNTS; w++) {
            uint32_t workers = worker_counts[w] ? worker_counts[w] : 1;
            uint64_t n = 0;
            for (uint32_t id = 0; id < workers; id++) {
                uint64_t own = 0;
                for (uint32_t s = id; s < 7; s += workers)
                    own += sizes[s];
                n += drop_last ? own / 4 * 4 : own;
            }
            struct pipeline p = {.dataset = &ds,
                                 .n_epochs = 2,
                                 .checksum = true,
                                 .loader = {.num_workers = worker_counts[w],
                                            .shuffle = shuffle,
                                            .shuffle_buffer = 10,
                                            .drop_last = drop_last,
                                            .persistent_workers = w % 2,
                                            .pin_memory = pin_thread,
                                            .pin_mode = DLB_PIN_THREAD},
                                 .device = {.prefetch = w % 3}};
            go(&p.loader, way);
            if (way != ways && (variant + w) % 3 != 0)
                continue;
            run_ok(&p);
            check_epochs(&p, n);
            if (!drop_last) {
                set = set ? set : p.out->epoch[0].set_checksum;
                assert_true(p.out->epoch[0].set_checksum == set);
                assert_true(p.out->epoch[1].set_checksum == set);
            }
            uint64_t seq = p.out->epoch[0].seq_checksum;
            if (way->order == DLB_ORDER_IN_ORDER) {
                assert_int_equal(seq != p.out->epoch[1].seq_checksum, shuffle);
                run_ok(&p); /* the order is a function of (seed, W) */
                assert_true(p.out->epoch[0].seq_checksum == seq);
            }
            pipeline_free(&p);
        }
    }
}

static void iterable_is_exact(void **state)
{
    (void)state;
    for (int i = 0; i < N_WAYS; i++)
        iterable_is_exact_by(&ways[i]);
}

/* One worker with one credit never stalls, at any device depth and pin mode. */
static void one_credit_never_stalls(void **state)
{
    (void)state;
    struct fake fake = fake_map(200);
    struct dlb_dataset ds = fake_dataset(&fake);
    for (int i = 0; i < 3 * N_WAYS; i++) {
        for (int pin = 0; pin < 3; pin++) {
            int depth = i / N_WAYS;
            struct pipeline p = {.dataset = &ds,
                                 .loader = {.num_workers = 1,
                                            .prefetch_factor = 1,
                                            .batch_size = 1,
                                            .pin_memory = pin > 0,
                                            .pin_mode = pin == 2 ? DLB_PIN_THREAD : DLB_PIN_DIRECT},
                                 .device = {.prefetch = depth, .step_ms = 0.02}};
            go(&p.loader, &ways[i % N_WAYS]);
            run_ok(&p);
            check_epochs(&p, 200);
            pipeline_free(&p);
        }
    }
}

static void ranks_split_the_data(void **state)
{
    (void)state;
    struct fake fake = fake_map(40);
    struct dlb_dataset ds = fake_dataset(&fake);
    uint64_t set = 0;
    struct pipeline whole = {.dataset = &ds, .loader = {.shuffle = true}};
    run_ok(&whole);
    for (uint32_t rank = 0; rank < 4; rank++) {
        struct pipeline p = {.dataset = &ds,
                             .rank = rank,
                             .world = 4,
                             .loader = {.num_workers = 2, .shuffle = true, .batch_size = 3}};
        run_ok(&p);
        check_epochs(&p, 10);
        set += p.out->epoch[0].set_checksum;
        pipeline_free(&p);
    }
    assert_true(set == whole.out->epoch[0].set_checksum);
    pipeline_free(&whole);
}

static void a_bad_sample_fails_or_is_skipped(void **state)
{
    (void)state;
    for (int i = 0; i < 4 * N_WAYS; i++) {
        struct fake fake = fake_map(50);
        fake.fail_at = 17;
        struct dlb_dataset ds = fake_dataset(&fake);
        struct pipeline p = {.dataset = &ds, .loader = {.num_workers = i / N_WAYS}};
        go(&p.loader, &ways[i % N_WAYS]);
        pipeline_run(&p);
        assert_int_equal(p.rc, DLB_E_FORMAT);
        assert_string_equal(p.err.path, "fake");
        assert_int_equal(p.err.offset_bytes, 17);
        assert_non_null(strstr(p.err.what, "17"));
        ds.on_error = DLB_ON_ERROR_SKIP;
        run_ok(&p);
        assert_int_equal(p.out->epoch[0].n_samples, 49);
        assert_int_equal(p.out->epoch[0].n_unique, 49);
        assert_int_equal(p.stats->workers.n_skipped, 1);
        assert_int_equal(p.stats->n_skipped_named, 1);
        assert_int_equal(p.stats->skipped[0].offset_bytes, 17);
        pipeline_free(&p);
    }
}

static void a_batch_without_good_samples_is_passed_over(void **state)
{
    (void)state;
    struct fake fake = fake_map(9);
    fake.fail_at = 4;
    struct dlb_dataset ds = fake_dataset(&fake);
    ds.on_error = DLB_ON_ERROR_SKIP;
    struct pipeline p = {.dataset = &ds, .loader = {.num_workers = 2, .batch_size = 1}};
    run_ok(&p);
    assert_int_equal(p.out->epoch[0].n_unique, 8);
    pipeline_free(&p);
}

static void a_broken_shard_fails_or_loses_its_rest(void **state)
{
    (void)state;
    struct fake fake = fake_map(0);
    fake.n_shards = 3;
    fake.shard_samples[0] = fake.shard_samples[1] = fake.shard_samples[2] = 10;
    fake.break_shard_at = 14;
    struct dlb_dataset ds = fake_dataset(&fake);
    for (int i = 0; i < 3 * N_WAYS; i++) {
        ds.on_error = DLB_ON_ERROR_FAIL;
        struct pipeline p = {.dataset = &ds, .loader = {.num_workers = i / N_WAYS}};
        go(&p.loader, &ways[i % N_WAYS]);
        pipeline_run(&p);
        assert_int_equal(p.rc, DLB_E_FORMAT);
        assert_string_equal(p.err.path, "fake-shard");
        ds.on_error = DLB_ON_ERROR_SKIP;
        run_ok(&p);
        assert_int_equal(p.out->epoch[0].n_unique, 24);
        assert_int_equal(p.stats->workers.n_skipped, 0);
        assert_int_equal(p.stats->workers.n_cut_shards, 1);
        assert_int_equal(p.stats->n_skipped_named, 1);
        pipeline_free(&p);
    }
}

static void max_batches_cuts_a_run(void **state)
{
    (void)state;
    struct fake fake = fake_map(40);
    struct dlb_dataset ds = fake_dataset(&fake);
    struct pipeline p = {.dataset = &ds,
                         .n_epochs = 9,
                         .max_batches = 12,
                         .warmup_batches = 3,
                         .loader = {.num_workers = 2}};
    run_ok(&p);
    assert_int_equal(p.out->total.n_steps, 12);
    assert_int_equal(p.out->total.n_samples, 48);
    assert_int_equal(p.out->n_epochs, 2);
    assert_true(p.out->epoch[0].whole);
    assert_false(p.out->epoch[1].whole);
    pipeline_free(&p);
}

/* When the run ends, the shuffle buffer is full and a batch is half made. Their bytes and their
 * samples both count as read, so bytes per sample is right. */
static void what_is_left_over_was_read(void **state)
{
    (void)state;
    for (uint32_t workers = 0; workers < 2; workers++) {
        struct fake fake = fake_map(0);
        fake.n_shards = 1;
        fake.shard_samples[0] = 200;
        struct dlb_dataset ds = fake_dataset(&fake);
        struct pipeline p = {
            .dataset = &ds,
            .max_batches = 3,
            .loader = {.num_workers = workers, .shuffle = true, .shuffle_buffer = 50}};
        uint64_t n_bytes = 0;
        run_ok(&p);
        for (uint64_t i = 0; i < p.stats->workers.n_samples; i++)
            n_bytes += fake_len(i);
        assert_true(p.stats->workers.n_samples >= 50);
        assert_int_equal(p.stats->workers.io_bytes, n_bytes);
        pipeline_free(&p);
    }
}

/* A sample is overwritten after it was placed and hashed, while the next one is read. */
static void damage_in_the_slot_is_seen(void **state)
{
    (void)state;
    for (int w = -1; w < N_WAYS; w++)
        for (int spoils = 0; spoils < 2; spoils++) {
            struct fake fake = fake_map(20);
            struct dlb_dataset ds = fake_dataset(&fake);
            struct pipeline p = {.dataset = &ds,
                                 .checksum = true,
                                 .loader = {.batch_size = 4, .num_workers = w < 0 ? 0 : 2}};
            if (w >= 0)
                go(&p.loader, &ways[w]);
            fake.spoil_at = spoils ? 6 : FAKE_NEVER;
            pipeline_run(&p);
            assert_int_equal(p.rc, DLB_OK);
            assert_int_equal(p.out->n_checksum_mismatches, spoils);
            pipeline_free(&p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_style_is_exact),
        cmocka_unit_test(checksums_see_content_and_order),
        cmocka_unit_test(iterable_is_exact),
        cmocka_unit_test(one_credit_never_stalls),
        cmocka_unit_test(ranks_split_the_data),
        cmocka_unit_test(a_bad_sample_fails_or_is_skipped),
        cmocka_unit_test(a_batch_without_good_samples_is_passed_over),
        cmocka_unit_test(a_broken_shard_fails_or_loses_its_rest),
        cmocka_unit_test(max_batches_cuts_a_run),
        cmocka_unit_test(what_is_left_over_was_read),
        cmocka_unit_test(damage_in_the_slot_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
