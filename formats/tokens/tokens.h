/* Flat files of tokens: options, the files that make a data set, and writing them.
 *
 * Floor 2. Files are found on the control thread and read-only afterwards. */
#ifndef DLB_FORMATS_TOKENS_TOKENS_H
#define DLB_FORMATS_TOKENS_TOKENS_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "formats/element.h"
#include "formats/format.h"
#include "formats/left_out.h"
#include "formats/tokens/megatron.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dlb_tokens_layout {
    DLB_TOKENS_AUTO,     /* reading: by the files' first bytes; gen: RAW */
    DLB_TOKENS_RAW,      /* nanoGPT's .bin: tokens and nothing else */
    DLB_TOKENS_LLMC,     /* llm.c's .bin: 256 x i32 header, then tokens */
    DLB_TOKENS_MEGATRON, /* .idx and .bin */
    DLB_TOKENS_NPY,      /* a 1-D array, or a 2-D one whose rows are the samples */
};

enum dlb_tokens_sampling {
    DLB_TOKENS_AS_TRAINER, /* raw: RANDOM; megatron: SHUFFLED; else CONTIGUOUS */
    DLB_TOKENS_CONTIGUOUS, /* sample i is tokens [i T, i T + T] of its file */
    DLB_TOKENS_RANDOM,   /* sample i is tokens [r, r + T] with r drawn for i: nanoGPT's get_batch */
    DLB_TOKENS_SHUFFLED, /* Megatron's: sequences are shuffled, then cut as CONTIGUOUS, then
                            samples are shuffled */
};

/* The `tokens` section. */
struct dlb_tokens_opts {
    int layout;          /* enum dlb_tokens_layout */
    int dtype;           /* index into its choices; 0: what the file says, or u16 */
    int sampling;        /* enum dlb_tokens_sampling */
    int64_t seq_len;     /* T: a sample is T + 1 tokens */
    int64_t seed;        /* of random offsets and of shuffled sequences and samples */
    int64_t file_tokens; /* gen: the most tokens in a file */
};
extern const struct dlb_opt_group dlb_tokens_group;

/* The options with defaults in place of zeroed fields; `opts` may be NULL. */
struct dlb_tokens_opts dlb_tokens_opts_of(const void *opts);
/* DLB_ELEMENT_NONE for "auto". */
enum dlb_element dlb_tokens_dtype(const struct dlb_tokens_opts *opts);
const char *dlb_tokens_layout_name(int layout);

struct dlb_tokens_file {
    char *path; /* of the tokens; owned */
    uint64_t file_bytes, data_at;
    uint64_t n_tokens;
    uint64_t row_tokens;       /* 2-D arrays; else 0 */
    struct dlb_megatron index; /* megatron */
    uint64_t first_sample, n_samples;
};

struct dlb_tokens_files {
    struct dlb_tokens_file *file; /* sorted by name; owned */
    uint32_t n, cap;
    int layout, sampling; /* never AUTO after dlb_tokens_find */
    enum dlb_element element;
    uint64_t n_samples;
    uint32_t sample_tokens;
    uint32_t n_other;             /* files in the folder that hold no tokens by their name */
    struct dlb_left_out left_out; /* of a folder */
};

/* `path`: a file, a folder of files, or Megatron's prefix (NAME of NAME.idx and NAME.bin). All
 * files have one layout and one type, else DLB_E_FORMAT. DLB_E_CONFIG when the options do not fit
 * the files. Free *files in any case. */
int dlb_tokens_find(struct dlb_tokens_files *files, const char *path, const struct dlb_io *io,
                    const struct dlb_tokens_opts *opts, struct dlb_shape *shape,
                    struct dlb_err *err);
void dlb_tokens_free(struct dlb_tokens_files *files);
int dlb_tokens_probe(const char *path, const struct dlb_io *io);

/* llm.c's header: magic and version give the type (dev/data/data_common.py, HEADERS_INFO).
 * DLB_E_FORMAT unless the file has exactly as many tokens as its header says, as llm.c demands. */
#define DLB_LLMC_HEADER_BYTES 1024
bool dlb_llmc_is(const uint8_t *data, size_t n_bytes);
int dlb_llmc_parse(const uint8_t *data, size_t n_bytes, uint64_t file_bytes, const char *path,
                   enum dlb_element *element, uint64_t *n_tokens, struct dlb_err *err);
/* Writes a header. False when llm.c has none for this type or number. */
bool dlb_llmc_header(enum dlb_element element, uint64_t n_tokens,
                     uint8_t out[DLB_LLMC_HEADER_BYTES]);

/* Generation: a unit is a file, or for megatron a .bin and its .idx. */
uint64_t dlb_tokens_gen_units(const struct dlb_gen *gen);
bool dlb_tokens_gen_makes(const struct dlb_gen *gen, const char *name);
int dlb_tokens_gen_prepare(const struct dlb_gen *gen, struct dlb_err *err);
int dlb_tokens_gen_unit(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                        struct dlb_err *err);
uint64_t dlb_tokens_gen_bytes(const struct dlb_gen *gen);

#endif
