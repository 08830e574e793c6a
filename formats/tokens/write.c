/* Generation of tokens: each file is a stream of documents, the same in every layout. */
#include "formats/numpy/npy.h"
#include "formats/tokens/tokens.h"

#include "core/base/little.h"
#include "core/base/rng.h"
#include "formats/codec.h"
#include "formats/generate/file.h"
#include "formats/generate/names.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    VOCABULARY = 50257, /* GPT-2's */
    DRAWS = 1 << 16,    /* entries of the table that turns a uniform number into a token */
    CHUNK_TOKENS = 1 << 16,
};

/* The frequency of a word follows its rank as Zipf and Mandelbrot say, weight 1 / (rank + 2.7). It
 * is computed in integers so that every machine draws the same. Ranks are spread over the
 * vocabulary: 25117 has no factor in common with either size. With 65536 entries the rarest words
 * cannot each have one, and some never occur. */
static void make_table(uint16_t table[DRAWS], uint32_t n_words)
{
    uint64_t total = 0, below = 0;
    uint32_t rank = 0;

    for (uint32_t i = 0; i < n_words; i++)
        total += (UINT64_C(10) << 40) / (10 * (i + 1) + 27);
    for (uint64_t i = 0; i < DRAWS; i++) {
        uint64_t want = total / DRAWS * i;
        while (rank + 1 < n_words && below + (UINT64_C(10) << 40) / (10 * (rank + 1) + 27) <= want)
            below += (UINT64_C(10) << 40) / (10 * (++rank) + 27);
        table[i] = (uint16_t)((uint64_t)rank * 25117 % n_words);
    }
}

static const uint16_t *table_of(enum dlb_element element)
{
    static uint16_t bytes[DRAWS], words[DRAWS];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool made;

    (void)pthread_mutex_lock(&lock);
    if (!made) {
        make_table(bytes, 256);
        make_table(words, VOCABULARY);
        made = true;
    }
    (void)pthread_mutex_unlock(&lock);
    return element == DLB_ELEMENT_U8 ? bytes : words;
}

/* The options of gen, with "auto" resolved. */
struct wanted {
    struct dlb_tokens_opts opts;
    enum dlb_element element;
    uint64_t per_file; /* samples */
};

static struct wanted wanted_of(const struct dlb_gen *gen)
{
    struct wanted want = {.opts = dlb_tokens_opts_of(gen->format_opts)};

    if (want.opts.layout == DLB_TOKENS_AUTO)
        want.opts.layout = DLB_TOKENS_RAW;
    want.element = dlb_tokens_dtype(&want.opts);
    if (want.element == DLB_ELEMENT_NONE)
        want.element = DLB_ELEMENT_U16;
    want.per_file = (uint64_t)(want.opts.file_tokens - 1) / (uint64_t)want.opts.seq_len;
    if (want.per_file == 0)
        want.per_file = 1;
    return want;
}

uint64_t dlb_tokens_gen_units(const struct dlb_gen *gen)
{
    uint64_t per_file = wanted_of(gen).per_file;
    return ((uint64_t)gen->opts->samples + per_file - 1) / per_file;
}

/* Of the file with the tokens. */
static const char *end_of(const struct wanted *want)
{
    return want->opts.layout == DLB_TOKENS_NPY ? ".npy" : ".bin";
}

bool dlb_tokens_gen_makes(const struct dlb_gen *gen, const char *name)
{
    struct wanted want = wanted_of(gen);
    uint64_t n = dlb_tokens_gen_units(gen);

    return dlb_names_unit(name, "tokens-", end_of(&want), n) ||
           (want.opts.layout == DLB_TOKENS_MEGATRON && dlb_names_unit(name, "tokens-", ".idx", n));
}

uint64_t dlb_tokens_gen_bytes(const struct dlb_gen *gen)
{
    struct wanted want = wanted_of(gen);
    double n_bytes = ((double)gen->opts->samples * (double)want.opts.seq_len +
                      (double)dlb_tokens_gen_units(gen)) *
                     (double)dlb_element_bytes(want.element);
    return n_bytes < 0x1p63 ? (uint64_t)n_bytes : UINT64_C(1) << 63;
}

