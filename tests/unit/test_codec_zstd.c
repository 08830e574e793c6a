/* formats/codecs/codec_zstd and formats/look: samples that are zstd frames, whole, damaged and
 * hostile. */
#include "formats/codecs/zstd.h"
#include "tests/support/dataset.h"
#include "tests/support/folder.h"

static struct dlb_err err;

static const struct dlb_codec *codec(void)
{
    return dlb_codec_by_name("zstd");
}

static void *state_new(int64_t max_decoded_bytes)
{
    struct dlb_transform_opts opts = {.max_decoded_bytes = max_decoded_bytes};
    size_t n = (codec()->state_bytes + 63) & ~(size_t)63;
    void *cd = aligned_alloc(64, n);
    assert_non_null(cd);
    memset(cd, 0, n);
    assert_int_equal(codec()->open(cd, &opts, &err), DLB_OK);
    return cd;
}

static void state_free(void *cd)
{
    codec()->close(cd);
    free(cd);
}

static int decode(void *cd, const void *data, size_t n)
{
    struct dlb_sample sample = {.n_fields = 1, .path = "some.zst", .offset_bytes = 77};
    sample.field[0] = (struct dlb_field){.data = data, .len_bytes = n};
    err = (struct dlb_err){0};
    return codec()->decode(cd, &sample, dlb_rng_seed(1, 2, 3), &err);
}

static void test_generated(void **state)
{
    struct dlb_generate_opts opts = {.samples = 9, .sample_bytes = 50001, .seed = 3, .classes = 1};
    static uint8_t out[2][60000];
    size_t len = 0;
    void *cd = state_new(0);

    (void)state;
    for (uint64_t k = 0; k < 9; k++) {
        struct dlb_bytes frame[2] = {{0}, {0}};
        for (int i = 0; i < 2; i++)
            assert_int_equal(codec()->make(&opts, k, &frame[i], &err), DLB_OK);
        assert_int_equal(frame[0].len_bytes, frame[1].len_bytes);
        assert_memory_equal(frame[0].data, frame[1].data, frame[0].len_bytes);
        /* Neither noise nor zeros: 1.5 to 3 times smaller. */
        assert_in_range(frame[0].len_bytes, 50001 / 3, 50001 * 2 / 3);
        assert_int_equal(decode(cd, frame[0].data, frame[0].len_bytes), DLB_OK);
        assert_int_equal(codec()->decoded_bytes(cd), 50001);
        assert_int_equal(codec()->transform(cd, out[k % 2], 50001, &len, &err), DLB_OK);
        assert_int_equal(len, 50001);
        assert_true(k == 0 || memcmp(out[0], out[1], len) != 0);
        assert_int_equal(codec()->transform(cd, out[0], 50000, &len, &err), DLB_E_FORMAT);
        assert_int_equal(err.code, DLB_ERR_SAMPLE_EXCEEDS_SLOT);
        dlb_bytes_free(&frame[0]);
        dlb_bytes_free(&frame[1]);
    }
    state_free(cd);
}

/* RFC 8878: frames without a content size, of raw (0) or repeated (1) blocks. */
static size_t by_hand(uint8_t *frame, int window_log, int type, uint32_t block_bytes, uint8_t fill,
                      uint32_t n_blocks)
{
    uint8_t *p = frame;
    memcpy(p, "\x28\xb5\x2f\xfd\x00", 5);
    p[5] = (uint8_t)((window_log - 10) << 3);
    p += 6;
    for (uint32_t i = 0; i < n_blocks; i++) {
        uint32_t header = block_bytes << 3 | (uint32_t)type << 1 | (i + 1 == n_blocks);
        *p++ = (uint8_t)header;
        *p++ = (uint8_t)(header >> 8);
        *p++ = (uint8_t)(header >> 16);
        size_t n = type == 1 ? 1 : block_bytes;
        memset(p, fill, n);
        p += n;
    }
    return (size_t)(p - frame);
}

static void test_without_sizes(void **state)
{
    static uint8_t frame[4096], out[300000];
    size_t len = 0;
    void *cd = state_new(0);

    (void)state;
    size_t n = by_hand(frame, 17, 0, 100, 'a', 3);
    assert_int_equal(decode(cd, frame, n), DLB_OK);
    assert_int_equal(codec()->decoded_bytes(cd), 300);
    /* Two frames, one after the other; the second makes the buffer grow. */
    n += by_hand(frame + n, 17, 1, 100000, 'b', 2);
    assert_int_equal(decode(cd, frame, n), DLB_OK);
    assert_int_equal(codec()->transform(cd, out, sizeof out, &len, &err), DLB_OK);
    assert_int_equal(len, 200300);
    for (size_t i = 0; i < len; i++)
        assert_int_equal(out[i], i < 300 ? 'a' : 'b');
    for (size_t cut = 0; cut < n; cut++) {
        int rc = decode(cd, frame, cut);
        /* The first frame alone is a whole sample too. */
        if (rc == DLB_OK)
            assert_int_equal(codec()->decoded_bytes(cd), 300);
        else
            assert_int_equal(rc, DLB_E_FORMAT);
    }
    /* An empty frame. */
    n = by_hand(frame, 17, 0, 0, 0, 1);
    assert_int_equal(decode(cd, frame, n), DLB_OK);
    assert_int_equal(codec()->decoded_bytes(cd), 0);
    assert_int_equal(codec()->transform(cd, out, 0, &len, &err), DLB_OK);
    assert_int_equal(len, 0);
    state_free(cd);
}

