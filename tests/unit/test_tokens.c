/* Tokens: each layout by each access against files written by hand, splices against a reference,
 * and every way in which a file can be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/folder.h"
#include "tests/support/tokens.h"

enum { T = 8, N = 1000 };

static const struct dlb_tokens_opts plain = {.seq_len = T, .sampling = DLB_TOKENS_CONTIGUOUS};

static bool has_direct(const char *name)
{
    int64_t handle;
    size_t align;
    struct dlb_err err;
    if (dlb_io_posix.open_direct(folder_path(name), &handle, &align, &err) != DLB_OK) {
        assert_int_equal(err.status, DLB_E_CONFIG);
        assert_non_null(strstr(err.what, "O_DIRECT"));
        return false;
    }
    dlb_io_posix.close(handle);
    return true;
}

/* Sample i of a stream 0, 1, 2, ... is i T, ..., i T + T. */
static void check_stream(const char *name, const char *file, struct dlb_tokens_opts opts,
                         uint64_t n_samples, enum dlb_element element)
{
    for (int access = DLB_ACCESS_AUTO; access <= DLB_ACCESS_DIRECT; access++) {
        struct tokens_set set;
        if (access == DLB_ACCESS_DIRECT && !has_direct(file))
            continue;
        assert_int_equal(tokens_open_as(&set, name, "raw", access, opts), DLB_OK);
        assert_int_equal(set.ds.shape.n_samples, n_samples);
        assert_int_equal(set.ds.shape.element, element);
        assert_int_equal(set.ds.shape.max_sample_bytes, (T + 1) * dlb_element_bytes(element));
        for (uint64_t k = n_samples; k-- > 0;) {
            assert_int_equal(tokens_read_one(&set, k), DLB_OK);
            assert_int_equal(tokens_count(&set), T + 1);
            assert_int_equal(set.sample.index, k);
            char where[512] = "";
            set.ds.format->reader->whereabouts(set.ds.state, k, where, sizeof where);
            assert_string_equal(where, set.sample.path);
            assert_true(set.sample.io_bytes >= set.sample.field[0].len_bytes);
            for (size_t i = 0; i <= T; i++)
                assert_int_equal(tokens_of(&set, i), k * T + i);
        }
        tokens_close_set(&set);
    }
}

static void raw_of_each_width(void **state)
{
    struct dlb_tokens_opts opts = plain;
    (void)state;
    tokens_write("a.bin", NULL, 0, 0, N, 2);
    check_stream("a.bin", "a.bin", opts, (N - 1) / T, DLB_ELEMENT_U16);
    tokens_write("a.bin", NULL, 0, 0, T + 1, 2);
    check_stream("a.bin", "a.bin", opts, 1, DLB_ELEMENT_U16);
    tokens_write("a.bin", NULL, 0, 0, N, 4);
    opts.dtype = 3;
    check_stream("a.bin", "a.bin", opts, (N - 1) / T, DLB_ELEMENT_U32);
    tokens_write("a.bin", NULL, 0, 0, N, 8);
    opts.dtype = 5;
    check_stream("a.bin", "a.bin", opts, (N - 1) / T, DLB_ELEMENT_I64);
}

static void llmc_both_headers(void **state)
{
    (void)state;
    tokens_write_llmc("a.bin", 20240520, 1, N, N, 2);
    check_stream("a.bin", "a.bin", plain, (N - 1) / T, DLB_ELEMENT_U16);
    tokens_write_llmc("a.bin", 20240801, 7, N, N, 4);
    check_stream("a.bin", "a.bin", plain, (N - 1) / T, DLB_ELEMENT_U32);
}

static void npy_headers(void **state)
{
    (void)state;
    tokens_write_npy("a.npy", 1,
                     "{'descr': '<u2', 'fortran_order': False, 'shape': (1000,), }   \n", N, 2);
    check_stream("a.npy", "a.npy", plain, (N - 1) / T, DLB_ELEMENT_U16);
    tokens_write_npy("a.npy", 2, "{\"shape\":(1000L,),\"fortran_order\":True,\"descr\":\"<i4\"}", N,
                     4);
    check_stream("a.npy", "a.npy", plain, (N - 1) / T, DLB_ELEMENT_I32);
    tokens_write_npy("a.npy", 3, "{'descr': '<u8', 'fortran_order': False, 'shape': (1000 ,)}\n", N,
                     8);
    check_stream("a.npy", "a.npy", plain, (N - 1) / T, DLB_ELEMENT_U64);
}

