/* All combinations of format x access x codec x loader x order x pin mode x depth x reads deliver
 * the same samples with the same bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/hash.h"
#include "loaders/uring.h"
#include "tests/support/folder.h"
#include "tests/support/pipeline.h"
#include "tests/support/variants.h"

enum { N_SAMPLES = 60, SAMPLE_BYTES = 6000, MAX_FORMATS = 64 };

static const uint64_t seed = 11;

/* Every way to make a batch; the options that a row leaves open take turns. */
static const struct way {
    const char *kind;
    uint32_t n_workers;
    int order;
    int pin; /* 0: pageable, else pin_mode + 1 */
} ways[] = {
    {"inline", 0, DLB_ORDER_IN_ORDER, 0},    {"inline", 0, DLB_ORDER_IN_ORDER, 1},
    {"inline", 0, DLB_ORDER_IN_ORDER, 2},    {"threads", 1, DLB_ORDER_IN_ORDER, 0},
    {"threads", 2, DLB_ORDER_IN_ORDER, 1},   {"threads", 4, DLB_ORDER_IN_ORDER, 2},
    {"threads", 4, DLB_ORDER_ANY, 0},        {"threads", 1, DLB_ORDER_ANY, 1},
    {"threads", 2, DLB_ORDER_ANY, 2},        {"processes", 2, DLB_ORDER_IN_ORDER, 0},
    {"processes", 1, DLB_ORDER_IN_ORDER, 1}, {"processes", 3, DLB_ORDER_IN_ORDER, 2},
    {"processes", 3, DLB_ORDER_ANY, 0},      {"processes", 2, DLB_ORDER_ANY, 1},
    {"processes", 1, DLB_ORDER_ANY, 2},
};
enum { N_WAYS = sizeof ways / sizeof *ways };

struct product {
    const struct dlb_format *format;
    int n_codecs, n_opened;
    unsigned turn;
};

static const int no_access[] = {DLB_ACCESS_AUTO};

static void failed(const struct variant *v, const struct dlb_err *err)
{
    char text[512];
    fail_msg("%s, %s, %s=%s: %s", v->format->name, v->codec->name, v->option, v->word,
             dlb_err_text(err, text, sizeof text));
}

static void check_whereabouts(const struct dlb_dataset *ds, uint64_t number, const char *path)
{
    char where[512] = "";
    if (!ds->format->reader->whereabouts || ds->format->synthetic)
        return;
    ds->format->reader->whereabouts(ds->state, number, where, sizeof where);
    assert_string_equal(where, path);
}

/* Reads a data set sample by sample without a loader: an order-independent sum over hashes of the
 * decoded samples. */
static uint64_t reference_set(const struct variant *v, const struct dlb_dataset *ds)
{
    void *rd = pipeline_state(ds->format->reader->state_bytes),
         *cd = pipeline_state(ds->codec->state_bytes);
    uint8_t *dst = malloc(ds->max_payload_bytes + 1);
    struct dlb_err err;
    uint64_t set = 0, index = 0;

    assert_int_equal(ds->format->reader->open(rd, ds->state, &err), DLB_OK);
    if (ds->codec->open)
        assert_int_equal(ds->codec->open(cd, &ds->transform, &err), DLB_OK);
    for (uint32_t shard = 0; shard < (ds->shape.iterable ? ds->shape.n_shards : 1); shard++) {
        uint64_t n = ds->shape.iterable ? ds->format->reader->shard_samples(ds->state, shard)
                                        : ds->shape.n_samples;
        if (ds->shape.iterable)
            assert_int_equal(ds->format->reader->shard_open(rd, shard, &err), DLB_OK);
        for (uint64_t i = 0; i < n; i++, index++) {
            struct dlb_sample sample = {.offset_bytes = DLB_NO_OFFSET};
            struct dlb_dest none = {0};
            size_t len = 0;
            int rc = ds->shape.iterable ? ds->format->reader->next(rd, none, &sample, &err)
                                        : ds->format->reader->read(rd, index, none, &sample, &err);
            if (rc != DLB_OK)
                failed(v, &err);
            assert_int_equal(sample.index, index);
            check_whereabouts(ds, ds->shape.iterable ? shard : index, sample.path);
            for (uint32_t f = 0; f < sample.n_fields; f++)
                assert_non_null(sample.field[f].name);
            if (ds->codec->identity) {
                for (uint32_t f = 0; f < sample.n_fields; f++) {
                    memcpy(dst + len, sample.field[f].data, sample.field[f].len_bytes);
                    len += sample.field[f].len_bytes;
                }
            } else if (ds->codec->decode(cd, &sample, dlb_rng_seed(seed, 0, index), &err) !=
                           DLB_OK ||
                       ds->codec->transform(cd, dst, ds->max_payload_bytes, &len, &err) != DLB_OK) {
                failed(v, &err);
            }
            assert_true(len <= ds->max_payload_bytes);
            set += dlb_mix64(dlb_mix64(index + DLB_GOLDEN) ^ dlb_hash64(dst, len, 0));
        }
    }
    ds->format->reader->close(rd);
    if (ds->codec->close)
        ds->codec->close(cd);
    free(dst);
    free(rd);
    free(cd);
    return set;
}

