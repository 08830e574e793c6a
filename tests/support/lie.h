/* What a process tells, changed on its way: a child that lies, as one that a hostile file has taken
 * over may do. For tests that are linked with --wrap=dlb_pass. Header-only. */
#ifndef DLB_TESTS_LIE_H
#define DLB_TESTS_LIE_H

#include "core/base/apart.h"
#include "tests/support/dataset.h"
#include "tests/support/folder.h"

#include <stdlib.h>
#include <string.h>

enum { N = 100, EACH = 40 }; /* samples, and their bytes */

/* A figure at a place in what is told; with more bytes than a figure has, its lowest byte fills
 * them. */
struct lie {
    size_t n_told; /* bytes of what it is in; 0: the truth */
    size_t at;
    uint64_t figure;
    size_t n_bytes;
};

#define LARGER_THAN_AN_ERROR SIZE_MAX

#define LIE(type, member, value)                                                                   \
    {                                                                                              \
        sizeof(type), offsetof(type, member), (value), sizeof(((type *)0)->member)                 \
    }

static inline void tell(void *told, const struct lie *lie)
{
    if (lie->n_bytes > sizeof lie->figure)
        memset((uint8_t *)told + lie->at, (int)(lie->figure & 0xff), lie->n_bytes);
    else
        memcpy((uint8_t *)told + lie->at, &lie->figure, lie->n_bytes);
}

static struct lie now;

bool __real_dlb_pass(struct dlb_pipe *pipe, void *data, size_t n_bytes);
bool __wrap_dlb_pass(struct dlb_pipe *pipe, void *data, size_t n_bytes);
bool __wrap_dlb_pass(struct dlb_pipe *pipe, void *data, size_t n_bytes)
{
    uint8_t *told = NULL;
    bool larger = now.n_told == LARGER_THAN_AN_ERROR && n_bytes > sizeof(struct dlb_err);
    if (!pipe->tells || (n_bytes != now.n_told && !larger))
        return __real_dlb_pass(pipe, data, n_bytes);
    told = malloc(n_bytes);
    assert_non_null(told);
    memcpy(told, data, n_bytes);
    tell(told, &now);
    bool passed = __real_dlb_pass(pipe, told, n_bytes);
    free(told);
    return passed;
}

static inline void make(const char *format, const char *codec)
{
    struct generation g;
    if (!is_built(format, codec))
        skip();
    now = (struct lie){.n_told = 0};
    generation_set(&g, format, codec, folder_path("g"), N, EACH);
    assert_int_equal(generation_run(&g, 1), DLB_OK);
}

static const struct lie of_an_error[] = {
    LIE(struct dlb_err, status, DLB_E_CANCELLED + 1),
    LIE(struct dlb_err, status, UINT32_MAX),
    LIE(struct dlb_err, code, DLB_N_CODES),
    LIE(struct dlb_err, code, UINT32_MAX),
    LIE(struct dlb_err, path, 'x'),
    LIE(struct dlb_err, what, 'x'),
};

#endif