static void npy_rows(void **state)
{
    struct tokens_set set;
    (void)state;
    tokens_write_npy("a.npy", 1, "{'descr': '<u2', 'fortran_order': False, 'shape': (100, 10), }",
                     N, 2);
    assert_int_equal(
        tokens_open_as(&set, "a.npy", "raw", 0, (struct dlb_tokens_opts){.seq_len = 77}), DLB_OK);
    assert_int_equal(set.ds.shape.n_samples, 100);
    assert_int_equal(tokens_read_one(&set, 42), DLB_OK);
    assert_int_equal(tokens_count(&set), 10);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(tokens_of(&set, i), 420 + i);
    tokens_close_set(&set);
}

static void folders(void **state)
{
    struct tokens_set set;
    (void)state;
    folder_sub("d");
    tokens_write("d/b.bin", NULL, 0, 41 * T, 30 * T + 1,
                 2); /* goes on where a.bin's whole samples end */
    tokens_write("d/a.bin", NULL, 0, 0, 41 * T + 5, 2);
    tokens_write("d/c.bin", NULL, 0, 0, T, 2); /* too short for one */
    folder_write("d/README.md", "hello", 5);
    check_stream("d", "d/a.bin", plain, 71, DLB_ELEMENT_U16);
    assert_int_equal(tokens_open_as(&set, "d", "raw", 0, plain), DLB_OK);
    assert_int_equal(set.ds.shape.n_odd, 2);
    tokens_close_set(&set);
    tokens_write_llmc("d/d.bin", 20240520, 1, N, N, 2);
    assert_int_equal(tokens_open_as(&set, "d", "raw", 0, plain), DLB_E_FORMAT);
    assert_non_null(strstr(set.err.path, "d.bin"));
}

/* Tokens say where they are, so that each window shows its offset. */
static void random_windows(void **state)
{
    struct dlb_tokens_opts opts = {.seq_len = T, .dtype = 3, .seed = 5};
    struct tokens_set set, again;
    uint64_t n_new = 0, top = 0;
    bool seen[N] = {false};

    (void)state;
    tokens_write("a.bin", NULL, 0, 0, N, 4);
    assert_int_equal(tokens_open_as(&set, "a.bin", "raw", 0, opts),
                     DLB_OK); /* raw: nanoGPT's way by itself */
    assert_int_equal(tokens_open_as(&again, "a.bin", "raw", DLB_ACCESS_PREAD, opts), DLB_OK);
    assert_int_equal(set.ds.shape.n_samples, (N - 1) / T);
    for (uint64_t k = 0; k < set.ds.shape.n_samples; k++) {
        assert_int_equal(tokens_read_one(&set, k), DLB_OK);
        assert_int_equal(tokens_read_one(&again, k), DLB_OK);
        uint64_t first = tokens_of(&set, 0);
        assert_int_equal(tokens_of(&again, 0), first);
        assert_true(first + T < N);
        for (size_t i = 0; i <= T; i++)
            assert_int_equal(tokens_of(&set, i), first + i);
        n_new += !seen[first];
        seen[first] = true;
        top = first > top ? first : top;
    }
    assert_true(n_new > set.ds.shape.n_samples * 8 / 10);
    assert_true(top > N * 3 / 4);
    tokens_close_set(&set);
    tokens_close_set(&again);
}

enum { N_DOCS = 60 };

struct corpus {
    int32_t length[N_DOCS];
    int64_t pointer[N_DOCS];
    uint32_t stream[4000]; /* the documents one after the other, as (document << 8 | place) */
    size_t n;
};

