/* Asynchronous reads deliver what ordinary ones do, in every kind of loader. */
#include "formats/webdataset/write.h"
#include "tests/support/async.h"

#include <sys/resource.h>

static void same_as_sync(uint64_t n_samples)
{
    struct pipeline sync = with(DLB_READ_SYNC, "inline");

    runs(&sync);
    assert_int_equal(sync.out->epoch[0].n_unique, n_samples);
    assert_true(sync.stats->workers.io.request.count > 0);
    assert_int_equal(sync.stats->workers.io.max_in_flight, 0);
    for (size_t k = 0; k < 9; k++) {
        struct pipeline p = with(DLB_READ_URING, kinds[k / 3]);
        p.loader.io_depth = depths[k % 3];
        p.loader.persistent_workers = k % 2;
        p.n_epochs = 2;
        runs(&p);
        for (int e = 0; e < 2; e++) {
            assert_int_equal(p.out->epoch[e].n_unique, n_samples);
            assert_true(p.out->epoch[e].set_checksum == sync.out->epoch[0].set_checksum);
        }
        assert_true(p.out->epoch[0].seq_checksum == sync.out->epoch[0].seq_checksum);
        assert_int_equal(p.stats->io.n_sync, 0);
        assert_true(p.stats->io.n_uring > 0);
        assert_true(p.stats->workers.io.request.count >= 2 * n_samples);
        assert_int_equal(p.stats->workers.io.n_bytes, p.stats->workers.io_bytes);
        assert_in_range(p.stats->workers.io.max_in_flight, 1, (uint64_t)depths[k % 3]);
        assert_int_equal(p.stats->workers.stage[DLB_WS_READ].count, 2 * n_samples);
        /* The wait for a request that is not yet submitted has no bound: READ takes at most 5 ms
         * per request more than the requests themselves. */
        assert_true(p.stats->workers.stage[DLB_WS_READ].sum_ns <
                    p.stats->workers.io.request.sum_ns +
                        p.stats->workers.io.request.count * UINT64_C(5000000));
        pipeline_free(&p);
    }
    pipeline_free(&sync);
}

/* Both ways during the trial, then one, over restarts of workers, too. */
static void auto_delivers_the_same(void **state)
{
    (void)state;
    if (!usable)
        skip();
    make_files("raw");
    opens("files", "raw", false, NULL);
    struct pipeline sync = with(DLB_READ_SYNC, "inline");
    runs(&sync);
    for (size_t k = 0; k < 6; k++) {
        struct pipeline p = with(DLB_READ_AUTO, kinds[k / 2]);
        p.loader.batch_size = 7; /* 13 batches an epoch */
        p.loader.persistent_workers = k % 2;
        p.n_epochs = 3;
        runs(&p);
        for (int e = 0; e < 3; e++) {
            assert_int_equal(p.out->epoch[e].n_unique, N);
            assert_true(p.out->epoch[e].set_checksum == sync.out->epoch[0].set_checksum);
        }
        const struct dlb_io_used *io = &p.stats->io;
        assert_true(io->n_uring + io->n_sync + io->n_undecided > 0);
        assert_true(io->reason[0] != '\0');
        if (p.loader.persistent_workers || p.loader.num_workers == 0)
            assert_int_equal(io->n_undecided, 0); /* each has loaded 18 batches or more */
        pipeline_free(&p);
    }
    pipeline_free(&sync);
    dlb_dataset_close(&ds);
}

/* Samples that lie in memory have no places to read from. */
static void auto_reads_what_has_no_places(void **state)
{
    (void)state;
    generation_set(&g, "synthetic", "raw", "", N, BYTES);
    struct dlb_dataset_opts opts = {.format = dataset_place(dlb_format_names, "synthetic"),
                                    .codec = dataset_place(dlb_codec_names, "raw")};
    struct dlb_transform_opts transform = {.crop = DLB_CROP_CENTER, .size = 32};
    struct dlb_err err;
    assert_int_equal(dlb_dataset_open(&ds, &opts, &transform, &g.opts, NULL, &err), DLB_OK);
    struct pipeline p = with(DLB_READ_AUTO, "threads");
    runs(&p);
    assert_int_equal(p.out->epoch[0].n_unique, N);
    assert_int_equal(p.stats->io.n_uring + p.stats->io.n_undecided, 0);
    assert_true(p.stats->io.n_sync > 0 && p.stats->io.reason[0] != '\0');
    pipeline_free(&p);
    dlb_dataset_close(&ds);
}

