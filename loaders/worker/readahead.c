#include "loaders/worker/readahead.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For samples that wait to be decoded. When more memory would be needed, fewer are read ahead. */
#define MAX_BUFFERS_BYTES (UINT64_C(256) << 20)
enum { BUFFER_ALIGN_BYTES = 4096 };

int dlb_readahead_open(struct dlb_readahead *ra, const struct dlb_worker_setup *setup, void *reader,
                       uint32_t ahead, struct dlb_err *err)
{
    *ra = (struct dlb_readahead){.setup = setup, .reader = reader, .ahead = ahead};
    ra->sample = calloc((size_t)ahead + 1, sizeof *ra->sample);
    return ra->sample ? DLB_OK : dlb_fail_memory(err, NULL, (ahead + 1) * sizeof *ra->sample);
}

void dlb_readahead_close(struct dlb_readahead *ra)
{
    for (uint32_t i = 0; ra->sample && i <= ra->ahead; i++) {
        free(ra->sample[i].piece);
        free(ra->sample[i].own);
    }
    free(ra->sample);
    free(ra->extent);
    free(ra->field);
    free(ra->buffer);
    *ra = (struct dlb_readahead){.n = 0};
}

static struct dlb_ra_sample *nth(const struct dlb_readahead *ra, uint32_t number)
{
    return &ra->sample[number % (ra->ahead + 1)];
}

/* Samples that were read but never taken, because the batch was given up, count as read. */
static void count_untaken(const struct dlb_readahead *ra)
{
    struct dlb_worker_meters *meters = dlb_worker_report_meters(ra->setup->report);

    for (uint32_t i = ra->n_taken; i < ra->n_located; i++) {
        const struct dlb_ra_sample *sample = nth(ra, i);
        if (sample->n_left > 0 || sample->failed)
            continue;
        meters->io_bytes += sample->io_bytes;
        meters->n_samples++;
    }
}

void dlb_readahead_begin(struct dlb_readahead *ra, uint64_t first, uint32_t n, struct dlb_dest slot)
{
    count_untaken(ra);
    ra->slot = slot;
    ra->first = first;
    ra->n = n;
    ra->n_located = ra->n_taken = 0;
    ra->placed_bytes = 0;
    ra->next_piece = 0;
    for (uint32_t i = 0; i <= ra->ahead; i++)
        ra->sample[i].held_bytes = 0;
    ra->held_bytes = 0;
}

static void path_of(const struct dlb_extent *extent, char *path, size_t n_path)
{
    (void)snprintf(path, n_path, "%s%s%s", extent->folder ? extent->folder : "",
                   extent->folder ? "/" : "", extent->name);
}

static void fail(struct dlb_ra_sample *sample, const struct dlb_err *err)
{
    if (!sample->failed)
        sample->err = *err;
    sample->failed = true;
}

/* Asks the format where a sample lies; the answer is in ra->extent. */
static int ask(struct dlb_readahead *ra, uint64_t index, struct dlb_located *out,
               struct dlb_err *err)
{
    const struct dlb_reader *reader = ra->setup->job->dataset->format->reader;

    for (;;) {
        *out = (struct dlb_located){.extent = ra->extent, .cap = ra->extent_cap};
        int rc = reader->locate(ra->reader, index, out, err);
        if (rc != DLB_OK || out->n <= out->cap)
            return rc;
        struct dlb_extent *extent = realloc(ra->extent, out->n * sizeof *extent);
        if (extent)
            ra->extent = extent;
        struct dlb_field *field = realloc(ra->field, out->n * sizeof *field);
        if (field)
            ra->field = field;
        if (!extent || !field)
            return dlb_fail_memory(err, NULL, out->n * (sizeof *extent + sizeof *field));
        ra->extent_cap = out->n;
    }
}

/* Lays the pieces one after the other, each at a multiple of its alignment. Returns the bytes that
 * they take. */
static uint64_t lay_out(struct dlb_ra_sample *sample)
{
    uint64_t at_bytes = 0;

    for (uint32_t i = 0; i < sample->n; i++) {
        struct dlb_ra_piece *piece = &sample->piece[i];
        uint64_t align = piece->extent.align_bytes ? piece->extent.align_bytes : 1;
        piece->skip_bytes = piece->extent.offset_bytes % align;
        piece->from_bytes = piece->extent.offset_bytes - piece->skip_bytes;
        piece->asked_bytes =
            (piece->skip_bytes + piece->extent.n_bytes + align - 1) / align * align;
        piece->done_bytes = 0;
        piece->at_bytes = (at_bytes + align - 1) / align * align;
        at_bytes = piece->at_bytes + piece->asked_bytes;
    }
    return at_bytes;
}

