#include "scenarios/ranks/team_gen.h"

#include "core/base/config.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "formats/codec.h"
#include "formats/format.h"
#include "scenarios/ranks/answers.h"
#include "scenarios/ranks/quiet.h"
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

/* Tells rank 0 what became of this rank's share. `rc`: of `failed`. */
static int answer(struct dlb_link *link, uint64_t n_written, int rc, const struct dlb_err *failed,
                  struct dlb_err *err)
{
    char text[sizeof(failed->what) + 256] = "";
    if (rc)
        (void)dlb_err_text(failed, text, sizeof(text));
    json_t *answer = dlb_json_made(json_pack("{sI, so, sI, so}", "written", (json_int_t)n_written,
                                             "node", dlb_json_safe_text(link->node), "code",
                                             (json_int_t)(rc ? failed->code : DLB_N_CODES), "text",
                                             dlb_json_safe_text(text)));
    int sent = dlb_link_send(link, rc ? DLB_SAY_FAILED : DLB_SAY_ANSWER, answer, err);
    json_decref(answer);
    return sent;
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
    return answer(link, n_written, rc, &failed, err);
}

/* The first rank that failed by itself; of those that were ended because of it, none. */
static int judge(const json_t *answers, uint64_t *n_written, struct dlb_err *err)
{
    const json_t *one;
    size_t i;
    int rc = DLB_OK;
    json_array_foreach(answers, i, one) {
        uint64_t code = dlb_json_u64(one, "code", DLB_N_CODES);
        *n_written += dlb_json_u64(one, "written", 0);
        if (code >= DLB_N_CODES || (rc && err->code != DLB_ERR_CANCELLED))
            continue;
        rc = dlb_fail(err, (enum dlb_code)code, NULL, DLB_NO_OFFSET, "rank %zu on %s: %.400s", i,
                      dlb_json_text(one, "node"), dlb_json_text(one, "text"));
    }
    return rc;
}

int dlb_team_generate(const struct dlb_team_gen *how, const struct dlb_gen *gen, const char *id,
                      uint64_t *n_written, struct dlb_err *err)
{
    struct dlb_link *link = how->link;
    struct dlb_message message;
    json_t *command = dlb_json_made(json_pack("{ss, ss, sb, sO}", "do", "gen", "id", id, "rewrite",
                                              gen->rewrite, "config", (json_t *)how->config));
    dlb_meet_reset(link->meet);
    dlb_link_begin(link);
    int rc = dlb_link_send(link, DLB_SAY_COMMAND, command, err);
    json_decref(command);
    if (!rc)
        rc = write_share(link, gen, id, how->progress, err);
    if (!rc)
        rc = dlb_link_await(link, DLB_SAY_ANSWERS, how->progress->cancel, &message, err);
    if (rc)
        return rc;
    json_t *answers = dlb_answers_documents(&message, link->size);
    free(message.bytes);
    rc = judge(answers, n_written, err);
    json_decref(answers);
    return rc;
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
        rc = answer(link, 0, rc, &failed, err);
    } else {
        struct dlb_gen gen = dlb_spec_gen(spec);
        gen.rewrite = dlb_json_is_true(command, "rewrite");
        rc = write_share(link, &gen, dlb_json_text(command, "id"), NULL, err);
    }
    free(spec);
    dlb_config_free(cfg);
    return rc;
}
