#include "reports/answer.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/shell.h"
#include "core/base/units.h"
#include "core/measure/verdict.h"
#include "reports/findings.h"
#include "reports/ranked.h"
#include "reports/supply.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCREEN_ROWS 23 /* of a terminal with 24, less the prompt that follows */
enum {
    PARTIAL_ROWS = 3, /* of the line on stderr that follows a partial result */
    CAVEATS_ROWS = 2, /* an empty one, and how many there are */
    LEAST_ROWS = 3    /* of a text that is cut */
};
#define ELLIPSIS " ..."

static bool has_text(const json_t *object, const char *key, const char *text)
{
    return strcmp(dlb_json_text(object, key), text) == 0;
}

/* A text that nothing was written to has no data. */
static void put(struct dlb_text *out, const struct dlb_text *part)
{
    if (part->len_bytes > 0)
        dlb_text_append(out, part->data, part->len_bytes);
}

/* The terminal wraps a line that is longer than the screen is wide. */
static uint32_t rows_of_line(size_t n_line, uint32_t n_columns)
{
    return n_line > n_columns ? (uint32_t)((n_line + n_columns - 1) / n_columns) : 1;
}

static uint32_t n_rows(const struct dlb_text *text, uint32_t n_columns)
{
    uint32_t n = 0;
    for (const char *at = text->data; at && *at; at += *at == '\n') {
        size_t n_line = strcspn(at, "\n");
        n += rows_of_line(n_line, n_columns);
        at += n_line;
    }
    return n;
}

/* How much of a line is shown where an ellipsis follows it: whole words, or as much of a word that
 * alone is too long. */
static size_t n_before_ellipsis(const char *line, size_t n_line, size_t n_columns)
{
    size_t room = n_columns - strlen(ELLIPSIS), n = dlb_cut(line, n_line < room ? n_line : room);
    while (dlb_text_width(line, n) > room)
        n = dlb_cut(line, n - 1);
    size_t begin = strspn(line, " "), n_words = n;
    while (n_words > begin && n_words < n_line && line[n_words] != ' ')
        n_words--;
    return n_words > begin ? n_words : n;
}

/* How many rows each of the two long texts may take. */
struct room {
    uint32_t verdict, recommendation;
};

static const struct room all_rows = {UINT32_MAX, UINT32_MAX};

/* As dlb_text_fold; of more rows than there is room for, the last one ends in an ellipsis. */
static void fold_within(struct dlb_text *out, const char *words, uint32_t indent,
                        uint32_t n_columns, uint32_t most)
{
    struct dlb_text folded = {0};

    dlb_text_fold(&folded, words, indent, n_columns);
    if (n_rows(&folded, n_columns) <= most) {
        put(out, &folded);
        dlb_text_free(&folded);
        return;
    }
    const char *line = folded.data;
    size_t n = strcspn(line, "\n");
    while (rows_of_line(n, n_columns) < most) {
        most -= rows_of_line(n, n_columns);
        line += n + 1;
        n = strcspn(line, "\n");
    }
    n = n_before_ellipsis(line, n, (size_t)most * n_columns);
    dlb_text_append(out, folded.data, (size_t)(line - folded.data) + n);
    dlb_text_printf(out, ELLIPSIS "\n");
    dlb_text_free(&folded);
}

/* What the verdict's severity is about. */
static void severity(const json_t *doc, const json_t *best, char *text, size_t n_text)
{
    const json_t *verdict = json_object_get(doc, "verdict");
    const char *word = dlb_text_shown(verdict, "severity");
    double idle = dlb_ranked_share(doc, best, "gpu_idle_frac");
    double lost = dlb_json_number(best, "skipped_frac");
    bool cut = !isfinite(lost) && dlb_json_u64(best, "cut_shards", 0) > 0;
    uint64_t n_skipped = dlb_json_u64(best, "skipped_samples", 0);
    bool judged =
        !has_text(verdict, "class", "INCOMPLETE") && !has_text(verdict, "class", "HARNESS-BOUND");
    char percent[24];
    int n = snprintf(text, n_text, "%.*s", DLB_CUT(word, 40));
    if (judged && isfinite(idle))
        n += snprintf(text + n, n_text - (size_t)n, ": the accelerator is idle %s of the time",
                      dlb_text_percent(DLB_PERCENT_SHORT, idle, percent, sizeof(percent)));
    if (lost >= DLB_LOST_WARN)
        (void)snprintf(text + n, n_text - (size_t)n, ", %s of the samples skipped",
                       dlb_text_percent(DLB_PERCENT_SHORT, lost, percent, sizeof(percent)));
    else if (cut && n_skipped > 0)
        (void)snprintf(text + n, n_text - (size_t)n,
                       ", %" PRIu64 " samples and the rest of damaged shards skipped", n_skipped);
    else if (cut)
        (void)snprintf(text + n, n_text - (size_t)n, ", the rest of damaged shards skipped");
}

