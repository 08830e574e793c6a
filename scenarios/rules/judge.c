#include "scenarios/rules/judge.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/units.h"
#include "core/measure/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A figure and where it was found. NaN: not known. */
struct figure {
    double value, low, high;
    char place[256];
    const json_t *apart; /* the pair whose work differs, so that its change says nothing; or NULL */
};

static const struct figure no_figure = {(double)NAN, (double)NAN, (double)NAN, "", NULL};

static const char *outcome_of(const struct dlb_rule *rule, double limit, const struct figure *f)
{
    if (isnan(f->low) || isnan(f->high) || !isfinite(limit) || f->apart)
        return "unclear";
    if (rule->above ? f->low > limit : f->high < limit)
        return "failed";
    return (rule->above ? f->high <= limit : f->low >= limit) ? "passed" : "unclear";
}

static const char *number_text(const struct dlb_rule *rule, double value, char *text, size_t n)
{
    enum dlb_rule_source source = rule->figure->source;
    if (!isfinite(value))
        (void)snprintf(text, n, "not known");
    else if (source == DLB_RULE_OF_SHARES || source == DLB_RULE_OF_CHANGE)
        (void)snprintf(text, n, "%.3g%%", value * 100);
    else
        (void)dlb_count_text(value, text, n);
    return text;
}

static json_t *outcome_json(const struct dlb_rule *rule, double limit, const struct figure *f)
{
    char value[40], low[40], high[40], end[40], text[320];
    const char *outcome = outcome_of(rule, limit, f);
    number_text(rule, f->value, value, sizeof(value));
    number_text(rule, limit, end, sizeof(end));
    if (f->apart)
        (void)snprintf(
            text, sizeof(text),
            "%s is %s, which is not judged: A skipped %s of its samples and B %s; it "
            "may not be above %s",
            rule->figure->name, value,
            number_text(rule, dlb_json_number(f->apart, "a_skipped_frac"), low, sizeof(low)),
            number_text(rule, dlb_json_number(f->apart, "b_skipped_frac"), high, sizeof(high)),
            end);
    else if (isfinite(f->low) && isfinite(f->high))
        (void)snprintf(text, sizeof(text), "%s is %s, %s to %s with 95%%; it may not be %s %s",
                       rule->figure->name, value, number_text(rule, f->low, low, sizeof(low)),
                       number_text(rule, f->high, high, sizeof(high)),
                       rule->above ? "above" : "below", end);
    else if (isinf(f->high))
        (void)snprintf(text, sizeof(text), "%s is %s or more; it may not be %s %s",
                       rule->figure->name, number_text(rule, f->low, low, sizeof(low)),
                       rule->above ? "above" : "below", end);
    else
        (void)snprintf(text, sizeof(text),
                       "%s is %s, without an interval: that takes %d repetitions; it may not be %s "
                       "%s",
                       rule->figure->name, value, DLB_MEAN_MIN_N, rule->above ? "above" : "below",
                       end);
    return dlb_json_made(json_pack(
        "{so, so, ss, so, so, so, so, ss}", "rule", dlb_json_safe_text(rule->text), "place",
        dlb_json_safe_text(f->place), "outcome", outcome, "value", dlb_json_real_or_null(f->value),
        "low", dlb_json_real_or_null(f->low), "high", dlb_json_real_or_null(f->high), "limit",
        dlb_json_real_or_null(limit), "text", text));
}

/* The cell that rules are about; NULL: there is none. `compare`: where two were compared, of which
 * B's is meant; or NULL. */
