/* One sample through a codec, and files of the fuzzers' corpora as samples. Header-only. */
#ifndef DLB_TESTS_ONE_SAMPLE_H
#define DLB_TESTS_ONE_SAMPLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/io.h"
#include "formats/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct dlb_err err; /* of what was called last */

/* A file of tests/fuzz/corpus; malloced. */
static inline uint8_t *corpus_load(const char *folder, const char *name, size_t *n_bytes)
{
    const char *root = getenv("DLB_SOURCE_DIR");
    char path[1024], *text;

    (void)snprintf(path, sizeof path, "%s/tests/fuzz/corpus/%s/%s", root ? root : ".", folder,
                   name);
    if (dlb_read_file(path, 1 << 20, &text, n_bytes, &err) != DLB_OK)
        fail_msg("%s: %s", err.path, err.what);
    return (uint8_t *)text;
}

/* What is done with a sample that was decoded; its status is the whole's. */
typedef int one_sample_fn(const struct dlb_codec *codec, void *state);

/* Decodes it, `draw` being its number, and does `then` unless that is NULL. An error has to say
 * where the sample lies. */
static inline int one_sample(const char *codec_name, const struct dlb_transform_opts *opts,
                             const char *field, const uint8_t *data, size_t n_bytes, uint64_t draw,
                             one_sample_fn *then)
{
    const struct dlb_codec *codec = dlb_codec_by_name(codec_name);
    size_t n_state = (codec->state_bytes + 63) & ~(size_t)63;
    void *state = aligned_alloc(64, n_state);
    struct dlb_sample sample = {.n_fields = 1, .path = "the/file", .offset_bytes = 77};

    assert_non_null(state);
    memset(state, 0, n_state);
    sample.field[0] = (struct dlb_field){.data = data, .len_bytes = n_bytes, .name = field};
    err = (struct dlb_err){0};
    assert_int_equal(codec->open(state, opts, &err), DLB_OK);
    int rc = codec->decode(state, &sample, dlb_rng_seed(1, 2, draw), &err);
    if (rc != DLB_OK) {
        assert_string_equal(err.path, "the/file");
        assert_int_equal(err.offset_bytes, 77);
    } else if (then) {
        rc = then(codec, state);
    }
    codec->close(state);
    free(state);
    return rc;
}

/* That `rc` refuses the data of a file of this name, for that reason. */
static inline void assert_refused(int rc, const char *name, enum dlb_code code)
{
    assert_int_equal(rc, DLB_E_FORMAT);
    if (err.code != code)
        fail_msg("%s: %s instead of %s: %s", name, dlb_code_name(err.code), dlb_code_name(code),
                 err.what);
}

#endif
