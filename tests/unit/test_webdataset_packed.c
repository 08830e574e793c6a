/* formats/webdataset on .tar.gz and .tar.zst: the same samples, damage, and decompression bombs. */
#include "core/base/hash.h"
#include "core/base/little.h"
#include "formats/codecs/zstd.h"
#include "formats/generate/manifest.h"
#include "formats/webdataset/tar.h"
#include "formats/webdataset/write.h"
#include "tests/support/dataset.h"
#include "tests/support/folder.h"
#include "tests/support/tarball.h"

enum { N_SAMPLES = 40, SAMPLE_BYTES = 700 };

static const char *const ends[] = {".tar", ".tar.gz", ".tar.zst"};

static void write_set(int pack, const char *path)
{
    struct dlb_wds_opts opts = {.shard_samples = 15, .compression = pack};
    struct generation g;

    generation_set(&g, "webdataset", "raw", path, N_SAMPLES, SAMPLE_BYTES);
    g.gen.format_opts = &opts;
    if (generation_run(&g, 2) != DLB_OK)
        fail_msg("%s", g.err.what);
}

/* Order-independent sum over (index, content); *rc: the status at the end. */
static uint64_t hash_shard(const struct dlb_dataset *ds, uint32_t shard, uint64_t *n, int *rc,
                           uint64_t *n_io)
{
    void *reader = dataset_reader(ds);
    struct dlb_sample sample = {0};
    uint64_t sum = 0;

    *n = 0;
    *rc = ds->format->reader->shard_open(reader, shard, &err);
    while (*rc == DLB_OK && (*rc = ds->format->reader->next(reader, (struct dlb_dest){NULL, 0},
                                                            &sample, &err)) == DLB_OK) {
        uint64_t hash = sample.index;
        for (uint32_t i = 0; i < sample.n_fields; i++) {
            hash = dlb_hash64(sample.field[i].name, strlen(sample.field[i].name), hash);
            hash = dlb_hash64(sample.field[i].data, sample.field[i].len_bytes, hash);
        }
        sum += hash;
        *n_io += sample.io_bytes;
        ++*n;
    }
    dataset_reader_free(ds, reader);
    return sum;
}

static uint64_t hash_set(const char *path, bool by_manifest)
{
    struct dlb_dataset ds;
    uint64_t sum = 0, n, n_io = 0;
    int rc;

    if (!by_manifest) {
        char name[600];
        (void)snprintf(name, sizeof name, "%s/%s", path, DLB_MANIFEST_NAME);
        assert_int_equal(remove(name), 0);
    }
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", path, &err), DLB_OK);
    assert_int_equal(ds.shape.n_samples, N_SAMPLES);
    assert_int_equal(ds.shape.n_shards, 3);
    assert_int_equal(ds.shape.total_bytes, N_SAMPLES * (SAMPLE_BYTES + 1));
    for (uint32_t i = 0; i < ds.shape.n_shards; i++) {
        sum += hash_shard(&ds, i, &n, &rc, &n_io);
        assert_int_equal(rc, DLB_END);
        assert_int_equal(n, ds.format->reader->shard_samples(ds.state, i));
    }
    dlb_dataset_close(&ds);
    return sum;
}

static void test_same_samples(void **state)
{
    (void)state;
    uint64_t plain = 0;
    for (int pack = DLB_TAR_PLAIN; pack <= DLB_TAR_ZST; pack++) {
        char path[300], name[64];
        (void)snprintf(path, sizeof path, "%s/%s", folder, dlb_tar_pack_names[pack]);
        write_set(pack, path);
        (void)snprintf(name, sizeof name, "%s/shard-000002%s", dlb_tar_pack_names[pack],
                       ends[pack]);
        assert_true(folder_has(name));
        uint64_t set = hash_set(path, true);
        plain = pack == DLB_TAR_PLAIN ? set : plain;
        assert_true(set == plain);
        assert_true(hash_set(path, false) == plain); /* counted by unpacking */
    }
}

/* Equal content gives equal bytes: no time of day in a gzip header. */
static void test_same_bytes_again(void **state)
{
    (void)state;
    for (int pack = DLB_TAR_GZ; pack <= DLB_TAR_ZST; pack++) {
        char name[2][64];
        uint8_t *data[2];
        size_t n[2];
        for (int i = 0; i < 2; i++) {
            char path[300];
            (void)snprintf(path, sizeof path, "%s/%d%d", folder, pack, i);
            write_set(pack, path);
            (void)snprintf(name[i], sizeof name[i], "%d%d/shard-000000%s", pack, i, ends[pack]);
            data[i] = folder_read(name[i], &n[i]);
            if (i == 0 && pack == DLB_TAR_GZ)
                assert_memory_equal(data[i] + 4, "\0\0\0\0", 4); /* RFC 1952: MTIME */
        }
        assert_int_equal(n[0], n[1]);
        assert_memory_equal(data[0], data[1], n[0]);
        free(data[0]);
        free(data[1]);
    }
}

