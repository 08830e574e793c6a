/* The loader of ceilings delivers real batches, as often as epochs ask for them: those of the
 * loader without workers, byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "core/base/hash.h"
#include "tests/support/fake_format.h"
#include "tests/support/folder.h"
#include "tests/support/pipeline.h"
#include "tests/support/variants.h"

enum { N_SAMPLES = 60, SAMPLE_BYTES = 6000, MAX_FORMATS = 64, BATCH = 8, MAX_BATCHES = 64 };

static const struct dlb_loader *loader_named(const char *name)
{
    return dlb_loaders[pipeline_kind(name) - 1];
}

/* What a loader delivered in its epochs. */
struct delivered {
    uint32_t n_batches; /* of the last epoch */
    struct {
        uint32_t n_samples;
        uint64_t first, payload_hash;
    } batch[MAX_BATCHES];
    uint64_t *hash; /* [n_samples] of the data set; 0: never delivered; owned */
};

static void take(struct delivered *d, const struct dlb_batch *batch)
{
    assert_true(d->n_batches < MAX_BATCHES);
    assert_true(batch->seq == d->n_batches);
    assert_true(batch->payload_hash == dlb_hash64(batch->data, batch->n_bytes, 0));
    assert_true(batch->offset_bytes[batch->n_samples] == batch->n_bytes);
    d->batch[d->n_batches].n_samples = batch->n_samples;
    d->batch[d->n_batches].first = batch->n_samples ? batch->index[0] : UINT64_MAX;
    d->batch[d->n_batches++].payload_hash = batch->payload_hash;
    for (uint32_t i = 0; i < batch->n_samples; i++) {
        uint64_t at = batch->offset_bytes[i];
        uint64_t hash = dlb_hash64(batch->data + at, batch->offset_bytes[i + 1] - at, 0);
        assert_true(hash == batch->hash[i]);
        assert_true(d->hash[batch->index[i]] == 0 || d->hash[batch->index[i]] == hash);
        d->hash[batch->index[i]] = hash;
    }
}

static int start(const struct dlb_loader *loader, void *ld, const struct dlb_job *job,
                 struct dlb_err *err)
{
    int rc = loader->start(ld, job, err);
    if (rc != DLB_OK)
        loader->close(ld);
    return rc;
}

static struct delivered deliver(const char *name, const struct dlb_dataset *ds,
                                const struct dlb_loader_opts *opts, uint32_t n_epochs)
{
    const struct dlb_loader *loader = loader_named(name);
    const struct dlb_job job = {
        .dataset = ds, .opts = opts, .world = 1, .seed = 11, .checksum = true};
    struct delivered out = {.hash = calloc(ds->shape.n_samples + 1, sizeof(uint64_t))};
    void *ld = pipeline_state(loader->state_bytes);
    struct dlb_err err;
    struct dlb_loader_stats *stats = calloc(1, sizeof *stats);

    if (start(loader, ld, &job, &err) != DLB_OK)
        fail_msg("%s: %s", name, err.what);
    for (uint32_t e = 0; e < n_epochs; e++) {
        struct dlb_batch batch;
        bool got = false;
        int rc;
        out.n_batches = 0;
        assert_int_equal(loader->begin_epoch(ld, e, &err), DLB_OK);
        while ((rc = loader->next(ld, DLB_NS_PER_S, &batch, &got, &err)) == DLB_OK) {
            assert_true(got);
            take(&out, &batch);
            loader->release(ld, &batch);
        }
        assert_int_equal(rc, DLB_END);
    }
    assert_int_equal(loader->stop(ld, &err), DLB_OK);
    loader->stats(ld, stats);
    loader->close(ld);
    free(stats);
    free(ld);
    return out;
}

/* Streams: which samples share a batch depends on where reading began. */
static void same_as_inline(const struct dlb_dataset *ds, const struct dlb_loader_opts *opts)
{
    uint64_t n = ds->shape.n_samples;
    struct delivered real = deliver("inline", ds, opts, 1),
                     again = deliver("resident", ds, opts, 3);
    uint32_t n_delivered = 0;

    assert_int_equal(again.n_batches, real.n_batches);
    for (uint32_t b = 0; b < real.n_batches; b++) {
        bool is_kept = b < 4 || real.batch[b].n_samples < BATCH;
        assert_int_equal(again.batch[b].n_samples, real.batch[b].n_samples);
        if (ds->shape.iterable || !is_kept)
            continue;
        assert_true(again.batch[b].first == real.batch[b].first);
        assert_true(again.batch[b].payload_hash == real.batch[b].payload_hash);
    }
    for (uint64_t i = 0; i < n; i++) {
        assert_true(again.hash[i] == 0 || again.hash[i] == real.hash[i] || real.hash[i] == 0);
        n_delivered += again.hash[i] != 0;
    }
    assert_true(n_delivered >= (n < BATCH ? n : BATCH));
    free(real.hash);
    free(again.hash);
}

static void check_variant(struct variant *v, void *ctx)
{
    int *n_opened = ctx;
    char path[256];
    struct dlb_dataset ds;
    struct dlb_err err;

    if (*v->option)
        return;
    (void)snprintf(path, sizeof path, "%s/%s-%s", folder, v->format->name, v->codec->name);
    variant_fill(v, path, N_SAMPLES, SAMPLE_BYTES);
    v->spec.transform.size = 64;
    if (!variant_generate(v) || variant_open(v, DLB_ACCESS_AUTO, &ds, &err) != DLB_OK)
        return;
    for (int i = 0; i < 4; i++) {
        struct dlb_loader_opts opts = {.batch_size = BATCH,
                                       .shuffle = i & 1 && !ds.shape.iterable,
                                       .drop_last = i & 2,
                                       .shuffle_buffer_bytes = 1 << 30};
        if (ds.shape.n_samples / BATCH < MAX_BATCHES)
            same_as_inline(&ds, &opts);
    }
    ++*n_opened;
    dlb_dataset_close(&ds);
}