static void test_hostile(void **state)
{
    static uint8_t frame[400000];
    void *cd = state_new(0);

    (void)state;
    /* A size of 2^40, and one of 2^64 - 3. */
    static const uint8_t claims[2][16] = {
        {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0},
        {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0xfd, 255, 255, 255, 255, 255, 255, 255, 1, 0, 0}};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(decode(cd, claims[i], sizeof claims[i]), DLB_E_FORMAT);
        assert_string_equal(err.path, "some.zst");
        assert_int_equal(err.offset_bytes, 77);
    }
    /* Two frames that claim 666,192 bytes and hold none, with a buffer of any size. */
    static const uint8_t empty[13] = {0x28, 0xb5, 0x2f, 0xfd, 0x90, 0x53, 0x50,
                                      0x2a, 0x0a, 0,    1,    0,    0};
    memcpy(frame, empty, sizeof empty);
    memcpy(frame + sizeof empty, empty, sizeof empty);
    assert_int_equal(decode(cd, frame, 2 * sizeof empty), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_UNPACK_DAMAGED);
    assert_non_null(strstr(err.what, "666192"));
    /* 400 MB of zeros in 14 KB, without a size. */
    size_t n = by_hand(frame, 17, 1, 120000, 0, 3500);
    assert_true(n < sizeof frame);
    assert_int_equal(decode(cd, frame, n), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_UNPACK_TOO_LARGE);
    /* A window of 256 MiB; one of 128 MiB is read. */
    n = by_hand(frame, 28, 0, 10, 'a', 1);
    assert_int_equal(decode(cd, frame, n), DLB_E_FORMAT);
    n = by_hand(frame, 27, 0, 10, 'a', 1);
    assert_int_equal(decode(cd, frame, n), DLB_OK);
    assert_int_equal(decode(cd, "", 0), DLB_E_FORMAT);
    assert_int_equal(decode(cd, "\x1f\x8b\x08\x00 no frame", 13), DLB_E_FORMAT);
    assert_int_equal(decode(cd, "\x28\xb5", 2), DLB_E_FORMAT);
    n = by_hand(frame, 17, 0, 10, 'a', 1); /* the state still decodes */
    assert_int_equal(decode(cd, frame, n), DLB_OK);
    state_free(cd);
    cd = state_new(9);
    assert_int_equal(decode(cd, frame, n), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_UNPACK_TOO_LARGE);
    state_free(cd);
    cd = state_new(10);
    assert_int_equal(decode(cd, frame, n), DLB_OK);
    state_free(cd);
}

static void test_damage(void **state)
{
    struct dlb_generate_opts opts = {.samples = 1, .sample_bytes = 3000, .seed = 3, .classes = 1};
    struct dlb_bytes frame = {0};
    void *cd = state_new(0);

    (void)state;
    assert_int_equal(codec()->make(&opts, 0, &frame, &err), DLB_OK);
    for (size_t n = 0; n < frame.len_bytes; n++)
        assert_int_equal(decode(cd, frame.data, n), DLB_E_FORMAT);
    for (size_t bit = 0; bit < frame.len_bytes * 8; bit += 3) {
        frame.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (decode(cd, frame.data, frame.len_bytes) == DLB_OK)
            assert_int_equal(codec()->decoded_bytes(cd), 3000); /* with the right checksum */
        frame.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    dlb_bytes_free(&frame);
    state_free(cd);
}

static void put_sample(const char *name, size_t n_bytes)
{
    struct dlb_bytes out = {0};
    uint8_t *data = malloc(n_bytes + 1);
    assert_non_null(data);
    struct dlb_rng rng = dlb_rng_seed(n_bytes, 0, 0);
    for (size_t i = 0; i < n_bytes; i++)
        data[i] = (uint8_t)dlb_rng_u64(&rng) & 0x0f;
    assert_int_equal(dlb_zstd_append(&out, data, n_bytes, &err), DLB_OK);
    folder_write(name, out.data, out.len_bytes);
    dlb_bytes_free(&out);
    free(data);
}

/* The size of slots: exact when all samples are alike, and large enough when they are not. */
static void test_look(void **state)
{
    struct dlb_dataset ds;
    char name[64];

    (void)state;
    folder_sub("same");
    folder_sub("other");
    for (int i = 0; i < 70; i++) {
        (void)snprintf(name, sizeof name, "same/%02d.zst", i);
        put_sample(name, 5000);
        (void)snprintf(name, sizeof name, "other/%02d.zst", i);
        put_sample(name, i == 63 ? 50000 : (size_t)(1000 + i)); /* sample 63 is not inspected */
    }
    assert_int_equal(dataset_open(&ds, "files", "zstd", folder_path("same"), &err), DLB_OK);
    assert_int_equal(ds.max_payload_bytes, 5000);
    dlb_dataset_close(&ds);
    assert_int_equal(dataset_open(&ds, "files", "zstd", folder_path("other"), &err), DLB_OK);
    assert_in_range(ds.max_payload_bytes, 50000, 60000);
    dlb_dataset_close(&ds);
    for (int i = 0; i < 70; i++) {
        (void)snprintf(name, sizeof name, "same/%02d.zst", i);
        folder_write(name, "no frame", 8);
    }
    assert_int_equal(dataset_open(&ds, "files", "zstd", folder_path("same"), &err), DLB_E_FORMAT);
    assert_non_null(strstr(err.path, "same/"));
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generated),
        cmocka_unit_test(test_without_sizes),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_damage),
        IN_FOLDER(test_look),
    };
    if (codec()->missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