static const json_t *cell_of(const json_t *doc, const json_t *compare, size_t *place)
{
    const json_t *pairs = json_object_get(compare, "cells");
    const json_t *storage = json_object_get(doc, "storage"), *entry;
    double wanted = dlb_json_number(storage, "max_accelerators");
    uint64_t at = dlb_json_u64(doc, "recommended_cell", dlb_json_u64(doc, "best_cell", SIZE_MAX));
    size_t i;
    if (storage) {
        at = SIZE_MAX;
        json_array_foreach(json_object_get(storage, "curve"), i, entry) {
            if (dlb_json_number(entry, "accelerators") == wanted)
                at = dlb_json_u64(entry, "cell", SIZE_MAX);
        }
    }
    if (json_array_size(pairs) == 1)
        at = dlb_json_u64(json_array_get(pairs, 0), "b_cell", at);
    *place = (size_t)at;
    return json_array_get(json_object_get(doc, "cells"), (size_t)at);
}

/* The mean of the repetitions with its 95% interval; of rates on the log scale. */
static void take_values(const json_t *values, bool log_scale, struct figure *out)
{
    uint32_t n = 0;
    double sum = 0;
    const json_t *value;
    size_t i;
    double *x = dlb_mem_array(json_array_size(values), sizeof(*x));
    json_array_foreach(values, i, value) {
        double number = json_is_number(value) ? json_number_value(value) : (double)NAN;
        number = log_scale ? (number > 0 ? log(number) : (double)NAN) : number;
        if (!isfinite(number))
            continue;
        x[n++] = number;
        sum += number;
    }
    bool known = dlb_mean_interval(x, n, &out->low, &out->high);
    out->value = n ? sum / n : (double)NAN;
    if (log_scale) {
        out->value = exp(out->value);
        out->low = known ? exp(out->low) : (double)NAN;
        out->high = known ? exp(out->high) : (double)NAN;
    }
    free(x);
}

static void figure_of_cell(const struct dlb_rule *rule, const json_t *doc, const json_t *compare,
                           struct figure *out)
{
    const struct dlb_rule_figure *f = rule->figure;
    size_t place;
    const json_t *cell = cell_of(doc, compare, &place);
    const json_t *member = json_object_get(cell, f->key ? f->key : f->name);
    *out = no_figure;
    if (!cell)
        return;
    (void)snprintf(out->place, sizeof(out->place), "cell %zu", place);
    if (json_is_number(member)) { /* of all repetitions, and counted */
        out->value = out->low = out->high = json_number_value(member);
        return;
    }
    take_values(json_object_get(member, "values"), f->source == DLB_RULE_OF_RATES, out);
    if (!isfinite(out->value))
        out->value = dlb_json_number(member, "median");
}

static int judge_result(const struct dlb_rule *rule, const json_t *doc, const json_t *compare,
                        json_t *out, struct dlb_err *err)
{
    const json_t *storage = json_object_get(doc, "storage");
    const char *command = dlb_json_text(doc, "command");
    bool wants_storage = rule->figure->source == DLB_RULE_OF_STORAGE;
    struct figure f;
    if (json_object_get(doc, "gap") || (wants_storage && !storage) ||
        !json_object_get(doc, "cells"))
        return dlb_fail(err, DLB_ERR_RULE_FIGURE, "--fail-on", DLB_NO_OFFSET,
                        "\"%s\": a result of %s has no %s", rule->text,
                        command[0] ? command : "TraceML", rule->figure->name);
    if (wants_storage)
        f = (struct figure){.value = dlb_json_number(storage, "max_accelerators"),
                            .low = dlb_json_number(storage, "low"),
                            .high = dlb_json_is_true(storage, "capped")
                                        ? (double)INFINITY
                                        : dlb_json_number(storage, "high")};
    else
        figure_of_cell(rule, doc, compare, &f);
    dlb_json_append(out, outcome_json(rule, rule->limit, &f));
    return DLB_OK;
}

/* A loss is above 0 where B is slower. */
static void figure_of_change(const struct dlb_rule *rule, const json_t *change, struct figure *out)
{
    bool loss = strcmp(rule->figure->name, "slower") == 0;
    double value = dlb_json_number(change, "change_frac"), low = dlb_json_number(change, "low"),
           high = dlb_json_number(change, "high");
    out->value = loss ? 0 - value : value; /* not -0 */
    out->low = loss ? -high : low;
    out->high = loss ? -low : high;
    out->apart = dlb_json_is_true(change, "work_differs") ? change : NULL;
}

