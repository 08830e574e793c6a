/* `lmdb` + `raw` against bare mdb_get and memcpy: the same keys in the same order, into the same
 * slots, with as many threads. Both have a read transaction for each thread and no read-ahead. */
#include "tests/perf/perf.h"

#include <stdio.h>

#ifdef DLB_HAVE_LMDB

#include <lmdb.h>
#include <stdlib.h>
#include <string.h>

enum { EPOCHS = 2 };

/* Keys as the cursor lists them, before any clock runs. */
struct bare {
    MDB_env *env;
    MDB_dbi dbi;
    char (*key)[16];
    uint64_t n;
};

static void get_all(struct perf_thread *thread)
{
    const struct bare *bare = thread->ctx;
    uint32_t slot = 0;
    MDB_txn *txn;

    if (mdb_txn_begin(bare->env, NULL, MDB_RDONLY, &txn) != 0)
        perf_die("mdb_txn_begin", NULL);
    for (uint64_t first = (uint64_t)thread->number * thread->batch_size; first < bare->n;
         first += (uint64_t)thread->n * thread->batch_size) {
        uint8_t *dst = thread->slots + slot * thread->slot_bytes;
        uint64_t end = first + thread->batch_size;
        for (uint64_t i = first; i < end && i < bare->n; i++) {
            MDB_val key = {strlen(bare->key[i]), bare->key[i]}, value;
            if (mdb_get(txn, bare->dbi, &key, &value) != 0)
                perf_die("mdb_get", NULL);
            memcpy(dst, value.mv_data, value.mv_size);
            dst += value.mv_size;
            thread->n_samples++;
            thread->n_bytes += value.mv_size;
        }
        slot = (slot + 1) % thread->n_slots;
    }
    mdb_txn_abort(txn);
}

static void bare_open(struct bare *bare, const struct dlb_spec *spec)
{
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_val key, value;
    MDB_stat st;

    if (mdb_env_create(&bare->env) != 0 ||
        mdb_env_open(bare->env, spec->dataset.path,
                     MDB_RDONLY | MDB_NOLOCK | MDB_NORDAHEAD | MDB_NOTLS, 0) != 0 ||
        mdb_txn_begin(bare->env, NULL, MDB_RDONLY, &txn) != 0 ||
        mdb_dbi_open(txn, NULL, 0, &bare->dbi) != 0 || mdb_stat(txn, bare->dbi, &st) != 0 ||
        mdb_cursor_open(txn, bare->dbi, &cursor) != 0)
        perf_die("opening the database", NULL);
    bare->key = calloc(st.ms_entries, sizeof *bare->key);
    if (!bare->key)
        perf_die("memory", NULL);
    bare->n = 0;
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0)
        if (((char *)key.mv_data)[0] != '_') /* labels */
            (void)snprintf(bare->key[bare->n++], sizeof *bare->key, "%.*s", (int)key.mv_size,
                           (char *)key.mv_data);
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
}

static double ours(void *ctx)
{
    double seconds = 0;
    for (int i = 0; i < EPOCHS; i++)
        seconds += perf_pipeline_epoch(ctx);
    return seconds;
}

static double base(void *ctx)
{
    double seconds = 0;
    for (int i = 0; i < EPOCHS; i++)
        seconds += perf_team_epoch(ctx);
    return seconds;
}

static void compare(struct dlb_spec *spec, struct bare *bare, uint32_t n_threads)
{
    struct perf_pipeline pipe;
    uint64_t n_samples, n_bytes;
    char name[64];

    spec->loader.num_workers = n_threads;
    perf_pipeline_open(&pipe, spec);
    struct perf_team *team = perf_team_open(&pipe, n_threads, get_all, bare);
    (void)snprintf(name, sizeof name, "lmdb + raw, %u threads", n_threads);
    struct perf_comparison what = {
        .name = name, .unit = "samples", .units = (double)bare->n * EPOCHS, .should_reach = 0.9};
    (void)perf_compare(&what, &(struct perf_way){"dlbench", ours, &pipe},
                       &(struct perf_way){"mdb_get + memcpy", base, team});
    perf_team_done(team, &n_samples, &n_bytes);
    if (n_samples != pipe.dataset.shape.n_samples || n_bytes != pipe.dataset.shape.total_bytes)
        (void)fprintf(stderr, "the baseline did not read what dlbench reads\n");
    perf_team_close(team);
    perf_pipeline_close(&pipe, NULL);
}

int main(void)
{
    struct dlb_spec spec;
    struct bare bare = {.n = 0};
    uint32_t counts[8], n_counts = perf_thread_counts(counts);

    perf_spec(&spec, (const char *[]){"dataset.format=lmdb", "dataset.codec=raw",
                                      "generate.samples=4000", "generate.sample_bytes=110kB",
                                      "loader.batch_size=64", "loader.shuffle=false",
                                      "loader.persistent_workers=true", "device.prefetch=1", NULL});
    perf_generate(&spec);
    bare_open(&bare, &spec);
    for (uint32_t i = 0; i < n_counts; i++)
        compare(&spec, &bare, counts[i]);
    mdb_env_close(bare.env);
    free(bare.key);
    return 0;
}

#else

int main(void)
{
    (void)fprintf(stderr, "built without LMDB\n");
    return 77;
}

#endif
