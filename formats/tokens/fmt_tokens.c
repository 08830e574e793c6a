/* Flat files of tokens, as nanoGPT, llm.c, Megatron and numpy write them.
 *
 * A sample is T + 1 tokens, as they are stored. With any sampling, an epoch has (tokens - 1) / T
 * samples of each file. With "random" each of them is a window at an offset that is drawn once from
 * tokens.seed. Windows overlap then and some tokens are in none, as in nanoGPT. nanoGPT has no
 * epochs; here one is as many windows as would hold all tokens once. */
#include "formats/format.h"
#include "formats/generate/mark.h"

#include "core/base/hash.h"
#include "core/base/rng.h"
#include "formats/codec.h"
#include "formats/tokens/opened.h"
#include "formats/tokens/tokens.h"
#include "formats/tokens/windows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tokens {
    const struct dlb_io *io;
    struct dlb_tokens_files files;
    struct dlb_tokens_opened opened;
    size_t token_bytes, sample_bytes;
    uint64_t seq_len, seed;
};

struct tokens_reader {
    const struct tokens *ds;
    uint8_t *sample; /* used when the caller gives no place for the sample; made when needed */
    uint8_t *bounce; /* aligned, for reads by O_DIRECT; made when needed */
    size_t bounce_bytes;
};

/* Samples share their first token with the one before, but for rows, which leave none. */
static uint64_t n_left_tokens(const struct dlb_tokens_files *files)
{
    uint64_t n = 0;

    if (files->sampling == DLB_TOKENS_RANDOM)
        return DLB_NOT_COUNTED;
    for (uint32_t i = 0; i < files->n; i++) {
        const struct dlb_tokens_file *file = &files->file[i];
        bool some = file->n_samples > 0;
        uint64_t step = file->row_tokens ? file->row_tokens : files->sample_tokens - 1;
        n += file->n_tokens - file->n_samples * step - (some && !file->row_tokens);
    }
    return n;
}

static void fill_shape(const struct tokens *ds, struct dlb_shape *shape)
{
    const struct dlb_tokens_files *files = &ds->files;
    uint64_t id = 0;

    for (uint32_t i = 0; i < files->n; i++) {
        const char *name = strrchr(files->file[i].path, '/');
        name = name ? name + 1 : files->file[i].path;
        uint64_t numbers[] = {files->file[i].file_bytes, files->file[i].n_samples};
        id = dlb_hash64(name, strlen(name), dlb_hash64(numbers, sizeof numbers, id));
    }
    uint64_t numbers[] = {files->sample_tokens, (uint64_t)files->sampling, files->element,
                          ds->seed};
    shape->id = dlb_hash64(numbers, sizeof numbers, id);
    shape->n_samples = files->n_samples;
    shape->max_sample_bytes = ds->sample_bytes;
    shape->total_bytes = files->n_samples * ds->sample_bytes;
    shape->element = files->element;
    shape->n_left_tokens = n_left_tokens(files);
    (void)snprintf(shape->about, sizeof shape->about, "layout %s, %u file%s, samples of %u tokens",
                   dlb_tokens_layout_name(files->layout), files->n, files->n == 1 ? "" : "s",
                   files->sample_tokens);
}

static int tokens_open(void *state, const struct dlb_open *how, struct dlb_shape *shape,
                       struct dlb_err *err)
{
    struct tokens *ds = state;
    struct dlb_tokens_opts opts = dlb_tokens_opts_of(how->opts);

    if (how->in_order && opts.sampling == DLB_TOKENS_AS_TRAINER)
        opts.sampling = DLB_TOKENS_CONTIGUOUS;
    ds->io = how->io;
    ds->seq_len = (uint64_t)opts.seq_len;
    ds->seed = (uint64_t)opts.seed;
    if (how->codec && !how->codec->identity && !how->codec->numbers)
        return dlb_fail(err, DLB_ERR_CODEC_UNFIT, how->path, DLB_NO_OFFSET,
                        "codec %s does not decode tokens: use dataset.codec = \"raw\" (as stored) "
                        "or \"tokens\" (int64, widened on the host)",
                        how->codec->name);
    *shape = (struct dlb_shape){.n_samples = 0};
    int rc = dlb_gen_mark_refuse(how->path, err);
    if (rc == DLB_OK)
        rc = dlb_tokens_find(&ds->files, how->path, how->io, &opts, shape, err);
    if (rc != DLB_OK)
        return rc;
    ds->token_bytes = dlb_element_bytes(ds->files.element);
    ds->sample_bytes = ds->files.sample_tokens * ds->token_bytes;
    fill_shape(ds, shape);
    return dlb_tokens_opened_make(&ds->opened, how->io, &ds->files, how->access, err);
}