static void check_way(const struct variant *v, const struct dlb_dataset *ds, uint64_t set,
                      const struct way *way, int io, unsigned turn, uint64_t *seq)
{
    bool fresh = turn % 2 && way->n_workers > 0 && way->pin != 1 + DLB_PIN_DIRECT;
    struct pipeline p = {.dataset = ds,
                         .seed = seed,
                         .checksum = true,
                         .loader = {.kind = pipeline_kind(way->kind),
                                    .num_workers = way->n_workers,
                                    .batch_size = 8,
                                    .shuffle = true,
                                    .shuffle_buffer = turn % 2 ? 20 : 0,
                                    .order = way->order,
                                    .io = io,
                                    .io_depth = 1 + turn % 5,
                                    .transport = fresh ? DLB_TRANSPORT_FRESH : DLB_TRANSPORT_POOLED,
                                    .pin_memory = way->pin > 0,
                                    .pin_mode = way->pin > 0 ? way->pin - 1 : 0},
                         .device = {.prefetch = turn % 3}};

    (void)fflush(NULL); /* else a forked worker could write it again */
    pipeline_run(&p);
    if (p.rc != DLB_OK)
        failed(v, &p.err);
    assert_int_equal(p.out->n_checksum_mismatches, 0);
    assert_int_equal(p.out->epoch[0].n_unique, ds->shape.n_samples);
    assert_int_equal(p.out->epoch[0].n_samples, ds->shape.n_samples);
    assert_true(p.out->epoch[0].set_checksum == set);
    if (!ds->shape.iterable && way->order == DLB_ORDER_IN_ORDER) {
        *seq = *seq ? *seq : p.out->epoch[0].seq_checksum;
        assert_true(p.out->epoch[0].seq_checksum == *seq);
    }
    pipeline_free(&p);
}

static bool is_located(const struct dlb_dataset *ds, int access)
{
    struct dlb_loader_opts asks = {.io = DLB_READ_URING};
    struct dlb_err ignored;

    return !dlb_uring_missing() && dlb_loader_check_reads(&asks, ds->format, access,
                                                          ds->shape.iterable, &ignored) == DLB_OK;
}

static void check_ways(const struct variant *v, const struct dlb_dataset *ds, int access,
                       uint64_t set, struct product *product, unsigned one_in)
{
    bool located = is_located(ds, access);
    uint64_t seq = 0;

    for (unsigned i = 0; i < N_WAYS; i++) {
        unsigned turn = product->turn + i;
        if (i % one_in != product->turn % one_in)
            continue;
        int io = located && turn % 2 ? DLB_READ_URING : DLB_READ_SYNC;
        check_way(v, ds, set, &ways[i], io, turn, &seq);
        if (one_in == 1 && located && v->codec->identity)
            check_way(v, ds, set, &ways[i], io == DLB_READ_URING ? DLB_READ_SYNC : DLB_READ_URING,
                      turn, &seq);
    }
    product->turn++;
}

/* Tries each access with some of the ways of loading, others each time. */
static void check_accesses(struct variant *v, struct product *product, unsigned one_in)
{
    uint64_t set = 0;

    for (const int *access = v->format->access ? v->format->access : no_access;; access++) {
        struct dlb_dataset ds;
        struct dlb_err err;
        int rc = variant_open(v, *access, &ds, &err);
        bool refused = rc == DLB_E_CONFIG || rc == DLB_E_MISSING; /* with a reason */
        if (rc != DLB_OK && !refused)
            failed(v, &err);
        if (rc == DLB_OK) {
            uint64_t this_set = reference_set(v, &ds);
            product->n_opened++;
            assert_true(ds.shape.n_samples > 0);
            if (!v->format->numbers)
                assert_int_equal(ds.shape.n_samples, N_SAMPLES);
            set = set ? set : this_set;
            assert_true(this_set == set); /* by any access */
            check_ways(v, &ds, *access, set, product, one_in);
            dlb_dataset_close(&ds);
        }
        if (*access == DLB_ACCESS_AUTO)
            break;
    }
}

static void check_variant(struct variant *v, void *ctx)
{
    static const struct {
        int crop, pixels;
    } images[] = {{DLB_CROP_RANDOM_RESIZED, DLB_PIXELS_F32},
                  {DLB_CROP_CENTER, DLB_PIXELS_U8},
                  {DLB_CROP_NONE, DLB_PIXELS_U8}};
    struct product *product = ctx;
    char path[256];

    (void)snprintf(path, sizeof path, "%s/%s-%s-%s", folder, v->format->name, v->codec->name,
                   v->word);
    variant_fill(v, path, N_SAMPLES, SAMPLE_BYTES);
    v->spec.transform.size = 64;
    if (!variant_generate(v))
        return;
    bool plain = !*v->option, pixels = strcmp(v->codec->name, "jpeg") == 0;
    for (unsigned i = 0; i < (pixels && plain ? 3 : 1); i++) {
        v->spec.transform.crop = images[i].crop;
        v->spec.transform.pixels = images[i].pixels;
        check_accesses(v, product,
                       plain && v->codec->identity ? 1
                       : plain && i == 0           ? 3
                       : v->codec->identity        ? 5
                                                   : N_WAYS);
    }
}

static void each_codec(void **state)
{
    struct product product = {.format = *state};
    int n_before = 0;

    variant_n_missing = 0;
    if (product.format->missing)
        skip();
    for (size_t i = 0; dlb_codecs[i]; i++) {
        if (!variant_fits(product.format, dlb_codecs[i]))
            continue;
        variants_of(product.format, dlb_codecs[i], check_variant, &product);
        product.n_codecs += product.n_opened > n_before;
        n_before = product.n_opened;
    }
    if (product.n_opened == 0 && variant_n_missing > 0)
        skip();
    assert_true(product.n_codecs > 0); /* else nothing was tested */
    print_message("%s: %d codecs, opened %d times\n", product.format->name, product.n_codecs,
                  product.n_opened);
}

int main(void)
{
    struct CMUnitTest tests[MAX_FORMATS];
    size_t n = variant_tests(tests, MAX_FORMATS, each_codec, folder_make, folder_remove);
    return _cmocka_run_group_tests("product", tests, n, NULL, NULL);
}
