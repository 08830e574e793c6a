#include "core/base/units.h"

#include "core/base/escape.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Factor of "", "k", "MB", "GiB", ...; 0.0 for other texts. Case does not matter; an "i" makes
 * it a power of 1024. */
static double suffix_factor(const char *suffix)
{
    static const char letters[] = "kmgtpe";
    const char *letter;
    double base = 1000.0;

    if (*suffix == '\0' || strcasecmp(suffix, "b") == 0)
        return 1.0;
    letter = strchr(letters, tolower((unsigned char)*suffix));
    if (!letter)
        return 0.0;
    suffix++;
    if (*suffix == 'i') {
        base = 1024.0;
        suffix++;
    }
    if (*suffix != '\0' && strcasecmp(suffix, "b") != 0)
        return 0.0;
    return pow(base, (double)(letter - letters + 1));
}

int dlb_bytes_parse(const char *text, int64_t *out_bytes, struct dlb_err *err)
{
    const char *at = text + strspn(text, " \t");
    size_t n_number = strspn(at, "0123456789.");
    char number[40], suffix[8];
    size_t n_suffix;
    double factor, value;
    char *end;

    if (n_number == 0 || n_number >= sizeof number || !isdigit((unsigned char)*at))
        goto bad;
    memcpy(number, at, n_number);
    number[n_number] = '\0';
    at += n_number;
    at += strspn(at, " \t");
    n_suffix = strlen(at);
    while (n_suffix > 0 && isspace((unsigned char)at[n_suffix - 1]))
        n_suffix--;
    if (n_suffix >= sizeof suffix)
        goto bad;
    memcpy(suffix, at, n_suffix);
    suffix[n_suffix] = '\0';

    factor = suffix_factor(suffix);
    if (factor == 0.0)
        goto bad;
    value = strtod(number, &end);
    if (*end != '\0')
        goto bad;
    value = round(value * factor);
    if (value >= 0x1p63)
        return dlb_fail(err, DLB_ERR_CONFIG_OUT_OF_RANGE, NULL, DLB_NO_OFFSET,
                        "\"%.*s\" is too many bytes", DLB_CUT(text, 40));
    /* Whole numbers stay exact above 2^53. */
    if (!strchr(number, '.') && strlen(number) < 19)
        *out_bytes = (int64_t)strtoll(number, NULL, 10) * (int64_t)factor;
    else
        *out_bytes = (int64_t)value;
    return DLB_OK;
bad:
    return dlb_fail(err, DLB_ERR_CONFIG_WRONG_TYPE, NULL, DLB_NO_OFFSET,
                    "\"%.*s\" is not a number of bytes: write 65536, \"64 KiB\" or \"1.5 GB\"",
                    DLB_CUT(text, 40));
}

bool dlb_number_parse(const char *text, size_t n, double *out)
{
    char number[40], *end;
    bool percent = n > 0 && text[n - 1] == '%';
    n -= percent;
    if (n == 0 || n >= sizeof number)
        return false;
    memcpy(number, text, n);
    number[n] = '\0';
    if (strspn(number, "0123456789.eE+-") != n) /* strtod takes "inf", "nan", "0x1" and spaces */
        return false;
    *out = strtod(number, &end);
    if (*end != '\0' || !isfinite(*out))
        return false;
    *out = percent ? *out / 100 : *out;
    return true;
}

/* Three significant digits: "1.43", "14.3", "143". */
static void three_digits(double value, char *text, size_t n_text)
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    (void)snprintf(text, n_text, "%.*f", decimals, value);
}

static const char *scaled_text(double value, const char *after, char *text, size_t n_text)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    char number[32];
    size_t i = 0;

    if (!isfinite(value) || value < 0.0) {
        (void)snprintf(text, n_text, "? B%s", after);
        return text;
    }
    if (value < 999.5 && value == floor(value)) {
        (void)snprintf(text, n_text, "%.0f B%s", value, after);
        return text;
    }
    while (value >= 999.5 && i + 1 < sizeof units / sizeof *units) {
        value /= 1000.0;
        i++;
    }
    three_digits(value, number, sizeof number);
    (void)snprintf(text, n_text, "%s %s%s", number, units[i], after);
    return text;
}

