#include "scenarios/ranks/team_gen.h"

#include "core/base/config.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "formats/codec.h"
#include "formats/format.h"
#include "scenarios/ranks/quiet.h"
#include "scenarios/ranks/shared.h"
#include "scenarios/spec/spec.h"

#include <stdlib.h>
#include <unistd.h>

/* One rank's share, while it is written. */
struct share {
    struct dlb_link *link;
    const struct dlb_gen_progress *told; /* the caller's; NULL: of no other rank's */
    struct dlb_quiet quiet;
};

static void report(void *ctx, uint64_t n_done, uint64_t n_total, uint64_t n_bytes)
{
    struct share *share = ctx;
    (void)dlb_link_look(share->link);
    dlb_link_pass_on(share->link, share->told ? share->told->cancel : NULL);
    dlb_quiet_look(&share->quiet, share->link, n_bytes + n_done, "sample written", getpid());
    if (share->told && share->told->report)
        share->told->report(share->told->ctx, n_done, n_total, n_bytes);
}

static int write_share(struct dlb_link *link, const struct dlb_gen *gen, const char *id,
                       const struct dlb_gen_progress *told, struct dlb_err *err)
{
    struct share share = {.link = link, .told = told};
    const struct dlb_gen_share part = {link->rank, link->size, id};
    const struct dlb_gen_progress progress = {
        .report = report, .ctx = &share, .cancel = &link->cancel};
    struct dlb_err failed = {.code = DLB_N_CODES};
    uint64_t n_written = 0;
    int rc = dlb_generate_share(gen, &part, &progress, &n_written, &failed);
    return dlb_shared_answer(link, n_written, rc, &failed, err);
}

int dlb_team_generate(const struct dlb_team_gen *how, const struct dlb_gen *gen, const char *id,
                      uint64_t *n_written, struct dlb_err *err)
{
    struct dlb_link *link = how->link;
    json_t *command = dlb_json_made(json_pack("{ss, ss, sb, sO}", "do", "gen", "id", id, "rewrite",
                                              gen->rewrite, "config", (json_t *)how->config));
    int rc = dlb_shared_begin(link, command, err);
    json_decref(command);
    if (!rc)
        rc = write_share(link, gen, id, how->progress, err);
    return rc ? rc : dlb_shared_judge(link, how->progress->cancel, n_written, err);
}

int dlb_team_generate_share(struct dlb_link *link, const json_t *command, struct dlb_err *err)
{
    struct dlb_config *cfg = dlb_mem_check(dlb_config_new(dlb_spec_groups()));
    struct dlb_spec *spec = dlb_mem_new(sizeof(*spec));
    struct dlb_err failed;
    int rc = dlb_config_restore(cfg, json_object_get(command, "config"), &failed);
    if (!rc)
        rc = dlb_spec_from_config(spec, cfg, &failed);
    if (rc) {
        rc = dlb_shared_answer(link, 0, rc, &failed, err);
    } else {
        struct dlb_gen gen = dlb_spec_gen(spec);
        gen.rewrite = dlb_json_is_true(command, "rewrite");
        rc = write_share(link, &gen, dlb_json_text(command, "id"), NULL, err);
    }
    free(spec);
    dlb_config_free(cfg);
    return rc;
}
