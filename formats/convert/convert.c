#include "formats/convert/convert.h"

#include "formats/convert/apart.h"
#include "formats/convert/back.h"
#include "formats/convert/copy.h"
#include "formats/convert/share.h"
#include "formats/convert/state.h"
#include "formats/convert/target.h"

#include <stdio.h>
#include <string.h>

static int check_writer(const struct dlb_format *to, struct dlb_err *err)
{
    char have[80] = "";

    if (to->missing)
        return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, "--format %s: %s", to->name,
                        to->missing);
    if (to->writer)
        return DLB_OK;
    for (size_t i = 0; dlb_formats[i]; i++) {
        size_t len = strlen(have);
        if (dlb_formats[i]->writer)
            (void)snprintf(have + len, sizeof have - len, "%s%s", len ? ", " : "",
                           dlb_formats[i]->name);
    }
    return dlb_fail(err, DLB_ERR_CONVERT_FORMAT_UNFIT, NULL, DLB_NO_OFFSET,
                    "--format %s: nothing can be converted to it; this build converts to: %s",
                    to->name, have);
}

static int verify(struct dlb_convert_state *state, struct dlb_err *err)
{
    struct dlb_dataset ds;
    int rc = dlb_convert_reopen(state, &ds, err);

    if (rc != DLB_OK)
        return rc;
    state->out->element = ds.shape.element;
    const struct dlb_convert_range all = {0, ds.shape.n_samples};
    rc = dlb_convert_read_back(state, &ds, all, err);
    dlb_dataset_close(&ds);
    return rc == DLB_OK ? dlb_convert_compare(state, err) : rc;
}

struct conversion {
    const struct dlb_convert *how;
    struct dlb_convert_target target;
};

/* Writes and checks the data, under the target's temporary name. */
static int work(void *ctx, const struct dlb_convert_watch *watch, struct dlb_converted *out,
                struct dlb_err *err)
{
    const struct conversion *conversion = ctx;
    struct dlb_convert how = *conversion->how;
    const struct dlb_convert_range all = {0, how.from->shape.n_samples};
    struct dlb_convert_state state;

    how.watch = watch;
    dlb_convert_state_init(&state, &how, &conversion->target, out);
    int rc = dlb_convert_copy(&state, all, NULL, err);
    out->n_forgotten_keys = state.check.n_forgotten;
    if (rc == DLB_OK)
        rc = verify(&state, err);
    dlb_convert_state_free(&state);
    return rc;
}

/* The same, where a library reads the source. */
static int work_apart(struct conversion *conversion, struct dlb_converted *out, struct dlb_err *err)
{
    const struct dlb_convert *how = conversion->how;
    const struct dlb_apart apart = {.path = how->from_path, .cancel = how->watch->cancel};
    struct dlb_convert_apart child = {.work = work, .ctx = conversion, .watch = how->watch};
    return dlb_convert_apart(&child, apart, &how->from->shape, out, err);
}

int dlb_convert(const struct dlb_convert *how, struct dlb_converted *out, struct dlb_err *err)
{
    struct conversion conversion = {.how = how, .target.mark_fd = -1};
    struct dlb_convert_target *target = &conversion.target;

    *out = (struct dlb_converted){0};
    int rc = check_writer(how->to, err);
    if (rc == DLB_OK)
        rc = dlb_convert_target_open(target, how, err);
    if (rc == DLB_OK && how->together)
        rc = dlb_convert_together(how, target, out, err);
    else if (rc == DLB_OK && how->from->shape.library[0])
        rc = work_apart(&conversion, out, err);
    else if (rc == DLB_OK)
        rc = work(&conversion, how->watch, out, err);
    if (rc == DLB_E_CANCELLED || (rc == DLB_OK && dlb_convert_is_cancelled(how)))
        rc = dlb_convert_fail_cancelled(how, err);
    if (rc == DLB_OK)
        rc = dlb_convert_target_commit(target, how->to, err);
    dlb_convert_target_close(target);
    return rc;
}
