#include "formats/tokens/megatron.h"

#include "core/base/little.h"
#include "core/base/rng.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char magic[9] = {'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0};

enum {
    VERSION_AT = 9,
    CODE_AT = 17,
    SEQUENCES_AT = 18,
    DOCUMENTS_AT = 26,
    SEQUENCE_BYTES = 12, /* length and pointer */
    DOCUMENT_BYTES = 8,
};

/* megatron.core.datasets.indexed_dataset.DType */
static const enum dlb_element codes[] = {
    DLB_ELEMENT_NONE, DLB_ELEMENT_U8,  DLB_ELEMENT_I8,  DLB_ELEMENT_I16, DLB_ELEMENT_I32,
    DLB_ELEMENT_I64,  DLB_ELEMENT_F64, DLB_ELEMENT_F32, DLB_ELEMENT_U16,
};
enum { N_CODES = sizeof codes / sizeof *codes };

uint8_t dlb_megatron_code(enum dlb_element element)
{
    for (uint32_t i = 1; i < N_CODES; i++)
        if (codes[i] == element)
            return (uint8_t)i;
    return 0;
}

bool dlb_megatron_is(const uint8_t *data, size_t n_bytes)
{
    return n_bytes >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

/* The header's counts, against the file's size. */
static int parse_counts(struct dlb_megatron *out, const uint8_t *data, uint64_t n_bytes,
                        const char *path, struct dlb_err *err)
{
    uint64_t n_seq = dlb_little_get(data + SEQUENCES_AT, 8);
    uint64_t n_doc = dlb_little_get(data + DOCUMENTS_AT, 8);
    uint64_t room = n_bytes - DLB_MEGATRON_HEADER_BYTES;

    /* Divided, not multiplied: the counts may be any numbers. */
    if (n_seq > room / SEQUENCE_BYTES || n_doc > (room - n_seq * SEQUENCE_BYTES) / DOCUMENT_BYTES)
        return dlb_fail(err, DLB_ERR_TOKENS_INDEX_DAMAGED, path, SEQUENCES_AT,
                        "the index announces %" PRIu64 " sequences and %" PRIu64
                        " documents, which do not fit into its %" PRIu64 " bytes",
                        n_seq, n_doc, n_bytes);
    if (n_seq >= UINT32_MAX || n_doc >= UINT32_MAX)
        return dlb_fail(err, DLB_ERR_TOKENS_INDEX_TOO_LARGE, path, SEQUENCES_AT,
                        "%" PRIu64 " sequences and %" PRIu64 " documents: fewer than 2^32 are read",
                        n_seq, n_doc);
    uint64_t rest = room - n_seq * SEQUENCE_BYTES - n_doc * DOCUMENT_BYTES;
    if (rest != 0 && rest != n_seq) /* multimodal data: a mode for each sequence */
        return dlb_fail(err, DLB_ERR_TOKENS_INDEX_DAMAGED, path, n_bytes - rest,
                        "the index is %" PRIu64 " bytes longer than its counts say", rest);
    out->n_sequences = (uint32_t)n_seq;
    return DLB_OK;
}

int dlb_megatron_head(struct dlb_megatron *out, const uint8_t *data, size_t n_head,
                      uint64_t n_bytes, const char *path, struct dlb_err *err)
{
    *out = (struct dlb_megatron){.element = DLB_ELEMENT_NONE};
    if (!dlb_megatron_is(data, n_head))
        return dlb_fail(err, DLB_ERR_FILE_NOT_OF_FORMAT, path, 0,
                        "not a Megatron index: it does not begin with MMIDIDX");
    if (n_head < DLB_MEGATRON_HEADER_BYTES)
        return dlb_fail(err, DLB_ERR_FILE_CUT_SHORT, path, n_head,
                        "cut short within the index's header");
    uint64_t version = dlb_little_get(data + VERSION_AT, 8);
    if (version != 1)
        return dlb_fail(err, DLB_ERR_FILE_VERSION_UNKNOWN, path, VERSION_AT,
                        "version %" PRIu64 " of the index; 1 is known", version);
    uint8_t code = data[CODE_AT];
    if (code == 0 || code >= N_CODES || !dlb_element_is_integer(codes[code]))
        return dlb_fail(err, DLB_ERR_TOKENS_NO_INTEGERS, path, CODE_AT,
                        "dtype code %u is %s: tokens are whole numbers", code,
                        code == 0 || code >= N_CODES ? "unknown" : dlb_element_name(codes[code]));
    out->element = codes[code];
    return parse_counts(out, data, n_bytes, path, err);
}

static int parse_documents(const struct dlb_megatron *out, const uint8_t *data, const char *path,
                           struct dlb_err *err)
{
    uint64_t at = DLB_MEGATRON_HEADER_BYTES + (uint64_t)out->n_sequences * SEQUENCE_BYTES;
    uint64_t n = dlb_little_get(data + DOCUMENTS_AT, 8), last = 0;

    for (uint64_t i = 0; i < n; i++, at += DOCUMENT_BYTES) {
        uint64_t first = dlb_little_get(data + at, 8);
        if (first > out->n_sequences || first < last || (i == 0 && first != 0))
            return dlb_fail(err, DLB_ERR_TOKENS_INDEX_DAMAGED, path, at,
                            "document %" PRIu64 " begins at sequence %" PRId64 " of %u", i,
                            (int64_t)first, out->n_sequences);
        last = first;
    }
    if (n > 0 && last != out->n_sequences)
        return dlb_fail(err, DLB_ERR_TOKENS_INDEX_DAMAGED, path, at - DOCUMENT_BYTES,
                        "the documents end at sequence %" PRIu64 " of %u", last, out->n_sequences);
    return DLB_OK;
}

static int parse_sequences(struct dlb_megatron *out, const uint8_t *data, uint64_t bin_bytes,
                           const char *idx_path, const char *bin_path, struct dlb_err *err)
{
    uint64_t n = out->n_sequences, each = dlb_element_bytes(out->element);
    uint64_t lengths_at = DLB_MEGATRON_HEADER_BYTES, pointers_at = lengths_at + n * 4;

    for (uint64_t i = 0; i < n; i++) {
        uint32_t length = (uint32_t)dlb_little_get(data + lengths_at + i * 4, 4);
        uint64_t pointer = dlb_little_get(data + pointers_at + i * 8, 8), n_bytes = length * each;
        if (length > INT32_MAX)
            return dlb_fail(err, DLB_ERR_TOKENS_INDEX_DAMAGED, idx_path, lengths_at + i * 4,
                            "sequence %" PRIu64 " has %d tokens", i, (int)length);
        if (n_bytes > bin_bytes || pointer > bin_bytes - n_bytes)
            return dlb_fail(err, DLB_ERR_FILE_CUT_SHORT, bin_path, bin_bytes,
                            "ends before sequence %" PRIu64 " does, which begins at byte %" PRId64
                            " by its index",
                            i, (int64_t)pointer);
        out->length[i] = length;
        out->pointer[i] = pointer;
        out->n_tokens += length;
        if (out->n_tokens > bin_bytes / each)
            return dlb_fail(
                err, DLB_ERR_TOKENS_INDEX_DAMAGED, idx_path, lengths_at + i * 4,
                "the sequences up to %" PRIu64 " have more tokens than the .bin: they overlap", i);
    }
    return DLB_OK;
}

int dlb_megatron_parse(struct dlb_megatron *out, const uint8_t *data, size_t n_bytes,
                       uint64_t bin_bytes, const char *idx_path, const char *bin_path,
                       struct dlb_err *err)
{
    int rc = dlb_megatron_head(out, data, n_bytes, n_bytes, idx_path, err);
    if (rc == DLB_OK)
        rc = parse_documents(out, data, idx_path, err);
    if (rc != DLB_OK)
        return rc;
    size_t n = (size_t)out->n_sequences + 1;
    out->length = malloc(n * sizeof *out->length);
    out->pointer = malloc(n * sizeof *out->pointer);
    if (!out->length || !out->pointer)
        return dlb_fail_memory(err, idx_path, n * (sizeof *out->length + sizeof *out->pointer));
    return parse_sequences(out, data, bin_bytes, idx_path, bin_path, err);
}

static void shuffle(uint32_t *numbers, uint64_t n, struct dlb_rng rng)
{
    for (uint64_t i = n; i > 1; i--) {
        uint64_t j = dlb_rng_below(&rng, i);
        uint32_t kept = numbers[i - 1];
        numbers[i - 1] = numbers[j];
        numbers[j] = kept;
    }
}

/* 0 to n - 1; NULL when memory is short. */
static uint32_t *count_up(uint64_t n)
{
    uint32_t *numbers = calloc(n + 1, sizeof *numbers);
    for (uint64_t i = 0; numbers && i < n; i++)
        numbers[i] = (uint32_t)i;
    return numbers;
}

/* Sample s + 1 begins seq_len tokens after sample s. */
static void fill_starts(struct dlb_megatron *index)
{
    uint32_t place = 0;
    uint64_t offset = 0;

    for (uint64_t s = 0; s < index->n_samples; s++) {
        while (offset >= index->length[index->order[place]])
            offset -= index->length[index->order[place++]];
        index->start[s] = (struct dlb_megatron_start){place, (uint32_t)offset};
        offset += index->seq_len;
    }
}

int dlb_megatron_cut(struct dlb_megatron *index, uint32_t seq_len, bool shuffled, uint64_t seed,
                     const char *path, struct dlb_err *err)
{
    index->seq_len = seq_len;
    index->n_samples = index->n_tokens > 0 ? (index->n_tokens - 1) / seq_len : 0;
    if (shuffled && index->n_samples >= UINT32_MAX)
        return dlb_fail(err, DLB_ERR_TOKENS_SAMPLING_UNFIT, path, DLB_NO_OFFSET,
                        "%" PRIu64 " samples, and fewer than 2^32 can be shuffled: raise "
                        "tokens.seq_len, or set tokens.sampling = \"contiguous\"",
                        index->n_samples);
    index->order = count_up(index->n_sequences);
    index->start = malloc((index->n_samples + 1) * sizeof *index->start);
    if (shuffled)
        index->sample = count_up(index->n_samples);
    if (!index->order || !index->start || (shuffled && !index->sample))
        return dlb_fail_memory(err, path,
                               index->n_sequences * sizeof *index->order +
                                   index->n_samples * sizeof *index->start);
    if (shuffled) {
        shuffle(index->order, index->n_sequences,
                dlb_rng_seed(seed, 0, UINT64_C(0x646f63))); /* "doc" */
        shuffle(index->sample, index->n_samples,
                dlb_rng_seed(seed, 0, UINT64_C(0x736d70))); /* "smp" */
    }
    fill_starts(index);
    return DLB_OK;
}

struct dlb_megatron_walk dlb_megatron_walk(const struct dlb_megatron *index, uint64_t number)
{
    const struct dlb_megatron_start *start =
        &index->start[index->sample ? index->sample[number] : number];
    return (struct dlb_megatron_walk){start->place, start->offset, index->seq_len + 1};
}

bool dlb_megatron_piece(const struct dlb_megatron *index, struct dlb_megatron_walk *walk,
                        uint64_t *offset_bytes, uint32_t *n_tokens)
{
    if (walk->left == 0)
        return false;
    uint32_t sequence = index->order[walk->place];
    while (walk->offset >= index->length[sequence]) { /* empty, or at its end */
        sequence = index->order[++walk->place];
        walk->offset = 0;
    }
    uint32_t n = index->length[sequence] - walk->offset;
    if (n > walk->left)
        n = walk->left;
    *offset_bytes =
        index->pointer[sequence] + (uint64_t)walk->offset * dlb_element_bytes(index->element);
    *n_tokens = n;
    walk->offset += n;
    walk->left -= n;
    return true;
}

void dlb_megatron_free(struct dlb_megatron *index)
{
    free(index->length);
    free(index->pointer);
    free(index->order);
    free(index->start);
    free(index->sample);
    *index = (struct dlb_megatron){.element = DLB_ELEMENT_NONE};
}
