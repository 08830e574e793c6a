/* The product of what there is: format x codec x loader x pin mode x depth deliver the same samples
 * with the same bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/base/hash.h"
#include "formats/generate.h"
#include "formats/inflate.h"
#include "tests/support/pipeline.h"

#include <stdio.h>
#include <unistd.h>

enum { N_SAMPLES = 60 };

static char root[64];

static int make_root(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof root, "/tmp/dlb-product-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static int place_of(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static void *format_opts_of(const struct dlb_format *format)
{
    return format->opts ? calloc(1, format->opts->n_bytes) : NULL;
}

/* Every field of a format's own options that a test needs is set by the defaults of its table. */
static void fill_defaults(const struct dlb_format *format, void *opts)
{
    for (const struct dlb_opt *o = format->opts ? format->opts->opts : NULL; o && o->key; o++) {
        uint8_t *at = (uint8_t *)opts + o->offset;
        if (o->type == DLB_OPT_INT)
            *(int64_t *)(void *)at = strcmp(o->key, "shard_samples") == 0 ? 13
                                     : strcmp(o->key, "file_tokens") == 0
                                         ? 20000
                                         : strtoll(o->def, NULL, 10);
    }
}

static const int no_access[] = {DLB_ACCESS_AUTO};

/* What a data set holds, read sample by sample without a loader: an order-free sum over hashes of
 * what codecs make of it. */
static uint64_t reference_set(const struct dlb_dataset *ds, uint64_t seed)
{
    void *rd = pipeline_state(ds->format->reader_bytes),
         *cd = pipeline_state(ds->codec->state_bytes);
    uint8_t *dst = malloc(ds->max_payload_bytes);
    struct dlb_err err;
    uint64_t set = 0, index = 0;

    assert_int_equal(ds->format->reader_open(rd, ds->state, &err), DLB_OK);
    if (ds->codec->open)
        assert_int_equal(ds->codec->open(cd, &ds->transform, &err), DLB_OK);
    for (uint32_t shard = 0; shard < (ds->shape.iterable ? ds->shape.n_shards : 1); shard++) {
        uint64_t n =
            ds->shape.iterable ? ds->format->shard_samples(ds->state, shard) : ds->shape.n_samples;
        if (ds->shape.iterable)
            assert_int_equal(ds->format->shard_open(rd, shard, &err), DLB_OK);
        for (uint64_t i = 0; i < n; i++, index++) {
            struct dlb_sample sample = {.offset_bytes = DLB_NO_OFFSET};
            struct dlb_dest none = {0};
            size_t len = 0;
            int rc = ds->shape.iterable ? ds->format->next(rd, none, &sample, &err)
                                        : ds->format->read(rd, index, none, &sample, &err);
            assert_int_equal(rc, DLB_OK);
            assert_int_equal(sample.index, index);
            if (ds->codec->identity) {
                for (uint32_t f = 0; f < sample.n_fields; f++) {
                    memcpy(dst + len, sample.field[f].data, sample.field[f].len_bytes);
                    len += sample.field[f].len_bytes;
                }
            } else {
                assert_int_equal(ds->codec->decode(cd, &sample, dlb_rng_seed(seed, 0, index), &err),
                                 DLB_OK);
                assert_int_equal(ds->codec->transform(cd, dst, ds->max_payload_bytes, &len, &err),
                                 DLB_OK);
            }
            set += dlb_mix64(dlb_mix64(index + DLB_GOLDEN) ^ dlb_hash64(dst, len, 0));
        }
    }
    ds->format->reader_close(rd);
    if (ds->codec->close)
        ds->codec->close(cd);
    free(dst);
    free(rd);
    free(cd);
    return set;
}