static void tokens_close(void *state)
{
    struct tokens *ds = state;

    dlb_tokens_opened_free(&ds->opened);
    dlb_tokens_free(&ds->files);
    *ds = (struct tokens){.io = NULL};
}

static int tokens_reader_open(void *rd, const void *ds, struct dlb_err *err)
{
    (void)err;
    ((struct tokens_reader *)rd)->ds = ds;
    return DLB_OK;
}

static void tokens_reader_close(void *rd)
{
    struct tokens_reader *reader = rd;
    free(reader->sample);
    free(reader->bounce);
    *reader = (struct tokens_reader){.ds = NULL};
}

static int fail_changed(const struct dlb_tokens_file *file, uint64_t at_bytes, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_FILE_CHANGED, file->path, at_bytes,
                    "the file was cut short since it was opened: it had %" PRIu64 " bytes",
                    file->file_bytes);
}

/* Reads the whole blocks around the wanted bytes, and copies these. When they are whole blocks
 * themselves it reads straight into dst. */
static int fetch_direct(struct tokens_reader *reader, const struct dlb_tokens_file *file,
                        int64_t handle, uint64_t offset_bytes, uint8_t *dst, size_t n_bytes,
                        size_t *n_read, struct dlb_err *err)
{
    const struct tokens *ds = reader->ds;
    uint64_t align = ds->opened.align_bytes, from = offset_bytes - offset_bytes % align;
    size_t skip = (size_t)(offset_bytes - from);
    size_t asked = (size_t)((skip + n_bytes + align - 1) / align * align);
    bool whole = asked == n_bytes && (uintptr_t)dst % align == 0;

    if (!whole && !reader->bounce) {
        reader->bounce_bytes = (size_t)((ds->sample_bytes + 2 * align) / align * align);
        reader->bounce = aligned_alloc(align, reader->bounce_bytes);
        if (!reader->bounce)
            return dlb_fail_memory(err, file->path, reader->bounce_bytes);
    }
    uint8_t *to = whole ? dst : reader->bounce;
    int rc = ds->io->pread(handle, to, asked, from, n_read, file->path, err);
    if (rc != DLB_OK)
        return rc;
    size_t have = *n_read > skip ? *n_read - skip : 0;
    if (!whole)
        memcpy(dst, reader->bounce + skip, have < n_bytes ? have : n_bytes);
    if (have < n_bytes)
        return fail_changed(file, from + *n_read, err);
    return DLB_OK;
}

static int fetch(struct tokens_reader *reader, uint32_t number, uint64_t offset_bytes, uint8_t *dst,
                 size_t n_bytes, struct dlb_sample *out, struct dlb_err *err)
{
    const struct tokens *ds = reader->ds;
    const struct dlb_map *map = dlb_tokens_opened_map(&ds->opened, number);
    const struct dlb_tokens_file *file = &ds->files.file[number];
    size_t n_read = n_bytes;
    int64_t handle = 0;

    if (map) {
        out->io_bytes += n_read;
        return dlb_map_copy(map, dst, offset_bytes, n_bytes, err);
    }
    int rc = dlb_tokens_opened_take(&ds->opened, number, &handle, err);
    if (rc != DLB_OK)
        return rc;
    if (ds->opened.access == DLB_ACCESS_DIRECT) {
        rc = fetch_direct(reader, file, handle, offset_bytes, dst, n_bytes, &n_read, err);
    } else {
        rc = ds->io->pread(handle, dst, n_bytes, offset_bytes, &n_read, file->path, err);
        if (rc == DLB_OK && n_read < n_bytes)
            rc = fail_changed(file, offset_bytes + n_read, err);
    }
    dlb_tokens_opened_release(&ds->opened, number, handle);
    out->io_bytes += n_read;
    return rc;
}

static uint32_t file_of(const struct dlb_tokens_files *files, uint64_t index)
{
    uint32_t low = 0, high = files->n;

    if (index >= files->n_samples)
        DLB_BUG("sample beyond the data set");
    while (high - low > 1) { /* looks for the last file that begins at or before the sample */
        uint32_t mid = low + (high - low) / 2;
        if (files->file[mid].first_sample <= index)
            low = mid;
        else
            high = mid;
    }
    return low;
}

/* The first token of a sample that is one window, which all but Megatron's are. */
static uint64_t first_token(const struct tokens *ds, const struct dlb_tokens_file *file,
                            uint64_t index)
{
    uint64_t number = index - file->first_sample;

    if (file->row_tokens)
        return number * file->row_tokens;
    if (ds->files.sampling == DLB_TOKENS_CONTIGUOUS)
        return number * ds->seq_len;
    struct dlb_rng rng = dlb_rng_seed(ds->seed, index, UINT64_C(0x77696e)); /* "win" */
    return dlb_rng_below(&rng, file->n_tokens - ds->seq_len);
}

