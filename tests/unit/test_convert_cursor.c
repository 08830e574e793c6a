/* formats/convert/cursor, range: ranges that follow each other have each sample once, and each
 * error. */
#include "formats/convert/cursor.h"

#include "formats/convert/range.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_SHARDS = 6, MOST = 64, NEVER = 99 };

static struct dlb_err err;

/* Shards of samples that are known by shard and place. */
static struct shards {
    uint32_t n;
    struct {
        uint64_t announced, real, fails_at; /* NEVER */
    } shard[MOST_SHARDS];
} data;

struct walker {
    uint32_t shard;
    uint64_t position;
};

static int walker_open(void *rd, const void *ds, struct dlb_err *why)
{
    (void)rd, (void)ds, (void)why;
    return DLB_OK;
}

static void walker_close(void *rd)
{
    (void)rd;
}

static int walker_shard_open(void *rd, uint32_t shard, struct dlb_err *why)
{
    (void)why;
    *(struct walker *)rd = (struct walker){.shard = shard};
    return DLB_OK;
}

static int walker_next(void *rd, struct dlb_dest dest, struct dlb_sample *out, struct dlb_err *why)
{
    struct walker *walker = rd;
    uint64_t position = walker->position++;

    (void)dest;
    out->label = walker->shard * 1000 + (uint32_t)position;
    if (position == data.shard[walker->shard].fails_at)
        return dlb_fail(why, DLB_ERR_FORMAT, "shard", walker->shard, "damaged");
    return position < data.shard[walker->shard].real ? DLB_OK : DLB_END;
}

static uint64_t walker_shard_samples(const void *ds, uint32_t shard)
{
    (void)ds;
    return data.shard[shard].announced;
}

static int walker_read(void *rd, uint64_t index, struct dlb_dest dest, struct dlb_sample *out,
                       struct dlb_err *why)
{
    (void)rd, (void)dest;
    out->label = (uint32_t)index;
    return index == 5 ? dlb_fail(why, DLB_ERR_FORMAT, "sample", index, "damaged") : DLB_OK;
}

static const struct dlb_reader reader = {.state_bytes = sizeof(struct walker),
                                         .open = walker_open,
                                         .close = walker_close,
                                         .read = walker_read,
                                         .shard_open = walker_shard_open,
                                         .next = walker_next,
                                         .shard_samples = walker_shard_samples};
static const struct dlb_format format = {.name = "walked", .reader = &reader};

struct walk {
    uint32_t n, label[MOST];
    uint32_t n_errors, error[MOST]; /* shard or sample */
    uint32_t n_early, early[MOST];  /* errors before a range */
};

static void walk(struct walk *walk, const struct dlb_dataset *ds, uint64_t first, uint64_t end)
{
    struct dlb_convert_cursor cursor;
    struct dlb_sample sample;
    int rc;

    assert_int_equal(dlb_convert_cursor_open(&cursor, ds, first, end, &err), DLB_OK);
    while ((rc = dlb_convert_cursor_next(&cursor, &sample, &err)) != DLB_END) {
        if (rc == DLB_OK && !cursor.before)
            walk->label[walk->n++] = sample.label;
        else if (rc != DLB_OK && cursor.before)
            walk->early[walk->n_early++] = (uint32_t)err.offset_bytes;
        else if (rc != DLB_OK)
            walk->error[walk->n_errors++] = (uint32_t)err.offset_bytes;
        assert_true(walk->n < MOST && walk->n_errors < MOST && walk->n_early < MOST);
    }
    dlb_convert_cursor_close(&cursor);
}