static void check_all_loaders(const struct dlb_dataset *ds)
{
    uint64_t seed = 11, set = reference_set(ds, seed), seq = 0;
    int n = 0;

    for (uint32_t workers = 0; workers <= 4; workers = workers ? workers * 2 : 1) {
        for (int pin = 0; pin < 3; pin++) {
            for (int depth = 0; depth <= 2; depth++, n++) {
                struct pipeline p = {
                    .dataset = ds,
                    .seed = seed,
                    .checksum = true,
                    .loader = {.num_workers = workers,
                               .batch_size = 8,
                               .shuffle = true,
                               .shuffle_buffer = n % 2 ? 20 : 0,
                               .pin_memory = pin > 0,
                               .pin_mode = pin == 2 ? DLB_PIN_THREAD : DLB_PIN_DIRECT},
                    .device = {.prefetch = depth}};
                pipeline_run(&p);
                if (p.rc != DLB_OK) {
                    char text[512];
                    fail_msg("%s", dlb_err_text(&p.err, text, sizeof text));
                }
                assert_int_equal(p.out->n_checksum_mismatches, 0);
                assert_int_equal(p.out->epoch[0].n_unique, N_SAMPLES);
                assert_int_equal(p.out->epoch[0].n_samples, N_SAMPLES);
                assert_true(p.out->epoch[0].set_checksum == set);
                if (!ds->shape.iterable) {
                    seq = seq ? seq : p.out->epoch[0].seq_checksum;
                    assert_true(p.out->epoch[0].seq_checksum == seq);
                }
                pipeline_free(&p);
            }
        }
    }
}

/* One of the format's own choices, by its words. */
static void choose(const struct dlb_format *format, void *opts, const char *key, const char *word)
{
    for (const struct dlb_opt *o = format->opts->opts; o->key; o++)
        if (strcmp(o->key, key) == 0)
            *(int *)(void *)((uint8_t *)opts + o->offset) = place_of(o->choices, word);
}

static const char *layout; /* of tokens */

static void check(const char *format_name, const char *codec_name, int crop, int pixels)
{
    struct dlb_generate_opts gen_opts = {
        .samples = N_SAMPLES, .sample_bytes = 6000, .seed = 4, .classes = 5};
    struct dlb_dataset_opts opts = {.format = place_of(dlb_format_names, format_name),
                                    .codec = place_of(dlb_codec_names, codec_name)};
    struct dlb_transform_opts transform = {
        .crop = crop, .size = 64, .flip = true, .pixels = pixels, .scaled_decode = true};
    const struct dlb_format *format = dlb_format_by_name(format_name);
    const struct dlb_codec *codec = dlb_codec_by_name(codec_name);
    struct dlb_dataset ds;
    struct dlb_err err;
    uint64_t written = 0;

    assert_non_null(format);
    assert_non_null(codec);
    if (format->missing || codec->missing)
        skip();
    (void)snprintf(opts.path, sizeof opts.path, "%s/%s-%s%s", root, format_name, codec_name,
                   layout ? layout : "");
    void *format_opts = format_opts_of(format);
    fill_defaults(format, format_opts);
    if (layout)
        choose(format, format_opts, "layout", layout);
    struct dlb_gen gen = {.opts = &gen_opts,
                          .format = format,
                          .codec = codec,
                          .format_opts = format_opts,
                          .path = opts.path};
    if (format->gen_unit)
        assert_int_equal(dlb_generate(&gen, 2, NULL, &written, &err), DLB_OK);
    uint64_t set = 0;
    for (const int *access = format->access ? format->access : no_access;; access++) {
        opts.access = *access;
        int rc = dlb_dataset_open(&ds, &opts, &transform, &gen_opts, format_opts, &err);
        if (rc == DLB_E_CONFIG && opts.access == DLB_ACCESS_DIRECT)
            continue; /* the file system refuses, and says why */
        if (rc != DLB_OK) {
            char text[512];
            fail_msg("%s", dlb_err_text(&err, text, sizeof text));
        }
        uint64_t this_set = reference_set(&ds, 11);
        set = set ? set : this_set;
        assert_true(this_set == set); /* however the bytes are fetched */
        check_all_loaders(&ds);
        dlb_dataset_close(&ds);
        if (*access == DLB_ACCESS_AUTO)
            break;
    }
    free(format_opts);
}

