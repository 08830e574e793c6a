/* Of cells that PyTorch loads: where Python's time went. */
#include "reports/findings.h"

#include "core/base/escape.h"
#include "core/base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_WIDTH 24
#define GAIN_MIN 1.05  /* below, another decoder is not worth the words */
#define STAMPS_ALL 0.5 /* an estimate says no more of what stamps took */
#define SHOWN_MS 0.005 /* below, a stage is not */
#define MS_WHOLE 1e9   /* from here on digits behind the point say nothing */
#define BYTES_WHOLE 1e15
enum { FIGURE_CAP = 24 };

/* What PyTorch is, and what measuring it cost. */
static void say_cost(const json_t *python, uint32_t n_columns, struct dlb_text *out)
{
    double trip_us = dlb_json_number(python, "round_trip_us");
    double frac = dlb_json_number(python, "stamps_frac");
    char line[400];

    int n = snprintf(line, sizeof(line), "Python %.*s with torch %.*s",
                     DLB_CUT(dlb_text_shown(python, "python"), 30),
                     DLB_CUT(dlb_text_shown(python, "torch"), 60));
    if (isfinite(trip_us))
        n += snprintf(line + n, sizeof(line) - (size_t)n,
                      "; a question to it and the answer take %.3g us", trip_us);
    if (isfinite(frac * 100))
        (void)snprintf(line + n, sizeof(line) - (size_t)n,
                       "; time stamps took %s%.2g%% of the work",
                       frac < STAMPS_ALL ? "" : "more than ", 100 * fmin(frac, STAMPS_ALL));
    dlb_text_printf(out, "\n");
    dlb_text_fold(out, line, 0, n_columns);
}

/* __getitem__ and collate are the whole; what lies within __getitem__ is a part of it. */
static double work_ns(const json_t *stages)
{
    const json_t *one;
    double sum = 0;
    size_t i;

    json_array_foreach(stages, i, one) {
        const char *part = dlb_json_text(one, "part");
        if (strcmp(part, "read") == 0 || strcmp(part, "collate") == 0)
            sum += dlb_json_number(one, "sum_ns");
    }
    return sum;
}

/* Of these __getitem__ was called once for each. */
static double n_samples(const json_t *stages)
{
    const json_t *one;
    double n = 0;
    size_t i;

    json_array_foreach(stages, i, one)
        if (strcmp(dlb_json_text(one, "part"), "read") == 0)
            n = dlb_json_number(one, "count");
    return n;
}

/* Of __getitem__, what lies within it, and the rest. */
enum order { OF_ALL, WITHIN, BEHIND, N_ORDERS };

static enum order order_of(const json_t *stage)
{
    const char *part = dlb_json_text(stage, "part");

    if (strcmp(part, "read") == 0)
        return OF_ALL;
    return strcmp(part, "decode") == 0 || strcmp(part, "transform") == 0 ? WITHIN : BEHIND;
}

/* The training loop's `next` and its garbage, and transport, which is of both sides, have no share
 * in the workers' work. */
static void say_stage(const json_t *stage, double n, double all_ns, struct dlb_text *out)
{
    enum { NESTED = 2 };
    const char *name = dlb_json_text(stage, "name");
    size_t indent = order_of(stage) == WITHIN ? NESTED : 0, cap = NAME_WIDTH - indent;
    double ns = dlb_json_number(stage, "sum_ns");
    bool apart = (strcmp(name, "next") == 0 || strcmp(name, "transport") == 0 ||
                  strcmp(name, "loop_gc") == 0) &&
                 json_is_null(json_object_get(stage, "part"));
    double share = apart || !(all_ns > 0) ? (double)NAN : ns / all_ns;
    size_t width = dlb_text_width(name, cap);
    char text[24];

    dlb_text_printf(out, "  %*s", (int)indent, "");
    dlb_text_plain(out, name, cap);
    dlb_text_printf(out, "%*s  ", width < cap ? (int)(cap - width) : 0, "");
    dlb_text_printf(out, isfinite(ns) ? "%11.4g" : "          -", ns / n / 1e6);
    dlb_text_printf(out, "  %5s\n", dlb_text_percent(DLB_PERCENT_WHOLE, share, text, sizeof(text)));
}

static double stage_ms(const json_t *stages, const char *name)
{
    return dlb_json_number(stages, name) / 1e6;
}

static const char *ms_text(double ms, char text[static FIGURE_CAP])
{
    (void)snprintf(text, FIGURE_CAP, isfinite(ms) ? ms < MS_WHOLE ? "%.2f" : "%.3g" : "-", ms);
    return text;
}

/* Of a sample, in three digits. */
static const char *sample_ms_text(const json_t *in_c, const char *key, char text[static FIGURE_CAP])
{
    double ns = dlb_json_number(in_c, key);
    (void)snprintf(text, FIGURE_CAP, isfinite(ns) ? "%.3g" : "-", ns / 1e6);
    return text;
}

static const char *sample_bytes_text(const json_t *in_c, const char *key,
                                     char text[static FIGURE_CAP])
{
    double n_bytes = dlb_json_number(in_c, key);
    (void)snprintf(text, FIGURE_CAP,
                   isfinite(n_bytes) ? fabs(n_bytes) < BYTES_WHOLE ? "%.0f" : "%.3g" : "-",
                   n_bytes);
    return text;
}

