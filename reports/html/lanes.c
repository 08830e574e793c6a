#include "reports/html/lanes.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/measure/trace_names.h"
#include "reports/html/elements.h"
#include "reports/markup.h"
#include "reports/sheet.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WIDE 10000 /* of a lane, in the units of its drawing */
#define TICKS 4    /* page.css places them */

/* How spans of a name look, in the order of the legend. Names of other programs' stages are none of
 * these. */
static const struct look {
    const char *name, *style, *words;
} looks[] = {
    {"read", "read", "read"},
    {"decode", "decode", "decode"},
    {"transform", "transform", "transform"},
    {"collate", "collate", "collate"},
    {"pin", "copy", NULL},
    {"copy_call", "copy", NULL},
    {"copy", "copy", "copy"},
    {"step", "step", "step"},
    {"host", "host", "computes itself"},
    {"exposed_copy", "copy", NULL},
    {"idle_input", "stall", "waits for a batch"},
    {"wait", "stall", NULL},
    {"idle_other", "late", "idle for another reason"},
    {"blocked", "rest", "blocked, or waits for the accelerator"},
    {"device_wait", "rest", NULL},
    {NULL, "other", "other"},
};

struct total {
    uint64_t n;
    double ns;
};

struct lane {
    const json_t *track, *spans;
    struct total *total; /* [n_names] */
};

struct lanes {
    const json_t *names;
    size_t n_names;
    double span_ns;
    bool used[sizeof(looks) / sizeof(*looks)];
};

static const struct look *look_of(const char *name)
{
    const struct look *look = looks;
    while (look->name && strcmp(look->name, name) != 0)
        look++;
    return look;
}

static const char *name_at(const struct lanes *lanes, size_t i)
{
    const char *name = json_string_value(json_array_get(lanes->names, i));
    return name ? name : "";
}

/* The numbers of a span; false: it is none. */
static bool span_at(const struct lanes *lanes, const struct lane *lane, size_t i, size_t *name,
                    double *start_ns, double *length_ns)
{
    const json_t *one = json_array_get(lane->spans, i);
    json_int_t place = json_integer_value(json_array_get(one, 0));
    if (json_array_size(one) < 3 || place < 0 || (size_t)place >= lanes->n_names)
        return false;
    *name = (size_t)place;
    *start_ns = json_number_value(json_array_get(one, 1));
    *length_ns = json_number_value(json_array_get(one, 2));
    return *start_ns >= 0 && *length_ns >= 0 && *start_ns + *length_ns <= lanes->span_ns;
}

static void add_up(const struct lanes *lanes, struct lane *lane)
{
    lane->spans = json_object_get(lane->track, "lane");
    lane->total = dlb_mem_array(lanes->n_names, sizeof(*lane->total));
    for (size_t i = 0; i < json_array_size(lane->spans); i++) {
        size_t name;
        double start_ns, length_ns;
        if (!span_at(lanes, lane, i, &name, &start_ns, &length_ns))
            continue;
        lane->total[name].n++;
        lane->total[name].ns += length_ns;
    }
}

static void words_of(struct dlb_text *out, const char *words)
{
    dlb_markup_text(out, words, DLB_MARKUP_HTML);
}

/* All spans of one name, as one shape. */
static void put_shape(struct dlb_text *out, struct lanes *lanes, const struct lane *lane,
                      size_t name)
{
    const struct look *look = look_of(name_at(lanes, name));
    char text[64];
    lanes->used[look - looks] = true;
    dlb_text_printf(out, "<path class=\"l-%s\" d=\"", look->style);
    for (size_t i = 0; i < json_array_size(lane->spans); i++) {
        size_t own;
        double start_ns, length_ns;
        if (span_at(lanes, lane, i, &own, &start_ns, &length_ns) && own == name)
            dlb_text_printf(out, "M%.1f 0h%.1fv10h-%.1fz", start_ns / lanes->span_ns * WIDE,
                            length_ns / lanes->span_ns * WIDE, length_ns / lanes->span_ns * WIDE);
    }
    dlb_text_printf(out, "\"><title>");
    words_of(out, name_at(lanes, name));
    dlb_text_printf(out, ": %s in %" PRIu64 " spans</title></path>",
                    dlb_unit_text(DLB_UNIT_NS, lane->total[name].ns, text, sizeof(text)),
                    lane->total[name].n);
}

static void put_lane(struct dlb_text *out, struct lanes *lanes, const struct lane *lane)
{
    bool copies = strcmp(dlb_json_text(lane->track, "kind"), "copy") == 0;
    dlb_text_printf(out, "<div class=\"lane%s\"><span>", copies ? " thin" : "");
    words_of(out, dlb_json_text(lane->track, "name"));
    dlb_text_printf(out,
                    "</span><svg viewBox=\"0 0 %d 10\" preserveAspectRatio=\"none\" "
                    "aria-hidden=\"true\">",
                    WIDE);
    for (size_t i = 0; i < lanes->n_names; i++)
        if (lane->total[i].n > 0)
            put_shape(out, lanes, lane, i);
    dlb_text_printf(out, "</svg></div>\n");
}

static void put_axis(struct dlb_text *out, const struct lanes *lanes)
{
    char text[64];
    dlb_text_printf(out, "<div class=\"lane axis\"><span></span><div>");
    for (int i = 0; i <= TICKS; i++)
        dlb_text_printf(out, "<i>%s</i>",
                        dlb_unit_text(DLB_UNIT_NS, lanes->span_ns * i / TICKS, text, sizeof(text)));
    dlb_text_printf(out, "</div></div>\n");
}

