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

bool dlb_label_value(const json_t *axis, const json_t *value, char *text, size_t n_text)
{
    char own[DLB_VALUE_CAP], its[DLB_VALUE_CAP];
    const json_t *other;
    size_t i, number = 0;
    bool alike = false;
    dlb_text_value(value, own, sizeof(own));
    json_array_foreach(axis, i, other) {
        dlb_text_value(other, its, sizeof(its));
        if (json_equal(other, value))
            number = i + 1;
        else
            alike = alike || strcmp(own, its) == 0;
    }
    if (alike && number > 0)
        (void)snprintf(text, n_text, "%s (%zu)", own, number);
    else
        (void)snprintf(text, n_text, "%s", own);
    return alike;
}

static void add(dlb_label text, const char *name, const char *value)
{
    size_t n = strlen(text);
    (void)snprintf(text + n, DLB_LABEL_CAP - n, "%s%.*s%s%.*s", n ? ", " : "", DLB_CUT(name, 40),
                   value[0] ? " " : "", DLB_CUT(value, DLB_VALUE_CAP + 24));
}

static void settings(const json_t *doc, const json_t *cell, bool mixed, const char *but,
                     dlb_label text)
{
    const json_t *config = json_object_get(cell, "config");
    const char *key;
    json_t *axis;
    char value[DLB_VALUE_CAP + 24];
    if (mixed)
        add(text, strcmp(dlb_json_text(cell, "pipeline"), "pytorch") == 0 ? "PyTorch" : "hardware",
            "");
    json_object_foreach((json_t *)json_object_get(doc, "axes"), key, axis) {
        if (json_array_size(axis) < 2 || (but && strcmp(but, key) == 0))
            continue;
        (void)dlb_label_value(axis, json_object_get(config, key), value, sizeof(value));
        add(text, dlb_label_title(key), value);
    }
}

dlb_label *dlb_labels_without(const json_t *doc, const char *but)
{
    const json_t *cells = json_object_get(doc, "cells"), *cell;
    dlb_label *out = dlb_mem_array(json_array_size(cells), sizeof(*out));
    bool mixed = are_mixed(doc);
    size_t i;
    json_array_foreach(cells, i, cell)
        settings(doc, cell, mixed, but, out[i]);
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
