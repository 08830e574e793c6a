#include "scenarios/ranks/team_convert.h"

#include "core/base/config.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "formats/convert/apart.h"
#include "scenarios/ranks/quiet.h"
#include "scenarios/ranks/shared.h"
#include "scenarios/spec/spec.h"

#include <limits.h>
#include <stdlib.h>

/* One rank's share. */
struct share {
    struct dlb_link *link;
    const struct dlb_convert_watch *told; /* rank 0's caller's; NULL: of no other rank's */
    const struct dlb_convert *how;
    const struct dlb_spec *source; /* to be opened for it; NULL: how->from is open, or not needed */
    const struct dlb_convert_step *step;
    struct dlb_quiet quiet;
    uint64_t n_events;
    struct dlb_convert_apart apart;
};

/* In the child. */
static int do_share(void *ctx, const struct dlb_convert_watch *watch, struct dlb_converted *ignored,
                    struct dlb_err *err)
{
    const struct share *share = ctx;
    const struct dlb_spec *source = share->source;
    struct dlb_convert how = *share->how;
    struct dlb_dataset ds;
    (void)ignored;
    how.watch = watch;
    watch->report(watch->ctx, share->step->phase, 0, 0, 0); /* which process it is */
    if (!source)
        return dlb_convert_share(&how, share->step, share->link->rank, err);
    int rc = dlb_dataset_open(&ds, &source->dataset, &source->transform, &source->generate,
                              dlb_spec_format_opts(source), err);
    if (rc)
        return rc;
    how.from = &ds;
    rc = dlb_convert_share(&how, share->step, share->link->rank, err);
    dlb_dataset_close(&ds);
    return rc;
}

static void tick(void *ctx)
{
    struct share *share = ctx;
    (void)dlb_link_look(share->link);
    dlb_link_pass_on(share->link, share->told ? share->told->cancel : NULL);
    dlb_quiet_look(&share->quiet, share->link, share->n_events, "sample converted",
                   share->apart.pid);
}

static void heard(void *ctx, enum dlb_convert_phase phase, uint64_t n_done, uint64_t n_total,
                  uint64_t n_bytes)
{
    struct share *share = ctx;
    share->n_events++;
    tick(share);
    if (share->told && n_total > 0)
        share->told->report(share->told->ctx, phase, n_done, n_total, n_bytes);
}

/* Does this rank's share, and answers what became of it. */
static int run_own(struct share *share, struct dlb_err *err)
{
    const struct dlb_convert_watch watch = {.report = heard, .ctx = share};
    const struct dlb_apart how = {.path = share->how->from_path,
                                  .who = "the process of this rank's share",
                                  .doing = "converting it",
                                  .cancel = &share->link->cancel};
    struct dlb_converted ignored;
    struct dlb_err failed = {.code = DLB_N_CODES};
    share->apart = (struct dlb_convert_apart){
        .work = do_share, .ctx = share, .watch = &watch, .waiting = tick};
    int rc = dlb_convert_apart(&share->apart, how, NULL, &ignored, &failed);
    return dlb_shared_answer(share->link, 0, rc, &failed, err);
}

static json_t *command_of(const struct dlb_team_convert *team, const struct dlb_convert_step *step)
{
    return dlb_json_made(
        json_pack("{ss, sO, sO, so, so, ss, sb, sb, sI, sI, sI}", "do", "convert", "from",
                  (json_t *)team->from, "to", (json_t *)team->to, "path",
                  dlb_json_safe_text(team->how->to_path), "part", dlb_json_safe_text(step->part),
                  "id", step->id, "checks", step->phase == DLB_CONVERT_CHECK, "fields",
                  step->fields, "samples", (json_int_t)step->seen.n_samples, "bytes",
                  (json_int_t)step->seen.n_bytes, "data", (json_int_t)step->seen.id));
}

/* As many bits as were sent: half of all hashes are negative there. */
static uint64_t word_of(const json_t *command, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(command, key));
}

int dlb_team_convert(const struct dlb_team_convert *team, const struct dlb_convert_step *step,
                     struct dlb_err *err)
{
    const struct dlb_convert_watch *told = team->how->watch;
    struct share share = {.link = team->link, .told = told, .how = team->how, .step = step};
    json_t *command = command_of(team, step);
    uint64_t n_written = 0;
    int rc = dlb_shared_begin(team->link, command, err);
    json_decref(command);
    if (!rc)
        rc = run_own(&share, err);
    if (!rc)
        rc = dlb_shared_judge(team->link, told->cancel, &n_written, err);
    if (rc && told->cancel && atomic_load(told->cancel)) /* the launcher may end others earlier */
        rc = dlb_fail(err, DLB_ERR_CANCELLED, team->how->to_path, DLB_NO_OFFSET, "interrupted");
    return rc;
}

static int spec_of(struct dlb_spec *spec, const json_t *said, struct dlb_err *err)
{
    struct dlb_config *cfg = dlb_mem_check(dlb_config_new(dlb_spec_groups()));
    int rc = dlb_config_restore(cfg, said, err);
    if (!rc)
        rc = dlb_spec_from_config(spec, cfg, err);
    dlb_config_free(cfg);
    return rc;
}

int dlb_team_convert_share(struct dlb_link *link, const json_t *command, struct dlb_err *err)
{
    struct dlb_spec *from = dlb_mem_new(sizeof(*from)), *to = dlb_mem_new(sizeof(*to));
    char path[PATH_MAX], part[PATH_MAX];
    bool checks = dlb_json_is_true(command, "checks");
    const struct dlb_convert_step step = {
        .phase = checks ? DLB_CONVERT_CHECK : DLB_CONVERT_WRITE,
        .part = part,
        .id = dlb_json_text(command, "id"),
        .n_processes = link->size,
        .seen = {word_of(command, "samples"), word_of(command, "bytes"), word_of(command, "data")},
        .fields = dlb_json_is_true(command, "fields")};
    struct dlb_err failed;
    dlb_json_take_text(command, "path", path, sizeof(path));
    dlb_json_take_text(command, "part", part, sizeof(part));
    int rc = spec_of(from, json_object_get(command, "from"), &failed);
    if (!rc)
        rc = spec_of(to, json_object_get(command, "to"), &failed);
    if (rc) {
        rc = dlb_shared_answer(link, 0, rc, &failed, err);
    } else {
        const struct dlb_convert how = {.from_path = from->dataset.path,
                                        .to = dlb_formats[to->dataset.format],
                                        .to_opts = dlb_spec_format_opts(to),
                                        .to_path = path};
        struct share share = {
            .link = link, .how = &how, .source = checks ? NULL : from, .step = &step};
        from->dataset.in_order = true;
        rc = run_own(&share, err);
    }
    free(from);
    free(to);
    return rc;
}