static void each_codec(void **state)
{
    const struct dlb_format *format = *state;
    int n_opened = 0;

    if (format->missing)
        skip();
    for (size_t i = 0; dlb_codecs[i]; i++)
        if (variant_fits(format, dlb_codecs[i]))
            variants_of(format, dlb_codecs[i], check_variant, &n_opened);
    if (n_opened == 0)
        skip();
}

/* Fewer samples than a batch; whole batches; fewer than are kept; more. */
static void epochs_have_the_sampler_s_batches(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 7, 8, 9, 16, 31, 32, 33, 47, 48, 100};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int drop_last = 0; drop_last < 2; drop_last++) {
            struct fake fake = fake_map(sizes[i]);
            struct dlb_dataset ds = fake_dataset(&fake);
            struct dlb_loader_opts opts = {.batch_size = BATCH, .drop_last = drop_last};
            struct delivered d = deliver("resident", &ds, &opts, 2);
            uint32_t n = sizes[i] / BATCH, rest = sizes[i] % BATCH;
            assert_int_equal(d.n_batches, n + (rest > 0 && !drop_last));
            if (rest > 0 && !drop_last)
                assert_int_equal(d.batch[d.n_batches - 1].n_samples, rest);
            free(d.hash);
        }
}

/* Whether the process of a cell would fail, and why. */
static void an_error_of_the_first_reads_is_told(void **state)
{
    (void)state;
    static const uint64_t at[] = {0, 9, 57}; /* the first batch, another, the short one */
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        for (int on_error = DLB_ON_ERROR_FAIL; on_error <= DLB_ON_ERROR_SKIP; on_error++) {
            struct fake fake = fake_map(N_SAMPLES);
            fake.fail_at = at[i];
            struct dlb_dataset ds = fake_dataset(&fake);
            ds.on_error = on_error;
            struct dlb_loader_opts opts = {.batch_size = BATCH};
            const struct dlb_job job = {.dataset = &ds, .opts = &opts, .world = 1};
            const struct dlb_loader *loader = loader_named("resident");
            void *ld = pipeline_state(loader->state_bytes);
            struct dlb_err err = {0};
            int rc = start(loader, ld, &job, &err);
            if (on_error == DLB_ON_ERROR_SKIP) {
                assert_int_equal(rc, DLB_OK);
                loader->close(ld);
            } else {
                assert_int_equal(rc, DLB_E_FORMAT);
                assert_int_equal(err.code, DLB_ERR_FORMAT);
                assert_string_equal(err.path, "fake");
                assert_true(err.offset_bytes == at[i]);
            }
            free(ld);
        }
}

static void *cancel_main(void *arg)
{
    atomic_bool *cancel = arg;
    (void)dlb_sleep_until_ns(dlb_now_ns() + 50 * DLB_NS_PER_MS);
    atomic_store(cancel, true);
    return NULL;
}

/* The first batch would take minutes. */
static void an_interrupt_ends_the_loading(void **state)
{
    (void)state;
    atomic_bool cancel = false;
    pthread_t thread;
    struct fake fake = fake_map(N_SAMPLES);
    struct dlb_dataset ds = fake_dataset(&fake);
    struct dlb_loader_opts opts = {.batch_size = BATCH, .sample_sleep_us = 60e6};
    const struct dlb_job job = {.dataset = &ds, .opts = &opts, .world = 1, .cancel = &cancel};
    const struct dlb_loader *loader = loader_named("resident");
    void *ld = pipeline_state(loader->state_bytes);
    struct dlb_err err = {0};

    assert_int_equal(pthread_create(&thread, NULL, cancel_main, &cancel), 0);
    assert_int_equal(start(loader, ld, &job, &err), DLB_E_CANCELLED);
    assert_int_equal(err.code, DLB_ERR_CANCELLED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    free(ld);
}

/* Through the whole pipeline: copies of the bytes arrive, with one device and with several. */
static void devices_get_the_bytes(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 2; n++)
        for (int shared = 0; shared < 2; shared++) {
            struct fake fake = fake_map(50);
            struct dlb_dataset ds = fake_dataset(&fake);
            struct pipeline p = {.dataset = &ds,
                                 .use_loader = loader_named("resident"),
                                 .n_accelerators = n,
                                 .shared_workers = shared,
                                 .n_epochs = 20,
                                 .max_batches = 30,
                                 .checksum = true,
                                 .loader = {.batch_size = 4, .pin_memory = true},
                                 .device = {.prefetch = 1, .step_ms = 0.1, .copy_us = 50}};
            pipeline_run(&p);
            assert_int_equal(p.rc, DLB_OK);
            assert_int_equal(p.out->total.n_steps, n * 30);
            assert_int_equal(p.out->n_checksum_mismatches, 0);
            pipeline_free(&p);
        }
}

int main(void)
{
    struct CMUnitTest tests[MAX_FORMATS] = {
        cmocka_unit_test(epochs_have_the_sampler_s_batches),
        cmocka_unit_test(an_error_of_the_first_reads_is_told),
        cmocka_unit_test(an_interrupt_ends_the_loading),
        cmocka_unit_test(devices_get_the_bytes),
    };
    size_t n = 4;
    n += variant_tests(tests + n, MAX_FORMATS - n, each_codec, folder_make, folder_remove);
    return _cmocka_run_group_tests("resident", tests, n, NULL, NULL);
}
