/* Everything that gen can write in this build: each format with each codec that fits it and each
 * choice of its own options, one at a time. New formats take part automatically.
 * Header-only; include after support/folder.h. */
#ifndef DLB_TESTS_VARIANTS_H
#define DLB_TESTS_VARIANTS_H

#include "formats/dataset.h"
#include "formats/generate/generate.h"
#include "scenarios/spec/spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct variant {
    const struct dlb_format *format;
    const struct dlb_codec *codec;
    char option[64], word[64]; /* "tokens.layout", "npy"; empty: all defaults */
    struct dlb_spec spec;
};

static unsigned variant_n_missing; /* combinations for which the build lacks a library */

/* Sets `key` if the option tables have it; returns whether they do. */
static inline bool variant_set(struct dlb_config *cfg, const char *key, const char *value)
{
    char assignment[256];
    struct dlb_err err;

    if (!dlb_config_find(cfg, key, NULL))
        return false;
    (void)snprintf(assignment, sizeof assignment, "%s=%s", key, value);
    if (dlb_config_set(cfg, assignment, &err) != DLB_OK)
        fail_msg("%s: %s", assignment, err.what);
    return true;
}

static inline void variant_set_own(struct dlb_config *cfg, const struct dlb_format *format,
                                   const char *key, const char *value)
{
    char full[128];
    if (!format->opts)
        return;
    (void)snprintf(full, sizeof full, "%s.%s", format->opts->section, key);
    (void)variant_set(cfg, full, value);
}

/* Fills v->spec: `samples` of `bytes` at `path`, in several shards or files where the format has
 * them.
 */
static inline void variant_fill(struct variant *v, const char *path, unsigned samples,
                                unsigned bytes)
{
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    char number[32];
    struct dlb_err err;

    assert_non_null(cfg);
    (void)variant_set(cfg, "dataset.format", v->format->name);
    (void)variant_set(cfg, "dataset.codec", v->codec->name);
    (void)snprintf(number, sizeof number, "%u", samples);
    (void)variant_set(cfg, "generate.samples", number);
    (void)snprintf(number, sizeof number, "%u", bytes);
    (void)variant_set(cfg, "generate.sample_bytes", number);
    (void)variant_set(cfg, "generate.classes", "5");
    (void)variant_set(cfg, "generate.seed", "4");
    variant_set_own(cfg, v->format, "shard_samples", "13");
    variant_set_own(cfg, v->format, "file_tokens", "20000");
    variant_set_own(cfg, v->format, "chunk_samples", "4");
    variant_set_own(cfg, v->format, "rows", number);
    if (*v->option)
        (void)variant_set(cfg, v->option, v->word);
    if (dlb_spec_from_config(&v->spec, cfg, &err) != DLB_OK)
        fail_msg("%s", err.what);
    (void)snprintf(v->spec.dataset.path, sizeof v->spec.dataset.path, "%s", path);
    dlb_config_free(cfg);
}

static inline const void *variant_opts(const struct variant *v)
{
    return dlb_spec_format_opts(&v->spec);
}

/* Writes it. False where gen refuses the combination: DLB_E_CONFIG, DLB_E_MISSING. */
static inline bool variant_generate(const struct variant *v)
{
    struct dlb_err err = {0};
    uint64_t written = 0;
    struct dlb_gen gen = {.opts = &v->spec.generate,
                          .format = v->format,
                          .codec = v->codec,
                          .format_opts = variant_opts(v),
                          .path = v->spec.dataset.path};
    int rc = v->format->generator ? dlb_generate(&gen, 2, NULL, &written, &err) : DLB_OK;

    if (rc != DLB_OK && rc != DLB_E_CONFIG && rc != DLB_E_MISSING)
        fail_msg("%s %s %s=%s: %s: %s", v->format->name, v->codec->name, v->option, v->word,
                 err.path, err.what);
    variant_n_missing += rc == DLB_E_MISSING;
    return rc == DLB_OK;
}

static inline int variant_open(const struct variant *v, int access, struct dlb_dataset *ds,
                               struct dlb_err *err)
{
    struct dlb_dataset_opts opts = v->spec.dataset;

    opts.access = access;
    return dlb_dataset_open(ds, &opts, &v->spec.transform, &v->spec.generate, variant_opts(v), err);
}

/* Whether the codec fits the format. */
static inline bool variant_fits(const struct dlb_format *format, const struct dlb_codec *codec)
{
    struct dlb_err ignored;
    return !format->missing && !codec->missing &&
           dlb_codec_check(codec, format, &ignored) == DLB_OK &&
           (!format->synthetic || codec->identity);
}

typedef void variant_visit(struct variant *v, void *ctx);

/* Each choice of the format's own options but the first default: one at a time. */
static inline void variants_of(const struct dlb_format *format, const struct dlb_codec *codec,
                               variant_visit *visit, void *ctx)
{
    struct variant *v = calloc(1, sizeof *v);

    assert_non_null(v);
    *v = (struct variant){.format = format, .codec = codec};
    visit(v, ctx);
    for (const struct dlb_opt *o = format->opts ? format->opts->opts : NULL; o && o->key; o++)
        for (int i = 0; o->type == DLB_OPT_CHOICE && o->choices[i]; i++) {
            *v = (struct variant){.format = format, .codec = codec};
            (void)snprintf(v->option, sizeof v->option, "%s.%s", format->opts->section, o->key);
            (void)snprintf(v->word, sizeof v->word, "%s", o->choices[i]);
            if (strcmp(o->choices[i], o->def) != 0)
                visit(v, ctx);
        }
    free(v);
}

/* A test for each format; `name` is what cmocka shows. */
static inline size_t variant_tests(struct CMUnitTest *tests, size_t cap, void (*test)(void **),
                                   int (*setup)(void **), int (*teardown)(void **))
{
    size_t n = 0;
    for (size_t i = 0; dlb_formats[i]; i++) {
        if (dlb_formats[i]->elsewhere) /* no loader of this program reads it */
            continue;
        assert_true(n < cap);
        tests[n++] = (struct CMUnitTest){.name = dlb_formats[i]->name,
                                         .test_func = test,
                                         .setup_func = setup,
                                         .teardown_func = teardown,
                                         .initial_state = (void *)(uintptr_t)dlb_formats[i]};
    }
    return n;
}

#endif
