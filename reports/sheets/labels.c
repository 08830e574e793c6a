#include "reports/sheets/labels.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "reports/ranked.h"
#include "reports/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *key, *title;
} usual[] = {{DLB_WORKERS, "workers"},
             {"loader.pin_memory", "pin"},
             {"loader.prefetch_factor", "prefetch"},
             {"loader.persistent_workers", "persistent"},
             {"accelerators.count", "accelerators"}};

const char *dlb_label_title(const char *key)
{
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (strcmp(key, usual[i].key) == 0)
            return usual[i].title;
    const char *dot = strrchr(key, '.');
    return dot ? dot + 1 : key;
}

bool dlb_label_has_status(const json_t *cell, const char *status)
{
    return strcmp(dlb_json_text(cell, "status"), status) == 0;
}

bool dlb_label_varies(const json_t *doc, const char *key)
{
    const json_t *cell, *first = NULL;
    size_t i;
    json_array_foreach(json_object_get(doc, "cells"), i, cell) {
        const json_t *value = json_object_get(json_object_get(cell, "config"), key);
        if (!dlb_label_has_status(cell, "ok"))
            continue;
        if (first && !(value ? json_equal(first, value) : json_is_null(first)))
            return true;
        first = first ? first : value;
    }
    return false;
}

/* Whether cells of both pipelines are here: then a label says whose the cell is. */
static bool are_mixed(const json_t *doc)
{
    const json_t *cell;
    const char *first = NULL;
    size_t i;
    json_array_foreach(json_object_get(doc, "cells"), i, cell) {
        const char *own = dlb_json_text(cell, "pipeline");
        if (!own[0] || !dlb_label_has_status(cell, "ok"))
            continue;
        if (first && strcmp(first, own) != 0)
            return true;
        first = own;
    }
    return false;
}

/* Owned by the caller. */
static char *key_of(const json_t *value)
{
    return dlb_json_dumped(value, JSON_ENCODE_ANY | JSON_SORT_KEYS);
}

void dlb_label_axis_open(const json_t *axis, struct dlb_label_axis *out)
{
    const json_t *value;
    size_t i;
    *out = (struct dlb_label_axis){dlb_json_made(json_object()), dlb_json_made(json_object())};
    json_array_foreach(axis, i, value) {
        char *key = key_of(value), text[DLB_VALUE_CAP];
        dlb_text_value(value, text, sizeof(text));
        json_int_t n = json_integer_value(json_object_get(out->alike, text));
        if (!json_object_get(out->numbers, key))
            json_object_set_new_nocheck(out->alike, text, json_integer(n + 1));
        json_object_set_new_nocheck(out->numbers, key, json_integer((json_int_t)i + 1));
        free(key);
    }
}

void dlb_label_axis_close(struct dlb_label_axis *axis)
{
    json_decref(axis->numbers);
    json_decref(axis->alike);
}

/* From 1 on; 0: the axis does not have it. */
static json_int_t number_of(const struct dlb_label_axis *axis, const json_t *value)
{
    char *key = value ? key_of(value) : NULL;
    json_int_t number = json_integer_value(json_object_get(axis->numbers, key));
    free(key);
    return number;
}

bool dlb_label_value(const struct dlb_label_axis *axis, const json_t *value, char *text,
                     size_t n_text)
{
    char own[DLB_VALUE_CAP];
    dlb_text_value(value, own, sizeof(own));
    json_int_t number = number_of(axis, value);
    bool alike = json_integer_value(json_object_get(axis->alike, own)) > (number > 0);
    if (alike && number > 0)
        (void)snprintf(text, n_text, "%s (%lld)", own, (long long)number);
    else
        (void)snprintf(text, n_text, "%s", own);
    return alike;
}

static void add(dlb_label text, const char *name, const char *value)
{
    char more[DLB_VALUE_CAP + 100];
    size_t n = strlen(text);
    (void)snprintf(more, sizeof(more), "%s%.*s%s%.*s", n ? ", " : "", DLB_CUT(name, 40),
                   value[0] ? " " : "", DLB_CUT(value, DLB_VALUE_CAP + 24));
    dlb_cut_text(text + n, DLB_LABEL_CAP - n, more);
}