/* A shard as one frame with a checksum, as the zstd program writes it. */
static void pack_ball(const char *name)
{
    struct dlb_bytes out = {0};
    memset(ball.bytes + ball.len, 0, 1024);
    ball.len += 1024;
    assert_int_equal(dlb_zstd_append(&out, ball.bytes, ball.len, &err), DLB_OK);
    folder_write(name, out.data, out.len_bytes);
    dlb_bytes_free(&out);
}

static void make_noise(void)
{
    struct dlb_rng rng = dlb_rng_seed(1, 2, 3);
    uint8_t content[600];
    char name[16];

    start();
    for (int k = 0; k < 20; k++) {
        for (size_t i = 0; i < sizeof content; i++)
            content[i] = (uint8_t)dlb_rng_u64(&rng);
        (void)snprintf(name, sizeof name, "%02d.bin", k);
        (void)put(NULL, name, '0', content, sizeof content);
    }
}

/* One shard alone in the folder, and its content. */
static uint64_t prepare(int pack, const char **name, uint8_t **data, size_t *n)
{
    struct dlb_dataset ds;
    uint64_t n_samples, n_io = 0;
    int rc;

    if (pack == DLB_TAR_ZST) {
        *name = "s.tar.zst";
        make_noise();
        pack_ball(*name);
    } else {
        *name = "set/shard-000000.tar.gz";
        write_set(pack, folder_path("set"));
        assert_int_equal(remove(folder_path("set/" DLB_MANIFEST_NAME)), 0);
    }
    *data = folder_read(*name, n);
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", folder_path(*name), &err), DLB_OK);
    uint64_t whole = hash_shard(&ds, 0, &n_samples, &rc, &n_io);
    assert_int_equal(rc, DLB_END);
    assert_true(n_samples >= 15);
    assert_true(n_io <= *n && n_io > *n / 2);
    dlb_dataset_close(&ds);
    return whole;
}

/* Cut anywhere: samples before the cut, then an error with the path; never a quiet end. */
static void test_cut(void **state)
{
    (void)state;
    for (int pack = DLB_TAR_GZ; pack <= DLB_TAR_ZST; pack++) {
        struct dlb_dataset ds;
        const char *name;
        uint8_t *data;
        size_t n;
        (void)prepare(pack, &name, &data, &n);
        for (size_t at = 0; at < n; at = at + 1 < n && at + 97 >= n ? n - 1 : at + 97) {
            uint64_t n_samples, n_io = 0;
            folder_write(name, data, at);
            int rc = dataset_open(&ds, "webdataset", "raw", folder_path(name), &err);
            if (rc == DLB_OK) {
                assert_true(ds.shape.n_odd >= 1);
                (void)hash_shard(&ds, 0, &n_samples, &rc, &n_io);
                assert_int_equal(n_samples, ds.shape.n_samples);
                dlb_dataset_close(&ds);
            }
            if (rc != DLB_E_FORMAT || strcmp(err.path, folder_path(name)) != 0)
                fail_msg("%s cut at %zu of %zu: %d %s", name, at, n, rc, err.path);
            assert_true(err.offset_bytes != DLB_NO_OFFSET);
        }
        free(data);
    }
}

/* A flipped bit in zstd is an error, or changes nothing. libarchive ignores gzip's checksum (as
 * does tarfile when it streams), so gzip only must not crash. */
static void test_flips(void **state)
{
    (void)state;
    for (int pack = DLB_TAR_GZ; pack <= DLB_TAR_ZST; pack++) {
        struct dlb_dataset ds;
        const char *name;
        uint8_t *data;
        size_t n;
        unsigned n_errors = 0, n_tries = 0;
        uint64_t whole = prepare(pack, &name, &data, &n);
        for (size_t at = 0; at < n; at += 41, n_tries++) {
            uint64_t n_samples, n_io = 0, got = 0;
            data[at] ^= (uint8_t)(1 << at % 8);
            folder_write(name, data, n);
            data[at] ^= (uint8_t)(1 << at % 8);
            int rc = dataset_open(&ds, "webdataset", "raw", folder_path(name), &err);
            if (rc == DLB_OK) {
                got = hash_shard(&ds, 0, &n_samples, &rc, &n_io);
                dlb_dataset_close(&ds);
            }
            if (rc == DLB_END && got != whole && pack == DLB_TAR_ZST)
                fail_msg("%s, bit of byte %zu: other content without an error", name, at);
            n_errors += rc != DLB_END;
        }
        assert_true(n_errors > (pack == DLB_TAR_ZST ? n_tries * 9 / 10 : 0));
        free(data);
    }
}

