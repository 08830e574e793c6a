/* Pages, faults and rows: the cost of a batch's memory is counted correctly, and rows are gathered.
 */
#include "core/base/rng.h"
#include "core/host/osacct.h"
#include "scenarios/gap/rungs/array.h"
#include "scenarios/gap/rungs/gather.h"
#include "scenarios/gap/rungs/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { N_BYTES = 16 << 20 };

static uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t faults_of_writing(const struct dlb_gap_memory *memory)
{
    uint64_t before = dlb_os_self_minor_faults();
    memset(memory->addr, 1, memory->n_bytes);
    return dlb_os_self_minor_faults() - before;
}

static void a_fresh_small_page_is_one_fault(void **state)
{
    struct dlb_gap_memory memory;
    struct dlb_err err;
    const uint64_t pages = N_BYTES / page_bytes();
    (void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    skip(); /* the sanitizer's shadow memory faults, too */
#endif

    for (int sharing = DLB_GAP_PRIVATE; sharing <= DLB_GAP_SHARED; sharing++) {
        assert_int_equal(
            dlb_gap_map(&memory, N_BYTES, (enum dlb_gap_sharing)sharing, DLB_GAP_PAGES_SMALL, &err),
            DLB_OK);
        uint64_t faults = faults_of_writing(&memory);
        assert_in_range(faults, pages - pages / 50, pages + pages / 50);
        assert_true(faults_of_writing(&memory) <= pages / 50); /* they are mapped now */
        assert_false(dlb_gap_huge_frac(&memory) > 0);
        dlb_gap_unmap(&memory);
    }
}

static void a_pool_has_its_faults_beforehand(void **state)
{
    struct dlb_gap_memory memory;
    struct dlb_err err;
    (void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    skip(); /* the sanitizer's shadow memory faults, too */
#endif

    assert_int_equal(dlb_gap_map(&memory, N_BYTES, DLB_GAP_PRIVATE, DLB_GAP_PAGES_SMALL, &err),
                     DLB_OK);
    assert_int_equal(dlb_gap_populate(&memory, NULL, &err), DLB_OK);
    assert_true(faults_of_writing(&memory) <= N_BYTES / page_bytes() / 50);
    dlb_gap_unmap(&memory);
}

/* If the kernel gives huge pages, smaps and the number of faults agree. */
static void huge_pages_are_told(void **state)
{
    struct dlb_gap_memory memory;
    struct dlb_err err;
    const uint64_t pages = N_BYTES / page_bytes();
    (void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    skip(); /* the sanitizer's shadow memory faults, too */
#endif

    assert_int_equal(dlb_gap_map(&memory, N_BYTES, DLB_GAP_PRIVATE, DLB_GAP_PAGES_HUGE, &err),
                     DLB_OK);
    assert_int_equal((uintptr_t)memory.addr % (2 << 20), 0);
    uint64_t faults = faults_of_writing(&memory);
    double frac = dlb_gap_huge_frac(&memory);
    if (frac > 0.99)
        assert_true(faults < pages / 50);
    else if (frac == 0.0)
        assert_true(faults >= pages - pages / 50);
    dlb_gap_unmap(&memory);
}

static void shared_memory_goes_by_descriptor(void **state)
{
    struct dlb_gap_memory ours, theirs;
    struct dlb_err err;
    int fd, status;
    (void)state;

    assert_int_equal(dlb_gap_share_new(N_BYTES, &fd, &err), DLB_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int rc = dlb_gap_share_map(&theirs, fd, N_BYTES, DLB_GAP_PAGES_SMALL, &err);
        if (rc == DLB_OK)
            memset(theirs.addr, 42, N_BYTES);
        _exit(rc);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(dlb_gap_share_map(&ours, fd, N_BYTES, DLB_GAP_PAGES_SMALL, &err), DLB_OK);
    (void)close(fd);
    assert_int_equal(ours.addr[0], 42);
    assert_int_equal(ours.addr[N_BYTES - 1], 42);
    dlb_gap_unmap(&ours);
}

static void a_fault_has_a_price(void **state)
{
    struct dlb_gap_fault_cost cost;
    struct dlb_err err;
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* the sanitizer's shadow memory faults, too */
#endif

    for (int sharing = DLB_GAP_PRIVATE; sharing <= DLB_GAP_SHARED; sharing++) {
        assert_int_equal(dlb_gap_fault_cost(&cost, (enum dlb_gap_sharing)sharing,
                                            DLB_GAP_PAGES_SMALL, N_BYTES, &err),
                         DLB_OK);
        assert_int_equal(cost.page_bytes, page_bytes());
        assert_true(cost.ns > 10 && cost.ns < 1e6);
    }
}

static void gathers_do_what_a_loop_does(void **state)
{
    static const uint32_t row_bytes[] = {1,  4,   12,  16,   60,   63,   64,   65,  80,
                                         96, 400, 404, 4095, 4096, 4097, 8200, 8208};
    static void (*const ways[])(void *dest, const void *array, const uint32_t *index,
                                uint64_t n_rows,
                                uint64_t row_bytes) = {dlb_gap_gather, dlb_gap_gather_ahead};
    static const size_t shifts[] = {0, 1, 16, 48,
                                    63}; /* of the destination from an aligned place */
    enum { N_ROWS = 500, N_PICKED = 333, AROUND = 64 };
    (void)state;

    for (size_t r = 0; r < sizeof row_bytes / sizeof *row_bytes; r++) {
        size_t n = row_bytes[r], n_all = (N_PICKED * n + 3 * AROUND) / 64 * 64;
        uint8_t *array = malloc(N_ROWS * n), *want = malloc(n_all);
        uint8_t *got = aligned_alloc(64, n_all);
        uint32_t index[N_PICKED];
        struct dlb_rng rng = dlb_rng_seed(1, n, 0);
        assert_true(array && want && got);
        for (size_t i = 0; i < N_ROWS * n; i++)
            array[i] = (uint8_t)dlb_rng_u64(&rng);
        for (uint32_t i = 0; i < N_PICKED; i++)
            index[i] = i < 2 ? i * (N_ROWS - 1) : (uint32_t)dlb_rng_below(&rng, N_ROWS);
        for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
            for (size_t s = 0; s < sizeof shifts / sizeof *shifts; s++)
                for (uint64_t n_first = 0; n_first <= N_PICKED; n_first = n_first * 5 + 1) {
                    /* Two pieces that meet inside a line, as of two threads: the second one first.
                     */
                    uint8_t *to = got + AROUND + shifts[s];
                    memset(got, 0xee, n_all);
                    memset(want, 0xee, n_all);
                    for (uint32_t i = 0; i < N_PICKED; i++)
                        memcpy(want + AROUND + shifts[s] + i * n, array + index[i] * n, n);
                    ways[way](to + n_first * n, array, index + n_first, N_PICKED - n_first, n);
                    ways[way](to, array, index, n_first, n);
                    assert_memory_equal(got, want, n_all);
                }
        free(array);
        free(want);
        free(got);
    }
#ifdef __x86_64__
    if (!__builtin_cpu_supports("avx512f")) {
        print_message("no AVX-512 here: whole lines were not tested\n");
        skip();
    }
#endif
}

static void checksum_is_free_of_order(void **state)
{
    enum { N_ROWS = 64, N_FEATURES = 7 };
    uint32_t rows[N_ROWS][N_FEATURES], turned[N_ROWS][N_FEATURES];
    struct dlb_rng rng = dlb_rng_seed(2, 0, 0);
    uint64_t by_definition = 0;
    (void)state;

    for (int i = 0; i < N_ROWS; i++)
        for (int j = 0; j < N_FEATURES; j++)
            rows[i][j] = (uint32_t)dlb_rng_u64(&rng);
    for (int i = 0; i < N_ROWS; i++) {
        memcpy(turned[i], rows[N_ROWS - 1 - i], sizeof rows[i]);
        uint64_t sum = DLB_GOLDEN;
        for (uint64_t j = 0; j < N_FEATURES; j++)
            sum += rows[i][j] * (dlb_mix64(j + 1) | 1);
        by_definition += dlb_mix64(sum);
    }
    uint64_t all = dlb_gap_checksum(rows, N_ROWS, N_FEATURES);
    assert_int_equal(all, by_definition);
    assert_int_equal(all, dlb_gap_checksum(turned, N_ROWS, N_FEATURES));
    assert_int_equal(all, dlb_gap_checksum(rows, 10, N_FEATURES) +
                              dlb_gap_checksum(rows + 10, N_ROWS - 10, N_FEATURES));
    uint32_t kept = rows[3][2];
    rows[3][2] = rows[3][4]; /* the same numbers in another column are another row */
    rows[3][4] = kept;
    assert_int_not_equal(all, dlb_gap_checksum(rows, N_ROWS, N_FEATURES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fresh_small_page_is_one_fault),
        cmocka_unit_test(a_pool_has_its_faults_beforehand),
        cmocka_unit_test(huge_pages_are_told),
        cmocka_unit_test(shared_memory_goes_by_descriptor),
        cmocka_unit_test(a_fault_has_a_price),
        cmocka_unit_test(gathers_do_what_a_loop_does),
        cmocka_unit_test(checksum_is_free_of_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
