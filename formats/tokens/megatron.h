/* Megatron's indexed data sets: NAME.idx says where the sequences lie in NAME.bin.
 *
 * Floor 2. Made on the control thread, read-only afterwards.
 *
 * The index is "MMIDIDX\0\0", u64 version 1, u8 dtype code, u64 sequences, u64 entries of the
 * document index (34 bytes so far); then i32 length[sequences], i64 byte pointer[sequences], i64
 * document[entries]: unaligned. Multimodal data add an i8 mode for each sequence, which is passed
 * over.
 *
 * Samples are cut as GPTDataset cuts them: the sequences, in an order, are one stream of tokens;
 * sample s is tokens [s T, s T + T] of it, T + 1 of them, so that neighbours share one. */
#ifndef DLB_FORMATS_TOKENS_MEGATRON_H
#define DLB_FORMATS_TOKENS_MEGATRON_H

#include "core/base/err.h"
#include "formats/element.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DLB_MEGATRON_HEADER_BYTES 34

/* Where a sample begins: `offset` tokens into the sequence at `place` of the order. */
struct dlb_megatron_start {
    uint32_t place, offset;
};

struct dlb_megatron {
    enum dlb_element element;
    uint32_t n_sequences, n_documents;
    uint64_t n_tokens;
    uint32_t *length;  /* [n_sequences] tokens; owned, as what follows */
    uint64_t *pointer; /* [n_sequences] bytes into .bin */
    /* After dlb_megatron_cut. */
    uint64_t n_samples;
    uint32_t seq_len;
    uint32_t *order;                  /* [n_sequences] */
    struct dlb_megatron_start *start; /* [n_samples] */
    uint32_t *sample; /* [n_samples] which one is delivered under a number; NULL: itself */
};

bool dlb_megatron_is(const uint8_t *data, size_t n_bytes); /* has the magic */

/* `data` is the whole index. DLB_E_FORMAT with path and offset: no index, cut short, absurd
 * numbers, sequences beyond the end of .bin or on top of each other. Free it in any case. */
int dlb_megatron_parse(struct dlb_megatron *out, const uint8_t *data, size_t n_bytes,
                       uint64_t bin_bytes, const char *idx_path, const char *bin_path,
                       struct dlb_err *err);

/* Cuts the stream into samples of seq_len + 1 tokens: in the order of the file, or sequences and
 * samples both shuffled from the seed. n_samples may come out as 0. */
int dlb_megatron_cut(struct dlb_megatron *index, uint32_t seq_len, bool shuffle, uint64_t seed,
                     const char *path, struct dlb_err *err);

/* The pieces of sample `number`, in order. */
struct dlb_megatron_walk {
    uint32_t place, offset, left; /* tokens still to come */
};
struct dlb_megatron_walk dlb_megatron_walk(const struct dlb_megatron *index, uint64_t number);
/* False when the sample is complete. Pieces are never empty. */
bool dlb_megatron_piece(const struct dlb_megatron *index, struct dlb_megatron_walk *walk,
                        uint64_t *offset_bytes, uint32_t *n_tokens);

void dlb_megatron_free(struct dlb_megatron *index);

/* Code of an element in the header, or 0 when Megatron has none for it. */
uint8_t dlb_megatron_code(enum dlb_element element);

#endif