int dlb_tokens_gen_prepare(const struct dlb_gen *gen, struct dlb_err *err)
{
    struct wanted want = wanted_of(gen);
    const char *name = dlb_element_name(want.element);
    uint64_t n_tokens = want.per_file * (uint64_t)want.opts.seq_len + 1;

    if (!gen->codec->identity && !gen->codec->numbers)
        return dlb_fail(err, DLB_ERR_CODEC_UNFIT, NULL, DLB_NO_OFFSET,
                        "codec %s does not decode tokens: use dataset.codec = \"raw\" (as stored) "
                        "or \"tokens\" (int64, widened on the host)",
                        gen->codec->name);
    if (want.opts.layout == DLB_TOKENS_MEGATRON && !dlb_megatron_code(want.element))
        return dlb_fail(err, DLB_ERR_TOKENS_DTYPE_UNFIT, NULL, DLB_NO_OFFSET,
                        "tokens.dtype = \"%s\": Megatron has no such type; use u16 or i32", name);
    if (want.opts.layout == DLB_TOKENS_LLMC && want.element != DLB_ELEMENT_U16 &&
        want.element != DLB_ELEMENT_U32)
        return dlb_fail(err, DLB_ERR_TOKENS_DTYPE_UNFIT, NULL, DLB_NO_OFFSET,
                        "tokens.dtype = \"%s\": llm.c has u16 and u32", name);
    if (want.opts.layout == DLB_TOKENS_LLMC && n_tokens > INT32_MAX)
        return dlb_fail(
            err, DLB_ERR_TOKENS_FILE_TOO_LONG, NULL, DLB_NO_OFFSET,
            "llm.c's header counts up to 2,147,483,647 tokens: lower tokens.file_tokens");
    return DLB_OK;
}

/* The stream of one file: documents of 16 to 4,095 tokens, about 760 on average. Each power of two
 * in this range is as likely as the others. The last word of the vocabulary ends a document, as
 * <|endoftext|> does. */
struct stream {
    struct dlb_rng rng;
    const uint16_t *table;
    uint32_t end_word;
    uint64_t in_document; /* tokens left in this document */
    uint64_t draw;
    unsigned n_draws; /* 16-bit numbers left in it */
};

static uint64_t new_document(struct stream *s)
{
    uint64_t scale = UINT64_C(16) << dlb_rng_below(&s->rng, 8);
    return scale + dlb_rng_below(&s->rng, scale);
}

static uint32_t next_token(struct stream *s)
{
    if (--s->in_document == 0)
        return s->end_word;
    if (s->n_draws == 0) {
        s->draw = dlb_rng_u64(&s->rng);
        s->n_draws = 4;
    }
    uint32_t token = s->table[s->draw & 0xffff];
    s->draw >>= 16;
    s->n_draws--;
    return token;
}

/* A file being written, and the lengths of its documents for Megatron's index. */
struct out {
    struct dlb_gen_file file;
    struct dlb_bytes lengths; /* i32 each */
};

static int add_length(struct out *out, uint64_t n_tokens, struct dlb_err *err)
{
    uint32_t stored = htole32((uint32_t)n_tokens);
    return dlb_bytes_append(&out->lengths, &stored, sizeof stored, err);
}

static int write_tokens(const struct dlb_gen *gen, const struct wanted *want, uint64_t unit,
                        uint64_t n_tokens, struct out *out, struct dlb_gen_worker *worker,
                        struct dlb_err *err)
{
    struct stream s = {
        .rng = dlb_rng_seed((uint64_t)gen->opts->seed, unit, UINT64_C(0x746f6b)), /* "tok" */
        .table = table_of(want->element),
        .end_word = want->element == DLB_ELEMENT_U8 ? 255 : VOCABULARY - 1};
    size_t each = dlb_element_bytes(want->element), n_here = 0;
    uint64_t document = 0;
    uint8_t *chunk = malloc(CHUNK_TOKENS * each);
    int rc = chunk ? DLB_OK : dlb_fail_memory(err, out->file.path, CHUNK_TOKENS * each);

    for (uint64_t i = 0; rc == DLB_OK && i < n_tokens; i++) {
        if (s.in_document == 0)
            s.in_document = document = new_document(&s);
        dlb_little_put(chunk + n_here++ * each, next_token(&s), each);
        if (s.in_document == 0 || i + 1 == n_tokens)
            rc = add_length(out, document - s.in_document, err);
        if (rc == DLB_OK && (n_here == CHUNK_TOKENS || i + 1 == n_tokens)) {
            rc = dlb_gen_file_write(&out->file, chunk, n_here * each, err);
            atomic_fetch_add(&worker->n_bytes, n_here * each);
            n_here = 0;
            if (atomic_load_explicit(worker->stop, memory_order_relaxed) && rc == DLB_OK &&
                i + 1 < n_tokens)
                rc = dlb_fail(err, DLB_ERR_CANCELLED, out->file.path, DLB_NO_OFFSET, "interrupted");
        }
    }
    free(chunk);
    return rc;
}

static int write_head(const struct wanted *want, uint64_t n_tokens, struct out *out,
                      struct dlb_err *err)
{
    uint8_t head[DLB_LLMC_HEADER_BYTES];

    if (want->opts.layout == DLB_TOKENS_NPY)
        return dlb_gen_file_write(&out->file, head,
                                  dlb_npy_header(want->element, n_tokens, head, sizeof head), err);
    if (want->opts.layout == DLB_TOKENS_LLMC && dlb_llmc_header(want->element, n_tokens, head))
        return dlb_gen_file_write(&out->file, head, sizeof head, err);
    return DLB_OK;
}

