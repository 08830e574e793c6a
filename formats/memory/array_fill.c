#include "formats/memory/array_fill.h"

#include "core/base/rng.h"

#include <pthread.h>
#include <sched.h>

enum { MAX_THREADS = 64, ROWS_A_TURN_BYTES = 8 << 20 };

static void fill_row(float *at, uint64_t row, uint64_t n_columns, uint64_t seed)
{
    struct dlb_rng rng = dlb_rng_seed(seed, row, UINT64_C(0x6d656d)); /* "mem" */

    for (uint64_t i = 0; i < n_columns; i += 2) {
        uint64_t drawn = dlb_rng_u64(&rng);
        at[i] = (float)((int32_t)(drawn >> 40) - (1 << 23)) * 0x1p-23F;
        if (i + 1 < n_columns)
            at[i + 1] = (float)((int32_t)(drawn & 0xffffff) - (1 << 23)) * 0x1p-23F;
    }
}

void dlb_array_fill_rows(float *data, uint64_t first_row, uint64_t n_rows, uint64_t n_columns,
                         uint64_t seed)
{
    for (uint64_t i = 0; i < n_rows; i++)
        fill_row(data + i * n_columns, first_row + i, n_columns, seed);
}

struct filling {
    float *data;
    uint64_t n_rows, n_columns, seed, rows_a_turn;
    const atomic_bool *cancel;
    _Atomic uint64_t next;
};

static void *fill_main(void *arg)
{
    struct filling *f = arg;

    while (!f->cancel || !atomic_load(f->cancel)) {
        uint64_t row = atomic_fetch_add(&f->next, f->rows_a_turn);
        if (row >= f->n_rows)
            break;
        uint64_t left = f->n_rows - row;
        dlb_array_fill_rows(f->data + row * f->n_columns, row,
                            left < f->rows_a_turn ? left : f->rows_a_turn, f->n_columns, f->seed);
    }
    return NULL;
}

/* The calling thread is one of them. When threads cannot start, the others do their work. */
void dlb_array_fill(float *data, uint64_t n_rows, uint64_t n_columns, uint64_t seed,
                    const atomic_bool *cancel)
{
    uint64_t a_turn = ROWS_A_TURN_BYTES / (n_columns * sizeof(float));
    struct filling filling = {.data = data,
                              .n_rows = n_rows,
                              .n_columns = n_columns,
                              .seed = seed,
                              .rows_a_turn = a_turn ? a_turn : 1,
                              .cancel = cancel};
    pthread_t threads[MAX_THREADS];
    uint32_t n = 0;
    cpu_set_t allowed;
    int n_cpus = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
    uint64_t n_turns = n_rows / filling.rows_a_turn;

    while (n < MAX_THREADS && (int)n + 1 < n_cpus && n < n_turns &&
           pthread_create(&threads[n], NULL, fill_main, &filling) == 0)
        n++;
    (void)fill_main(&filling);
    for (uint32_t i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
}
