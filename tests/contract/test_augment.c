/* transform.where = "gpu" through whole pipelines: in every epoch and with every loader samples
 * have the same checksums as with "cpu", and a device that computes others is detected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/folder.h"
#include "tests/support/pipeline.h"
#include "tests/support/variants.h"

enum { N_SAMPLES = 26, EPOCHS = 2 };

static const struct way {
    const char *kind;
    int64_t n_workers;
    int pin; /* 0: pageable, else pin_mode + 1 */
    int64_t prefetch;
} ways[] = {{"inline", 0, 0, 0},
            {"threads", 3, 1 + DLB_PIN_DIRECT, 1},
            {"threads", 2, 1 + DLB_PIN_THREAD, 2},
            {"processes", 2, 1 + DLB_PIN_DIRECT, 1}};

static bool made_data(struct variant *v, const char *format, const char *codec, const char *name)
{
    char path[256];

    *v = (struct variant){.format = dlb_format_by_name(format), .codec = dlb_codec_by_name(codec)};
    if (v->codec->missing)
        return false;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    variant_fill(v, path, N_SAMPLES, 6000);
    v->spec.transform.size = 48;
    v->spec.transform.pixels = DLB_PIXELS_F32;
    return variant_generate(v);
}

static struct pipeline piped(const struct dlb_dataset *ds, const struct way *way)
{
    return (struct pipeline){.dataset = ds,
                             .seed = 5,
                             .checksum = true,
                             .n_epochs = EPOCHS,
                             .loader = {.kind = pipeline_kind(way->kind),
                                        .num_workers = way->n_workers,
                                        .batch_size = 8,
                                        .shuffle = true,
                                        .pin_memory = way->pin > 0,
                                        .pin_mode = way->pin > 0 ? way->pin - 1 : 0},
                             .device = {.prefetch = way->prefetch}};
}

/* The epochs' sums over samples with `where`, without mismatches. */
static void run(struct variant *v, int where, const struct way *way, uint64_t sums[EPOCHS])
{
    struct dlb_dataset ds;
    struct dlb_err err;

    v->spec.transform.where = where;
    if (variant_open(v, DLB_ACCESS_AUTO, &ds, &err) != DLB_OK)
        fail_msg("%s", err.what);
    assert_int_equal(ds.augment.kind != DLB_AUGMENT_NONE, where == DLB_WHERE_GPU);
    struct pipeline p = piped(&ds, way);
    (void)fflush(NULL); /* else a forked worker could write it again */
    pipeline_run(&p);
    if (p.rc != DLB_OK)
        fail_msg("%s", p.err.what);
    assert_int_equal(p.out->n_checksum_mismatches, 0);
    for (int e = 0; e < EPOCHS; e++) {
        assert_int_equal(p.out->epoch[e].n_unique, ds.shape.n_samples);
        sums[e] = p.out->epoch[e].set_checksum;
    }
    pipeline_free(&p);
    dlb_dataset_close(&ds);
}

static void compare(struct variant *v)
{
    uint64_t want[EPOCHS], got[EPOCHS];

    run(v, DLB_WHERE_CPU, &ways[1], want);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        run(v, DLB_WHERE_GPU, &ways[i], got);
        assert_memory_equal(got, want, sizeof want);
    }
}

static void images(void **state)
{
    static const int crops[] = {DLB_CROP_RANDOM_RESIZED, DLB_CROP_CENTER, DLB_CROP_RANDOM};
    struct variant v;

    (void)state;
    if (!made_data(&v, "files", "jpeg", "images"))
        skip();
    for (size_t i = 0; i < sizeof crops / sizeof *crops; i++) {
        v.spec.transform.crop = crops[i];
        compare(&v);
    }
}

static void tokens(void **state)
{
    struct variant v;

    (void)state;
    assert_true(made_data(&v, "tokens", "tokens", "tokens"));
    compare(&v);
}

static const struct dlb_device *real;

/* As a kernel that rounds one product differently. */
static int spoil(void *dv, uint32_t buf, const uint8_t **out, size_t *n, struct dlb_err *err)
{
    int rc = real->made(dv, buf, out, n, err);
    ((uint8_t *)(uintptr_t)*out)[4] ^= 1;
    return rc;
}

static void another_result_is_found_out(void **state)
{
    struct variant v;
    struct dlb_dataset ds;
    struct dlb_err err;

    (void)state;
    if (!made_data(&v, "files", "jpeg", "spoilt"))
        skip();
    v.spec.transform.where = DLB_WHERE_GPU;
    assert_int_equal(variant_open(&v, DLB_ACCESS_AUTO, &ds, &err), DLB_OK);
    struct pipeline p = piped(&ds, &ways[1]);
    pipeline_device(&p.device);
    real = dlb_devices[p.device.kind - 1];
    struct dlb_device wrong = *real;
    wrong.made = spoil;
    p.use_device = &wrong;
    pipeline_run(&p);
    assert_int_equal(p.rc, DLB_OK);
    assert_int_equal(p.out->n_checksum_mismatches, EPOCHS * ((N_SAMPLES + 7) / 8));
    pipeline_free(&p);
    dlb_dataset_close(&ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(images, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(tokens, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(another_result_is_found_out, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