static void place_of(const json_t *pair, char *text, size_t n_text)
{
    const char *key, *what = dlb_json_text(pair, "what");
    json_t *value;
    size_t n = (size_t)snprintf(text, n_text, "%s", what);
    json_object_foreach(json_object_get(pair, "settings"), key, value) {
        char *word = dlb_json_dumped(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(10));
        if (n < n_text)
            n += (size_t)snprintf(text + n, n_text - n, "%s%s=%s", n ? " " : "", key, word);
        free(word);
    }
}

static int judge_change(const struct dlb_rule *rule, const json_t *doc, json_t *out,
                        struct dlb_err *err)
{
    const json_t *compare = json_object_get(doc, "compare"), *pair, *apart = NULL;
    const json_t *cells = json_object_get(compare, "cells");
    double smallest = dlb_json_number(compare, "smallest_frac");
    double limit = isfinite(rule->limit) ? rule->limit : smallest;
    struct figure f;
    size_t i;
    if (!compare && strcmp(dlb_json_text(doc, "command"), "compare") == 0) { /* a side failed */
        f = no_figure;
        dlb_json_append(out, outcome_json(rule, limit, &f));
        return DLB_OK;
    }
    if (!compare)
        return dlb_fail(err, DLB_ERR_RULE_FIGURE, "--fail-on", DLB_NO_OFFSET,
                        "\"%s\" is about two results: use it with `dlbench compare A B`",
                        rule->text);
    json_array_foreach(cells, i, pair) {
        figure_of_change(rule, pair, &f);
        place_of(pair, f.place, sizeof(f.place));
        apart = apart ? apart : f.apart;
        dlb_json_append(out, outcome_json(rule, limit, &f));
    }
    if (json_array_size(cells) < 2)
        return DLB_OK;
    figure_of_change(rule, json_object_get(compare, "overall"), &f);
    (void)snprintf(f.place, sizeof(f.place), "over all");
    f.apart = apart;
    dlb_json_append(out, outcome_json(rule, limit, &f));
    return DLB_OK;
}

int dlb_rules_judge(const struct dlb_rule *rules, uint32_t n, const json_t *doc, const json_t *of,
                    json_t **out, struct dlb_err *err)
{
    int rc = DLB_OK;
    *out = dlb_json_made(json_array());
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = rules[i].figure->source == DLB_RULE_OF_CHANGE
                 ? judge_change(&rules[i], doc, *out, err)
                 : judge_result(&rules[i], of ? of : doc, json_object_get(doc, "compare"), *out,
                                err);
    if (rc) {
        json_decref(*out);
        *out = NULL;
    }
    return rc;
}

json_t *dlb_rules_all_measured(const json_t *doc)
{
    const json_t *cell;
    size_t i, n_failed = 0;
    json_array_foreach(json_object_get(doc, "cells"), i, cell) {
        n_failed += strcmp(dlb_json_text(cell, "status"), "failed") == 0;
    }
    char text[80];
    (void)snprintf(text, sizeof(text), "%zu of %zu cells failed", n_failed,
                   json_array_size(json_object_get(doc, "cells")));
    return dlb_json_made(json_pack("{ss, ss, ss, si, sn, sn, si, ss}", "rule", "--strict", "place",
                                   "", "outcome", n_failed ? "failed" : "passed", "value",
                                   (int)n_failed, "low", "high", "limit", 0, "text", text));
}

uint32_t dlb_rules_count(const json_t *outcomes, const char *outcome)
{
    const json_t *one;
    size_t i;
    uint32_t n = 0;
    json_array_foreach(outcomes, i, one) {
        n += strcmp(dlb_json_text(one, "outcome"), outcome) == 0;
    }
    return n;
}
