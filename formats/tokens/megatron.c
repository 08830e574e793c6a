#include "formats/tokens/megatron.h"

#include "core/base/rng.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char magic[9] = {'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0};

enum { VERSION_AT = 9, CODE_AT = 17, SEQUENCES_AT = 18, DOCUMENTS_AT = 26 };

/* megatron.core.datasets.indexed_dataset.DType */
static const enum dlb_element codes[] = {
    DLB_ELEMENT_NONE, DLB_ELEMENT_U8,  DLB_ELEMENT_I8,  DLB_ELEMENT_I16, DLB_ELEMENT_I32,
    DLB_ELEMENT_I64,  DLB_ELEMENT_F64, DLB_ELEMENT_F32, DLB_ELEMENT_U16,
};
enum { N_CODES = sizeof codes / sizeof *codes };

uint8_t dlb_megatron_code(enum dlb_element element)
{
    for (uint8_t i = 1; i < N_CODES; i++)
        if (codes[i] == element)
            return i;
    return 0;
}

bool dlb_megatron_is(const uint8_t *data, size_t n_bytes)
{
    return n_bytes >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return le64toh(value);
}

static uint32_t get32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return le32toh(value);
}

static int no_memory(struct dlb_err *err, const char *path)
{
    return dlb_fail(err, DLB_ERR_NOMEM, path, DLB_NO_OFFSET, "no memory for its index");
}

static int parse_header(struct dlb_megatron *out, const uint8_t *data, size_t n_bytes,
                        const char *path, struct dlb_err *err)
{
    if (!dlb_megatron_is(data, n_bytes))
        return dlb_fail(err, DLB_ERR_FORMAT, path, 0,
                        "no Megatron index: it does not begin with MMIDIDX");
    if (n_bytes < DLB_MEGATRON_HEADER_BYTES)
        return dlb_fail(err, DLB_ERR_FORMAT, path, n_bytes, "cut short within the index's header");
    if (get64(data + VERSION_AT) != 1)
        return dlb_fail(err, DLB_ERR_FORMAT, path, VERSION_AT,
                        "version %" PRIu64 " of the index; 1 is known", get64(data + VERSION_AT));
    uint8_t code = data[CODE_AT];
    if (code == 0 || code >= N_CODES || !dlb_element_is_integer(codes[code]))
        return dlb_fail(err, DLB_ERR_FORMAT, path, CODE_AT,
                        "dtype code %u is %s: tokens are whole numbers", code,
                        code == 0 || code >= N_CODES ? "unknown" : dlb_element_name(codes[code]));
    out->element = codes[code];
    /* Divided, not multiplied: the counts may be anything. */
    uint64_t n_seq = get64(data + SEQUENCES_AT), n_doc = get64(data + DOCUMENTS_AT);
    uint64_t room = n_bytes - DLB_MEGATRON_HEADER_BYTES;
    if (n_seq > room / 12 || n_doc > (room - n_seq * 12) / 8)
        return dlb_fail(err, DLB_ERR_FORMAT, path, SEQUENCES_AT,
                        "the index says %" PRIu64 " sequences and %" PRIu64
                        " documents, which its %zu bytes cannot hold",
                        n_seq, n_doc, n_bytes);
    if (n_seq >= UINT32_MAX || n_doc >= UINT32_MAX)
        return dlb_fail(err, DLB_ERR_FORMAT, path, SEQUENCES_AT,
                        "more than 4 G sequences or documents");
    uint64_t rest = room - n_seq * 12 - n_doc * 8;
    if (rest != 0 && rest != n_seq) /* a byte for each sequence: modes */
        return dlb_fail(err, DLB_ERR_FORMAT, path, n_bytes - rest,
                        "%" PRIu64 " bytes too many for its counts", rest);
    out->n_sequences = (uint32_t)n_seq;
    out->n_documents = n_doc > 0 ? (uint32_t)n_doc - 1 : 0; /* the last entry is the end */
    return DLB_OK;
}