static uint8_t *part_of(struct dlb_readahead *ra, const struct dlb_ra_sample *sample)
{
    uint64_t largest = ra->setup->job->dataset->shape.max_sample_bytes;

    if (!ra->buffer && !ra->no_buffer && largest <= MAX_BUFFERS_BYTES) {
        /* One more block at either end, for O_DIRECT. */
        ra->part_bytes = (largest + UINT64_C(3) * BUFFER_ALIGN_BYTES - 1) / BUFFER_ALIGN_BYTES *
                         BUFFER_ALIGN_BYTES;
        ra->buffer_bytes = ra->part_bytes * (ra->ahead + 1);
        if (ra->buffer_bytes <= MAX_BUFFERS_BYTES)
            ra->buffer = aligned_alloc(BUFFER_ALIGN_BYTES, ra->buffer_bytes);
    }
    ra->no_buffer = !ra->buffer;
    return ra->buffer ? ra->buffer + (uint64_t)(sample - ra->sample) * ra->part_bytes : NULL;
}

static uint8_t *own_of(struct dlb_readahead *ra, struct dlb_ra_sample *sample, uint64_t n_bytes)
{
    uint64_t rounded = (n_bytes + BUFFER_ALIGN_BYTES) / BUFFER_ALIGN_BYTES * BUFFER_ALIGN_BYTES;

    if (sample->own_bytes < rounded) {
        free(sample->own);
        sample->own = aligned_alloc(BUFFER_ALIGN_BYTES, rounded);
        sample->own_bytes = sample->own ? rounded : 0;
    }
    if (sample->own) {
        sample->held_bytes = n_bytes;
        ra->held_bytes += n_bytes;
    }
    return sample->own;
}

/* True when O_DIRECT can read to `base` itself: aligned, in whole blocks, nothing beside them. */
static bool is_aligned(const struct dlb_ra_sample *sample, const uint8_t *base)
{
    for (uint32_t i = 0; i < sample->n; i++) {
        const struct dlb_ra_piece *piece = &sample->piece[i];
        uint64_t align = piece->extent.align_bytes;
        if (align > 1 && (piece->asked_bytes != piece->extent.n_bytes ||
                          (uintptr_t)(base + piece->at_bytes) % align != 0))
            return false;
    }
    return true;
}

/* Places a sample in the slot if its bytes can be read straight to their place there, else in our
 * own memory. */
static int place(struct dlb_readahead *ra, struct dlb_ra_sample *sample, bool plain,
                 struct dlb_err *err)
{
    uint64_t n_bytes = lay_out(sample);
    bool fits = ra->slot.data && plain && ra->slot.cap_bytes - ra->placed_bytes >= n_bytes;
    uint8_t *base = fits ? ra->slot.data + ra->placed_bytes : NULL;

    if (fits && is_aligned(sample, base)) {
        ra->placed_bytes += n_bytes;
    } else {
        /* This sample is copied into the slot when its turn comes. Later samples of the batch must
         * not be read into the slot any more: the copy would overwrite them. */
        ra->slot.data = NULL;
        base = part_of(ra, sample);
        if (!base || n_bytes > ra->part_bytes)
            base = own_of(ra, sample, n_bytes);
    }
    if (!base)
        return dlb_fail_memory(err, NULL, n_bytes);
    for (uint32_t i = 0; i < sample->n; i++)
        sample->piece[i].dst = base + sample->piece[i].at_bytes;
    return DLB_OK;
}

static int take_pieces(struct dlb_readahead *ra, struct dlb_ra_sample *sample, uint32_t n,
                       struct dlb_err *err)
{
    if (n > sample->cap) {
        struct dlb_ra_piece *piece = realloc(sample->piece, n * sizeof *piece);
        if (!piece)
            return dlb_fail_memory(err, NULL, n * sizeof *piece);
        sample->piece = piece;
        sample->cap = n;
    }
    for (uint32_t i = 0; i < n; i++)
        sample->piece[i].extent = ra->extent[i];
    sample->n = n;
    return DLB_OK;
}

static void locate_next(struct dlb_readahead *ra)
{
    struct dlb_ra_sample *sample = nth(ra, ra->n_located);
    struct dlb_located located;
    struct dlb_err err;

    sample->index = dlb_sampler_index(ra->setup->sampler, ra->first + ra->n_located);
    sample->n = 0;
    sample->io_bytes = 0;
    sample->failed = false;
    int rc = ask(ra, sample->index, &located, &err);
    if (rc == DLB_OK)
        rc = take_pieces(ra, sample, located.n, &err);
    if (rc == DLB_OK)
        rc = place(ra, sample, located.plain, &err);
    if (rc != DLB_OK) {
        sample->n = 0;
        fail(sample, &err);
    }
    sample->n_left = sample->n;
    ra->next_piece = 0;
    ra->n_located++;
}

