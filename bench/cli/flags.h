/* Places of flags in dlb_flags (args.h).
 *
 * Floor 5, private to bench/cli. */
#ifndef DLB_BENCH_CLI_FLAGS_H
#define DLB_BENCH_CLI_FLAGS_H

enum dlb_flag_place {
    FLAG_CONFIG,
    FLAG_SET,
    FLAG_RESULTS,
    FLAG_RUN_NAME,
    FLAG_FORMAT,
    FLAG_FROM,
    FLAG_WRITE,
    FLAG_OVERWRITE,
    FLAG_DROP_CACHES,
    FLAG_JSON,
    FLAG_VERBOSE,
    FLAG_WORKLOAD,
    FLAG_DATA,
    FLAG_ACCELERATOR,
    FLAG_BASELINE,
    FLAG_DRY_RUN,
    FLAG_DRY_PLAN,
    FLAG_EXHAUSTIVE,
    FLAG_FAIL_ON,
    FLAG_STRICT,
    FLAG_JUNIT,
    FLAG_TRACEML,
    FLAG_ALSO_A,
    FLAG_ALSO_B,
    FLAG_SMALLEST,
    FLAG_BETWEEN,
    FLAG_RUN,
};

#endif