/* Documents of 0 to 40 tokens, in .bin in another order than in the index, at odd offsets. */
static void write_corpus(struct corpus *c)
{
    uint8_t *bin = calloc(1, 40000);
    size_t at = 1;

    assert_non_null(bin);
    c->n = 0;
    for (int i = 0; i < N_DOCS; i++) {
        int doc = (i * 7) % N_DOCS;
        c->length[doc] = (doc * 13) % 41;
        c->pointer[doc] = (int64_t)at;
        for (int k = 0; k < c->length[doc]; k++, at += 4)
            tokens_put(bin + at, (uint32_t)doc << 8 | (uint32_t)k, 4);
        at += (size_t)(i % 3);
    }
    for (int doc = 0; doc < N_DOCS; doc++)
        for (int k = 0; k < c->length[doc]; k++)
            c->stream[c->n++] = (uint32_t)doc << 8 | (uint32_t)k;
    folder_write("m.bin", bin, at);
    tokens_write_idx("m.idx", 4, c->length, c->pointer, N_DOCS);
    free(bin);
}

static void spliced_in_order(void **state)
{
    static const char *const names[] = {"m", "m.bin", "m.idx"};
    struct corpus c;
    (void)state;
    write_corpus(&c);
    for (int access = DLB_ACCESS_MMAP; access <= DLB_ACCESS_DIRECT; access++) {
        struct tokens_set set;
        if (access == DLB_ACCESS_DIRECT && !has_direct("m.bin"))
            continue;
        assert_int_equal(tokens_open_as(&set, names[access - 1], "raw", access, plain), DLB_OK);
        assert_int_equal(set.ds.shape.n_samples, (c.n - 1) / T);
        for (uint64_t k = 0; k < set.ds.shape.n_samples; k++) {
            assert_int_equal(tokens_read_one(&set, k), DLB_OK);
            for (size_t i = 0; i <= T; i++)
                assert_int_equal(tokens_of(&set, i), c.stream[k * T + i]);
        }
        tokens_close_set(&set);
    }
}

/* Put together again by what neighbours share, the samples are all documents, whole, in an order
 * that is not the file's. */
static void spliced_and_shuffled(void **state)
{
    struct corpus c;
    struct tokens_set set;
    uint32_t got[4000][T + 1];
    size_t n_ends = 0, n_in_place = 0, n_joined = 0, n_seen = 0;
    static bool seen[N_DOCS << 8];

    (void)state;
    write_corpus(&c);
    assert_int_equal(
        tokens_open_as(&set, "m", "raw", 0, (struct dlb_tokens_opts){.seq_len = T, .seed = 3}),
        DLB_OK);
    size_t n = set.ds.shape.n_samples;
    assert_int_equal(n, (c.n - 1) / T);
    for (size_t k = 0; k < n; k++) {
        assert_int_equal(tokens_read_one(&set, k), DLB_OK);
        for (size_t i = 0; i <= T; i++)
            got[k][i] = (uint32_t)tokens_of(&set, i);
        n_in_place += got[k][0] == c.stream[k * T];
        for (size_t i = 0; i < T; i++) {
            uint32_t doc = got[k][i] >> 8, place = got[k][i] & 255;
            bool last = (int32_t)place + 1 == c.length[doc];
            n_ends += last;
            if (last)
                assert_int_equal(got[k][i + 1] & 255, 0);
            else
                assert_int_equal(got[k][i + 1], got[k][i] + 1);
            assert_false(
                seen[got[k][i]]); /* each token once, but for the one that neighbours share */
            seen[got[k][i]] = true;
            n_seen++;
        }
    }
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++)
            n_joined += a != b && got[a][T] == got[b][0];
    assert_int_equal(n_joined, n - 1);
    assert_int_equal(n_seen, n * T);
    assert_true(n_ends > N_DOCS / 2);
    assert_true(n_in_place < n / 4);
    tokens_close_set(&set);
}