/* A setting that varies. */
struct setting {
    const char *key;
    struct dlb_label_axis axis;
};

struct settings {
    struct setting *each;
    size_t n;
    bool mixed; /* see are_mixed */
};

static void settings_open(const json_t *doc, const char *but, struct settings *out)
{
    const json_t *axes = json_object_get(doc, "axes");
    const char *key;
    json_t *axis;
    *out = (struct settings){dlb_mem_array(json_object_size(axes), sizeof(*out->each)), 0,
                             are_mixed(doc)};
    json_object_foreach((json_t *)axes, key, axis) {
        if (json_array_size(axis) < 2 || (but && strcmp(but, key) == 0))
            continue;
        out->each[out->n].key = key;
        dlb_label_axis_open(axis, &out->each[out->n++].axis);
    }
}

static void settings_close(struct settings *settings)
{
    for (size_t i = 0; i < settings->n; i++)
        dlb_label_axis_close(&settings->each[i].axis);
    free(settings->each);
}

static void add_settings(const struct settings *settings, const json_t *cell, dlb_label text)
{
    const json_t *config = json_object_get(cell, "config");
    char value[DLB_VALUE_CAP + 24];
    if (settings->mixed)
        add(text, strcmp(dlb_json_text(cell, "pipeline"), "pytorch") == 0 ? "PyTorch" : "hardware",
            "");
    for (size_t i = 0; i < settings->n; i++) {
        const struct setting *one = &settings->each[i];
        (void)dlb_label_value(&one->axis, json_object_get(config, one->key), value, sizeof(value));
        add(text, dlb_label_title(one->key), value);
    }
}

dlb_label *dlb_labels_without(const json_t *doc, const char *but)
{
    const json_t *cells = json_object_get(doc, "cells"), *cell;
    dlb_label *out = dlb_mem_array(json_array_size(cells), sizeof(*out));
    struct settings settings;
    size_t i;
    settings_open(doc, but, &settings);
    json_array_foreach(cells, i, cell)
        add_settings(&settings, cell, out[i]);
    settings_close(&settings);
    return out;
}

dlb_label *dlb_labels_of(const json_t *doc)
{
    size_t n = json_array_size(json_object_get(doc, "cells"));
    dlb_label *out = dlb_labels_without(doc, NULL);
    for (size_t i = 0; i < n; i++) {
        dlb_label plain;
        memcpy(plain, out[i], sizeof(plain));
        (void)snprintf(out[i], sizeof(out[i]), plain[0] ? "%zu: %.*s" : "cell %zu%.*s", i,
                       DLB_CUT(plain, DLB_LABEL_CAP - 24));
    }
    return out;
}

struct ranked {
    double rate;
    uint32_t cell;
};

static int by_rate(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->rate > y->rate ? -1 : x->rate < y->rate ? 1 : x->cell < y->cell ? -1 : 1;
}

static int by_cell(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : 1;
}

uint32_t *dlb_label_fastest(const json_t *doc, uint32_t most, uint32_t *n, uint32_t *n_all)
{
    const json_t *cells = json_object_get(doc, "cells"), *cell;
    struct ranked *ranked = dlb_mem_array(json_array_size(cells), sizeof(*ranked));
    size_t i;
    *n_all = 0;
    json_array_foreach(cells, i, cell) {
        double rate = dlb_json_number(json_object_get(cell, dlb_ranked_rate(doc)), "median");
        if (dlb_label_has_status(cell, "ok") && isfinite(rate))
            ranked[(*n_all)++] = (struct ranked){rate, (uint32_t)i};
    }
    qsort(ranked, *n_all, sizeof(*ranked), by_rate);
    *n = *n_all < most ? *n_all : most;
    uint32_t *out = dlb_mem_array(*n, sizeof(*out));
    for (uint32_t k = 0; k < *n; k++)
        out[k] = ranked[k].cell;
    qsort(out, *n, sizeof(*out), by_cell);
    free(ranked);
    return out;
}
