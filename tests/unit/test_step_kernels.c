/* The kernels of the step, on the CPU (tests/support/cuda_on_cpu): what they read, write and
 * compute, and that they touch nothing beyond it. */
#include "loaders/device/cuda/step.h"
#include "loaders/device/cuda/step_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const uint32_t go = 0, stop = 1;

static struct dlb_cuda_work work_of(uint32_t n_blocks)
{
    return (struct dlb_cuda_work){.n_blocks = n_blocks, .stop = &go};
}

/* Memory of exactly this size, so that a sanitizer sees what is beyond it. */
static uint8_t *filled(size_t n_bytes, uint32_t seed)
{
    uint8_t *out = malloc(n_bytes ? n_bytes : 1);
    assert_non_null(out);
    for (size_t i = 0; i < n_bytes; i++)
        out[i] = (uint8_t)((i + seed) * 2654435761u >> 11);
    return out;
}

static void every_byte_is_read_once(void **state)
{
    static const size_t sizes[] = {0, 1, 7, 8, 15, 16, 17, 4099, 70000};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t n_blocks = 1; n_blocks <= 3; n_blocks += 2) {
            struct dlb_cuda_work work = work_of(n_blocks);
            uint8_t *data = filled(sizes[i], n_blocks);
            unsigned long long sum = 5;
            assert_int_equal(dlb_cuda_read(&work, data, sizes[i], &sum), 0);
            assert_int_equal(sum - 5, dlb_step_sum(data, sizes[i]));
            free(data);
        }
}

static void blocks_say_where_they_ran(void **state)
{
    enum { BLOCKS = 3 };
    uint32_t where[BLOCKS + 1] = {9, 9, 9, 9};
    struct dlb_cuda_work work = work_of(BLOCKS);
    float sink = 1;
    (void)state;
    work.sm_of_block = where;
    assert_int_equal(dlb_cuda_fma(&work, 3, &sink), 0);
    assert_true(sink >= 1 && sink <= 1); /* only a sum that does not occur is written */
    for (int i = 0; i < BLOCKS; i++)
        assert_int_equal(where[i], 0); /* the CPU has none */
    assert_int_equal(where[BLOCKS], 9);
}

/* Block b copies chunks first + b, first + b + blocks, ... around the first half. */
static void chunks_are_copied_in_turns(void **state)
{
    enum { CHUNKS = 5, BLOCKS = 2 };
    size_t half = CHUNKS * DLB_CUDA_CHUNK_BYTES;
    (void)state;
    for (uint64_t n_iters = 0; n_iters <= 9; n_iters += n_iters < 2 ? 1 : 7)
        for (uint64_t first = 0; first < CHUNKS; first += 4) {
            struct dlb_cuda_work work = work_of(BLOCKS);
            uint8_t *scratch = filled(2 * half, 3), *want = filled(2 * half, 3);
            for (uint64_t b = 0; b < BLOCKS; b++)
                for (uint64_t i = 0; i < n_iters; i++) {
                    uint64_t at = (first + b + i * BLOCKS) % CHUNKS * DLB_CUDA_CHUNK_BYTES;
                    memcpy(want + half + at, want + at, DLB_CUDA_CHUNK_BYTES);
                }
            assert_int_equal(dlb_cuda_memory(&work, n_iters, scratch, CHUNKS, first), 0);
            assert_memory_equal(scratch, want, 2 * half);
            free(scratch);
            free(want);
        }
}

static void samples_are_made_as_on_the_host(void **state)
{
    const struct dlb_augment kinds[] = {
        dlb_augment_image(9, 8),
        dlb_augment_image(40, 33),
        dlb_augment_widen(DLB_ELEMENT_U8, 33),
        dlb_augment_widen(DLB_ELEMENT_I8, 2),
        dlb_augment_widen(DLB_ELEMENT_U16, 1026),
        dlb_augment_widen(DLB_ELEMENT_I16, 1025),
        dlb_augment_widen(DLB_ELEMENT_I32, 1024),
        dlb_augment_widen(DLB_ELEMENT_U32, 5),
        dlb_augment_widen(DLB_ELEMENT_I64, 3),
    };
    enum { SAMPLES = 5 };
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const struct dlb_augment *how = &kinds[k];
        struct dlb_cuda_work work = work_of(2);
        uint8_t *in = filled(SAMPLES * how->in_bytes, 1);
        uint8_t *out = filled(SAMPLES * how->out_bytes, 2), *want = filled(how->out_bytes, 3);
        for (uint32_t i = 0; how->kind == DLB_AUGMENT_IMAGE && i < SAMPLES; i++) {
            struct dlb_augment_place place = {(uint16_t)(i % 2), (uint16_t)(i / 2 % 2), i % 3 == 0};
            memcpy(in + i * how->in_bytes + how->place_at, &place, sizeof place);
        }
        assert_int_equal(dlb_cuda_augment(&work, how, in, SAMPLES, out), 0);
        for (uint32_t i = 0; i < SAMPLES; i++) {
            dlb_augment_run(how, in + i * how->in_bytes, want);
            assert_memory_equal(out + i * how->out_bytes, want, how->out_bytes);
        }
        free(in);
        free(out);
        free(want);
    }
}

static void a_step_that_is_ended_does_nothing(void **state)
{
    struct dlb_augment how = dlb_augment_widen(DLB_ELEMENT_U16, 3);
    struct dlb_cuda_work work = work_of(1);
    uint8_t *data = filled(64, 1), *out = filled(64, 2), *want = filled(64, 2);
    unsigned long long sum = 7;
    float sink = 1;
    (void)state;
    work.stop = &stop;
    assert_int_equal(dlb_cuda_read(&work, data, 64, &sum), 0);
    assert_int_equal(sum, 7);
    assert_int_equal(dlb_cuda_fma(&work, UINT64_MAX, &sink), 0);
    assert_int_equal(dlb_cuda_memory(&work, UINT64_MAX, data, 1, 0), 0);
    assert_int_equal(dlb_cuda_augment(&work, &how, data, 1, out), 0);
    assert_memory_equal(out, want, 64);
    free(data);
    free(out);
    free(want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_is_read_once),
        cmocka_unit_test(blocks_say_where_they_ran),
        cmocka_unit_test(chunks_are_copied_in_turns),
        cmocka_unit_test(samples_are_made_as_on_the_host),
        cmocka_unit_test(a_step_that_is_ended_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