static void widened(void **state)
{
    struct tokens_set set;
    uint8_t *out, state_bytes[256] = {0};
    size_t len = 0;

    (void)state;
    tokens_write("a.bin", NULL, 0, 65500, N, 2); /* runs over 2^16 */
    assert_int_equal(tokens_open_as(&set, "a.bin", "tokens", 0, plain), DLB_OK);
    assert_int_equal(set.ds.max_payload_bytes, 2 * T * 8);
    out = malloc(set.ds.max_payload_bytes);
    assert_non_null(out);
    for (uint64_t k = 0; k < 8; k++) {
        assert_int_equal(tokens_read_one(&set, k), DLB_OK);
        assert_int_equal(
            set.ds.codec->decode(state_bytes, &set.sample, dlb_rng_seed(0, 0, 0), &set.err),
            DLB_OK);
        assert_int_equal(
            set.ds.codec->transform(state_bytes, out, set.ds.max_payload_bytes, &len, &set.err),
            DLB_OK);
        assert_int_equal(len, 2 * T * 8);
        for (size_t i = 0; i < T; i++) {
            assert_int_equal(tokens_get(out + i * 8, 8), (65500 + k * T + i) & 0xffff);
            assert_int_equal(tokens_get(out + (T + i) * 8, 8), (65500 + k * T + i + 1) & 0xffff);
        }
        assert_int_equal(set.ds.codec->transform(state_bytes, out, len - 1, &len, &set.err),
                         DLB_E_FORMAT);
    }
    tokens_close_set(&set);
    /* Signs are kept. */
    tokens_write("b.bin", NULL, 0, (uint64_t)-3, N, 4);
    assert_int_equal(
        tokens_open_as(
            &set, "b.bin", "tokens", 0,
            (struct dlb_tokens_opts){.seq_len = T, .dtype = 4, .sampling = DLB_TOKENS_CONTIGUOUS}),
        DLB_OK);
    assert_int_equal(tokens_read_one(&set, 0), DLB_OK);
    assert_int_equal(
        set.ds.codec->decode(state_bytes, &set.sample, dlb_rng_seed(0, 0, 0), &set.err), DLB_OK);
    assert_int_equal(set.ds.codec->transform(state_bytes, out, 2 * T * 8, &len, &set.err), DLB_OK);
    for (int i = 0; i < T; i++)
        assert_int_equal((int64_t)tokens_get(out + i * 8, 8), i - 3);
    set.sample.field[0].len_bytes = 7;
    assert_int_equal(
        set.ds.codec->decode(state_bytes, &set.sample, dlb_rng_seed(0, 0, 0), &set.err),
        DLB_E_FORMAT);
    set.sample.element = DLB_ELEMENT_NONE;
    assert_int_equal(
        set.ds.codec->decode(state_bytes, &set.sample, dlb_rng_seed(0, 0, 0), &set.err),
        DLB_E_FORMAT);
    tokens_close_set(&set);
    free(out);
}

/* In place where it fits, else in the reader's own memory. */
static void destination(void **state)
{
    struct tokens_set set;
    uint8_t dst[64];
    (void)state;
    tokens_write("a.bin", NULL, 0, 0, N, 2);
    assert_int_equal(tokens_open_as(&set, "a.bin", "raw", 0, plain), DLB_OK);
    for (size_t cap = (T + 1) * 2 - 1; cap <= (T + 1) * 2; cap++) {
        struct dlb_dest dest = {dst + 1, cap};
        assert_int_equal(set.ds.format->reader->read(set.reader, 5, dest, &set.sample, &set.err),
                         DLB_OK);
        assert_int_equal(set.sample.field[0].data == dst + 1, cap == (T + 1) * 2);
        assert_int_equal(tokens_of(&set, 3), 5 * T + 3);
    }
    tokens_close_set(&set);
}

static void cut_while_open(void **state)
{
    (void)state;
    for (int access = DLB_ACCESS_MMAP; access <= DLB_ACCESS_DIRECT; access++) {
        struct tokens_set set;
        uint64_t n = 20000, cut_at = 3 * 4096 + 6;
        tokens_write("a.bin", NULL, 0, 1, n, 2);
        if (access == DLB_ACCESS_DIRECT && !has_direct("a.bin"))
            continue;
        assert_int_equal(tokens_open_as(&set, "a.bin", "raw", access, plain), DLB_OK);
        folder_cut("a.bin", cut_at);
        for (uint64_t k = 0; k < set.ds.shape.n_samples; k++) {
            bool there = (k * T + T + 1) * 2 <= cut_at;
            assert_int_equal(tokens_read_one(&set, k), there ? DLB_OK : DLB_E_IO);
            for (size_t i = 0; there && i <= T; i++)
                assert_int_equal(tokens_of(&set, i), 1 + k * T + i);
            if (!there) {
                assert_non_null(strstr(set.err.path, "a.bin"));
                assert_int_equal(set.err.code, access == DLB_ACCESS_MMAP ? DLB_ERR_FILE_CUT
                                                                         : DLB_ERR_FILE_CHANGED);
                assert_true(set.err.offset_bytes != DLB_NO_OFFSET);
            }
        }
        tokens_close_set(&set);
    }
}

