#include "scenarios/gap/rungs/gather.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { LINE_BYTES = 64, VECTOR_BYTES = 16, PAGE_BYTES = 4096 };
/* __builtin_prefetch's locality for prefetcht1: the first level has room for a dozen lines that are
 * under way, two rows; the second for some four times as many. */
enum { TO_SECOND_LEVEL = 2 };
/* gcc 12 takes a function that does nothing but ask for memory for one without effect, and leaves
 * its calls out, unless it is inlined before it is looked at. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

struct rows {
    const uint8_t *array;
    const uint32_t *index;
    uint64_t n, n_bytes; /* of one */
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

/* Of a long row a page: what follows is in order, and the processor sees it coming. */
ALWAYS_INLINE void ask_for(const struct rows *rows, uint64_t i)
{
    const uint8_t *row = row_at(rows, i);
    uint64_t n_bytes = rows->n_bytes < PAGE_BYTES ? rows->n_bytes : PAGE_BYTES;

    for (uint64_t at = 0; at < n_bytes; at += LINE_BYTES)
        __builtin_prefetch(row + at, 0, TO_SECOND_LEVEL);
    __builtin_prefetch(row + n_bytes - 1, 0, TO_SECOND_LEVEL); /* it may begin within a line */
}

/* On taking row i: the pages of one far ahead, whose addresses take a walk through the page tables,
 * and the lines of one whose pages are known by now. */
ALWAYS_INLINE void look_ahead(const struct rows *rows, uint64_t i)
{
    if (i + DLB_GAP_AHEAD_PAGE < rows->n) {
        const uint8_t *row = row_at(rows, i + DLB_GAP_AHEAD_PAGE);
        __builtin_prefetch(row, 0, TO_SECOND_LEVEL);
        __builtin_prefetch(row + rows->n_bytes - 1, 0, TO_SECOND_LEVEL);
    }
    if (i + DLB_GAP_AHEAD < rows->n)
        ask_for(rows, i + DLB_GAP_AHEAD);
}

ALWAYS_INLINE void ask_for_first(const struct rows *rows)
{
    for (uint64_t i = 0; i < rows->n && i < DLB_GAP_AHEAD; i++)
        ask_for(rows, i);
}

static void gather_rows(uint8_t *to, const struct rows *rows)
{
    ask_for_first(rows);
#ifdef __x86_64__
    if (rows->n_bytes % VECTOR_BYTES == 0 && (uintptr_t)to % VECTOR_BYTES == 0) {
        for (uint64_t i = 0; i < rows->n; i++, to += rows->n_bytes) {
            const uint8_t *from = row_at(rows, i);
            look_ahead(rows, i);
            for (uint64_t at = 0; at < rows->n_bytes; at += VECTOR_BYTES)
                _mm_stream_si128((__m128i *)(void *)(to + at),
                                 _mm_loadu_si128((const __m128i *)(const void *)(from + at)));
        }
        _mm_sfence(); /* before anybody is told that the rows are there */
        return;
    }
#endif
    for (uint64_t i = 0; i < rows->n; i++, to += rows->n_bytes) {
        look_ahead(rows, i);
        memcpy(to, row_at(rows, i), rows->n_bytes);
    }
}

void dlb_gap_gather_by_rows(void *dest, const void *array, const uint32_t *index, uint64_t n_rows,
                            uint64_t row_bytes)
{
    gather_rows(dest, &(struct rows){array, index, n_rows, row_bytes});
}

#ifdef __x86_64__

/* What is gathered waits in the first-level cache until it is stored a whole line at a time: a
 * store of less than a line past the caches keeps one of the few buffers that reading needs as well
 * until the rest of its line comes. */
enum { STAGE_BYTES = 8192 };

/* A line at least. What the last one has twice is in the cache; what follows the row, which a mask
 * would leave out, would be fetched. */
__attribute__((target("avx512f"))) static inline void copy_row(uint8_t *to, const uint8_t *from,
                                                               uint64_t n_bytes)
{
    uint64_t last = n_bytes - LINE_BYTES;

    for (uint64_t at = 0; at < last; at += LINE_BYTES)
        _mm512_storeu_si512(to + at, _mm512_loadu_si512(from + at));
    _mm512_storeu_si512(to + last, _mm512_loadu_si512(from + last));
}

/* Bytes [begin, end) of a stage to where they belong; its byte 0 does to `to`, where a line begins.
 */
__attribute__((target("avx512f"))) static void store_lines(uint8_t *to, const uint8_t *stage,
                                                           uint64_t begin, uint64_t end)
{
    uint64_t at = begin;

    if (begin > 0) { /* the line is another's, too */
        at = end < LINE_BYTES ? end : LINE_BYTES;
        memcpy(to + begin, stage + begin, at - begin);
    }
    for (; at + LINE_BYTES <= end; at += LINE_BYTES)
        _mm512_stream_si512((__m512i *)(void *)(to + at),
                            _mm512_load_si512((const void *)(stage + at)));
    memcpy(to + at, stage + at, end - at);
}

/* For rows of a line to a page. */
__attribute__((target("avx512f"))) static void gather_lines(uint8_t *to, const struct rows *rows)
{
    _Alignas(LINE_BYTES) uint8_t stage[STAGE_BYTES];
    uint64_t begin = (uintptr_t)to % LINE_BYTES, end = begin;

    to -= begin;
    ask_for_first(rows);
    for (uint64_t i = 0; i < rows->n; i++) {
        look_ahead(rows, i);
        if (end + rows->n_bytes > STAGE_BYTES) {
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
    _mm_sfence(); /* before anybody is told that the rows are there */
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
    dlb_gap_gather_by_rows(dest, array, index, n_rows, row_bytes);
}

#endif