static int read_spliced(struct tokens_reader *reader, uint32_t number, uint64_t index, uint8_t *dst,
                        struct dlb_sample *out, struct dlb_err *err)
{
    const struct dlb_tokens_file *file = &reader->ds->files.file[number];
    struct dlb_megatron_walk walk = dlb_megatron_walk(&file->index, index - file->first_sample);
    uint64_t offset_bytes;
    uint32_t n_tokens;
    int rc = DLB_OK;

    while (rc == DLB_OK && dlb_megatron_piece(&file->index, &walk, &offset_bytes, &n_tokens)) {
        size_t n_bytes = n_tokens * reader->ds->token_bytes;
        if (out->offset_bytes == DLB_NO_OFFSET)
            out->offset_bytes = offset_bytes;
        rc = fetch(reader, number, offset_bytes, dst, n_bytes, out, err);
        dst += n_bytes;
    }
    return rc;
}

/* Where the sample goes: `dest` if it is large enough, else the reader's own memory, or NULL. */
static uint8_t *sample_place(struct tokens_reader *reader, struct dlb_dest dest,
                             const struct dlb_tokens_file *file, struct dlb_err *err)
{
    size_t n_bytes = reader->ds->sample_bytes;

    if (dest.data && dest.cap_bytes >= n_bytes)
        return dest.data;
    if (!reader->sample && !(reader->sample = malloc(n_bytes)))
        (void)dlb_fail_memory(err, file->path, n_bytes);
    return reader->sample;
}

static void describe(const struct tokens *ds, const struct dlb_tokens_file *file, uint64_t index,
                     const uint8_t *data, struct dlb_sample *out)
{
    out->field[0].data = data;
    out->field[0].len_bytes = ds->sample_bytes;
    out->field[0].name = "";
    out->n_fields = 1;
    out->label = 0;
    out->labelled = false;
    out->element = ds->files.element;
    out->index = index;
    out->path = file->path;
}

static int tokens_read(void *rd, uint64_t index, struct dlb_dest dest, struct dlb_sample *out,
                       struct dlb_err *err)
{
    struct tokens_reader *reader = rd;
    const struct tokens *ds = reader->ds;
    int rc;

    uint32_t number = file_of(&ds->files, index);
    const struct dlb_tokens_file *file = &ds->files.file[number];
    uint8_t *dst = sample_place(reader, dest, file, err);
    if (!dst)
        return (int)err->status;
    out->io_bytes = 0;
    out->offset_bytes = DLB_NO_OFFSET;
    if (ds->files.layout == DLB_TOKENS_MEGATRON) {
        rc = read_spliced(reader, number, index, dst, out, err);
    } else {
        out->offset_bytes = file->data_at + first_token(ds, file, index) * ds->token_bytes;
        rc = fetch(reader, number, out->offset_bytes, dst, ds->sample_bytes, out, err);
    }
    describe(ds, file, index, dst, out);
    return rc;
}

static uint32_t tokens_read_many(void *rd, const uint64_t *index, uint32_t n, uint8_t *dst,
                                 uint32_t *label)
{
    const struct tokens *ds = ((struct tokens_reader *)rd)->ds;
    struct dlb_tokens_window window[DLB_TOKENS_AT_ONCE];

    if (ds->opened.access != DLB_ACCESS_MMAP || ds->files.layout == DLB_TOKENS_MEGATRON)
        return 0;
    n = n < DLB_TOKENS_AT_ONCE ? n : DLB_TOKENS_AT_ONCE;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t number = file_of(&ds->files, index[i]);
        const struct dlb_tokens_file *file = &ds->files.file[number];
        uint64_t first = first_token(ds, file, index[i]);
        window[i] =
            (struct dlb_tokens_window){.map = dlb_tokens_opened_map(&ds->opened, number),
                                       .offset_bytes = file->data_at + first * ds->token_bytes};
        if (!window[i].map)
            return 0;
        label[i] = 0;
    }
    return dlb_tokens_copy(window, n, ds->sample_bytes, dst) ? n : 0;
}

static void tokens_whereabouts(const void *state, uint64_t number, char *path, size_t n_path)
{
    const struct tokens *ds = state;
    if (number < ds->files.n_samples)
        (void)snprintf(path, n_path, "%s", ds->files.file[file_of(&ds->files, number)].path);
}