/* Layouts, generated: the same tokens in all of them, as often as one asks, and whole or not at
 * all. */
static void generated(void **state)
{
    static const int layouts[] = {DLB_TOKENS_RAW, DLB_TOKENS_LLMC, DLB_TOKENS_MEGATRON,
                                  DLB_TOKENS_NPY};
    uint64_t hash = 0;

    (void)state;
    for (size_t l = 0; l < 4; l++) {
        struct dlb_tokens_opts opts = {.layout = layouts[l],
                                       .seq_len = 50,
                                       .file_tokens = 700,
                                       .sampling = DLB_TOKENS_CONTIGUOUS};
        struct generation g;
        struct tokens_set set;
        char name[16];
        uint64_t sum = 0;
        (void)snprintf(name, sizeof name, "g%zu", l);
        char *path = strdup(folder_path(name));
        generation_set(&g, "tokens", "raw", path, 100, 1000);
        g.gen.format_opts = &opts;
        assert_int_equal(generation_run(&g, 3), DLB_OK);
        assert_int_equal(g.n_written, 100);
        assert_int_equal(generation_run(&g, 1), DLB_OK);
        assert_int_equal(g.n_written, 0);
        opts.layout = DLB_TOKENS_AUTO; /* it is seen */
        assert_int_equal(g.gen.format->probe(path, &dlb_io_posix), 100);
        assert_int_equal(tokens_open_as(&set, name, "raw", 0, opts), DLB_OK);
        assert_int_equal(set.ds.shape.n_samples, 100);
        for (uint64_t k = 0; k < 100; k++) {
            assert_int_equal(tokens_read_one(&set, k), DLB_OK);
            for (size_t i = 0; i <= 50; i++)
                sum = sum * 31 + tokens_of(&set, i);
        }
        assert_true(hash == 0 || sum == hash);
        hash = sum;
        tokens_close_set(&set);
        free(path);
    }
}

static void units_are_whole(void **state)
{
    struct dlb_tokens_opts opts = {
        .layout = DLB_TOKENS_MEGATRON, .seq_len = 50, .file_tokens = 700};
    atomic_bool stop = false;
    struct dlb_gen_worker worker = {.stop = &stop};
    struct generation g;

    (void)state;
    folder_sub("u");
    char *path = strdup(folder_path("u"));
    generation_set(&g, "tokens", "raw", path, 100, 1000);
    g.gen.format_opts = &opts;
    assert_int_equal(g.gen.format->generator->units(&g.gen), 8); /* 13 samples each */
    assert_int_equal(g.gen.format->generator->unit(&g.gen, 7, &worker, &g.err), DLB_OK);
    assert_int_equal(worker.n_written, 9);
    assert_int_equal(g.gen.format->generator->unit(&g.gen, 7, &worker, &g.err), DLB_OK);
    assert_int_equal(worker.n_written, 9);
    assert_int_equal(worker.n_samples, 18);
    assert_int_equal(remove(folder_path("u/tokens-000007.idx")), 0);
    assert_int_equal(g.gen.format->generator->unit(&g.gen, 7, &worker, &g.err), DLB_OK);
    assert_int_equal(worker.n_written, 18);
    assert_true(folder_has("u/tokens-000007.idx"));
    g.gen.rewrite = true;
    assert_int_equal(g.gen.format->generator->unit(&g.gen, 7, &worker, &g.err), DLB_OK);
    assert_int_equal(worker.n_written, 27);
    opts.dtype = 3; /* u32, which Megatron has not */
    assert_int_equal(g.gen.format->generator->prepare(&g.gen, &g.err), DLB_E_CONFIG);
    g.gen.codec = dlb_codec_by_name("jpeg");
    assert_int_equal(g.gen.format->generator->prepare(&g.gen, &g.err), DLB_E_CONFIG);
    free(path);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(raw_of_each_width), TEST(llmc_both_headers),
        TEST(npy_headers),       TEST(npy_rows),
        TEST(folders),           TEST(random_windows),
        TEST(spliced_in_order),  TEST(spliced_and_shuffled),
        TEST(widened),           TEST(destination),
        TEST(cut_while_open),    TEST(generated),
        TEST(units_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