/* A frame of zstd that carries no data (RFC 8878), with n_bytes of its own. */
static void add_skippable(struct dlb_bytes *out, uint32_t kind, uint32_t n_bytes)
{
    uint8_t head[8] = {(uint8_t)(0x50 + kind), 0x2a, 0x4d, 0x18};
    uint8_t *filler = calloc(1, n_bytes + 1);

    assert_non_null(filler);
    dlb_little_put(head + 4, n_bytes, 4);
    assert_int_equal(dlb_bytes_append(out, head, sizeof head, &err), DLB_OK);
    assert_int_equal(dlb_bytes_append(out, filler, n_bytes, &err), DLB_OK);
    free(filler);
}

/* As pzstd writes them, before the first frame and between frames. */
static void test_skippable_frames(void **state)
{
    static const struct {
        uint32_t n_before, each_bytes;
        bool between;
    } cases[] = {{1, 4, false}, {1, 4, true}, {3, 0, true}, {2, 3000000, false}, {16, 1, false}};
    struct dlb_dataset ds;
    struct dlb_bytes out = {0};
    uint64_t n_samples, n_io;
    int rc;

    (void)state;
    start();
    file("a.jpg", "A");
    file("b.jpg", "BB");
    memset(ball.bytes + ball.len, 0, 1024);
    ball.len += 1024;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        out.len_bytes = 0;
        for (uint32_t k = 0; k < cases[i].n_before; k++)
            add_skippable(&out, k % 16, cases[i].each_bytes);
        size_t half = cases[i].between ? 512 : ball.len;
        assert_int_equal(dlb_zstd_append(&out, ball.bytes, half, &err), DLB_OK);
        if (half < ball.len) {
            add_skippable(&out, 7, 20);
            assert_int_equal(dlb_zstd_append(&out, ball.bytes + half, ball.len - half, &err),
                             DLB_OK);
        }
        folder_write("a.tar.zst", out.data, out.len_bytes);
        assert_int_equal(dataset_open(&ds, "webdataset", "raw", folder_path("a.tar.zst"), &err),
                         DLB_OK);
        (void)hash_shard(&ds, 0, &n_samples, &rc, &n_io);
        assert_int_equal(rc, DLB_END);
        assert_int_equal(n_samples, 2);
        dlb_dataset_close(&ds);
    }
    /* Nothing but such frames, and one that claims to be longer than the file. */
    for (uint32_t cut = 0; cut < 2; cut++) {
        out.len_bytes = 0;
        add_skippable(&out, 0, 100);
        folder_write("a.tar.zst", out.data, out.len_bytes - 50 * cut);
        assert_int_equal(dataset_open(&ds, "webdataset", "raw", folder_path("a.tar.zst"), &err),
                         DLB_E_FORMAT);
        assert_int_equal(err.code, DLB_ERR_FILE_NOT_OF_FORMAT);
    }
    dlb_bytes_free(&out);
}

static void test_no_archives(void **state)
{
    struct dlb_dataset ds;
    struct dlb_bytes out = {0};
    char text[256];

    (void)state;
    folder_write("a.tar.zst", "", 0);
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", folder_path("a.tar.zst"), &err),
                     DLB_E_FORMAT);
    folder_write("a.tar.zst", "words, but no frame", 19);
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", folder_path("a.tar.zst"), &err),
                     DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_FILE_NOT_OF_FORMAT);
    assert_int_equal(dlb_zstd_append(&out, "words, no archive", 17, &err), DLB_OK);
    folder_write("a.tar.zst", out.data, out.len_bytes);
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", folder_path("a.tar.zst"), &err),
                     DLB_E_FORMAT);
    assert_string_equal(err.path, folder_path("a.tar.zst"));
    /* Compressed twice. */
    start();
    file("a.jpg", "A");
    pack_ball("b.tar.zst");
    size_t n;
    uint8_t *once = folder_read("b.tar.zst", &n);
    out.len_bytes = 0;
    assert_int_equal(dlb_zstd_append(&out, once, n, &err), DLB_OK);
    folder_write("a.tar.zst", out.data, out.len_bytes);
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", folder_path("a.tar.zst"), &err),
                     DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_SHARD_COMPRESSION_UNKNOWN);
    /* Named as compressed, and plain; and the other way round. */
    start();
    file("a.jpg", "A");
    finish("a.tar.zst");
    folder_write("b.tar", once, n);
    assert_int_equal(remove(folder_path("b.tar.zst")), 0);
    open_shards(&ds);
    assert_int_equal(ds.shape.n_samples, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(read_shard(&ds, i, text, sizeof text, NULL), DLB_END);
        assert_string_equal(text, "jpg=A;|");
    }
    dlb_dataset_close(&ds);
    free(once);
    dlb_bytes_free(&out);
}

