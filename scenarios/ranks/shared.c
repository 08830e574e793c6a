#include "scenarios/ranks/shared.h"

#include "core/base/json.h"
#include "scenarios/ranks/answers.h"

#include <stdlib.h>

int dlb_shared_begin(struct dlb_link *link, const json_t *command, struct dlb_err *err)
{
    dlb_meet_reset(link->meet);
    dlb_link_begin(link);
    return dlb_link_send(link, DLB_SAY_COMMAND, command, err);
}

int dlb_shared_answer(struct dlb_link *link, uint64_t n_written, int rc,
                      const struct dlb_err *failed, struct dlb_err *err)
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

int dlb_shared_judge(struct dlb_link *link, const atomic_bool *cancel, uint64_t *n_written,
                     struct dlb_err *err)
{
    struct dlb_message message;
    int rc = dlb_link_await(link, DLB_SAY_ANSWERS, cancel, &message, err);
    if (rc)
        return rc;
    json_t *answers = dlb_answers_documents(&message, link->size);
    free(message.bytes);
    rc = judge(answers, n_written, err);
    json_decref(answers);
    return rc;
}
