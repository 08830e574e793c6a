#include "formats/tokens/tokens.h"

#include "core/base/little.h"

#include <inttypes.h>
#include <string.h>

static const char *const layout_names[] = {"auto", "raw", "llmc", "megatron", "npy", NULL};
static const char *const sampling_names[] = {"auto", "contiguous", "random", "shuffled", NULL};
static const char *const dtype_names[] = {"auto", "u8", "u16", "u32", "i32", "i64", NULL};
static const enum dlb_element dtypes[] = {DLB_ELEMENT_NONE, DLB_ELEMENT_U8,  DLB_ELEMENT_U16,
                                          DLB_ELEMENT_U32,  DLB_ELEMENT_I32, DLB_ELEMENT_I64};

#define DEFAULT_SEQ_LEN 1024
#define DEFAULT_FILE_TOKENS 100000000 /* llm.c's shards of FineWeb */

static const struct dlb_opt opts[] = {
    {.key = "layout",
     .type = DLB_OPT_CHOICE,
     .offset = offsetof(struct dlb_tokens_opts, layout),
     .def = "auto",
     .choices = layout_names,
     .help = "what is stored around the tokens: nothing (nanoGPT), llm.c's header, Megatron's "
             "index, or numpy's header; auto detects it, and makes gen write raw"},
    {.key = "dtype",
     .type = DLB_OPT_CHOICE,
     .offset = offsetof(struct dlb_tokens_opts, dtype),
     .def = "auto",
     .choices = dtype_names,
     .help = "type of the stored tokens; auto is what the file says, or u16 if it says nothing"},
    {.key = "sampling",
     .reads_only = true,
     .type = DLB_OPT_CHOICE,
     .offset = offsetof(struct dlb_tokens_opts, sampling),
     .def = "auto",
     .choices = sampling_names,
     .help = "which tokens make a sample: windows one after the other, at random offsets "
             "(nanoGPT), or over shuffled documents (Megatron); auto does as the layout's own "
             "trainer"},
    {.key = "seq_len",
     .type = DLB_OPT_INT,
     .offset = offsetof(struct dlb_tokens_opts, seq_len),
     .min = 1,
     .max = 1 << 24,
     .def = "1024",
     .unit = "tokens",
     .help = "tokens of a sample, without the one more that is its last target; rows of 2-D "
             "arrays keep their own length"},
    {.key = "seed",
     .reads_only = true,
     .type = DLB_OPT_INT,
     .offset = offsetof(struct dlb_tokens_opts, seed),
     .min = 0,
     .max = INT64_MAX,
     .def = "0",
     .help = "seed of the random offsets and of the shuffled documents"},
    {.key = "file_tokens",
     .type = DLB_OPT_INT,
     .offset = offsetof(struct dlb_tokens_opts, file_tokens),
     .min = 2,
     .max = INT64_C(1) << 40,
     .def = "100000000",
     .unit = "tokens",
     .help = "gen: the most tokens in each file (but always one sample)"},
    DLB_OPT_END,
};
const struct dlb_opt_group dlb_tokens_group = {"tokens", "flat files of tokens", opts,
                                               sizeof(struct dlb_tokens_opts)};

struct dlb_tokens_opts dlb_tokens_opts_of(const void *given)
{
    struct dlb_tokens_opts own = {.layout = DLB_TOKENS_AUTO};

    if (given)
        own = *(const struct dlb_tokens_opts *)given;
    if (own.seq_len <= 0)
        own.seq_len = DEFAULT_SEQ_LEN;
    if (own.file_tokens <= 0)
        own.file_tokens = DEFAULT_FILE_TOKENS;
    return own;
}

enum dlb_element dlb_tokens_dtype(const struct dlb_tokens_opts *own)
{
    return dtypes[own->dtype];
}

const char *dlb_tokens_layout_name(int layout)
{
    return layout_names[layout];
}

/* Headers that llm.c knows. */
static const struct {
    uint32_t magic, version;
    enum dlb_element element;
} llmc[] = {
    {20240520, 1, DLB_ELEMENT_U16}, /* gpt-2 */
    {20240801, 7, DLB_ELEMENT_U32}, /* llama-3 */
};
enum { N_LLMC = sizeof llmc / sizeof *llmc };

static uint32_t header_number(const uint8_t *data, size_t i)
{
    return (uint32_t)dlb_little_get(data + i * 4, 4);
}

bool dlb_llmc_is(const uint8_t *data, size_t n_bytes)
{
    for (size_t i = 0; n_bytes >= 8 && i < N_LLMC; i++)
        if (header_number(data, 0) == llmc[i].magic)
            return true;
    return false;
}

int dlb_llmc_parse(const uint8_t *data, size_t n_bytes, uint64_t file_bytes, const char *path,
                   enum dlb_element *element, uint64_t *n_tokens, struct dlb_err *err)
{
    if (!dlb_llmc_is(data, n_bytes))
        return dlb_fail(err, DLB_ERR_FILE_NOT_OF_FORMAT, path, 0,
                        "has no llm.c header: it does not begin with %u or %u", llmc[0].magic,
                        llmc[1].magic);
    if (n_bytes < DLB_LLMC_HEADER_BYTES || file_bytes < DLB_LLMC_HEADER_BYTES)
        return dlb_fail(err, DLB_ERR_FILE_CUT_SHORT, path, file_bytes,
                        "cut short within llm.c's header of %d bytes", DLB_LLMC_HEADER_BYTES);
    *element = DLB_ELEMENT_NONE;
    for (size_t i = 0; i < N_LLMC; i++)
        if (header_number(data, 0) == llmc[i].magic && header_number(data, 1) == llmc[i].version)
            *element = llmc[i].element;
    if (*element == DLB_ELEMENT_NONE)
        return dlb_fail(err, DLB_ERR_FILE_VERSION_UNKNOWN, path, 4,
                        "version %u of llm.c's header is unknown", header_number(data, 1));
    *n_tokens = header_number(data, 2);
    uint64_t have = (file_bytes - DLB_LLMC_HEADER_BYTES) / dlb_element_bytes(*element);
    if (*n_tokens > INT32_MAX)
        return dlb_fail(err, DLB_ERR_TOKENS_HEADER_DAMAGED, path, 8,
                        "llm.c's header says %d tokens", (int)*n_tokens);
    if (*n_tokens != have ||
        (file_bytes - DLB_LLMC_HEADER_BYTES) % dlb_element_bytes(*element) != 0)
        return dlb_fail(
            err, *n_tokens > have ? DLB_ERR_FILE_CUT_SHORT : DLB_ERR_TOKENS_HEADER_DAMAGED, path,
            file_bytes,
            "%s: llm.c's header says %" PRIu64 " tokens, the file has room for %" PRIu64,
            *n_tokens > have ? "cut short" : "too long", *n_tokens, have);
    return DLB_OK;
}

bool dlb_llmc_header(enum dlb_element element, uint64_t n_tokens,
                     uint8_t out[DLB_LLMC_HEADER_BYTES])
{
    if (n_tokens > INT32_MAX)
        return false;
    memset(out, 0, DLB_LLMC_HEADER_BYTES);
    for (size_t i = 0; i < N_LLMC; i++)
        if (llmc[i].element == element) {
            dlb_little_put(out, llmc[i].magic, 4);
            dlb_little_put(out + 4, llmc[i].version, 4);
            dlb_little_put(out + 8, n_tokens, 4);
            return true;
        }
    return false;
}
