#include "core/measure/timeline.h"

#include "core/base/io.h"
#include "core/base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x32656e696c6d6974) /* "timline2" */
#define MAX_BYTES ((size_t)1 << 32)        /* thousands of rings take more than DLB_TRACE_BYTES */

struct file_head {
    uint64_t magic;
    uint64_t n_tracks;
    struct dlb_trace_names names;
};

/* Its records follow it. */
struct track_head {
    uint32_t track, index, loader, unused;
    uint64_t n, n_lost, n_merged;
};

static uint64_t n_of(const struct dlb_trace_ring *ring)
{
    return atomic_load_explicit(&ring->n, memory_order_acquire);
}

/* A writer that was killed, or that still writes, may leave half a record. */
static bool is_whole(const struct dlb_trace_record *one)
{
    return one->start_ns > 0 && one->end_ns >= one->start_ns;
}

/* Takes the ring's records, but for those that its writer overwrites meanwhile. Returns how many;
 * *n_lost were overwritten. */
static uint64_t copy_ring(const struct dlb_trace_ring *ring, struct dlb_trace_record *out,
                          uint64_t *n_lost)
{
    uint64_t cap = ring->mask + 1, n = n_of(ring), n_out = 0;
    uint64_t first = n >= cap ? n - cap + 1 : 0; /* the next one takes its place */

    *n_lost = first;
    for (uint64_t k = first; k < n; k++) {
        out[n_out] = ring->at[k & ring->mask];
        atomic_signal_fence(memory_order_seq_cst); /* the compiler may look at `n` first, else */
        if (n_of(ring) >= k + cap) {               /* what was taken lies before what is lost now */
            n_out = 0;
            *n_lost = k + 1;
        } else {
            n_out += is_whole(&out[n_out]);
        }
    }
    return n_out;
}

static int save_ring(const struct dlb_trace_ring *ring, int fd, const char *path,
                     struct dlb_err *err)
{
    struct dlb_trace_record *record = dlb_mem_array(ring->mask + 1, sizeof *record);
    struct track_head head = {.track = ring->track,
                              .index = ring->index,
                              .loader = ring->loader,
                              .n_merged = ring->n_merged};

    head.n = copy_ring(ring, record, &head.n_lost);
    int rc = dlb_write_all(fd, path, &head, sizeof head, err);
    if (rc == DLB_OK)
        rc = dlb_write_all(fd, path, record, head.n * sizeof *record, err);
    free(record);
    return rc;
}

static int save_rings(const struct dlb_trace *trace, int fd, const char *path, struct dlb_err *err)
{
    struct file_head head = {.magic = MAGIC, .names = trace->names};
    for (int track = 0; track < DLB_TRACK_COUNT; track++)
        head.n_tracks += trace->layout.n[track];
    int rc = dlb_write_all(fd, path, &head, sizeof head, err);
    for (int track = 0; track < DLB_TRACK_COUNT; track++)
        for (uint32_t i = 0; rc == DLB_OK && i < trace->layout.n[track]; i++)
            rc = save_ring(dlb_trace_ring(trace, (enum dlb_track)track, i), fd, path, err);
    return rc;
}

int dlb_timeline_save(const struct dlb_trace *trace, const char *path, struct dlb_err *err)
{
    int fd = dlb_open_writing(path, O_WRONLY | O_TRUNC, 0600);
    if (fd < 0)
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "cannot write the timeline");
    int rc = save_rings(trace, fd, path, err);
    /* What is written back later would disturb the next repetition. */
    if (rc == DLB_OK && fsync(fd) != 0)
        rc = dlb_fail_errno(err, path, DLB_NO_OFFSET, "cannot write the timeline");
    (void)close(fd);
    return rc;
}

/* Takes n_bytes of the file; false: there are fewer. */
static bool take(const char **at, const char *end, void *out, size_t n_bytes)
{
    if ((size_t)(end - *at) < n_bytes)
        return false;
    memcpy(out, *at, n_bytes);
    *at += n_bytes;
    return true;
}

