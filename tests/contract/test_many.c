/* Short samples of one size, which a worker reads many at a time: it delivers and counts as if it
 * had read them one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "loaders/worker/quick.h"
#include "tests/support/fake_format.h"
#include "tests/support/pipeline.h"

enum { N = 1000, SHORT = 40, LONG = 20000, SLOW_NS = 20 * DLB_NS_PER_MS };

struct rows {
    size_t row_bytes;
    bool stored;                    /* read from storage, where one may be slow */
    uint32_t most;                  /* of a call of read_many */
    uint64_t ends_at;               /* a row that read_many cannot have; 0: it has all */
    uint64_t slow_at;               /* a row that takes SLOW_NS, in either way; 0: none */
    _Atomic uint32_t n_one, n_many; /* calls */
};

struct rows_reader {
    struct rows *rows;
    uint8_t row[LONG];
};

static int rows_open(void *rd, const void *ds, struct dlb_err *err)
{
    (void)err;
    ((struct rows_reader *)rd)->rows = (struct rows *)(uintptr_t)ds;
    return DLB_OK;
}

static void put(const struct rows *rows, uint64_t index, uint8_t *dst)
{
    for (size_t i = 0; i < rows->row_bytes; i++)
        dst[i] = (uint8_t)(index * 31 + i * 17);
}

static int rows_read(void *rd, uint64_t index, struct dlb_dest dest, struct dlb_sample *out,
                     struct dlb_err *err)
{
    struct rows_reader *reader = rd;
    struct rows *rows = reader->rows;
    uint8_t *dst = dest.cap_bytes >= rows->row_bytes ? dest.data : reader->row;
    (void)err;
    atomic_fetch_add(&rows->n_one, 1);
    *out = (struct dlb_sample){.n_fields = 1,
                               .index = index,
                               .label = (uint32_t)(index % 10),
                               .io_bytes = rows->stored ? rows->row_bytes : 0,
                               .path = "rows",
                               .offset_bytes = index};
    out->field[0] = (struct dlb_field){.data = dst, .len_bytes = rows->row_bytes, .name = "bin"};
    if (rows->slow_at > 0 && index == rows->slow_at)
        (void)dlb_sleep_until_ns(dlb_now_ns() + SLOW_NS);
    put(rows, index, dst);
    return DLB_OK;
}

static uint32_t rows_read_many(void *rd, const uint64_t *index, uint32_t n, uint8_t *dst,
                               uint32_t *label)
{
    struct rows *rows = ((struct rows_reader *)rd)->rows;
    atomic_fetch_add(&rows->n_many, 1);
    if (rows->most > 0 && n > rows->most)
        n = rows->most;
    for (uint32_t i = 0; i < n; i++) {
        if (rows->ends_at > 0 && index[i] == rows->ends_at)
            return i;
        if (rows->slow_at > 0 && index[i] == rows->slow_at)
            (void)dlb_sleep_until_ns(dlb_now_ns() + SLOW_NS);
        label[i] = (uint32_t)(index[i] % 10);
        put(rows, index[i], dst + i * rows->row_bytes);
    }
    return n;
}

static const struct dlb_reader one_by_one = {
    .dataset_bytes = sizeof(struct rows),
    .state_bytes = sizeof(struct rows_reader),
    .dataset_close = fake_close,
    .open = rows_open,
    .close = fake_reader_close,
    .read = rows_read,
};

/* A run over all rows. */
static void deliver(struct pipeline *p, struct rows *rows, bool many, uint32_t n_workers)
{
    struct dlb_reader reader = one_by_one;
    reader.read_many = many ? rows_read_many : NULL;
    const struct dlb_format format = {
        .name = "rows", .summary = "for tests", .synthetic = !rows->stored, .reader = &reader};
    struct dlb_dataset ds = {.format = &format, .codec = dlb_codec_by_name("raw"), .state = rows};
    ds.shape = (struct dlb_shape){
        .n_samples = N, .max_sample_bytes = rows->row_bytes, .total_bytes = N * rows->row_bytes};
    ds.max_payload_bytes = rows->row_bytes;
    p->dataset = &ds;
    p->loader.num_workers = n_workers;
    p->loader.kind = pipeline_kind(n_workers ? "threads" : "inline");
    p->loader.batch_size = 350;
    p->loader.shuffle = true;
    p->seed = 5;
    p->checksum = true;
    pipeline_run(p);
    assert_int_equal(p->rc, DLB_OK);
    p->dataset = NULL;
}