static void same_by_three(const struct dlb_dataset *ds)
{
    const uint64_t n = ds->shape.n_samples;
    struct walk whole = {.n = 0};

    walk(&whole, ds, 0, n);
    for (uint64_t a = 0; a <= n; a++)
        for (uint64_t b = a; b <= n; b++) {
            struct walk parts = {.n = 0};
            walk(&parts, ds, 0, a);
            walk(&parts, ds, a, b);
            walk(&parts, ds, b, n);
            assert_int_equal(parts.n, whole.n);
            assert_memory_equal(parts.label, whole.label, sizeof whole.label);
            assert_int_equal(parts.n_errors, whole.n_errors);
            assert_memory_equal(parts.error, whole.error, sizeof whole.error);
            for (uint32_t i = 0, known = 0; i < parts.n_early; i++, known = 0) {
                for (uint32_t k = 0; k < whole.n_errors; k++)
                    known += whole.error[k] == parts.early[i];
                assert_int_equal(known, 1);
            }
        }
}

static void shards_are_divided_anywhere(void **state)
{
    static const struct {
        struct shards data;
        uint32_t n, n_errors;
    } cases[] = {
        {{3, {{3, 3, NEVER}, {5, 5, NEVER}, {2, 2, NEVER}}}, 10, 0},
        {{6,
          {{0, 0, NEVER},
           {3, 3, NEVER},
           {0, 0, NEVER},
           {0, 0, NEVER},
           {4, 4, NEVER},
           {0, 0, NEVER}}},
         7,
         0},
        /* damaged, within what was announced and behind it; lists that are wrong */
        {{4, {{4, 9, 2}, {3, 3, NEVER}, {5, 9, 0}, {1, 1, NEVER}}}, 6, 2},
        {{5, {{0, 0, 0}, {3, 3, 3}, {0, 0, 0}, {2, 2, 2}, {0, 0, 0}}}, 5, 5},
        {{4, {{4, 3, NEVER}, {3, 5, NEVER}, {2, 0, NEVER}, {2, 4, NEVER}}}, 12, 0},
    };
    struct dlb_dataset ds = {.format = &format, .shape = {.iterable = true}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct walk whole = {.n = 0};
        data = cases[i].data;
        ds.shape.n_shards = data.n;
        ds.shape.n_samples = 0;
        for (uint32_t k = 0; k < data.n; k++)
            ds.shape.n_samples += data.shard[k].announced;
        walk(&whole, &ds, 0, ds.shape.n_samples);
        assert_int_equal(whole.n, cases[i].n);
        assert_int_equal(whole.n_errors, cases[i].n_errors);
        same_by_three(&ds);
    }
}

static void samples_are_divided_anywhere(void **state)
{
    const struct dlb_dataset ds = {.format = &format, .shape = {.n_samples = 9}};
    struct walk whole = {.n = 0};

    (void)state;
    walk(&whole, &ds, 0, 9);
    assert_int_equal(whole.n, 8);
    assert_int_equal(whole.n_errors, 1);
    assert_int_equal(whole.error[0], 5);
    same_by_three(&ds);
}

static void shares_follow_each_other(void **state)
{
    (void)state;
    for (uint64_t n = 1; n < 40; n++)
        for (uint64_t unit = 1; unit < 12; unit++)
            for (uint32_t size = 1; size < 9; size++) {
                uint64_t at = 0, least = UINT64_MAX, most = 0;
                for (uint32_t rank = 0; rank < size; rank++) {
                    struct dlb_convert_range range = dlb_convert_range(n, unit, rank, size);
                    uint64_t n_units = (range.end - range.first + unit - 1) / unit;
                    assert_int_equal(range.first, at);
                    assert_true(range.end == n || range.end % unit == 0);
                    at = range.end;
                    least = n_units < least ? n_units : least;
                    most = n_units > most ? n_units : most;
                }
                assert_int_equal(at, n);
                assert_true(most - least <= 1);
            }
    struct dlb_convert_range huge = dlb_convert_range(UINT64_C(1) << 44, 1, 1023, 1024);
    assert_int_equal(huge.end, UINT64_C(1) << 44);
    assert_int_equal(huge.end - huge.first, UINT64_C(1) << 34);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_are_divided_anywhere),
        cmocka_unit_test(samples_are_divided_anywhere),
        cmocka_unit_test(shares_follow_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
