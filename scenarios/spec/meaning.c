#include "scenarios/spec/meaning.h"

#include "core/base/opt_value.h"
#include "formats/format.h"

#include <stdio.h>
#include <string.h>

/* Whether the spec has this section: a format has only its own. */
static bool is_own_section(const struct dlb_opt_group *group, const struct dlb_spec *spec)
{
    return dlb_spec_section_of(spec, group) != NULL;
}

static bool is_met(enum dlb_opt_needs needs, const struct dlb_spec *spec, bool iterable)
{
    bool stored = !dlb_spec_format(spec)->synthetic;

    switch (needs) {
    case DLB_NEEDS_NOTHING:
    case DLB_NEEDS_OWN_FORMAT: /* asked of the group: is_own_section */
    case DLB_N_NEEDS:
        return true;
    case DLB_NEEDS_WORKERS:
        return spec->loader.num_workers > 0;
    case DLB_NEEDS_STORED_BYTES:
        return stored;
    case DLB_NEEDS_PINNING:
        return spec->loader.pin_memory;
    case DLB_NEEDS_MANY_READS:
        return spec->loader.io != DLB_READ_SYNC;
    case DLB_NEEDS_COLD_RUN:
        return stored && spec->run.cache == DLB_RUN_COLD;
    case DLB_NEEDS_MANY_ACCELERATORS:
        return spec->accelerators.count > 1;
    case DLB_NEEDS_STEPS_TOGETHER:
        return spec->accelerators.count > 1 || spec->run.world > 1;
    case DLB_NEEDS_SHUFFLED_SHARDS:
        return iterable && spec->loader.shuffle;
    case DLB_NEEDS_VARIED_STEPS:
        return spec->device.step_dist != DLB_STEP_CONSTANT;
    case DLB_NEEDS_TORCH:
        return dlb_spec_is_torch(spec);
    case DLB_NEEDS_OWN_COPIES:
        return !dlb_spec_is_torch(spec);
    case DLB_NEEDS_EPOCH_BORDERS:
        return spec->run.epochs >= DLB_EPOCHS_WITH_BORDERS;
    }
    return true;
}

/* Why a condition is not met: the end of a sentence that begins with the option. */
static const char *const unmet[DLB_N_NEEDS] = {
    [DLB_NEEDS_WORKERS] = "with loader.num_workers = 0: the training loop loads by itself",
    [DLB_NEEDS_STORED_BYTES] = "with formats synthetic and memory: they store nothing to read",
    [DLB_NEEDS_PINNING] = "with loader.pin_memory = false",
    [DLB_NEEDS_MANY_READS] = "with loader.io = \"sync\": a worker reads one sample at a time",
    [DLB_NEEDS_COLD_RUN] = "unless run.cache = \"cold\"",
    [DLB_NEEDS_MANY_ACCELERATORS] = "with one accelerator",
    [DLB_NEEDS_STEPS_TOGETHER] = "with one accelerator on one rank",
    [DLB_NEEDS_SHUFFLED_SHARDS] = "unless iterable data is shuffled",
    [DLB_NEEDS_VARIED_STEPS] = "with device.step_dist = \"constant\"",
    [DLB_NEEDS_EPOCH_BORDERS] = "with fewer than 3 run.epochs",
    [DLB_NEEDS_TORCH] = "unless loader.kind = \"torch\"",
    [DLB_NEEDS_OWN_COPIES] =
        "with loader.kind = \"torch\": its cells do not pin, for their accelerator is emulated",
    [DLB_NEEDS_OWN_FORMAT] = "with another dataset.format",
};
_Static_assert(DLB_EPOCHS_WITH_BORDERS == 3, "the sentence above has the number");

bool dlb_meaning_has(const struct dlb_opt_group *group, const struct dlb_opt *opt,
                     const struct dlb_spec *spec, bool iterable)
{
    return is_own_section(group, spec) && is_met(opt->needs, spec, iterable) &&
           !(opt->native && dlb_spec_is_torch(spec));
}

bool dlb_meaning_shows(const struct dlb_opt_group *group, const struct dlb_opt *opt,
                       const struct dlb_spec *spec, bool iterable)
{
    return dlb_meaning_has(group, opt, spec, iterable) && is_met(opt->shows_with, spec, iterable);
}

void dlb_meaning_why_not(const struct dlb_opt_group *group, const struct dlb_opt *opt,
                         const struct dlb_spec *spec, bool iterable, char *text, size_t n_text)
{
    enum dlb_opt_needs lacks = opt->shows_with;
    bool has = dlb_meaning_has(group, opt, spec, iterable);

    if (!is_own_section(group, spec))
        lacks = DLB_NEEDS_OWN_FORMAT;
    else if (!has)
        lacks = opt->needs;
    bool native = !has && opt->native && dlb_spec_is_torch(spec);
    (void)snprintf(text, n_text, "%s %s %s", opt->key,
                   has ? "makes no difference" : "has no meaning",
                   native         ? "with loader.kind = \"torch\": PyTorch has no such setting"
                   : unmet[lacks] ? unmet[lacks]
                                  : "here");
}

void dlb_meaning_fill(struct dlb_spec *spec, const struct dlb_spec *other, bool iterable)
{
    const struct dlb_spec asked = *spec;

    for (const struct dlb_opt_group *const *g = dlb_spec_groups(); *g; g++) {
        void *section = dlb_spec_section(spec, *g);
        const void *others = dlb_spec_section_of(other, *g);
        for (const struct dlb_opt *opt = (*g)->opts; section && others && opt->key; opt++) {
            if (dlb_meaning_has(*g, opt, &asked, iterable))
                continue;
            json_t *value = dlb_opt_load(opt, others);
            dlb_opt_store(opt, value, section);
            json_decref(value);
        }
    }
    dlb_spec_derive(spec);
}

void dlb_meaning_settle(struct dlb_spec *spec, bool iterable)
{
    struct dlb_spec plain;

    dlb_spec_defaults_of_format(&plain, spec->dataset.format);
    dlb_meaning_fill(spec, &plain, iterable);
}
