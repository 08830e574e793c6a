/* Utilisation of the accelerators that a storage feeds, against their number. */
#include "core/base/json.h"
#include "reports/sheets/fills.h"

#include <math.h>
#include <stdio.h>

#define CURVE_POINTS 32

/* utilisation(n) = (1 + (n / knee)^sharpness)^(-1 / sharpness), or min(1, knee / n). */
static double fitted(double n, double knee, double sharpness)
{
    return isfinite(sharpness) ? pow(1 + pow(n / knee, sharpness), -1 / sharpness)
                               : fmin(1, knee / n);
}

/* Where the curve bends: from where it crosses the gate. */
static double knee_of(double at, double gate, double sharpness)
{
    return isfinite(sharpness) ? at / pow(pow(gate, -sharpness) - 1, 1 / sharpness) : gate * at;
}

static void row(const char *what, double n, double au, const json_t *point, struct dlb_sheet *out)
{
    const json_t *cell = json_object_get(point, "cell");
    dlb_sheet_row(out, json_is_integer(cell) ? json_integer_value(cell) : DLB_SHEET_NO_CELL);
    dlb_sheet_text(out, what);
    dlb_sheet_number(out, n);
    dlb_sheet_number(out, au);
    dlb_sheet_number(out, dlb_json_number(point, "au_low"));
    dlb_sheet_number(out, dlb_json_number(point, "au_high"));
    dlb_sheet_number(out, dlb_json_number(point, "repeats"));
    dlb_sheet_number(out, dlb_json_number(point, "samples_per_s"));
    dlb_sheet_number(out, dlb_json_number(point, "bytes_per_s"));
    dlb_sheet_number(out, dlb_json_number(point, "read_p50_ns"));
    dlb_sheet_number(out, dlb_json_number(point, "read_p99_ns"));
    dlb_sheet_number(out, dlb_json_number(point, "read_p999_ns"));
}

static void fitted_rows(const json_t *storage, double most, struct dlb_sheet *out)
{
    const json_t *fit = json_object_get(storage, "fit");
    double at = dlb_json_number(fit, "at"), gate = dlb_json_number(storage, "gate");
    double sharpness = dlb_json_number(fit, "sharpness"), knee = knee_of(at, gate, sharpness);
    if (!(knee > 0) || !isfinite(knee) || !(most >= 1) || most > 1e6)
        return;
    for (int i = 0; i <= CURVE_POINTS; i++) {
        double n = 1 + (most - 1) * i / CURVE_POINTS;
        row("fitted curve", n, fitted(n, knee, sharpness), NULL, out);
        if (most <= 1)
            break;
    }
    dlb_text_printf(&out->note, "The fitted curve %s where the number of accelerators comes from. ",
                    dlb_json_is_true(fit, "used") ? "is" : "is not");
}

static void columns(struct dlb_sheet *out)
{
    out->chart = DLB_CHART_LINES;
    out->axis = "utilisation of the accelerators";
    dlb_sheet_column(out, "what", DLB_ROLE_SERIES, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "accelerators", DLB_ROLE_X, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "utilisation", DLB_ROLE_Y, DLB_UNIT_FRAC);
    dlb_sheet_column(out, "low", DLB_ROLE_LOW, DLB_UNIT_FRAC);
    dlb_sheet_column(out, "high", DLB_ROLE_HIGH, DLB_UNIT_FRAC);
    dlb_sheet_column(out, "repetitions", DLB_ROLE_NONE, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "samples/s", DLB_ROLE_NONE, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "read", DLB_ROLE_NONE, DLB_UNIT_BYTES_PER_S);
    dlb_sheet_column(out, "read p50", DLB_ROLE_NONE, DLB_UNIT_NS);
    dlb_sheet_column(out, "p99", DLB_ROLE_NONE, DLB_UNIT_NS);
    dlb_sheet_column(out, "p99.9", DLB_ROLE_NONE, DLB_UNIT_NS);
}

void dlb_sheet_curve(const json_t *doc, struct dlb_sheet *out)
{
    const json_t *storage = json_object_get(doc, "storage"), *point;
    double most = 1;
    size_t i;
    if (json_array_size(json_object_get(storage, "curve")) == 0)
        return;
    columns(out);
    json_array_foreach(json_object_get(storage, "curve"), i, point) {
        double n = dlb_json_number(point, "accelerators");
        most = fmax(most, n);
        row("measured", n, dlb_json_number(point, "au"), point, out);
    }
    fitted_rows(storage, most, out);
    dlb_sheet_mark(out, "gate", dlb_json_number(storage, "gate"), false);
    dlb_sheet_mark(out, "fed", dlb_json_number(storage, "max_accelerators"), true);
}