static void files_deliver_the_same(void **state)
{
    (void)state;
    if (!usable)
        skip();
    make_files("raw");
    for (int direct = 0; direct < 2; direct++) {
        struct dlb_err err;
        if (direct && open_located("files", "raw", true, NULL, &err) == DLB_E_CONFIG)
            break; /* the file system refuses, and says why */
        if (!direct)
            opens("files", "raw", false, NULL);
        same_as_sync(N);
        dlb_dataset_close(&ds);
    }
}

/* More folders than are kept open: whole paths are opened. */
static void many_folders_deliver_the_same(void **state)
{
    (void)state;
    if (!usable)
        skip();
    generation_set(&g, "files", "raw", folder_path("data"), 300, 100);
    g.opts.classes = 300;
    assert_int_equal(generation_run(&g, 2), DLB_OK);
    opens("files", "raw", false, NULL);
    same_as_sync(300);
    dlb_dataset_close(&ds);
}

static void photos_deliver_the_same(void **state)
{
    (void)state;
    if (!usable || !is_built("files", "jpeg"))
        skip();
    make_files("jpeg");
    opens("files", "jpeg", false, NULL);
    same_as_sync(N);
    dlb_dataset_close(&ds);
}

static void tokens_deliver_the_same(void **state)
{
    static const char *const layouts[] = {"raw", "megatron"};
    (void)state;
    if (!usable)
        skip();
    for (int i = 0; i < 8; i++) {
        const struct dlb_format *format = dlb_format_by_name("tokens");
        const struct dlb_opt *o = format->opts->opts;
        void *opts = calloc(1, format->opts->n_bytes);
        assert_non_null(opts);
        while (strcmp(o->key, "layout") != 0)
            o++;
        *(int *)(void *)((uint8_t *)opts + o->offset) = dataset_place(o->choices, layouts[i & 1]);
        generation_set(&g, "tokens", "raw", folder_path("data"), N, BYTES);
        g.gen.format_opts = opts;
        assert_int_equal(generation_run(&g, 2), DLB_OK);
        struct dlb_err err;
        int rc = open_located("tokens", i & 2 ? "tokens" : "raw", i & 4, opts, &err);
        if (rc != DLB_OK)
            assert_true((i & 4) && rc == DLB_E_CONFIG);
        else
            same_as_sync(ds.shape.n_samples);
        dlb_dataset_close(&ds);
        free(opts);
        assert_int_equal(nftw(folder_path("data"), folder_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
    }
}

/* Shards at random, those that are kept open and those that are not. */
static void indexed_shards_deliver_the_same(void **state)
{
    (void)state;
    if (!usable || dlb_format_by_name("webdataset")->missing)
        skip();
    struct dlb_wds_opts shards = {.shard_samples = 2};
    generation_set(&g, "webdataset", "raw", folder_path("data"), N, BYTES);
    g.gen.format_opts = &shards;
    assert_int_equal(generation_run(&g, 2), DLB_OK);
    for (int few = 0; few < 2; few++) {
        struct rlimit old, low;
        struct dlb_err err;
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
        low = (struct rlimit){.rlim_cur = few ? 40 : old.rlim_cur, .rlim_max = old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
        int rc = dataset_open_as(&ds, "webdataset", "raw", folder_path("data"), DLB_ACCESS_INDEXED,
                                 &err);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
        assert_int_equal(rc, DLB_OK);
        same_as_sync(N);
        dlb_dataset_close(&ds);
    }
}

/* Image and label, which the batch holds back to back: nothing is copied after it was read. */
static void fields_are_read_where_they_belong(void **state)
{
    (void)state;
    if (!usable || dlb_format_by_name("webdataset")->missing)
        skip();
    struct dlb_err err;
    struct dlb_wds_opts shards = {.shard_samples = 30};
    generation_set(&g, "webdataset", "raw", folder_path("data"), N, BYTES);
    g.gen.format_opts = &shards;
    assert_int_equal(generation_run(&g, 2), DLB_OK);
    assert_int_equal(
        dataset_open_as(&ds, "webdataset", "raw", folder_path("data"), DLB_ACCESS_INDEXED, &err),
        DLB_OK);
    assert_true(ds.shape.max_sample_bytes > BYTES); /* the label is in it */
    for (size_t k = 0; k < 9; k++) {
        struct pipeline p = with(DLB_READ_URING, kinds[k / 3]);
        p.loader.io_depth = depths[k % 3];
        p.checksum = false;
        runs(&p);
        assert_int_equal(p.out->epoch[0].n_unique, N);
        assert_int_equal(p.stats->io.n_sync, 0);
        const struct dlb_worker_meters *workers = &p.stats->workers;
        assert_int_equal(workers->n_batches, (N + 15) / 16);
        /* Once for each batch, and once for each sample that is copied. */
        assert_int_equal(workers->stage[DLB_WS_COLLATE].count, workers->n_batches);
        pipeline_free(&p);
    }
    dlb_dataset_close(&ds);
}

enum { N_MIXED = 64 };

/* No whole number of blocks, and then one, in turn. */
static size_t mixed_bytes(uint64_t i)
{
    return i % 2 ? 4096 * (1 + i % 5) : 1000 + i;
}

static uint8_t mixed_byte(uint64_t i, size_t at)
{
    return (uint8_t)dlb_mix64(i << 32 | at);
}

static const struct dlb_loader *inner;
static uint64_t n_compared;

/* A batch as it comes out of the loader, when all of it has been read: byte for byte. */
static int next_compared(void *ld, uint64_t timeout_ns, struct dlb_batch *out, bool *got,
                         struct dlb_err *err)
{
    int rc = inner->next(ld, timeout_ns, out, got, err);

    for (uint32_t i = 0; rc == DLB_OK && *got && i < out->n_samples; i++) {
        uint64_t index = out->index[i], n_bytes = out->offset_bytes[i + 1] - out->offset_bytes[i];
        const uint8_t *data = out->data + out->offset_bytes[i];
        assert_int_equal(n_bytes, mixed_bytes(index));
        for (size_t at = 0; at < n_bytes; at++)
            if (data[at] != mixed_byte(index, at))
                fail_msg("sample %llu: another byte at %zu of %llu", (unsigned long long)index, at,
                         (unsigned long long)n_bytes);
        n_compared++;
    }
    return rc;
}

static void mixed_run(size_t kind, int64_t depth, bool shuffle, int order)
{
    struct dlb_err err;
    struct pipeline p = with(DLB_READ_URING, kinds[kind]);

    p.loader.io_depth = depth;
    p.loader.shuffle = shuffle;
    p.loader.order = order;
    inner = dlb_loader_choose(&p.loader, &err);
    assert_non_null(inner);
    struct dlb_loader compared = *inner;
    compared.next = next_compared;
    p.use_loader = &compared;
    n_compared = 0;
    runs(&p);
    assert_int_equal(n_compared, N_MIXED);
    assert_int_equal(p.out->epoch[0].n_unique, N_MIXED);
    assert_int_equal(p.stats->io.n_sync, 0);
    pipeline_free(&p);
}

/* Samples that can be read where they belong, among others that cannot. */
static void mixed_sizes_stay_whole(void **state)
{
    static const int64_t few[] = {1, 3, 32};
    uint8_t bytes[4096 * 5];

    (void)state;
    if (!usable)
        skip();
    folder_sub("data");
    folder_sub("data/a");
    for (uint64_t i = 0; i < N_MIXED; i++) {
        char name[32];
        for (size_t at = 0; at < mixed_bytes(i); at++)
            bytes[at] = mixed_byte(i, at);
        (void)snprintf(name, sizeof name, "data/a/%03d.bin", (int)i);
        folder_write(name, bytes, mixed_bytes(i));
    }
    for (int direct = 0; direct < 2; direct++) {
        struct dlb_err err;
        if (direct && open_located("files", "raw", true, NULL, &err) == DLB_E_CONFIG)
            break;
        if (!direct)
            opens("files", "raw", false, NULL);
        for (size_t k = 0; k < 36; k++)
            mixed_run(k / 12, few[k / 4 % 3], k / 2 % 2,
                      k % 2 ? DLB_ORDER_ANY : DLB_ORDER_IN_ORDER);
        dlb_dataset_close(&ds);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_deliver_the_same),
        TEST(auto_delivers_the_same),
        TEST(auto_reads_what_has_no_places),
        TEST(mixed_sizes_stay_whole),
        TEST(many_folders_deliver_the_same),
        TEST(photos_deliver_the_same),
        TEST(tokens_deliver_the_same),
        TEST(indexed_shards_deliver_the_same),
        TEST(fields_are_read_where_they_belong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
