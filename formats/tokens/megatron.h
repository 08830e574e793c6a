/* Megatron's indexed data sets: NAME.idx says where sequences lie in NAME.bin.
 *
 * Floor 2. Made on the control thread, read-only afterwards.
 *
 * The index is "MMIDIDX\0\0", u64 version 1, u8 dtype code, u64 sequences, u64 entries of the
 * document index: a header of 34 bytes. Then follow i32 length[sequences], i64 byte
 * pointer[sequences] and i64 document[entries], unaligned. Multimodal data add an i8 mode for each
 * sequence, which is ignored.
 *
 * Samples are cut as GPTDataset cuts them. The sequences, in some order, are one stream of tokens.
 * Sample s is the T + 1 tokens from s T on, so that neighbours share one token. */
#ifndef DLB_FORMATS_TOKENS_MEGATRON_H
#define DLB_FORMATS_TOKENS_MEGATRON_H

#include "core/base/err.h"
#include "formats/element.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DLB_MEGATRON_HEADER_BYTES 34

/* Where a sample begins: `offset` tokens into sequence order[place]. */
struct dlb_megatron_start {
    uint32_t place, offset;
};

struct dlb_megatron {
    enum dlb_element element;
    uint32_t n_sequences;
    uint64_t n_tokens;
    uint32_t *length;  /* [n_sequences] tokens; all arrays are owned */
    uint64_t *pointer; /* [n_sequences] offset in .bin, bytes */
    /* Set by dlb_megatron_cut: */
    uint64_t n_samples;
    uint32_t seq_len;
    uint32_t *order;                  /* [n_sequences] the order of the stream */
    struct dlb_megatron_start *start; /* [n_samples] */
    uint32_t *sample; /* [n_samples] a permutation: number i delivers sample[i]; NULL: i */
};

bool dlb_megatron_is(const uint8_t *data, size_t n_bytes); /* has the magic */

/* The header alone: `head` is up to DLB_MEGATRON_HEADER_BYTES of an index of n_bytes. Sets element
 * and n_sequences. DLB_E_FORMAT, with path and offset, when it is none, or announces what does not
 * fit into n_bytes. */
int dlb_megatron_head(struct dlb_megatron *out, const uint8_t *head, size_t n_head,
                      uint64_t n_bytes, const char *path, struct dlb_err *err);

/* `data` is the whole index. DLB_E_FORMAT, with path and offset, when it is no index, is cut short
 * or contradicts itself, or when sequences overlap or end beyond .bin. Free *out in any case. */
int dlb_megatron_parse(struct dlb_megatron *out, const uint8_t *data, size_t n_bytes,
                       uint64_t bin_bytes, const char *idx_path, const char *bin_path,
                       struct dlb_err *err);

/* Cuts the stream into samples of seq_len + 1 tokens: in the order of the file, or with sequences
 * and samples both shuffled from the seed. n_samples may be 0 afterwards. */
int dlb_megatron_cut(struct dlb_megatron *index, uint32_t seq_len, bool shuffle, uint64_t seed,
                     const char *path, struct dlb_err *err);

/* Iterates over the pieces of sample `number`, in order. */
struct dlb_megatron_walk {
    uint32_t place, offset;
    uint32_t left; /* tokens still to come */
};
struct dlb_megatron_walk dlb_megatron_walk(const struct dlb_megatron *index, uint64_t number);
/* The next piece; false when the sample is complete. Pieces are never empty. */
bool dlb_megatron_piece(const struct dlb_megatron *index, struct dlb_megatron_walk *walk,
                        uint64_t *offset_bytes, uint32_t *n_tokens);

void dlb_megatron_free(struct dlb_megatron *index);

/* The header's code of an element; 0 when Megatron has none. */
uint8_t dlb_megatron_code(enum dlb_element element);

#endif