static bool take_track(const char **at, const char *end, struct dlb_timeline_track *out)
{
    struct track_head head;
    if (!take(at, end, &head, sizeof head) || head.track >= DLB_TRACK_COUNT ||
        head.n > (size_t)(end - *at) / sizeof *out->record)
        return false;
    *out = (struct dlb_timeline_track){.track = (enum dlb_track)head.track,
                                       .index = head.index,
                                       .loader = head.loader,
                                       .n = head.n,
                                       .n_lost = head.n_lost,
                                       .n_merged = head.n_merged,
                                       .record = dlb_mem_array(head.n, sizeof *out->record)};
    if (!take(at, end, out->record, head.n * sizeof *out->record))
        return false;
    for (uint64_t i = 0; i < out->n; i++)
        if (!is_whole(&out->record[i]))
            return false;
    return true;
}

static bool are_names(const struct dlb_trace_names *names)
{
    if (names->n > DLB_TRACE_MAX_NAMES)
        return false;
    for (uint32_t i = 0; i < names->n; i++)
        if (!memchr(names->at[i].stage, '\0', sizeof names->at[i].stage) ||
            !memchr(names->at[i].part, '\0', sizeof names->at[i].part))
            return false;
    return true;
}

static bool take_all(struct dlb_timeline *timeline, const char *at, const char *end)
{
    struct file_head head;
    if (!take(&at, end, &head, sizeof head) || head.magic != MAGIC ||
        head.n_tracks > (size_t)(end - at) / sizeof(struct track_head) || !are_names(&head.names))
        return false;
    timeline->names = head.names;
    timeline->track = dlb_mem_array(head.n_tracks, sizeof *timeline->track);
    while (timeline->n_tracks < head.n_tracks)
        if (!take_track(&at, end, &timeline->track[timeline->n_tracks++]))
            return false;
    return at == end;
}

static void find_ends(struct dlb_timeline *timeline)
{
    uint64_t start_ns = UINT64_MAX, end_ns = 0;
    for (uint32_t i = 0; i < timeline->n_tracks; i++)
        for (uint64_t k = 0; k < timeline->track[i].n; k++) {
            const struct dlb_trace_record *one = &timeline->track[i].record[k];
            if (one->start_ns < start_ns)
                start_ns = one->start_ns;
            if (one->end_ns > end_ns)
                end_ns = one->end_ns;
        }
    timeline->start_ns = start_ns == UINT64_MAX ? 0 : start_ns;
    timeline->end_ns = end_ns;
}

int dlb_timeline_load(struct dlb_timeline *timeline, const char *path, struct dlb_err *err)
{
    char *text = NULL;
    size_t n_bytes = 0;

    *timeline = (struct dlb_timeline){0};
    int rc = dlb_read_file(path, MAX_BYTES, &text, &n_bytes, err);
    if (rc != DLB_OK)
        return rc;
    bool whole = take_all(timeline, text, text + n_bytes);
    free(text);
    if (!whole) {
        dlb_timeline_free(timeline);
        return dlb_fail(err, DLB_ERR_TRACE_DAMAGED, path, DLB_NO_OFFSET,
                        "this is no timeline that a repetition wrote");
    }
    find_ends(timeline);
    return DLB_OK;
}

void dlb_timeline_free(struct dlb_timeline *timeline)
{
    for (uint32_t i = 0; i < timeline->n_tracks; i++)
        free(timeline->track[i].record);
    free(timeline->track);
    *timeline = (struct dlb_timeline){0};
}

const struct dlb_timeline_track *dlb_timeline_track(const struct dlb_timeline *timeline,
                                                    enum dlb_track track, uint32_t index)
{
    for (uint32_t i = 0; i < timeline->n_tracks; i++)
        if (timeline->track[i].track == track && timeline->track[i].index == index)
            return &timeline->track[i];
    return NULL;
}
