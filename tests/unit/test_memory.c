/* Arena and shared memory. */
#include "core/base/arena.h"
#include "core/base/shm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void arena_hands_out_disjoint_aligned_memory(void **state)
{
    struct dlb_arena arena = {0};
    unsigned char *parts[200];

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 200; i++) {
            parts[i] = dlb_arena_alloc(&arena, 1 + i * 37);
            assert_non_null(parts[i]);
            assert_int_equal((uintptr_t)parts[i] % 64, 0);
            memset(parts[i], (int)i, 1 + i * 37);
        }
        for (size_t i = 0; i < 200; i++)
            for (size_t k = 0; k < 1 + i * 37; k++)
                if (parts[i][k] != (unsigned char)i)
                    fail_msg("part %zu was overwritten at %zu", i, k);
        assert_true(arena.used_bytes >= 200 + 37 * 199 * 100);
        dlb_arena_reset(&arena);
        assert_int_equal(arena.used_bytes, 0);
    }
    dlb_arena_free(&arena);
}

/* From the second round on the same need is met from one block: the same addresses come back. */
static void arena_reuses_its_block(void **state)
{
    struct dlb_arena arena = {0};
    void *first[3][8];

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 8; i++)
            first[round][i] = dlb_arena_alloc(&arena, 100000);
        dlb_arena_reset(&arena);
    }
    assert_memory_equal(first[1], first[2], sizeof first[1]);
    dlb_arena_free(&arena);
}

static void arena_survives_greed(void **state)
{
    struct dlb_arena arena = {0};

    (void)state;
    assert_null(dlb_arena_alloc(&arena, SIZE_MAX - 100));
    assert_non_null(dlb_arena_alloc(&arena, 0));
    assert_non_null(dlb_arena_alloc(&arena, 10));
    dlb_arena_free(&arena);
    dlb_arena_free(&arena); /* an empty one */
}

static void shm_is_zeroed_and_shared(void **state)
{
    struct dlb_shm shm;
    struct dlb_err err;
    int status;

    (void)state;
    assert_int_equal(dlb_shm_create(&shm, 3 * 4096 + 1, true, &err), DLB_OK);
    assert_true(shm.n_bytes >= 3 * 4096 + 1);
    unsigned char *bytes = shm.addr;
    for (size_t i = 0; i < shm.n_bytes; i++)
        assert_int_equal(bytes[i], 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bytes[3 * 4096] = 42;
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(bytes[3 * 4096], 42);
    dlb_shm_free(&shm);
}

static void private_shm_is_writable(void **state)
{
    struct dlb_shm shm;
    struct dlb_err err;

    (void)state;
    assert_int_equal(dlb_shm_create(&shm, 8 << 20, false, &err), DLB_OK);
    assert_int_equal((uintptr_t)shm.addr % 4096, 0);
    memset(shm.addr, 1, shm.n_bytes);
    dlb_shm_free(&shm);
}

static void too_much_shm_is_an_error(void **state)
{
    struct dlb_shm shm;
    struct dlb_err err = {0};

    (void)state;
    assert_int_not_equal(dlb_shm_create(&shm, SIZE_MAX / 2, true, &err), DLB_OK);
    assert_true(strlen(err.what) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_hands_out_disjoint_aligned_memory),
        cmocka_unit_test(arena_reuses_its_block),
        cmocka_unit_test(arena_survives_greed),
        cmocka_unit_test(shm_is_zeroed_and_shared),
        cmocka_unit_test(private_shm_is_writable),
        cmocka_unit_test(too_much_shm_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