/* A sequence for each document, as preprocess_data.py writes them. */
static int write_index(const char *path, const struct wanted *want, const struct dlb_bytes *lengths,
                       struct dlb_err *err)
{
    uint64_t n = lengths->len_bytes / sizeof(uint32_t), at = 0;
    size_t n_bytes = DLB_MEGATRON_HEADER_BYTES + (size_t)n * 20 + 8;
    uint8_t *index = calloc(1, n_bytes);

    if (!index)
        return dlb_fail_memory(err, path, n_bytes);
    memcpy(index, "MMIDIDX\0", 9);
    dlb_little_put(index + 9, 1, 8);
    index[17] = dlb_megatron_code(want->element);
    dlb_little_put(index + 18, n, 8);
    dlb_little_put(index + 26, n + 1, 8);
    memcpy(index + DLB_MEGATRON_HEADER_BYTES, lengths->data, lengths->len_bytes);
    uint8_t *pointers = index + DLB_MEGATRON_HEADER_BYTES + n * 4, *documents = pointers + n * 8;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t length = dlb_little_get(lengths->data + i * sizeof(uint32_t), sizeof(uint32_t));
        dlb_little_put(pointers + i * 8, at, 8);
        dlb_little_put(documents + i * 8, i, 8);
        at += length * dlb_element_bytes(want->element);
    }
    dlb_little_put(documents + n * 8, n, 8);
    int rc = dlb_gen_write_file(NULL, path, index, n_bytes, err);
    free(index);
    return rc;
}

static bool is_there(const char *path, uint64_t n_bytes)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           (n_bytes ? (uint64_t)st.st_size == n_bytes : st.st_size > 0);
}

static uint64_t size_of(const struct wanted *want, uint64_t n_tokens)
{
    uint8_t head[DLB_LLMC_HEADER_BYTES];
    uint64_t n_bytes = n_tokens * dlb_element_bytes(want->element);

    if (want->opts.layout == DLB_TOKENS_NPY)
        n_bytes += dlb_npy_header(want->element, n_tokens, head, sizeof head);
    return n_bytes + (want->opts.layout == DLB_TOKENS_LLMC ? DLB_LLMC_HEADER_BYTES : 0);
}

/* Writes the tokens before their index, so that a pair with an index is complete. */
static int write_unit(const struct dlb_gen *gen, const struct wanted *want, uint64_t unit,
                      uint64_t n_tokens, const char *path, const char *idx,
                      struct dlb_gen_worker *worker, struct dlb_err *err)
{
    struct out out = {.lengths = {0}};
    int rc = dlb_gen_file_open(&out.file, path, err);

    if (rc != DLB_OK)
        return rc;
    rc = write_head(want, n_tokens, &out, err);
    if (rc == DLB_OK)
        rc = write_tokens(gen, want, unit, n_tokens, &out, worker, err);
    rc = dlb_gen_file_finish(&out.file, rc, err);
    if (rc == DLB_OK && idx)
        rc = write_index(idx, want, &out.lengths, err);
    dlb_bytes_free(&out.lengths);
    return rc;
}

/* Malloced; NULL when memory is short. */
static char *unit_path(const struct dlb_gen *gen, uint64_t unit, const char *end)
{
    int n_digits = dlb_names_digits(dlb_tokens_gen_units(gen), DLB_UNIT_DIGITS);
    char *path = NULL;

    return asprintf(&path, "%s/tokens-%0*llu%s", gen->path, n_digits, (unsigned long long)unit,
                    end) < 0
               ? NULL
               : path;
}

int dlb_tokens_gen_unit(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                        struct dlb_err *err)
{
    struct wanted want = wanted_of(gen);
    uint64_t left = (uint64_t)gen->opts->samples - unit * want.per_file;
    uint64_t n_samples = left < want.per_file ? left : want.per_file;
    uint64_t n_tokens = n_samples * (uint64_t)want.opts.seq_len + 1;
    bool megatron = want.opts.layout == DLB_TOKENS_MEGATRON;
    char *path = NULL, *idx = NULL;
    int rc = DLB_OK;

    path = unit_path(gen, unit, end_of(&want));
    idx = unit_path(gen, unit, ".idx");
    if (!path || !idx)
        rc = dlb_fail_memory(err, gen->path, strlen(gen->path) + sizeof "/tokens-000000.bin");
    bool there = rc == DLB_OK && !gen->rewrite && is_there(path, size_of(&want, n_tokens)) &&
                 (!megatron || is_there(idx, 0));
    if (rc == DLB_OK && !there) {
        rc = write_unit(gen, &want, unit, n_tokens, path, megatron ? idx : NULL, worker, err);
        if (rc == DLB_OK)
            atomic_fetch_add(&worker->n_written, n_samples);
    }
    if (rc == DLB_OK)
        atomic_fetch_add(&worker->n_samples, n_samples);
    free(path);
    free(idx);
    return rc;
}