/* 64 MiB of zeros in 6 KB: neither taken into memory nor unpacked to the end. */
static void test_bomb(void **state)
{
    struct dlb_dataset ds;
    struct dlb_bytes out = {0};
    size_t n = 64 << 20;
    uint8_t *zeros = calloc(1, n + 4096);

    (void)state;
    assert_non_null(zeros);
    start();
    uint8_t *header = put(NULL, "a.bin", '0', "", 0);
    put_octal(header + 124, 12, n);
    seal(header);
    memcpy(zeros, ball.bytes, 512);
    assert_int_equal(dlb_zstd_append(&out, zeros, n + 4096, &err), DLB_OK);
    assert_true(out.len_bytes < 20000);
    folder_write("s.tar.zst", out.data, out.len_bytes);
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", folder_path("s.tar.zst"), &err),
                     DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_UNPACK_TOO_LARGE);
    assert_string_equal(err.path, folder_path("s.tar.zst"));
    /* The same after an archive's end. */
    start();
    file("a.bin", "A");
    memcpy(zeros, ball.bytes, ball.len);
    out.len_bytes = 0;
    assert_int_equal(dlb_zstd_append(&out, zeros, n, &err), DLB_OK);
    folder_write("s.tar.zst", out.data, out.len_bytes);
    int rc = dataset_open(&ds, "webdataset", "raw", folder_path("s.tar.zst"), &err);
    if (rc == DLB_OK) {
        char text[256];
        rc = read_shard(&ds, 0, text, sizeof text, NULL);
        dlb_dataset_close(&ds);
    }
    assert_int_equal(rc, DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_UNPACK_TOO_LARGE);
    free(zeros);
    dlb_bytes_free(&out);
}

/* RFC 8878, 3.1.1.1: a frame header with a window of 2^28, and a raw block. */
static void test_window(void **state)
{
    struct dlb_dataset ds;
    uint8_t frame[6 + 3 + 2048] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, (28 - 10) << 3};

    (void)state;
    start();
    file("a.jpg", "A");
    memset(ball.bytes + ball.len, 0, 1024);
    size_t n = 2048;
    frame[6] = (uint8_t)(n << 3 | 1);
    frame[7] = (uint8_t)(n >> 5);
    frame[8] = (uint8_t)(n >> 13);
    memcpy(frame + 9, ball.bytes, n);
    folder_write("s.tar.zst", frame, sizeof frame);
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", folder_path("s.tar.zst"), &err),
                     DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_UNPACK_WINDOW_TOO_LARGE);
    frame[5] = (27 - 10) << 3; /* the largest that is read */
    folder_write("s.tar.zst", frame, sizeof frame);
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", folder_path("s.tar.zst"), &err),
                     DLB_OK);
    assert_int_equal(ds.shape.n_samples, 1);
    dlb_dataset_close(&ds);
}

static void test_no_index(void **state)
{
    struct dlb_dataset ds;

    (void)state;
    write_set(DLB_TAR_ZST, folder_path("set"));
    assert_int_equal(
        dataset_open_as(&ds, "webdataset", "raw", folder_path("set"), DLB_ACCESS_INDEXED, &err),
        DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_DATASET_ACCESS_UNFIT);
    assert_non_null(strstr(err.what, "(zst)"));
    assert_string_equal(err.path, folder_path("set/shard-000000.tar.zst"));
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", folder_path("set"), &err), DLB_OK);
    assert_int_equal(ds.shape.n_odd, 1);
    assert_non_null(strstr(ds.shape.odd[0], "3 of 3 shards"));
    dlb_dataset_close(&ds);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_same_samples), IN_FOLDER(test_same_bytes_again), IN_FOLDER(test_cut),
        IN_FOLDER(test_flips),        IN_FOLDER(test_skippable_frames), IN_FOLDER(test_no_archives),
        IN_FOLDER(test_bomb),         IN_FOLDER(test_window),           IN_FOLDER(test_no_index),
    };
    if (!is_built("webdataset", "zstd"))
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
