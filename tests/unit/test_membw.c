/* core/host/membw: no figure of a part of the threads, and none at the cost of the machine's
 * memory. */
#include "core/base/json.h"
#include "core/host/membw.h"
#include "core/host/osacct.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)
enum { BUFFER_BYTES = 32 << 20, N_NONE = 1000 };

static uint64_t available_bytes;
static int n_threads_left;
static _Atomic int n_buffers_left;

uint64_t __wrap_dlb_os_mem_available_bytes(void);
int __real_pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*run)(void *),
                          void *ctx);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*run)(void *),
                          void *ctx);
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

uint64_t __wrap_dlb_os_mem_available_bytes(void)
{
    return available_bytes;
}

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*run)(void *),
                          void *ctx)
{
    return n_threads_left-- > 0 ? __real_pthread_create(id, attr, run, ctx) : EAGAIN;
}

void *__wrap_malloc(size_t n)
{
    return n < BUFFER_BYTES || atomic_fetch_sub(&n_buffers_left, 1) > 0 ? __real_malloc(n) : NULL;
}

static double measured(uint64_t available, int n_threads, int n_buffers)
{
    available_bytes = available;
    n_threads_left = n_threads;
    n_buffers_left = n_buffers;
    return dlb_memory_bytes_per_s(2);
}

static void test_all_or_nothing(void **state)
{
    (void)state;
    assert_true(measured(GIB, N_NONE, N_NONE) > 0);
    assert_true(measured(DLB_NOT_MEASURED, N_NONE, N_NONE) > 0);
    for (int n = 0; n < 2; n++)
        assert_true(isnan(measured(GIB, n, N_NONE)));
    for (int n = 0; n < 4; n++)
        assert_true(isnan(measured(GIB, N_NONE, n)));
}

static void test_memory_is_left(void **state)
{
    (void)state;
    uint64_t needed = 4 * UINT64_C(4) * BUFFER_BYTES; /* a quarter is taken */
    assert_true(isnan(measured(needed - 4, N_NONE, N_NONE)));
    assert_int_equal(n_threads_left, N_NONE);
    assert_true(measured(needed, N_NONE, N_NONE) > 0);
    assert_int_equal(N_NONE - n_buffers_left, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_or_nothing),
        cmocka_unit_test(test_memory_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
