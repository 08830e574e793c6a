/* What a timeline costs: the same cell with rings and without, in turns, in this process. Compared
 * is the CPU time of workers per sample, the kernel's part included: a rate would show what other
 * programs take, too. JPEG files are the usual case. The shortest samples that are read one by one
 * are those of a map that are in memory: 4 kB of tokens. Samples of the null source, with which a
 * worker does nothing but count, have no limit to keep: their row says what a span takes. */
#include "core/base/mem.h"
#include "core/measure/trace.h"
#include "scenarios/cell/cell.h"
#include "tests/perf/perf.h"

#include <stdio.h>
#include <stdlib.h>

#define SHOULD_REACH 0.98
enum { ROUNDS = 31 };

struct way {
    const struct dlb_spec *spec;
    bool traced;
    uint64_t n_records;
};

static uint64_t records_of(const struct dlb_trace *trace)
{
    uint64_t n = 0;
    for (int track = 0; track < DLB_TRACK_COUNT; track++)
        for (uint32_t i = 0; i < trace->layout.n[track]; i++)
            n += dlb_trace_ring(trace, (enum dlb_track)track, i)->n;
    return n;
}

/* Seconds of CPU time that the workers took for a sample, within the measured window. */
static double run_cell(void *ctx)
{
    struct way *way = ctx;
    struct dlb_trace trace = {0};
    struct dlb_cell_watch watch = {.trace = way->traced ? &trace : NULL};
    struct dlb_cell_result result;

    dlb_cell_run(way->spec, DLB_MODE_MEASURE, &watch, &result);
    double cpu_s = (double)result.workers.cpu_ns * 1e-9;
    double n_samples = (double)result.workers.stage[DLB_WS_READ].count;
    if (result.status != DLB_REP_OK || !(n_samples > 0 && cpu_s > 0)) {
        (void)fprintf(stderr, "%s\n", result.reason);
        perf_die("the cell", NULL);
    }
    way->n_records = way->traced ? records_of(&trace) : 0;
    dlb_trace_close(&trace);
    dlb_cell_result_free(&result);
    return cpu_s / n_samples;
}

static void compare(const char *name, const struct dlb_spec *spec, double should_reach)
{
    struct way with = {.spec = spec, .traced = true}, without = {.spec = spec};
    const struct perf_comparison what = {.name = name,
                                         .unit = "samples",
                                         .units = 1,
                                         .should_reach = should_reach,
                                         .rounds = ROUNDS};
    const struct perf_way ours = {"with a timeline", run_cell, &with};
    const struct perf_way base = {"without", run_cell, &without};

    double ratio = perf_compare(&what, &ours, &base);
    printf("%s: %llu records; a timeline costs %.2f%% of the workers' time\n", name,
           (unsigned long long)with.n_records, (1 - ratio) * 100);
}

int main(void)
{
    static const char *const jpeg[] = {
        "dataset.format=files", "dataset.codec=jpeg",   "generate.samples=96",
        "loader.batch_size=16", "loader.num_workers=2", "run.epochs=4",
        "device.kind=emulated", "device.step_ms=0",     NULL};
    static const char *const tokens[] = {"dataset.format=tokens",
                                         "dataset.codec=raw",
                                         "dataset.access=mmap",
                                         "generate.samples=50000",
                                         "tokens.seq_len=2048",
                                         "loader.batch_size=64",
                                         "loader.num_workers=1",
                                         "run.epochs=6",
                                         "device.kind=emulated",
                                         "device.step_ms=0",
                                         NULL};
    static const char *const null_source[] = {
        "dataset.format=synthetic", "generate.samples=100000", "generate.sample_bytes=4096",
        "loader.batch_size=64",     "loader.num_workers=1",    "run.epochs=24",
        "device.kind=emulated",     "device.step_ms=0",        NULL};
    struct dlb_spec *spec = dlb_mem_new(sizeof *spec);

    perf_spec(spec, jpeg);
    perf_generate(spec);
    compare("files + jpeg, 2 workers", spec, SHOULD_REACH);
    perf_spec(spec, tokens);
    perf_generate(spec);
    compare("tokens, 4 kB, 1 worker", spec, SHOULD_REACH);
    perf_spec(spec, null_source);
    compare("null source, 1 worker", spec, 0);
    free(spec);
    return 0;
}