bool dlb_readahead_next(struct dlb_readahead *ra, uint32_t *sample, uint32_t *piece)
{
    while (ra->n_located == 0 || ra->next_piece >= nth(ra, ra->n_located - 1)->n) {
        uint32_t n_waiting = ra->n_located - ra->n_taken;
        if (ra->n_located == ra->n || n_waiting > ra->ahead ||
            (n_waiting > 0 && ra->held_bytes > MAX_BUFFERS_BYTES))
            return false;
        locate_next(ra);
    }
    *sample = (ra->n_located - 1) % (ra->ahead + 1);
    *piece = ra->next_piece++;
    return true;
}

/* A sample whose file could not be opened or read. Two kinds of errors concern all samples alike:
 * O_DIRECT that is refused, and descriptors that have run out. */
static void fail_read(struct dlb_ra_sample *sample, const struct dlb_ra_piece *piece, int code,
                      bool opening)
{
    struct dlb_err err;
    char path[sizeof err.path];

    path_of(&piece->extent, path, sizeof path);
    if (code == EINVAL && piece->extent.align_bytes) {
        (void)dlb_fail(&err, DLB_ERR_DIRECT_UNSUPPORTED, path, DLB_NO_OFFSET,
                       "the file system refuses reads past the page cache (O_DIRECT): %s",
                       strerrordesc_np(code));
    } else {
        errno = code;
        (void)dlb_fail_errno(&err, path,
                             opening ? DLB_NO_OFFSET : piece->from_bytes + piece->done_bytes,
                             opening ? "opening" : "reading");
    }
    err.sys_errno = code;
    fail(sample, &err);
}

static void fail_short(struct dlb_ra_sample *sample, const struct dlb_ra_piece *piece,
                       uint64_t have_bytes, uint64_t wanted_bytes)
{
    struct dlb_err err;
    char path[sizeof err.path];

    path_of(&piece->extent, path, sizeof path);
    (void)dlb_fail(&err, DLB_ERR_FILE_CHANGED, path, piece->from_bytes + have_bytes,
                   "ends early: %llu bytes more were there when the data set was opened",
                   (unsigned long long)(wanted_bytes - have_bytes));
    fail(sample, &err);
}

bool dlb_readahead_settle(struct dlb_readahead *ra, uint32_t number, uint32_t piece_number,
                          int32_t opened, int32_t result)
{
    struct dlb_ra_sample *sample = &ra->sample[number];
    struct dlb_ra_piece *piece = &sample->piece[piece_number];
    int32_t code = opened < 0 ? opened : result;
    bool done = true;

    if (code == -EINTR || code == -EAGAIN)
        return false;
    if (code < 0) {
        fail_read(sample, piece, -code, opened < 0);
    } else {
        uint64_t wanted = piece->skip_bytes + piece->extent.n_bytes, before = piece->done_bytes;
        uint64_t have = before + (uint64_t)result;
        uint64_t align = piece->extent.align_bytes ? piece->extent.align_bytes : 1;
        sample->io_bytes += (uint64_t)result;
        piece->done_bytes = have / align * align;
        done = have >= wanted || piece->done_bytes <= before;
        if (have < wanted && done)
            fail_short(sample, piece, have, wanted);
    }
    if (done)
        sample->n_left--;
    return done;
}

bool dlb_readahead_ready(const struct dlb_readahead *ra)
{
    return ra->n_located > ra->n_taken && nth(ra, ra->n_taken)->n_left == 0;
}

int dlb_readahead_take(struct dlb_readahead *ra, struct dlb_dest dest, struct dlb_sample *out,
                       struct dlb_err *err)
{
    const struct dlb_reader *reader = ra->setup->job->dataset->format->reader;
    struct dlb_ra_sample *sample = nth(ra, ra->n_taken++);

    if (sample->failed) {
        *err = sample->err;
        return (int)err->status;
    }
    for (uint32_t i = 0; i < sample->n; i++) {
        const struct dlb_ra_piece *piece = &sample->piece[i];
        ra->field[i] = (struct dlb_field){.data = piece->dst + piece->skip_bytes,
                                          .len_bytes = piece->extent.n_bytes};
    }
    int rc = reader->assemble(ra->reader, sample->index, ra->field, sample->n, dest, out, err);
    out->io_bytes = sample->io_bytes;
    return rc;
}

void dlb_readahead_release(struct dlb_readahead *ra)
{
    if (ra->n_taken == 0)
        return;
    struct dlb_ra_sample *last = nth(ra, ra->n_taken - 1);
    ra->held_bytes -= last->held_bytes;
    last->held_bytes = 0;
}
