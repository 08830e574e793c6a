/* Results to render, and what is rendered of them. For cmocka programs of reports.
 *
 * Header-only, for tests. */
#ifndef DLB_TESTS_SUPPORT_RENDERED_H
#define DLB_TESTS_SUPPORT_RENDERED_H

#include "reports/load.h"
#include "reports/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline void corpus_path(const char *name, char *path, size_t n_path)
{
    const char *root = getenv("DLB_SOURCE_DIR");
    (void)snprintf(path, n_path, "%s/tests/fuzz/corpus/summary/%s", root ? root : ".", name);
}

/* A result of the corpus of summaries. */
static inline json_t *summary_of(const char *name)
{
    char path[4096];
    struct dlb_err err;
    json_t *doc = NULL;
    corpus_path(name, path, sizeof(path));
    if (dlb_summary_load(path, &doc, &err))
        fail_msg("%s: %s", err.path, err.what);
    return doc;
}

/* The caller frees it. */
static inline char *rendered(const json_t *doc, const char *name, uint32_t n_columns)
{
    struct dlb_report_opts opts = {.n_columns = n_columns, .folder = "results/x"};
    struct dlb_text text = {0};
    dlb_report_by_name(name)->render(doc, &opts, &text);
    return text.data;
}

/* As the terminal shows it with --verbose. The caller frees it. */
static inline char *rendered_whole(const json_t *doc, uint32_t n_columns)
{
    struct dlb_report_opts opts = {.n_columns = n_columns, .folder = "results/x", .verbose = true};
    struct dlb_text text = {0};
    dlb_report_by_name("terminal")->render(doc, &opts, &text);
    return text.data;
}

static inline void assert_has(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("\"%s\" is not in:\n%s", words, text);
}

static inline size_t longest_line(const char *text)
{
    size_t longest = 0;
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        longest = strcspn(at, "\n") > longest ? strcspn(at, "\n") : longest;
    return longest;
}

#endif