static void put_in_c(const json_t *in_c, const json_t *c, const json_t *python,
                     struct dlb_text *out)
{
    static const char *const names[] = {"read", "decode", "transform", "collate"};
    const char *before = ":";
    char texts[2][FIGURE_CAP];

    dlb_text_printf(out,
                    "the same work in C, with as many workers, takes %s ms a sample instead of %s",
                    sample_ms_text(in_c, "sample_ns", texts[0]),
                    sample_ms_text(in_c, "python_sample_ns", texts[1]));
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        double own = stage_ms(c, names[i]), theirs = stage_ms(python, names[i]);
        if (!(fmax(own, theirs) >= SHOWN_MS))
            continue;
        dlb_text_printf(out, "%s %s %s (%s)", before, names[i], ms_text(own, texts[0]),
                        ms_text(theirs, texts[1]));
        before = ",";
    }
    dlb_text_printf(out, ".");
}

/* Bytes delivered are the same whatever was decoded before the crop: why that is the same, too. */
static void say_whole(const json_t *in_c, uint32_t n_columns, struct dlb_text *out)
{
    if (json_is_true(json_object_get(in_c, "whole_decode")) &&
        json_is_true(json_object_get(in_c, "same_work")))
        dlb_text_fold(
            out,
            "Both decode all of each image at full size (transform.whole_decode in C; PIL "
            "has no other way) and crop with the same settings; what was compared is "
            "the bytes that they deliver.",
            0, n_columns);
}

static void say_decoder(const json_t *in_c, const json_t *python, uint32_t n_columns,
                        struct dlb_text *out)
{
    double gain = dlb_json_number(in_c, "decoder_gain");
    char line[300], texts[2][FIGURE_CAP];
    if (!(gain >= GAIN_MIN))
        return;
    (void)snprintf(line, sizeof(line),
                   "PIL takes %s ms for an image, libjpeg-turbo in C %s: with a decoder as fast "
                   "as that (torchvision's decode_jpeg), PyTorch's workers would be %.3g times as "
                   "fast.",
                   ms_text(stage_ms(python, "decode"), texts[0]),
                   ms_text(stage_ms(in_c, "decoder_ns"), texts[1]), gain);
    dlb_text_fold(out, line, 0, n_columns);
}

/* What dlbench's own loader took for the same samples. */
static void say_in_c(const json_t *in_c, const char *of, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *c = json_object_get(in_c, "stages_ns"),
                 *python = json_object_get(in_c, "python_stages_ns");
    struct dlb_text line = {0};
    char texts[2][FIGURE_CAP];

    dlb_text_printf(&line, "%s", of);
    if (!(dlb_json_number(in_c, "runs") >= 1))
        dlb_text_printf(&line, "the same work in C was not measured: %.*s",
                        DLB_CUT(dlb_text_shown(in_c, "reason"), 400));
    else if (!json_is_true(json_object_get(in_c, "same_work")))
        dlb_text_printf(&line,
                        "in C it is other work, and not compared: %s bytes a sample, where PyTorch "
                        "delivers %s.",
                        sample_bytes_text(in_c, "sample_bytes", texts[0]),
                        sample_bytes_text(in_c, "python_sample_bytes", texts[1]));
    else if (!isfinite(dlb_json_number(in_c, "python_sample_ns")))
        dlb_text_printf(&line, "what PyTorch's workers took was not stamped; in C %s ms.",
                        sample_ms_text(in_c, "sample_ns", texts[0]));
    else
        put_in_c(in_c, c, python, &line);
    dlb_text_printf(out, "\n");
    dlb_text_fold(out, line.data, 0, n_columns);
    dlb_text_free(&line);
    say_whole(in_c, n_columns, out);
    say_decoder(in_c, python, n_columns, out);
}

void dlb_findings_in_c(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *cell;
    size_t i;
    json_array_foreach(json_object_get(doc, "cells"), i, cell) {
        const json_t *in_c = json_object_get(cell, "in_c");
        char of[40];
        (void)snprintf(of, sizeof(of), "Cell %zu: ", i);
        if (json_is_object(in_c))
            say_in_c(in_c, of, n_columns, out);
    }
}

void dlb_findings_python(const json_t *cell, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *python = json_object_get(cell, "python"),
                 *stages = json_object_get(python, "stages"), *one;
    double n = n_samples(stages), all_ns = work_ns(stages);
    size_t i;

    if (!json_is_object(python))
        return;
    say_cost(python, n_columns, out);
    if (!(n > 0))
        return;
    dlb_text_printf(out, "  %-*s  %11s  %5s\n", NAME_WIDTH, "stage", "ms a sample", "share");
    for (int order = 0; order < N_ORDERS; order++)
        json_array_foreach(stages, i, one)
            if ((int)order_of(one) == order)
                say_stage(one, n, all_ns, out);
    if (dlb_json_is_true(json_object_get(cell, "config"), "loader.pin_memory"))
        dlb_text_printf(out, "  %-*s  not measured: these cells do not pin\n", NAME_WIDTH,
                        "pin thread");
}
