/* `dlbench cell`: one repetition of one cell, in the process that scenarios/run/child.c starts.
 * What it does is in scenarios/cell/cell.c. */
#include "bench/cli/verb.h"
#include "bench/verbs/hidden.h"
#include "core/base/mem.h"
#include "core/measure/timeline.h"
#include "scenarios/cell/cell.h"
#include "scenarios/run/child.h"
#include "scenarios/storage/fio.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_spec(const char *path, struct dlb_spec *spec, struct dlb_err *err)
{
    json_t *flat = NULL;
    int rc = dlb_hidden_read(path, &flat, err);
    if (!rc)
        rc = dlb_spec_from_json(spec, flat, path, err);
    json_decref(flat);
    return rc;
}

static enum dlb_cell_mode mode_of(const char *name)
{
    for (int i = 0; name && dlb_cell_mode_names[i]; i++)
        if (strcmp(name, dlb_cell_mode_names[i]) == 0)
            return (enum dlb_cell_mode)i;
    return DLB_MODE_MEASURE;
}

/* The runner tells short memory from other ends by this exit code. */
static void leave(void *ctx)
{
    (void)ctx;
    _exit(DLB_CHILD_EXIT_NOMEM);
}

/* What was measured counts without it, too: who wants to show it finds that it is not there. */
static void save_timeline(const struct dlb_trace *trace, const char *path)
{
    struct dlb_err err;
    if (dlb_timeline_save(trace, path, &err) != DLB_OK) {
        (void)dlb_print_err(&err);
        (void)unlink(path);
    }
}

static int run(const struct dlb_args *args)
{
    const char *spec_path = NULL, *result = NULL, *mode = NULL, *heartbeat_fd = NULL, *memo = NULL,
               *data_id = NULL, *trace_path = NULL, *meet_fd = NULL;
    const struct dlb_hidden_flag flags[] = {{"--spec", &spec_path, true},
                                            {"--result", &result, true},
                                            {"--mode", &mode, false},
                                            {"--memo", &memo, false},
                                            {"--data-id", &data_id, false},
                                            {"--trace", &trace_path, false},
                                            {"--heartbeat-fd", &heartbeat_fd, false},
                                            {"--meet-fd", &meet_fd, false},
                                            {NULL, NULL, false}};
    struct dlb_spec *spec = dlb_mem_new(sizeof(*spec));
    struct dlb_err err;
    int rc = dlb_hidden_flags(args, "cell", flags, &err);
    if (!rc)
        rc = read_spec(spec_path, spec, &err);
    if (!rc) {
        dlb_mem_at_exhaustion(leave, NULL);
        dlb_catch_interrupts();
        struct dlb_trace trace = {0};
        struct dlb_cell_watch watch = {dlb_hidden_shared(heartbeat_fd, sizeof(struct dlb_pulse)),
                                       &dlb_interrupted,
                                       memo,
                                       data_id ? strtoull(data_id, NULL, 16) : 0,
                                       memo, /* the folder of this run: dlbench removes it whole */
                                       trace_path ? &trace : NULL,
                                       dlb_hidden_shared(meet_fd, sizeof(struct dlb_meet))};
        struct dlb_cell_result measured;
        enum dlb_cell_mode how = mode_of(mode);
        if (how == DLB_MODE_BASELINE)
            dlb_fio_run(spec, &watch, &measured);
        else
            dlb_cell_run(spec, how, &watch, &measured);
        json_t *doc = dlb_cell_result_to_json(&measured);
        rc = dlb_hidden_write(result, doc, &err);
        if (!rc && measured.stuck_why[0])
            _exit(DLB_EXIT_OK); /* exit() would wait for the thread that hangs */
        if (!rc && trace.memory && measured.status == DLB_REP_OK)
            save_timeline(&trace, trace_path);
        dlb_trace_close(&trace);
        json_decref(doc);
        dlb_cell_result_free(&measured);
    }
    free(spec);
    return dlb_hidden_exit(rc, &err);
}

const struct dlb_verb dlb_verb_cell = {
    .name = "cell",
    .summary = "Measure one repetition of one cell: dlbench starts this itself",
    .usage = "dlbench cell --spec FILE --result FILE [--mode measure|ceiling|warm|baseline] "
             "[--memo FOLDER] "
             "[--data-id HEX] [--trace FILE] [--heartbeat-fd N] [--meet-fd N]",
    .details = "Reads a flat JSON configuration, and writes what it measured or why it failed.",
    .flags = DLB_FLAG_HIDDEN,
    .run = run,
};