/* Of what is drawn. */
static void put_legend(struct dlb_text *out, const struct lanes *lanes)
{
    dlb_text_printf(out, "<ul class=\"legend\">");
    for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
        bool used = false;
        for (size_t k = 0; k < sizeof(looks) / sizeof(*looks); k++)
            used = used || (lanes->used[k] && strcmp(looks[k].style, looks[i].style) == 0);
        if (looks[i].words && used)
            dlb_text_printf(out, "<li><b class=\"l-%s\"></b>%s</li>", looks[i].style,
                            looks[i].words);
    }
    dlb_text_printf(out, "</ul>\n");
}

static void put_row(struct dlb_text *out, const struct lanes *lanes, const struct lane *lane,
                    size_t name)
{
    const struct total *total = &lane->total[name];
    double share = total->ns / lanes->span_ns;
    char ns[64], frac[64];
    dlb_text_printf(out, "<tr><td class=\"text\">");
    words_of(out, dlb_json_text(lane->track, "name"));
    dlb_text_printf(out, "</td><td class=\"text\">");
    words_of(out, name_at(lanes, name));
    dlb_text_printf(out,
                    "</td><td data-v=\"%" PRIu64 "\">%" PRIu64
                    "</td><td data-v=\"%.0f\">%s</td><td data-v=\"%.6g\">%s</td></tr>\n",
                    total->n, total->n, total->ns,
                    dlb_unit_text(DLB_UNIT_NS, total->ns, ns, sizeof(ns)), share,
                    dlb_unit_text(DLB_UNIT_FRAC, share, frac, sizeof(frac)));
}

static void put_table(struct dlb_text *out, const struct lanes *lanes, const struct lane *lane,
                      size_t n)
{
    dlb_text_printf(out,
                    "<details><summary>Table</summary>\n<div class=\"scroll\" tabindex=\"0\" "
                    "role=\"group\" aria-label=\"Timeline\"><table>\n<thead><tr><th "
                    "class=\"text\">lane</th><th class=\"text\">what</th><th>spans</th><th "
                    "data-unit=\"ns\">time</th><th data-unit=\"frac\">share</th></tr></thead>\n"
                    "<tbody>\n");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < lanes->n_names; k++)
            if (lane[i].total[k].n > 0)
                put_row(out, lanes, &lane[i], k);
    dlb_text_printf(out, "</tbody>\n</table></div>\n</details>\n");
}

static void put_words(struct dlb_text *out, const json_t *timeline, const json_t *tracks)
{
    uint64_t n_lost = 0, n_hidden = 0;
    bool python = false;
    const json_t *track;
    size_t i;
    json_array_foreach(tracks, i, track) {
        bool worker = strcmp(dlb_json_text(track, "kind"), "worker") == 0;
        python = python || strcmp(dlb_json_text(track, "kind"), "interpreter") == 0;
        n_lost += dlb_json_u64(track, "lost", 0);
        n_hidden += worker && json_array_size(json_object_get(track, "lane")) == 0;
    }
    dlb_text_printf(out, "<p class=\"soft\">%" PRIu64 " measured steps",
                    dlb_json_u64(timeline, "steps", 0));
    if (json_is_integer(json_object_get(timeline, "first_step")))
        dlb_text_printf(out, ", from number %" PRIu64 " on",
                        dlb_json_u64(timeline, "first_step", 0) + 1);
    dlb_text_printf(out,
                    ". What a worker does for a batch is summed by stage. Where nothing is drawn "
                    "%s. The file of --trace has all of it.",
                    python ? "it has no time stamp: it waits, for instance"
                           : "it does none of these: between epochs, or without a CPU");
    if (n_hidden > 0)
        dlb_text_printf(out, " %" PRIu64 " workers did nothing here or are not drawn.", n_hidden);
    if (n_lost > 0)
        dlb_text_printf(out, " %" PRIu64 " earlier records had no room in the rings.", n_lost);
    dlb_text_printf(out, "</p>\n");
}

void dlb_html_lanes(struct dlb_text *out, const json_t *doc, uint32_t result)
{
    const json_t *timeline = json_object_get(doc, "timeline");
    const json_t *tracks = json_object_get(timeline, "tracks");
    struct lanes lanes = {.names = json_object_get(timeline, "names"),
                          .span_ns = dlb_json_number(timeline, "span_ns")};
    size_t n = 0;
    lanes.n_names = json_array_size(lanes.names);
    if (!(lanes.span_ns > 0 && lanes.span_ns < 0x1p63) || lanes.n_names == 0 ||
        lanes.n_names > DLB_TRACE_MAX_NAMES)
        return; /* of no timeline that dlbench writes */
    struct lane *lane = dlb_mem_array(json_array_size(tracks), sizeof(*lane));
    for (size_t i = 0; i < json_array_size(tracks); i++) {
        lane[n].track = json_array_get(tracks, i);
        if (json_array_size(json_object_get(lane[n].track, "lane")) > 0)
            add_up(&lanes, &lane[n++]);
    }
    dlb_text_printf(out, "<figure id=\"r%u-timeline\" class=\"wide\">\n", result);
    dlb_html_element(out, "h3", "", "Timeline of the first steps");
    put_words(out, timeline, tracks);
    dlb_text_printf(out, "<div class=\"scroll\" tabindex=\"0\" role=\"img\" aria-label=\"Timeline: "
                         "lanes of the table below\"><div class=\"lanes\">\n");
    for (size_t i = 0; i < n; i++)
        put_lane(out, &lanes, &lane[i]);
    put_axis(out, &lanes);
    dlb_text_printf(out, "</div></div>\n");
    put_legend(out, &lanes);
    put_table(out, &lanes, lane, n);
    dlb_text_printf(out, "</figure>\n");
    for (size_t i = 0; i < n; i++)
        free(lane[i].total);
    free(lane);
}
