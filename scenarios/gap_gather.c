#include "scenarios/gap_gather.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { LINE_BYTES = 64, VECTOR_BYTES = 16 };

void dlb_gap_gather(void *dest, const void *array, const uint32_t *index, uint64_t n_rows,
                    uint64_t row_bytes)
{
    uint8_t *to = dest;
    const uint8_t *from = array;

    for (uint64_t i = 0; i < n_rows; i++)
        memcpy(to + i * row_bytes, from + index[i] * row_bytes, row_bytes);
}

static inline void ask_for(const uint8_t *row, uint64_t row_bytes)
{
    for (uint64_t at = 0; at < row_bytes; at += LINE_BYTES)
        __builtin_prefetch(row + at, 0, 0);
    __builtin_prefetch(row + row_bytes - 1, 0, 0); /* a row may begin within a line */
}

#ifdef __SSE2__
static inline void copy_past(uint8_t *to, const uint8_t *from, uint64_t n_bytes)
{
    for (uint64_t at = 0; at < n_bytes; at += VECTOR_BYTES)
        _mm_stream_si128((__m128i *)(void *)(to + at),
                         _mm_loadu_si128((const __m128i *)(const void *)(from + at)));
}
#endif

void dlb_gap_gather_ahead(void *dest, const void *array, const uint32_t *index, uint64_t n_rows,
                          uint64_t row_bytes)
{
    uint8_t *to = dest;
    const uint8_t *from = array;
    uint64_t first = n_rows < DLB_GAP_AHEAD ? n_rows : DLB_GAP_AHEAD;

    for (uint64_t i = 0; i < first; i++)
        ask_for(from + index[i] * row_bytes, row_bytes);
#ifdef __SSE2__
    if (row_bytes % VECTOR_BYTES == 0 && (uintptr_t)to % VECTOR_BYTES == 0) {
        for (uint64_t i = 0; i < n_rows; i++) {
            if (i + DLB_GAP_AHEAD < n_rows)
                ask_for(from + index[i + DLB_GAP_AHEAD] * row_bytes, row_bytes);
            copy_past(to + i * row_bytes, from + index[i] * row_bytes, row_bytes);
        }
        _mm_sfence(); /* before anybody is told that the rows are there */
        return;
    }
#endif
    for (uint64_t i = 0; i < n_rows; i++) {
        if (i + DLB_GAP_AHEAD < n_rows)
            ask_for(from + index[i + DLB_GAP_AHEAD] * row_bytes, row_bytes);
        memcpy(to + i * row_bytes, from + index[i] * row_bytes, row_bytes);
    }
}
