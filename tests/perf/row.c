#include "tests/perf/row.h"

#include "core/base/json.h"
#include "tests/perf/perf.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static double ns_of(struct timeval time)
{
    return (double)time.tv_sec * 1e9 + (double)time.tv_usec * 1e3;
}

struct perf_usage perf_usage_now(void)
{
    struct rusage all;
    (void)getrusage(RUSAGE_SELF, &all);
    return (struct perf_usage){.user_ns = ns_of(all.ru_utime),
                               .system_ns = ns_of(all.ru_stime),
                               .faults = (double)all.ru_minflt,
                               .sleeps = (double)all.ru_nvcsw,
                               .preempted = (double)all.ru_nivcsw};
}

void perf_usage_add(struct perf_usage *sum, const struct perf_usage *before)
{
    struct perf_usage now = perf_usage_now();
    sum->user_ns += now.user_ns - before->user_ns;
    sum->system_ns += now.system_ns - before->system_ns;
    sum->faults += now.faults - before->faults;
    sum->sleeps += now.sleeps - before->sleeps;
    sum->preempted += now.preempted - before->preempted;
}

static json_t *side_to_json(const struct perf_row_side *side, double units)
{
    const struct perf_usage *usage = &side->usage;
    return dlb_json_made(json_pack("{ss sf s{sf sf sf sf sf}}", "name", side->name, "per_s",
                                   side->per_s, "each", "user_ns", usage->user_ns / units,
                                   "system_ns", usage->system_ns / units, "faults",
                                   usage->faults / units, "sleeps", usage->sleeps / units,
                                   "preempted", usage->preempted / units));
}

void perf_row_write(const struct perf_row *row)
{
    const char *path = getenv("DLB_PERF_JSON");
    if (!path)
        return;
    json_t *line = dlb_json_made(json_pack(
        "{ss ss si so so so so}", "name", row->name, "unit", row->unit, "rounds", (int)row->rounds,
        "should_reach", row->should_reach > 0 ? json_real(row->should_reach) : json_null(), "ratio",
        dlb_estimate_to_json(&row->ratio), "ours", side_to_json(&row->ours, row->units), "base",
        side_to_json(&row->base, row->units)));
    FILE *file = fopen(path, "ae");
    if (!file || json_dumpf(line, file, JSON_COMPACT) != 0 || fputc('\n', file) == EOF ||
        fclose(file) != 0)
        perf_die(path, NULL);
    json_decref(line);
}