static uint64_t tokens_files(const void *state, uint64_t number, char *path, size_t n_path)
{
    const struct dlb_tokens_files *files = &((const struct tokens *)state)->files;
    if (number < files->n)
        (void)snprintf(path, n_path, "%s", files->file[number].path);
    return files->n;
}

static int tokens_locate(void *rd, uint64_t index, struct dlb_located *out, struct dlb_err *err)
{
    const struct tokens *ds = ((struct tokens_reader *)rd)->ds;
    (void)err;

    uint32_t number = file_of(&ds->files, index);
    const struct dlb_tokens_file *file = &ds->files.file[number];
    struct dlb_extent extent = {
        .fd = number < ds->opened.n_kept ? ds->io->fd(ds->opened.kept[number].handle) : -1,
        .dir_fd = DLB_IO_NO_DIR,
        .name = file->path,
        .align_bytes = (uint32_t)ds->opened.align_bytes};

    out->n = 0;
    out->plain = true;
    if (ds->files.layout != DLB_TOKENS_MEGATRON) {
        extent.offset_bytes = file->data_at + first_token(ds, file, index) * ds->token_bytes;
        extent.n_bytes = ds->sample_bytes;
        if (out->cap > 0)
            out->extent[0] = extent;
        out->n = 1;
        return DLB_OK;
    }
    struct dlb_megatron_walk walk = dlb_megatron_walk(&file->index, index - file->first_sample);
    uint32_t n_tokens;
    while (dlb_megatron_piece(&file->index, &walk, &extent.offset_bytes, &n_tokens)) {
        extent.n_bytes = n_tokens * ds->token_bytes;
        if (out->n < out->cap)
            out->extent[out->n] = extent;
        out->n++;
    }
    return DLB_OK;
}

/* Whether the pieces lie one behind the other in memory. */
static bool contiguous(const struct dlb_field *pieces, uint32_t n)
{
    const uint8_t *end = pieces[0].data;

    for (uint32_t i = 0; i < n; end += pieces[i++].len_bytes)
        if (pieces[i].data != end)
            return false;
    return true;
}

static int tokens_assemble(void *rd, uint64_t index, const struct dlb_field *pieces, uint32_t n,
                           struct dlb_dest dest, struct dlb_sample *out, struct dlb_err *err)
{
    struct tokens_reader *reader = rd;
    const struct tokens *ds = reader->ds;
    const struct dlb_tokens_file *file = &ds->files.file[file_of(&ds->files, index)];
    const uint8_t *whole = pieces[0].data;

    if (!contiguous(pieces, n)) {
        uint8_t *dst = sample_place(reader, dest, file, err);
        if (!dst)
            return (int)err->status;
        whole = dst;
        for (uint32_t i = 0; i < n; dst += pieces[i++].len_bytes)
            memcpy(dst, pieces[i].data, pieces[i].len_bytes);
    }
    struct dlb_located first = {.extent = &(struct dlb_extent){0}, .cap = 1};
    (void)tokens_locate(rd, index, &first, err);
    out->offset_bytes = first.extent[0].offset_bytes;
    describe(ds, file, index, whole, out);
    return DLB_OK;
}

static const int accesses[] = {DLB_ACCESS_MMAP, DLB_ACCESS_PREAD, DLB_ACCESS_DIRECT,
                               DLB_ACCESS_AUTO};

static const struct dlb_reader tokens_reader = {
    .dataset_bytes = sizeof(struct tokens),
    .state_bytes = sizeof(struct tokens_reader),
    .dataset_open = tokens_open,
    .dataset_close = tokens_close,
    .open = tokens_reader_open,
    .close = tokens_reader_close,
    .read = tokens_read,
    .read_many = tokens_read_many,
    .whereabouts = tokens_whereabouts,
    .files = tokens_files,
    .locate = tokens_locate,
    .assemble = tokens_assemble,
};

static const struct dlb_generator tokens_generator = {
    .units = dlb_tokens_gen_units,
    .makes = dlb_tokens_gen_makes,
    .prepare = dlb_tokens_gen_prepare,
    .unit = dlb_tokens_gen_unit,
    .bytes = dlb_tokens_gen_bytes,
};

const struct dlb_format dlb_fmt_tokens = {
    .name = "tokens",
    .summary = "flat files of tokens: nanoGPT's and llm.c's .bin, Megatron's .idx and .bin, .npy",
    .opts = &dlb_tokens_group,
    .access = accesses,
    .numbers = true,
    .made = "tokens-######.bin tokens-######.npy tokens-######.idx",
    .probe = dlb_tokens_probe,
    .reader = &tokens_reader,
    .generator = &tokens_generator,
};