static int parse_documents(const struct dlb_megatron *out, const uint8_t *data, const char *path,
                           struct dlb_err *err)
{
    uint64_t at = DLB_MEGATRON_HEADER_BYTES + (uint64_t)out->n_sequences * 12, last = 0;
    uint64_t n = get64(data + DOCUMENTS_AT);

    for (uint64_t i = 0; i < n; i++, at += 8) {
        uint64_t first = get64(data + at);
        if (first > out->n_sequences || first < last || (i == 0 && first != 0))
            return dlb_fail(err, DLB_ERR_FORMAT, path, at,
                            "document %" PRIu64 " begins at sequence %" PRId64 " of %u", i,
                            (int64_t)first, out->n_sequences);
        last = first;
    }
    if (n > 0 && last != out->n_sequences)
        return dlb_fail(err, DLB_ERR_FORMAT, path, at - 8,
                        "the documents end at sequence %" PRIu64 " of %u", last, out->n_sequences);
    return DLB_OK;
}

static int parse_sequences(struct dlb_megatron *out, const uint8_t *data, uint64_t bin_bytes,
                           const char *idx_path, const char *bin_path, struct dlb_err *err)
{
    uint64_t n = out->n_sequences, each = dlb_element_bytes(out->element);
    uint64_t lengths_at = DLB_MEGATRON_HEADER_BYTES, pointers_at = lengths_at + n * 4;

    for (uint64_t i = 0; i < n; i++) {
        uint32_t length = get32(data + lengths_at + i * 4);
        uint64_t pointer = get64(data + pointers_at + i * 8), n_bytes = length * each;
        if (length > INT32_MAX)
            return dlb_fail(err, DLB_ERR_FORMAT, idx_path, lengths_at + i * 4,
                            "sequence %" PRIu64 " is %d tokens long", i, (int)length);
        if (n_bytes > bin_bytes || pointer > bin_bytes - n_bytes)
            return dlb_fail(err, DLB_ERR_FORMAT, bin_path, bin_bytes,
                            "ends before sequence %" PRIu64 ", which its index has at %" PRId64
                            ": cut short?",
                            i, (int64_t)pointer);
        out->length[i] = length;
        out->pointer[i] = pointer;
        out->n_tokens += length;
        if (out->n_tokens > bin_bytes / each)
            return dlb_fail(err, DLB_ERR_FORMAT, idx_path, lengths_at + i * 4,
                            "the sequences up to %" PRIu64 " have more tokens than %s", i,
                            "the .bin: they overlap");
    }
    return DLB_OK;
}

int dlb_megatron_parse(struct dlb_megatron *out, const uint8_t *data, size_t n_bytes,
                       uint64_t bin_bytes, const char *idx_path, const char *bin_path,
                       struct dlb_err *err)
{
    *out = (struct dlb_megatron){.element = DLB_ELEMENT_NONE};
    int rc = parse_header(out, data, n_bytes, idx_path, err);
    if (rc == DLB_OK)
        rc = parse_documents(out, data, idx_path, err);
    if (rc != DLB_OK)
        return rc;
    out->length = malloc(((size_t)out->n_sequences + 1) * sizeof *out->length);
    out->pointer = malloc(((size_t)out->n_sequences + 1) * sizeof *out->pointer);
    if (!out->length || !out->pointer)
        return no_memory(err, idx_path);
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

static uint32_t *count_up(uint64_t n)
{
    uint32_t *numbers = malloc((n + 1) * sizeof *numbers);
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
        return dlb_fail(err, DLB_ERR_CONFIG, path, DLB_NO_OFFSET,
                        "more than 4 G samples to shuffle: raise tokens.seq_len, or "
                        "tokens.sampling = \"contiguous\"");
    index->order = count_up(index->n_sequences);
    index->start = malloc((index->n_samples + 1) * sizeof *index->start);
    if (shuffled)
        index->sample = count_up(index->n_samples);
    if (!index->order || !index->start || (shuffled && !index->sample))
        return no_memory(err, path);
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
    while (walk->offset >= index->length[sequence]) { /* empty, or used up */
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