/* The title has the class, so the text need not begin with it. Owned by the caller. */
static char *reasons(const json_t *verdict)
{
    const char *words = dlb_json_text(verdict, "text"), *class = dlb_json_text(verdict, "class");
    size_t n = strlen(class);
    bool named = strncmp(words, class, n) == 0 && strncmp(words + n, ": ", 2) == 0;
    char *own = dlb_mem_text(named ? words + n + 2 : words);

    own[0] = (char)toupper((unsigned char)own[0]);
    return own;
}

void dlb_answer_title(const json_t *doc, char *title, size_t n_title)
{
    const json_t *verdict = json_object_get(doc, "verdict"), *best = dlb_ranked_best(doc);
    char which[40] = "", how_bad[140];
    if (best && json_array_size(json_object_get(doc, "cells")) > 1)
        (void)snprintf(which, sizeof(which), ", of the best cell, %lld",
                       (long long)json_integer_value(json_object_get(doc, "best_cell")));
    severity(doc, best, how_bad, sizeof(how_bad));
    (void)snprintf(title, n_title, "%.*s (%s)%s", DLB_CUT(dlb_text_shown(verdict, "class"), 40),
                   how_bad, which);
}

static void say_verdict(const json_t *doc, uint32_t n_columns, uint32_t most, struct dlb_text *out)
{
    char title[240], line[256];
    dlb_answer_title(doc, title, sizeof(title));
    (void)snprintf(line, sizeof(line), "Verdict: %s", title);
    dlb_text_printf(out, "\n");
    dlb_text_fold(out, line, 0, n_columns);
    char *words = reasons(json_object_get(doc, "verdict"));
    fold_within(out, words, 2, n_columns, most);
    free(words);
}

static const char *step_text(double ms, char *text, size_t n_text)
{
    if (ms >= 1000)
        return dlb_count_text(ms, text, n_text);
    (void)snprintf(text, n_text, "%.4g", ms);
    return text;
}

/* From what the rate that is shown was measured. Only that of the whole window is its batches over
 * its time. */
static void say_measured_over(const json_t *doc, const json_t *one, struct dlb_text *line)
{
    const char *rate = dlb_ranked_rate(doc);
    double steps = dlb_json_number(one, "steps"), seconds = dlb_json_number(one, "window_ns") / 1e9;
    char window[24];

    if (!isfinite(steps))
        return;
    dlb_text_printf(line, "%s %.0f batches in %s, ",
                    strcmp(rate, "epoch_samples_per_s") == 0 ? "projected for a whole epoch from"
                    : strcmp(rate, "within_epoch_samples_per_s") == 0
                        ? "without borders of epochs, of"
                        : "over",
                    steps, dlb_duration_text(seconds, window, sizeof(window)));
}

static void say_needs(const json_t *doc, const json_t *cell, double needs, struct dlb_text *line)
{
    const char *source = dlb_json_text(json_object_get(doc, "device"), "step_source");
    double step_ms = dlb_json_number(json_object_get(cell, "config"), "device.step_ms");
    double n = dlb_json_number(json_object_get(cell, "accelerators"), "count");
    char all[24], each[24], step[24];

    dlb_text_printf(line, "Needs %s samples/s (", dlb_count_text(needs, all, sizeof(all)));
    if (n > 1)
        dlb_text_printf(line, "%.0f x ", n);
    dlb_text_printf(
        line, "%s / %s ms%s%.*s). ", dlb_count_text(needs * step_ms / 1000 / n, each, sizeof(each)),
        step_text(step_ms, step, sizeof(step)), source[0] ? "; " : "", DLB_CUT(source, 1000));
}

static void say_gives(const json_t *doc, const json_t *cell, double needs, struct dlb_text *line)
{
    const json_t *all = json_object_get(cell, "accelerators"),
                 *one = json_array_get(json_object_get(all, "each"), 0);
    double gives = dlb_json_number(json_object_get(cell, dlb_ranked_rate(doc)), "median");
    double repeats = dlb_json_number(cell, "repeats");
    char rate[24], share[24];

    if (json_array_size(json_object_get(doc, "cells")) > 1)
        dlb_text_printf(line, "Cell %lld", dlb_ranked_offered_number(doc));
    else
        dlb_text_printf(line, "This");
    dlb_text_printf(line, " gives %s: %s of that, ", dlb_count_text(gives, rate, sizeof(rate)),
                    dlb_text_percent(DLB_PERCENT_SHORT, gives / needs, share, sizeof(share)));
    say_measured_over(doc, one, line);
    if (repeats > 1)
        dlb_text_printf(line, "in each of %.0f repetitions.", repeats);
    else
        dlb_text_printf(line, "once.");
}

