#include "reports/html/compared.h"

#include "core/base/json.h"
#include "reports/compare.h"
#include "reports/html/elements.h"
#include "reports/sheet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* As the exit code of `--fail-on slower` would be. */
static const char *severity_of(const char *verdict)
{
    return strcmp(verdict, "SLOWER") == 0    ? "critical"
           : strcmp(verdict, "UNCLEAR") == 0 ? "warn"
                                             : "ok";
}

static void tile(struct dlb_text *out, const char *title, double frac, enum dlb_percent how)
{
    char text[32];
    if (isfinite(frac * 100))
        dlb_text_printf(out, "<div><dt>%s</dt><dd data-v=\"%.10g\">%s</dd></div>\n", title, frac,
                        dlb_text_percent(how, frac, text, sizeof(text)));
}

static void tiles(struct dlb_text *out, const json_t *compare)
{
    const json_t *overall = json_object_get(compare, "overall");
    dlb_text_printf(out, "<dl class=\"tiles\">\n");
    tile(out, "Change from A to B", dlb_json_number(overall, "change_frac"), DLB_PERCENT_CHANGE);
    tile(out, "At least", dlb_json_number(overall, "low"), DLB_PERCENT_CHANGE);
    tile(out, "At most", dlb_json_number(overall, "high"), DLB_PERCENT_CHANGE);
    tile(out, "Smallest that could have been shown", dlb_json_number(overall, "detectable_frac"),
         DLB_PERCENT_TENTHS);
    dlb_text_printf(out, "</dl>\n");
}

static void lines(struct dlb_text *out, const json_t *compare,
                  void (*say)(const json_t *compare, struct dlb_text *out), const char *tag)
{
    struct dlb_text words = {0};
    say(compare, &words);
    dlb_html_lines(out, tag, words.data ? words.data : "");
    dlb_text_free(&words);
}

void dlb_html_compared(struct dlb_text *out, const json_t *doc)
{
    const json_t *compare = json_object_get(doc, "compare");
    const char *verdict = dlb_json_text(json_object_get(compare, "overall"), "verdict");
    dlb_text_printf(out, "<div class=\"verdict %s\">\n", severity_of(verdict));
    lines(out, compare, dlb_compare_answer, "strong");
    dlb_text_printf(out, "</div>\n");
    tiles(out, compare);
    lines(out, compare, dlb_compare_sides, "p");
    lines(out, compare, dlb_compare_meaning, "p");
}
