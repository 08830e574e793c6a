#include "scenarios/rules/rule.h"

#include "core/base/escape.h"
#include "core/base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ORIGIN "--fail-on"

const struct dlb_rule_figure dlb_rule_figures[] = {
    {"idle", DLB_RULE_OF_SHARES, "gpu_idle_frac", "share of time that the accelerator idles"},
    {"input_wait", DLB_RULE_OF_SHARES, "input_wait_frac",
     "share of time that it waits for batches"},
    {"skipped", DLB_RULE_OF_SHARES, "skipped_frac", "share of samples that were skipped"},
    {"samples_per_s", DLB_RULE_OF_RATES, NULL, "rate of the measured window"},
    {"within_epoch_samples_per_s", DLB_RULE_OF_RATES, NULL, "rate without borders of epochs"},
    {"epoch_samples_per_s", DLB_RULE_OF_RATES, NULL, "rate of a whole epoch"},
    {"accelerators", DLB_RULE_OF_STORAGE, NULL, "number of accelerators that a storage feeds"},
    {"slower", DLB_RULE_OF_CHANGE, NULL, "loss of speed from A to B"},
    {"faster", DLB_RULE_OF_CHANGE, NULL, "gain of speed from A to B"},
    {NULL, DLB_RULE_OF_SHARES, NULL, NULL},
};

static size_t skip_spaces(const char *text, size_t at)
{
    return at + strspn(text + at, " \t");
}

static int fail_at(const char *text, size_t at, const char *why, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_RULE_SYNTAX, ORIGIN, DLB_NO_OFFSET,
                    "\"%.*s\", character %zu: %s; write FIGURE<LIMIT or FIGURE>LIMIT, as in "
                    "'idle>10%%'",
                    DLB_CUT(text, 60), at + 1, why);
}

static int unknown_figure(const char *text, size_t at, size_t n, struct dlb_err *err)
{
    char names[256] = "";
    size_t len = 0;
    for (const struct dlb_rule_figure *f = dlb_rule_figures; f->name; f++)
        len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", len ? ", " : "", f->name);
    return dlb_fail(err, DLB_ERR_RULE_FIGURE, ORIGIN, DLB_NO_OFFSET,
                    "\"%.*s\", character %zu: there is no figure \"%.*s\"; there are %s",
                    DLB_CUT(text, 60), at + 1, DLB_CUT_KEY(text + at, n, 40), names);
}

static const struct dlb_rule_figure *find_figure(const char *name, size_t n)
{
    for (const struct dlb_rule_figure *f = dlb_rule_figures; f->name; f++)
        if (strlen(f->name) == n && memcmp(f->name, name, n) == 0)
            return f;
    return NULL;
}

/* Behind the figure: nothing, or < or > and a number. */
static int parse_limit(const char *text, size_t at, struct dlb_rule *out, struct dlb_err *err)
{
    bool changes = out->figure->source == DLB_RULE_OF_CHANGE;
    if (text[at] == '\0' && changes)
        return DLB_OK;
    if (text[at] != '<' && text[at] != '>')
        return fail_at(text, at, "\"<\" or \">\" is missing", err);
    out->above = text[at] == '>';
    if (changes && !out->above)
        return fail_at(text, at, "a change fails above its limit, with \">\"", err);
    size_t from = skip_spaces(text, at + 1), end = strlen(text);
    while (end > from && (text[end - 1] == ' ' || text[end - 1] == '\t'))
        end--;
    if (!dlb_number_parse(text + from, end - from, &out->limit))
        return fail_at(text, from, "a number is missing, such as 1700, 0.1 or 10%", err);
    bool percent = text[end - 1] == '%';
    bool share = out->figure->source == DLB_RULE_OF_SHARES || changes;
    if (percent && !share)
        return fail_at(text, from, "this figure is no share, so its limit has no \"%\"", err);
    if (share && !(out->limit >= 0 && out->limit <= 1))
        return fail_at(text, from, "a share is from 0 to 1, or from 0% to 100%", err);
    return out->limit >= 0 ? DLB_OK : fail_at(text, from, "the limit is below 0", err);
}

int dlb_rule_parse(const char *text, struct dlb_rule *out, struct dlb_err *err)
{
    size_t from = skip_spaces(text, 0), n = strspn(text + from, "abcdefghijklmnopqrstuvwxyz_");
    *out = (struct dlb_rule){.above = true, .limit = (double)NAN};
    if (strlen(text) >= sizeof(out->text))
        return fail_at(text, sizeof(out->text) - 1, "the rule is too long", err);
    memcpy(out->text, text, strlen(text) + 1);
    if (n == 0)
        return fail_at(text, from, "the name of a figure is missing", err);
    out->figure = find_figure(text + from, n);
    if (!out->figure)
        return unknown_figure(text, from, n, err);
    return parse_limit(text, skip_spaces(text, from + n), out, err);
}
