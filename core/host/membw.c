#include "core/host/membw.h"

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/host/osacct.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Four times one core's share of the last-level cache on most machines. */
#define BUFFER_BYTES ((size_t)32 << 20)
#define RUN_NS (100 * DLB_NS_PER_MS)
enum { MAX_THREADS = 256, MEMORY_SHARE = 4 }; /* a quarter of what is available, at most */

struct copier {
    pthread_t id;
    const atomic_bool *stop;
    uint64_t n_bytes;
    double bytes_per_s;
};

static void *copy(void *arg)
{
    struct copier *c = arg;
    char *from = malloc(BUFFER_BYTES), *to = malloc(BUFFER_BYTES);

    if (from && to) {
        memset(from, 1, BUFFER_BYTES); /* page faults are taken before the timed copies */
        memset(to, 2, BUFFER_BYTES);
        uint64_t start_ns = dlb_now_ns();
        do {
            memcpy(to, from, BUFFER_BYTES);
            __asm__ volatile(""
                             :
                             : "r"(to)
                             : "memory"); /* keeps the compiler from dropping the copy */
            c->n_bytes += BUFFER_BYTES;
        } while (!atomic_load_explicit(c->stop, memory_order_relaxed));
        c->bytes_per_s = (double)c->n_bytes * 1e9 / (double)(dlb_now_ns() - start_ns);
    }
    free(from);
    free(to);
    return NULL;
}

static bool memory_is_short(uint32_t n_threads)
{
    uint64_t available = dlb_os_mem_available_bytes();
    return available != DLB_NOT_MEASURED &&
           available / MEMORY_SHARE < (uint64_t)n_threads * 2 * BUFFER_BYTES;
}

double dlb_memory_bytes_per_s(uint32_t n_threads)
{
    uint32_t n = n_threads < MAX_THREADS ? n_threads : MAX_THREADS, n_started = 0;
    struct copier *copiers = memory_is_short(n) ? NULL : calloc(n ? n : 1, sizeof(*copiers));
    atomic_bool stop = false;
    bool all = copiers && n > 0;
    double sum = 0;

    while (copiers && n_started < n) {
        copiers[n_started].stop = &stop;
        if (pthread_create(&copiers[n_started].id, NULL, copy, &copiers[n_started]) != 0)
            break;
        n_started++;
    }
    all = all && n_started == n;
    if (all)
        (void)dlb_sleep_until_ns(dlb_now_ns() + RUN_NS);
    atomic_store(&stop, true);
    for (uint32_t i = 0; i < n_started; i++) {
        (void)pthread_join(copiers[i].id, NULL);
        all = all && copiers[i].bytes_per_s > 0;
        sum += copiers[i].bytes_per_s;
    }
    free(copiers);
    return all ? sum : (double)NAN;
}
