/* Headers of token files: .npy, llm.c's, and Megatron's index with its samples cut and walked. The
 * first byte says which, the second how long the file is said to be; no input may crash, leak, or
 * point outside of that file. */
#include "formats/numpy/npy.h"
#include "formats/tokens/megatron.h"
#include "formats/tokens/tokens.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_err(int rc, const struct dlb_err *err)
{
    if (rc != DLB_OK && (rc != (int)err->status || err->what[0] == '\0' || err->path[0] == '\0'))
        DLB_BUG("an error without words");
}

static void npy(const uint8_t *data, size_t n_bytes, uint64_t file_bytes)
{
    struct dlb_err err = {.status = DLB_OK};
    struct dlb_npy npy;
    int rc = dlb_npy_parse(data, n_bytes, file_bytes, "fuzz.npy", &npy, &err);

    check_err(rc, &err);
    if (rc != DLB_OK || npy.element == DLB_ELEMENT_NONE)
        return;
    if (npy.data_at > file_bytes ||
        npy.n_items > (file_bytes - npy.data_at) / dlb_element_bytes(npy.element))
        DLB_BUG("items beyond the file");
    if (npy.rank > DLB_NPY_MAX_RANK || memchr(npy.descr, 0, sizeof npy.descr) == NULL)
        DLB_BUG("a header beyond its struct");
}

static void llmc(const uint8_t *data, size_t n_bytes, uint64_t file_bytes)
{
    struct dlb_err err = {.status = DLB_OK};
    enum dlb_element element;
    uint64_t n_tokens;
    int rc = dlb_llmc_parse(data, n_bytes, file_bytes, "fuzz.bin", &element, &n_tokens, &err);

    check_err(rc, &err);
    if (rc == DLB_OK && n_tokens * dlb_element_bytes(element) + DLB_LLMC_HEADER_BYTES != file_bytes)
        DLB_BUG("tokens that the file has not");
}

static void walk(const struct dlb_megatron *index, uint64_t number, uint64_t bin_bytes)
{
    struct dlb_megatron_walk walk = dlb_megatron_walk(index, number);
    uint64_t offset_bytes, n_all = 0;
    uint32_t n_tokens;

    while (dlb_megatron_piece(index, &walk, &offset_bytes, &n_tokens)) {
        uint64_t n = n_tokens * dlb_element_bytes(index->element);
        if (n == 0 || n > bin_bytes || offset_bytes > bin_bytes - n)
            DLB_BUG("a piece beyond the .bin");
        n_all += n_tokens;
    }
    if (n_all != (uint64_t)index->seq_len + 1)
        DLB_BUG("a sample of another length");
}

static void megatron(const uint8_t *data, size_t n_bytes, uint64_t bin_bytes, uint32_t seq_len,
                     bool shuffle)
{
    struct dlb_err err = {.status = DLB_OK};
    struct dlb_megatron index;
    int rc = dlb_megatron_parse(&index, data, n_bytes, bin_bytes, "fuzz.idx", "fuzz.bin", &err);

    check_err(rc, &err);
    if (rc == DLB_OK) {
        rc = dlb_megatron_cut(&index, seq_len, shuffle, 1, "fuzz.idx", &err);
        check_err(rc, &err);
        for (uint64_t i = 0; rc == DLB_OK && i < index.n_samples && i < 256; i++)
            walk(&index, i, bin_bytes);
        if (rc == DLB_OK && index.n_samples > 0)
            walk(&index, index.n_samples - 1, bin_bytes);
    }
    dlb_megatron_free(&index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    if (n_bytes < 2)
        return 0;
    unsigned kind = data[0] % 4, size = data[1];
    data += 2;
    n_bytes -= 2;
    /* A multiple of 64 beyond what is there, so that headers can tell the truth. */
    uint64_t file_bytes = n_bytes + 64 * (uint64_t)size;
    if (kind == 0)
        npy(data, n_bytes, file_bytes);
    else if (kind == 1)
        llmc(data, n_bytes, file_bytes);
    else
        megatron(data, n_bytes, 64 * (uint64_t)size, 1 + size % 37, kind == 3);
    return 0;
}