static void files_raw(void **state)
{
    (void)state;
    check("files", "raw", DLB_CROP_NONE, DLB_PIXELS_U8);
}

static void files_jpeg_random_crop(void **state)
{
    (void)state;
    check("files", "jpeg", DLB_CROP_RANDOM_RESIZED, DLB_PIXELS_U8);
}

static void files_jpeg_center_float(void **state)
{
    (void)state;
    check("files", "jpeg", DLB_CROP_CENTER, DLB_PIXELS_F32);
}

static void files_jpeg_whole_images(void **state)
{
    (void)state;
    check("files", "jpeg", DLB_CROP_NONE, DLB_PIXELS_U8);
}

static void webdataset_raw(void **state)
{
    (void)state;
    check("webdataset", "raw", DLB_CROP_NONE, DLB_PIXELS_U8);
}

static void webdataset_jpeg(void **state)
{
    (void)state;
    check("webdataset", "jpeg", DLB_CROP_RANDOM_RESIZED, DLB_PIXELS_F32);
}

static void files_npy(void **state)
{
    (void)state;
    check("files", "npy", DLB_CROP_NONE, DLB_PIXELS_U8);
}

static void lmdb_raw(void **state)
{
    (void)state;
    check("lmdb", "raw", DLB_CROP_NONE, DLB_PIXELS_U8);
}

static void lmdb_jpeg(void **state)
{
    (void)state;
    check("lmdb", "jpeg", DLB_CROP_RANDOM_RESIZED, DLB_PIXELS_U8);
}

static void npz_raw(void **state)
{
    (void)state;
    if (dlb_inflate_missing)
        skip(); /* gen needs its CRC-32 */
    check("npz", "raw", DLB_CROP_NONE, DLB_PIXELS_U8);
}

static void tfrecord_raw(void **state)
{
    (void)state;
    check("tfrecord", "raw", DLB_CROP_NONE, DLB_PIXELS_U8);
}

static void tfrecord_jpeg(void **state)
{
    (void)state;
    check("tfrecord", "jpeg", DLB_CROP_RANDOM_RESIZED, DLB_PIXELS_U8);
}

static void memory_raw(void **state)
{
    (void)state;
    check("memory", "raw", DLB_CROP_NONE, DLB_PIXELS_U8);
}

static void synthetic_raw(void **state)
{
    (void)state;
    check("synthetic", "raw", DLB_CROP_NONE, DLB_PIXELS_U8);
}

static void tokens(const char *of_layout)
{
    layout = of_layout;
    check("tokens", "raw", DLB_CROP_NONE, DLB_PIXELS_U8);
    check("tokens", "tokens", DLB_CROP_NONE, DLB_PIXELS_U8);
    layout = NULL;
}

static void tokens_raw(void **state)
{
    (void)state;
    tokens("raw");
}

static void tokens_llmc(void **state)
{
    (void)state;
    tokens("llmc");
}

static void tokens_megatron(void **state)
{
    (void)state;
    tokens("megatron");
}

static void tokens_npy(void **state)
{
    (void)state;
    tokens("npy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_raw),
        cmocka_unit_test(files_jpeg_random_crop),
        cmocka_unit_test(files_jpeg_center_float),
        cmocka_unit_test(webdataset_raw),
        cmocka_unit_test(files_jpeg_whole_images),
        cmocka_unit_test(webdataset_jpeg),
        cmocka_unit_test(synthetic_raw),
        cmocka_unit_test(files_npy),
        cmocka_unit_test(lmdb_raw),
        cmocka_unit_test(lmdb_jpeg),
        cmocka_unit_test(npz_raw),
        cmocka_unit_test(tfrecord_raw),
        cmocka_unit_test(tfrecord_jpeg),
        cmocka_unit_test(memory_raw),
        cmocka_unit_test(tokens_raw),
        cmocka_unit_test(tokens_llmc),
        cmocka_unit_test(tokens_megatron),
        cmocka_unit_test(tokens_npy),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