const char *dlb_bytes_text(uint64_t n_bytes, char *text, size_t n_text)
{
    return scaled_text((double)n_bytes, "", text, n_text);
}

const char *dlb_rate_text(double bytes_per_s, char *text, size_t n_text)
{
    return scaled_text(bytes_per_s, "/s", text, n_text);
}

const char *dlb_count_text(double count, char *text, size_t n_text)
{
    char plain[64], grouped[96];
    size_t len, to = 0;

    if (!isfinite(count) || fabs(count) >= 1e18) {
        (void)snprintf(text, n_text, "%g", count);
        return text;
    }
    if (fabs(count) < 99.95 && count != floor(count)) {
        if (fabs(count) < 1.0)
            (void)snprintf(text, n_text, "%.3g", count);
        else
            (void)snprintf(text, n_text, "%.*f", fabs(count) < 9.995 ? 2 : 1, count);
        return text;
    }
    (void)snprintf(plain, sizeof plain, "%" PRId64, (int64_t)llround(count));
    len = strlen(plain);
    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0 && plain[i - 1] != '-')
            grouped[to++] = ',';
        grouped[to++] = plain[i];
    }
    grouped[to] = '\0';
    (void)snprintf(text, n_text, "%s", grouped);
    return text;
}

const char *dlb_duration_text(double seconds, char *text, size_t n_text)
{
    static const struct {
        double limit, factor;
        const char *unit;
    } small[] = {
        {999.5e-9, 1e9, "ns"}, {999.5e-6, 1e6, "us"}, {0.9995, 1e3, "ms"}, {59.95, 1.0, "s"}};
    char number[32];

    if (!isfinite(seconds) || seconds < 0.0 || seconds > 1e12) {
        (void)snprintf(text, n_text, "?");
        return text;
    }
    if (seconds == 0.0) {
        (void)snprintf(text, n_text, "0 s");
        return text;
    }
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        if (seconds < small[i].limit) {
            double value = seconds * small[i].factor;
            (void)snprintf(number, sizeof number, "%.*f", value < 99.95 ? 1 : 0, value);
            (void)snprintf(text, n_text, "%s %s", number, small[i].unit);
            return text;
        }
    }
    int64_t whole_s = (int64_t)llround(seconds);
    if (whole_s < 3600)
        (void)snprintf(text, n_text, "%" PRId64 " min %" PRId64 " s", whole_s / 60, whole_s % 60);
    else if (whole_s < 86400)
        (void)snprintf(text, n_text, "%" PRId64 " h %" PRId64 " min", whole_s / 3600,
                       whole_s / 60 % 60);
    else
        (void)snprintf(text, n_text, "%" PRId64 " d %" PRId64 " h", whole_s / 86400,
                       whole_s / 3600 % 24);
    return text;
}

#define EDIT_CAP 96

/* Optimal string alignment: three rows of the usual table. A row is made from the two before it, so
 * that no later distance is below the smallest of two rows that follow each other. */
size_t dlb_edit_distance(const char *a, const char *b, size_t enough)
{
    size_t n_a = strlen(a), n_b = strlen(b);
    size_t rows[3][EDIT_CAP + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    size_t least_before = 0;

    /* No key is longer than the rows. */
    if (n_a > EDIT_CAP || n_b > EDIT_CAP || (n_a > n_b ? n_a - n_b : n_b - n_a) >= enough)
        return enough;
    for (size_t j = 0; j <= n_b; j++)
        last[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        size_t least = row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
            if (best < least)
                least = best;
        }
        if (least >= enough && least_before >= enough)
            return enough;
        least_before = least;
        size_t *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[n_b] < enough ? last[n_b] : enough;
}