/* What the steps could take, and what the cell whose settings are offered gives them. */
void dlb_answer_demand(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *cell = dlb_ranked_offered(doc);
    double needs = dlb_supply_needs(cell);
    struct dlb_text line = {0};

    if (!isfinite(needs) ||
        !(dlb_json_number(json_object_get(cell, dlb_ranked_rate(doc)), "median") > 0))
        return;
    say_needs(doc, cell, needs, &line);
    say_gives(doc, cell, needs, &line);
    dlb_text_fold(out, line.data, 0, n_columns);
    dlb_text_free(&line);
}

/* Of one run it is the rate, which dlb_answer_demand() has told. */
static void say_recommendation(const json_t *doc, uint32_t n_columns, uint32_t most,
                               struct dlb_text *out)
{
    if (!has_text(doc, "command", "run") && dlb_json_text(doc, "recommendation")[0]) {
        dlb_text_printf(out, "\n");
        fold_within(out, dlb_json_text(doc, "recommendation"), 0, n_columns, most);
    }
    if (!dlb_json_is_true(doc, "too_busy")) /* which has said it */
        dlb_findings_noise(doc, out);
}

static void append_cut(struct dlb_text *out, const char *words, uint32_t n_columns)
{
    size_t n = strlen(words), room = n_columns > 20 ? n_columns - 4 : 16;
    bool cut = dlb_text_width(words, n) > room;
    dlb_text_printf(out, "  - ");
    dlb_text_plain(out, words, cut ? n_before_ellipsis(words, n, room) : n);
    dlb_text_printf(out, cut ? ELLIPSIS "\n" : "\n");
}

/* The notes of this result first; what holds for every result of its kind behind them. */
static const char *caveat(const json_t *doc, size_t number)
{
    const json_t *notes = json_object_get(doc, "notes"),
                 *others = json_object_get(doc, "not_modelled");
    size_t n = json_array_size(notes);
    const char *words = dlb_json_text(
        number < n ? json_array_get(notes, number) : json_array_get(others, number - n), "text");
    return words[0] ? words : "?";
}

/* "Caveats, 7; in full: dlbench report results/x --verbose", in two lines where one is too short.
 * The command is not folded, so that it can be copied. */
static void say_caveats_title(const struct dlb_report_opts *opts, size_t n, uint32_t n_columns,
                              struct dlb_text *out)
{
    struct dlb_text command = {0};
    if (opts->folder) {
        char *folder = dlb_shell_word(opts->folder);
        dlb_text_printf(&command, "dlbench report %s ", folder);
        free(folder);
    }
    dlb_text_printf(&command, "--verbose");
    size_t before = out->len_bytes;
    dlb_text_printf(out, "Caveats, %zu; in full:", n);
    bool fits = out->len_bytes - before + 1 + command.len_bytes <= n_columns;
    dlb_text_printf(out, fits ? " " : "\n  ");
    put(out, &command);
    dlb_text_printf(out, "\n");
    dlb_text_free(&command);
}

static void say_caveats(const json_t *doc, const struct dlb_report_opts *opts, uint32_t n_columns,
                        uint32_t room, struct dlb_text *out)
{
    size_t n = json_array_size(json_object_get(doc, "notes")) +
               json_array_size(json_object_get(doc, "not_modelled"));
    struct dlb_text title = {0};
    if (n == 0)
        return;
    dlb_text_printf(&title, "\n");
    say_caveats_title(opts, n, n_columns, &title);
    uint32_t used = n_rows(&title, n_columns);
    put(out, &title);
    size_t n_shown = room > used ? room - used : 0;
    for (size_t i = 0; i < n && i < n_shown; i++)
        append_cut(out, caveat(doc, i), n_columns);
    dlb_text_free(&title);
}

void dlb_answer_next(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const char *again = dlb_json_text(doc, "arguments");
    bool known = json_is_string(json_object_get(doc, "arguments"));
    const json_t *detail = json_object_get(doc, "recommendation_detail"),
                 *verdict = json_object_get(doc, "verdict");
    bool is_run = has_text(doc, "command", "run"), is_sweep = has_text(doc, "command", "sweep");
    bool undecided = is_sweep && json_is_null(json_object_get(doc, "recommended_cell"));
    bool settled = is_sweep && !undecided && dlb_json_text(doc, "pytorch")[0];
    double minutes = dlb_json_number(json_object_get(doc, "config"), "sweep.max_minutes");
    struct dlb_text line = {0};
    if (known && is_run &&
        (has_text(verdict, "class", "INPUT-BOUND") || has_text(verdict, "class", "BORDERLINE")))
        dlb_text_printf(&line, "Next: dlbench sweep%s", again);
    else if (known && undecided && has_text(detail, "stopped", "budget") && minutes > 0)
        dlb_text_printf(&line, "Next: dlbench sweep%s --sweep.max_minutes %.4g", again,
                        3 * minutes);
    else if (known && undecided && has_text(detail, "stopped", "noise"))
        dlb_text_printf(&line, "Next, on a quieter machine: dlbench sweep%s", again);
    else if (settled)
        dlb_text_fold(
            out, "Next: in training, dlbench.watch(loader) (python/dlbench.py) shows the waits.", 0,
            n_columns);
    if (line.len_bytes) { /* a command stays one line, so that it can be copied */
        dlb_text_plain(out, line.data, line.len_bytes);
        dlb_text_printf(out, "\n");
    }
    dlb_text_free(&line);
}

