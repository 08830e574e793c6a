#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/opt_value.h"
#include "scenarios/judge/judge.h"
#include "scenarios/judge/judged.h"
#include "scenarios/plan/plan.h"
#include "scenarios/spec/meaning.h"

#include <stdio.h>
#include <string.h>

static const char *python_bool(bool value)
{
    return value ? "True" : "False";
}

/* A training has many epochs. Only processes' starts take time that shows, and only where there
 * are enough epochs: then the message has the measured numbers. */
static bool keeps_workers(const struct dlb_spec *spec)
{
    if (dlb_spec_is_torch(spec) ||
        (dlb_spec_forks(spec) && spec->run.epochs >= DLB_EPOCHS_WITH_BORDERS))
        return spec->loader.persistent_workers;
    return true;
}

/* DataLoader refuses both for iterable data: the data set shuffles and divides itself. */
static void write_order(const struct dlb_spec *spec, char *text, size_t n_text)
{
    const char *shuffle = python_bool(spec->loader.shuffle);
    if (dlb_spec_ranks(spec) > 1)
        (void)snprintf(text, n_text, ", sampler=DistributedSampler(dataset, shuffle=%s%s)", shuffle,
                       spec->loader.drop_last ? ", drop_last=True" : "");
    else
        (void)snprintf(text, n_text, ", shuffle=%s", shuffle);
}

static bool is_set(const json_t *left_out, const char *key)
{
    for (size_t i = 0; i < json_array_size(left_out); i++)
        if (strcmp(json_string_value(json_array_get(left_out, i)), key) == 0)
            return false;
    return true;
}

/* The user's function that makes the loader, or "". It is given the settings by name, those alone
 * that it has parameters for: a call of it cannot be written here. */
static const char *own_loader(const struct dlb_spec *spec)
{
    const char *colon = strrchr(spec->python.loader, ':');
    return dlb_spec_is_torch(spec) && colon ? colon + 1 : "";
}

void dlb_pytorch_text(const struct dlb_spec *spec, bool iterable, const json_t *left_out,
                      char *text, size_t n_text)
{
    const struct dlb_loader_opts *loader = &spec->loader;
    char pin[24] = "", ahead[64] = "", keep[40] = "", shuffle[72] = "", order[20] = "",
         timeout[32] = "", before[80];
    bool workers = loader->num_workers > 0;
    if (is_set(left_out, "loader.pin_memory"))
        (void)snprintf(pin, sizeof(pin), ", pin_memory=%s", python_bool(loader->pin_memory));
    if (workers && is_set(left_out, "loader.prefetch_factor"))
        (void)snprintf(ahead, sizeof(ahead), ", prefetch_factor=%lld",
                       (long long)loader->prefetch_factor);
    if (workers && is_set(left_out, "loader.persistent_workers"))
        (void)snprintf(keep, sizeof(keep), ", persistent_workers=%s",
                       python_bool(keeps_workers(spec)));
    if (workers && loader->order == DLB_ORDER_ANY && is_set(left_out, "loader.order"))
        (void)snprintf(order, sizeof(order), ", in_order=False");
    if (workers && loader->timeout_s > 0 && is_set(left_out, "loader.timeout_s"))
        (void)snprintf(timeout, sizeof(timeout), ", timeout=%g", loader->timeout_s);
    const char *own = own_loader(spec), *after = own[0] ? "" : ")";
    (void)snprintf(before, sizeof(before), "%.*s%s", DLB_CUT(own[0] ? own : "DataLoader", 60),
                   own[0] ? ": " : "(dataset, ");
    if (!iterable)
        write_order(spec, shuffle, sizeof(shuffle));
    (void)snprintf(text, n_text, "%sbatch_size=%lld, num_workers=%lld%s%s%s%s, drop_last=%s%s%s%s",
                   before, (long long)loader->batch_size, (long long)loader->num_workers, pin,
                   ahead, keep, shuffle, python_bool(loader->drop_last), timeout, order, after);
}

/* Whether PyTorch's cells with workers were measured with two values of the option, at least. */
static bool is_compared(const struct dlb_plan *plan, const struct dlb_judgement *j,
                        const struct dlb_spec *spec, const struct dlb_opt *opt)
{
    json_t *own = dlb_opt_load(opt, &spec->loader);
    bool found = false;
    for (uint32_t i = 0; i < plan->n_cells && !found; i++) {
        const struct dlb_loader_opts *other =
            plan->cells[i].spec ? &plan->cells[i].spec->loader : NULL;
        if (!other || other->num_workers == 0 || !dlb_plan_is_torch(plan, i) ||
            !dlb_is_measured(&j->cells[i]))
            continue;
        json_t *value = dlb_opt_load(opt, other);
        found = !json_equal(own, value);
        json_decref(value);
    }
    json_decref(own);
    return found;
}

void dlb_pytorch_unmeasured(const struct dlb_plan *plan, const struct dlb_spec *spec,
                            struct dlb_judgement *j)
{
    static const char *const keys[] = {"prefetch_factor", "persistent_workers"};
    (void)json_array_clear(j->unmeasured);
    if (!dlb_spec_is_torch(spec))
        return;
    if (spec->loader.pin_memory)
        dlb_json_append(j->unmeasured, json_string("loader.pin_memory"));
    for (const struct dlb_opt *opt = dlb_loader_group.opts; opt->key; opt++)
        for (size_t k = 0; k < 2 && spec->loader.num_workers > 0; k++)
            if (strcmp(opt->key, keys[k]) == 0 && !is_compared(plan, j, spec, opt)) {
                char key[DLB_AXIS_KEY_CAP];
                (void)snprintf(key, sizeof(key), "loader.%s", opt->key);
                dlb_json_append(j->unmeasured, json_string(key));
            }
}
