#include "core/base/escape.h"
#include "core/base/json.h"
#include "scenarios/judge/judge.h"
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

static bool holds(const json_t *names, const char *name)
{
    for (size_t i = 0; i < json_array_size(names); i++)
        if (strcmp(json_string_value(json_array_get(names, i)), name) == 0)
            return true;
    return false;
}

/* The user's function that makes the loader, or "". A call of it cannot be written here: what else
 * it takes is not known. */
static const char *own_loader(const struct dlb_spec *spec)
{
    const char *colon = strrchr(spec->python.loader, ':');
    return dlb_spec_is_torch(spec) && colon ? colon + 1 : "";
}

#define KEEP_RAGGED "keep_ragged"
/* The twins' (loaders/torch/dlbench_twins.py), in one line of Python. */
#define KEEP_RAGGED_TEXT                                                                           \
    "def " KEEP_RAGGED                                                                             \
    "(samples): return [x for x, _ in samples], torch.tensor([y for _, y in samples])"

bool dlb_pytorch_is_ragged(const struct dlb_plan *plan, const struct dlb_spec *spec)
{
    const struct dlb_format *format = dlb_formats[spec->dataset.format];
    const struct dlb_codec *codec = dlb_codecs[spec->dataset.codec];
    const struct dlb_plan_host *host = &plan->host;
    if (dlb_spec_is_torch(spec) || format->synthetic || format->elsewhere)
        return false;
    if (codec->crops)
        return spec->transform.crop == DLB_CROP_NONE;
    return codec->identity && !format->numbers && host->n_samples > 0 &&
           host->n_bytes / host->n_samples < host->max_payload_bytes;
}

/* Whether DataLoader takes the data set for iterable. Of one that Python alone reads, only the
 * interpreter knows; `planned` is the kind that dlbench's own reader has. */
static bool is_iterable(const json_t *python, bool planned)
{
    const json_t *told = json_object_get(python, "iterable_dataset");
    return json_is_boolean(told) ? json_is_true(told) : planned;
}

/* Arguments, one after the other. */
struct line {
    char *text;
    size_t n_text, at;
    const json_t *left_out; /* keys of options */
    bool pins;              /* pin_memory=True, whatever was measured: it makes no difference */
    bool ragged;            /* a collate_fn is needed that stacks no samples */
    const json_t *accepted; /* names that a loader of the user's own was given; else no array */
    const json_t *given;    /* names of arguments that the user's module has values for ... */
    const json_t *made;     /* ... and those of them that it makes from the data set */
};

static void append(struct line *line, const char *name, const char *value)
{
    bool first = line->at == 0 || strchr("(: ", line->text[line->at - 1]);
    if (json_is_array(line->accepted) && !holds(line->accepted, name))
        return;
    int n = snprintf(line->text + line->at, line->n_text - line->at, "%s%s=%s", first ? "" : ", ",
                     name, value);
    line->at += n > 0 ? (size_t)n : 0;
    line->at = line->at < line->n_text ? line->at : line->n_text - 1;
}

/* Unless its option, a key of section.key form, makes no difference. */
static void append_option(struct line *line, const char *key, const char *name, const char *value)
{
    if (!holds(line->left_out, key))
        append(line, name, value);
}

static void append_whole(struct line *line, const char *key, const char *name, int64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%lld", (long long)value);
    append_option(line, key, name, text);
}

/* DataLoader refuses both for iterable data: the data set shuffles and divides itself. A sampler of
 * the user's own has its own order. */
static void append_order(struct line *line, const struct dlb_spec *spec, bool iterable)
{
    const char *shuffle = python_bool(spec->loader.shuffle);
    char sampler[72];
    if (json_is_array(line->accepted)) { /* whatever the function makes of it */
        append(line, "shuffle", shuffle);
        return;
    }
    if (iterable || holds(line->given, "sampler"))
        return;
    (void)snprintf(sampler, sizeof(sampler), "DistributedSampler(dataset, shuffle=%s%s)", shuffle,
                   spec->loader.drop_last ? ", drop_last=True" : "");
    if (dlb_spec_ranks(spec) > 1)
        append(line, "sampler", sampler);
    else
        append(line, "shuffle", shuffle);
}