static void say_place(const struct dlb_report_opts *opts, struct dlb_text *out)
{
    if (!opts->folder)
        return;
    char *folder = dlb_escaped(opts->folder, DLB_ESCAPE_NAME);
    dlb_text_printf(out, "Result: ");
    dlb_text_append(out, folder, strlen(folder));
    dlb_text_printf(out, "/summary.json\n");
    free(folder);
}

void dlb_answer_place(const struct dlb_report_opts *opts, struct dlb_text *out)
{
    if (opts->folder)
        dlb_text_printf(out, "\n");
    say_place(opts, out);
}

static void say_words(const json_t *doc, uint32_t n_columns, struct room room, struct dlb_text *out)
{
    bool too_busy = dlb_json_is_true(doc, "too_busy");

    if (too_busy)
        say_recommendation(doc, n_columns, room.recommendation, out);
    say_verdict(doc, n_columns, room.verdict, out);
    dlb_answer_demand(doc, n_columns, out);
    if (!too_busy)
        say_recommendation(doc, n_columns, room.recommendation, out);
    dlb_findings_settings(doc, n_columns, out);
}

static uint32_t n_folded(const char *words, uint32_t indent, uint32_t n_columns)
{
    struct dlb_text folded = {0};
    dlb_text_fold(&folded, words, indent, n_columns);
    uint32_t n = n_rows(&folded, n_columns);
    dlb_text_free(&folded);
    return n;
}

/* Rows that are too many come off the recommendation's figures first, then off the reasons. */
static struct room room_for(const json_t *doc, uint32_t n_columns, uint32_t excess)
{
    const json_t *verdict = json_object_get(doc, "verdict");
    char *words = reasons(verdict);
    uint32_t n_words = n_folded(dlb_json_text(doc, "recommendation"), 0, n_columns),
             n_reasons = n_folded(words, 2, n_columns);
    uint32_t off = n_words > LEAST_ROWS ? n_words - LEAST_ROWS : 0;

    off = off < excess ? off : excess;
    excess -= off;
    uint32_t off_reasons = n_reasons > LEAST_ROWS ? n_reasons - LEAST_ROWS : 0;
    off_reasons = off_reasons < excess ? off_reasons : excess;
    free(words);
    return (struct room){.verdict = n_reasons - off_reasons, .recommendation = n_words - off};
}

static bool fits(const struct dlb_text *words, const struct dlb_text *last, uint32_t n_columns,
                 uint32_t rows)
{
    return n_rows(words, n_columns) + n_rows(last, n_columns) + CAVEATS_ROWS <= rows;
}

void dlb_answer(const json_t *doc, const struct dlb_report_opts *opts, uint32_t n_columns,
                struct dlb_text *out)
{
    struct dlb_text words = {0}, last = {0};
    uint32_t rows = SCREEN_ROWS - (dlb_json_is_true(doc, "partial") ? PARTIAL_ROWS : 0);

    say_words(doc, n_columns, all_rows, &words);
    dlb_text_printf(&last, "\n");
    dlb_answer_next(doc, n_columns, &last);
    say_place(opts, &last);
    uint32_t used = n_rows(&words, n_columns) + n_rows(&last, n_columns);
    if (!opts->verbose && !fits(&words, &last, n_columns, rows)) {
        words.len_bytes = 0;
        say_words(doc, n_columns, room_for(doc, n_columns, used + CAVEATS_ROWS - rows), &words);
    }
    if (!opts->verbose && !fits(&words, &last, n_columns, rows)) { /* without the next step */
        last.len_bytes = 0;
        dlb_text_printf(&last, "\n");
        say_place(opts, &last);
    }
    used = n_rows(&words, n_columns) + n_rows(&last, n_columns);
    if (!opts->verbose)
        say_caveats(doc, opts, n_columns, used < rows ? rows - used : 0, &words);
    put(out, &words);
    if (last.len_bytes > 1)
        put(out, &last);
    dlb_text_free(&words);
    dlb_text_free(&last);
}

void dlb_answer_caveats(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    dlb_findings_list(doc, "not_modelled", "Not modelled:", n_columns, out);
    dlb_findings_list(doc, "notes", "Notes:", n_columns, out);
}