/* Both ways, of which the second is looked at; free it. */
static void both(struct pipeline *p, struct rows *rows, uint32_t n_workers)
{
    struct pipeline one = *p;
    struct rows apart = *rows;
    deliver(&one, &apart, false, n_workers);
    deliver(p, rows, true, n_workers);
    assert_int_equal(apart.n_one, N);
    assert_true(p->out->epoch[0].seq_checksum == one.out->epoch[0].seq_checksum);
    assert_true(p->out->epoch[0].set_checksum == one.out->epoch[0].set_checksum);
    assert_int_equal(p->out->epoch[0].n_unique, one.out->epoch[0].n_unique);
    assert_int_equal(p->stats->workers.stage[DLB_WS_READ].count, N);
    assert_int_equal(p->stats->workers.n_samples, one.stats->workers.n_samples);
    assert_int_equal(p->stats->workers.io_bytes, one.stats->workers.io_bytes);
    assert_true(p->stats->workers.stage[DLB_WS_READ].sum_ns <=
                p->wall_ns * (n_workers ? n_workers : 1));
    pipeline_free(&one);
}

static void many_are_as_one_by_one(void **state)
{
    (void)state;
    for (uint32_t n_workers = 0; n_workers < 3; n_workers += 2) {
        struct rows rows = {.row_bytes = SHORT};
        struct pipeline p = {.n_epochs = 1};
        both(&p, &rows, n_workers);
        assert_int_equal(p.out->epoch[0].n_unique, N);
        assert_int_equal(rows.n_one, 0);
        assert_in_range(rows.n_many, 2 * 3, N / 16); /* batches of 350 take two calls at least */
        pipeline_free(&p);
    }
}

static void long_or_planted_ones_are_read_alone(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct rows rows = {.row_bytes = way == 0 ? LONG : SHORT};
        struct pipeline p = {.n_epochs = 1};
        p.loader.sample_sleep_us = way == 1;
        p.loader.sample_spin_us = way == 2;
        both(&p, &rows, 1);
        assert_int_equal(rows.n_many, 0);
        pipeline_free(&p);
    }
}

static void slow_ones_are_seen(void **state)
{
    (void)state;
    for (uint32_t n_workers = 0; n_workers < 3; n_workers += 2) {
        struct rows rows = {.row_bytes = SHORT, .stored = true, .slow_at = 421};
        struct pipeline p = {.n_epochs = 1};
        both(&p, &rows, n_workers);
        assert_int_equal(rows.n_one, 0);
        assert_true(rows.n_many < N); /* some were read together */
        assert_true(p.stats->workers.stage[DLB_WS_READ].max_ns >= SLOW_NS - DLB_QUICK_NS);
        pipeline_free(&p);
    }
}

/* A call need not give all, and one that gives none is the last. */
static void the_rest_is_read_one_by_one(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        struct rows rows = {.row_bytes = SHORT, .stored = way & 1};
        struct pipeline p = {.n_epochs = 1};
        rows.most = way & 2 ? 0 : 3;
        rows.ends_at = way & 2 ? 500 : 0;
        both(&p, &rows, 1);
        assert_int_equal(p.out->epoch[0].n_unique, N);
        assert_true(rows.n_many > 0);
        if (way & 2)
            assert_in_range(rows.n_one, 1, N - 1);
        else
            assert_int_equal(rows.n_one, 0);
        pipeline_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_are_as_one_by_one),
        cmocka_unit_test(long_or_planted_ones_are_read_alone),
        cmocka_unit_test(slow_ones_are_seen),
        cmocka_unit_test(the_rest_is_read_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
