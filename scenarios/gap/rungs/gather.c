#include "scenarios/gap/rungs/gather.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { LINE_BYTES = 64, VECTOR_BYTES = 16, PAGE_BYTES = 4096 };
/* __builtin_prefetch's locality for prefetcht1: the first-level cache can wait for a dozen lines at
 * a time, which is two rows; the second-level cache for about four times as many. */
enum { TO_SECOND_LEVEL = 2 };
/* gcc 12 treats a function that only prefetches as one without effect and removes its calls, unless
 * the function is inlined first. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

struct rows {
    const uint8_t *array;
    const uint32_t *index;
    uint64_t n, n_bytes; /* n_bytes: of one row */
};

void dlb_gap_gather(void *dest, const void *array, const uint32_t *index, uint64_t n_rows,
                    uint64_t row_bytes)
{
    uint8_t *to = dest;
    const uint8_t *from = array;

    for (uint64_t i = 0; i < n_rows; i++)
        memcpy(to + i * row_bytes, from + index[i] * row_bytes, row_bytes);
}

ALWAYS_INLINE const uint8_t *row_at(const struct rows *rows, uint64_t i)
{
    return rows->array + rows->index[i] * rows->n_bytes;
}

/* At most a page of a row: after that the hardware prefetcher follows by itself. */
ALWAYS_INLINE void prefetch_row(const struct rows *rows, uint64_t i)
{
    const uint8_t *row = row_at(rows, i);
    uint64_t n_bytes = rows->n_bytes < PAGE_BYTES ? rows->n_bytes : PAGE_BYTES;

    for (uint64_t at = 0; at < n_bytes; at += LINE_BYTES)
        __builtin_prefetch(row + at, 0, TO_SECOND_LEVEL);
    __builtin_prefetch(row + n_bytes - 1, 0, TO_SECOND_LEVEL); /* a row may begin inside a line */
}

/* When row i is copied: touches the pages of a row far ahead, whose translation may need a walk of
 * the page tables, and prefetches the lines of a nearer row, whose pages are translated by now. */
ALWAYS_INLINE void look_ahead(const struct rows *rows, uint64_t i)
{
    if (i + DLB_GAP_AHEAD_PAGE < rows->n) {
        const uint8_t *row = row_at(rows, i + DLB_GAP_AHEAD_PAGE);
        __builtin_prefetch(row, 0, TO_SECOND_LEVEL);
        __builtin_prefetch(row + rows->n_bytes - 1, 0, TO_SECOND_LEVEL);
    }
    if (i + DLB_GAP_AHEAD < rows->n)
        prefetch_row(rows, i + DLB_GAP_AHEAD);
}

ALWAYS_INLINE void prefetch_first(const struct rows *rows)
{
    for (uint64_t i = 0; i < rows->n && i < DLB_GAP_AHEAD; i++)
        prefetch_row(rows, i);
}

static void gather_rows(uint8_t *to, const struct rows *rows)
{
    prefetch_first(rows);
#ifdef __x86_64__
    if (rows->n_bytes % VECTOR_BYTES == 0 && (uintptr_t)to % VECTOR_BYTES == 0) {
        for (uint64_t i = 0; i < rows->n; i++, to += rows->n_bytes) {
            const uint8_t *from = row_at(rows, i);
            look_ahead(rows, i);
            for (uint64_t at = 0; at < rows->n_bytes; at += VECTOR_BYTES)
                _mm_stream_si128((__m128i *)(void *)(to + at),
                                 _mm_loadu_si128((const __m128i *)(const void *)(from + at)));
        }
        _mm_sfence(); /* the stores must be visible before the batch is announced */
        return;
    }
#endif
    for (uint64_t i = 0; i < rows->n; i++, to += rows->n_bytes) {
        look_ahead(rows, i);
        memcpy(to, row_at(rows, i), rows->n_bytes);
    }
}

#ifdef __x86_64__

/* Rows are staged in the first-level cache until whole lines can be stored. A store of less than a
 * line past the caches would occupy one of the few fill buffers, which reads need as well, until
 * the rest of its line arrives. Lines are stored once there are 2 KiB of them: on an AMD EPYC
 * (Zen 4) two threads take 12 to 14% less time than with 8 KiB, one thread as much. */
enum { STORE_BYTES = 2048, STAGE_BYTES = STORE_BYTES + PAGE_BYTES };

/* Rows of at least a line. The last load overlaps the one before it, which is in the cache; a
 * masked load past the row's end would fetch the next line. */
__attribute__((target("avx512f"))) static inline void copy_row(uint8_t *to, const uint8_t *from,
                                                               uint64_t n_bytes)
{
    uint64_t last = n_bytes - LINE_BYTES;

    for (uint64_t at = 0; at < last; at += LINE_BYTES)
        _mm512_storeu_si512(to + at, _mm512_loadu_si512(from + at));
    _mm512_storeu_si512(to + last, _mm512_loadu_si512(from + last));
}

/* Stores bytes [begin, end) of the stage. Byte 0 of the stage belongs at `to`, which is the start
 * of a line. */
__attribute__((target("avx512f"))) static void store_lines(uint8_t *to, const uint8_t *stage,
                                                           uint64_t begin, uint64_t end)
{
    uint64_t at = begin;

    if (begin > 0) { /* another thread fills the rest of this line */
        at = end < LINE_BYTES ? end : LINE_BYTES;
        memcpy(to + begin, stage + begin, at - begin);
    }
    for (; at + LINE_BYTES <= end; at += LINE_BYTES)
        _mm512_stream_si512((__m512i *)(void *)(to + at),
                            _mm512_load_si512((const void *)(stage + at)));
    memcpy(to + at, stage + at, end - at);
}

/* For rows of at least a line and at most a page. */
__attribute__((target("avx512f"))) static void gather_lines(uint8_t *to, const struct rows *rows)
{
    _Alignas(LINE_BYTES) uint8_t stage[STAGE_BYTES];
    uint64_t begin = (uintptr_t)to % LINE_BYTES, end = begin;

    to -= begin;
    prefetch_first(rows);
    for (uint64_t i = 0; i < rows->n; i++) {
        look_ahead(rows, i);
        if (end >= STORE_BYTES) {
            uint64_t whole = end / LINE_BYTES * LINE_BYTES;
            store_lines(to, stage, begin, whole);
            memcpy(stage, stage + whole, end - whole);
            to += whole;
            end -= whole;
            begin = 0;
        }
        copy_row(stage + end, row_at(rows, i), rows->n_bytes);
        end += rows->n_bytes;
    }
    store_lines(to, stage, begin, end);
    _mm_sfence(); /* the stores must be visible before the batch is announced */
}

void dlb_gap_gather_ahead(void *dest, const void *array, const uint32_t *index, uint64_t n_rows,
                          uint64_t row_bytes)
{
    struct rows rows = {array, index, n_rows, row_bytes};

    if (row_bytes >= LINE_BYTES && row_bytes <= PAGE_BYTES && __builtin_cpu_supports("avx512f"))
        gather_lines(dest, &rows);
    else
        gather_rows(dest, &rows);
}

#else

void dlb_gap_gather_ahead(void *dest, const void *array, const uint32_t *index, uint64_t n_rows,
                          uint64_t row_bytes)
{
    gather_rows(dest, &(struct rows){array, index, n_rows, row_bytes});
}

#endif