/* What DataLoader has a meaning for with workers alone. */
static void append_workers(struct line *line, const struct dlb_spec *spec)
{
    static const char *const methods[] = {"", "\"fork\"", "\"forkserver\"", "\"spawn\""};
    const struct dlb_loader_opts *loader = &spec->loader;
    char timeout[24];
    (void)snprintf(timeout, sizeof(timeout), "%g", loader->timeout_s);
    if (loader->timeout_s > 0)
        append_option(line, "loader.timeout_s", "timeout", timeout);
    if (loader->order == DLB_ORDER_ANY)
        append_option(line, "loader.order", "in_order", "False");
    if (dlb_spec_is_torch(spec) && spec->python.start_method != DLB_START_DEFAULT)
        append_option(line, "python.start_method", "multiprocessing_context",
                      methods[spec->python.start_method]);
}

static void append_all(struct line *line, const struct dlb_spec *spec, bool iterable)
{
    static const char *const own[] = {"sampler", "batch_sampler", "collate_fn", "worker_init_fn"};
    const struct dlb_loader_opts *loader = &spec->loader;
    bool workers = loader->num_workers > 0, batches = holds(line->given, "batch_sampler");
    if (!batches) /* it makes batches itself, and DataLoader refuses the size beside it */
        append_whole(line, "", "batch_size", loader->batch_size);
    append_whole(line, "", "num_workers", loader->num_workers);
    append(line, "pin_memory", python_bool(loader->pin_memory || line->pins));
    if (workers) {
        append_whole(line, "loader.prefetch_factor", "prefetch_factor", loader->prefetch_factor);
        append_option(line, "loader.persistent_workers", "persistent_workers",
                      python_bool(keeps_workers(spec)));
    }
    if (!batches) {
        append_order(line, spec, iterable);
        append(line, "drop_last", python_bool(loader->drop_last));
    }
    if (workers)
        append_workers(line, spec);
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
        char made[40];
        (void)snprintf(made, sizeof(made), "%s%s", own[i],
                       holds(line->made, own[i]) ? "(dataset)" : "");
        if (holds(line->given, own[i]))
            append(line, own[i], made);
    }
    if (line->ragged)
        append(line, "collate_fn", KEEP_RAGGED);
}

/* What has to be known of the line, as a comment of Python. */
static void append_comments(struct line *line, const struct dlb_spec *spec)
{
    bool threads = dlb_spec_is_torch(spec) && spec->python.threads > 0 &&
                   !holds(line->left_out, "python.threads");
    char text[240] = "";
    size_t at = 0;
    if (threads)
        at = (size_t)snprintf(text, sizeof(text), "after torch.set_num_threads(%lld)",
                              (long long)spec->python.threads);
    if (line->pins)
        at += (size_t)snprintf(text + at, sizeof(text) - at,
                               "%spin_memory: no difference here, but non_blocking copies need it",
                               at ? "; " : "");
    if (line->ragged) /* last, so that it can be copied */
        (void)snprintf(text + at, sizeof(text) - at, "%s" KEEP_RAGGED_TEXT, at ? "; " : "");
    if (text[0])
        (void)snprintf(line->text + line->at, line->n_text - line->at, "  # %s", text);
}

void dlb_pytorch_text(const struct dlb_spec *spec, bool iterable, const json_t *python,
                      const struct dlb_judgement *j, char *text, size_t n_text)
{
    const char *own = own_loader(spec);
    struct line line = {.text = text, .n_text = n_text};
    if (j) {
        line.left_out = j->left_out;
        line.pins = j->pins;
    }
    if (own[0]) {
        line.accepted = json_object_get(python, "accepted");
        line.pins =
            line.pins && (!json_is_array(line.accepted) || holds(line.accepted, "pin_memory"));
    } else {
        line.given = json_object_get(python, "given");
        line.made = json_object_get(python, "made");
        line.ragged =
            dlb_spec_is_torch(spec) ? dlb_json_text(python, "collate")[0] != '\0' : j && j->ragged;
    }
    bool none = json_is_array(line.accepted) && json_array_size(line.accepted) == 0;
    line.at = (size_t)snprintf(text, n_text, "%.*s%s", DLB_CUT(own[0] ? own : "DataLoader", 60),
                               none     ? ": it takes none of the settings"
                               : own[0] ? ": "
                                        : "(dataset, ");
    append_all(&line, spec, is_iterable(python, iterable));
    line.at += (size_t)snprintf(text + line.at, n_text - line.at, "%s", own[0] ? "" : ")");
    append_comments(&line, spec);
}
