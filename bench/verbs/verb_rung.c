/* `dlbench rung`: one repetition of one rung of gap's ladder, in a process of its own. What it does
 * is in scenarios/gap/rungs/. */
#include "bench/cli/verb.h"
#include "bench/verbs/hidden.h"
#include "core/base/mem.h"
#include "scenarios/gap/rungs/rung.h"
#include "scenarios/run/child.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Takes the rung's name out of the specification, so that parameters are left. */
static int take_name(json_t *spec, const char *path, char **name, struct dlb_err *err)
{
    const char *said = json_string_value(json_object_get(spec, "rung"));
    if (!said)
        return dlb_fail(err, DLB_ERR_SPEC_INVALID, path, DLB_NO_OFFSET, "has no \"rung\"");
    *name = dlb_mem_text(said);
    (void)json_object_del(spec, "rung");
    return DLB_OK;
}

/* The runner tells short memory from other ends by this exit code. */
static void leave(void *ctx)
{
    (void)ctx;
    _exit(DLB_CHILD_EXIT_NOMEM);
}

static int run(const struct dlb_args *args)
{
    const char *spec_path = NULL, *result = NULL, *heartbeat_fd = NULL;
    const struct dlb_hidden_flag flags[] = {{"--spec", &spec_path, true},
                                            {"--result", &result, true},
                                            {"--heartbeat-fd", &heartbeat_fd, false},
                                            {NULL, NULL, false}};
    struct dlb_gap_params params;
    struct dlb_err err;
    json_t *spec = NULL;
    char *name = NULL;
    int rc = dlb_hidden_flags(args, "rung", flags, &err);

    if (!rc)
        rc = dlb_hidden_read(spec_path, &spec, &err);
    if (!rc)
        rc = take_name(spec, spec_path, &name, &err);
    if (!rc)
        rc = dlb_gap_params_flat(&params, spec, spec_path, &err);
    if (!rc) {
        dlb_mem_at_exhaustion(leave, NULL);
        dlb_catch_interrupts();
        struct dlb_rung_result measured;
        dlb_gap_rung_run(&params, name, &dlb_interrupted,
                         dlb_hidden_shared(heartbeat_fd, sizeof(struct dlb_pulse)), &measured);
        json_t *doc = dlb_rung_result_to_json(&measured);
        rc = dlb_hidden_write(result, doc, &err);
        if (!rc && measured.stuck)
            _exit(DLB_EXIT_OK); /* exit() would wait for a driver that does not finish */
        json_decref(doc);
        dlb_rung_result_free(&measured);
    }
    json_decref(spec);
    free(name);
    return dlb_hidden_exit(rc, &err);
}

const struct dlb_verb dlb_verb_rung = {
    .name = "rung",
    .summary = "Measure one repetition of one rung: dlbench gap starts this itself",
    .usage = "dlbench rung --spec FILE --result FILE [--heartbeat-fd N]",
    .details =
        "Reads a flat JSON configuration with the rung's name in \"rung\", and writes what it "
        "measured or why it failed.",
    .flags = DLB_FLAG_HIDDEN,
    .run = run,
};
