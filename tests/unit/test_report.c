#include "core/base/io.h"
#include "tests/support/rendered.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A real sweep: cells 0 (0 workers), 2 to 5 ran, 1 is skipped. */
static json_t *sweep(void)
{
    return summary_of("sweep");
}

static void test_terminal_says_everything(void **state)
{
    (void)state;
    json_t *doc = sweep();
    char *text = rendered(doc, "terminal", 160);
    static const char *const words[] = {"workers",       "pin",
                                        "prefetch",      "persistent",
                                        "samples/s",     "MB/s",
                                        "GPU idle %",    "input wait %",
                                        "first batch",   "verdict",
                                        "emulated H100", "no GPU",
                                        "skipped: ",     "(cell 1)",
                                        "Verdict: ",     "DataLoader(dataset, batch_size=64",
                                        "--verbose",     "Result: results/x/summary.json"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        assert_has(text, words[i]);
    free(text);
    text = rendered_whole(doc, 160);
    assert_has(text, "Not modelled:");
    assert_true(strstr(text, "Not modelled:") < strstr(text, "Verdict: "));
    free(text);
    json_decref(doc);
}

static uint32_t n_screen_rows(const char *text, size_t n_columns)
{
    uint32_t n = 0;
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        size_t n_line = strcspn(at, "\n");
        n += n_line > n_columns ? (uint32_t)((n_line + n_columns - 1) / n_columns) : 1;
    }
    return n;
}

/* From the verdict on all is on one screen, with the prompt below it, however many notes there are;
 * each note that is shown is one line. */
static void test_the_answer_fits_the_screen(void **state)
{
    (void)state;
    static const char *const names[] = {"run", "sweep", "storage", "failed"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        for (int n_notes = 0; n_notes <= 40; n_notes += 8) {
            json_t *doc = summary_of(names[i]), *notes = json_object_get(doc, "notes");
            for (int k = 0; k < n_notes; k++)
                json_array_append_new(
                    notes, json_pack("{ss, ss}", "code", "X", "text",
                                     "a note that is too long for one line, as it says again what "
                                     "others have said before it in many words"));
            char *text = rendered(doc, "terminal", 80);
            const char *answer = strstr(text, "Verdict: ");
            assert_non_null(answer);
            assert_in_range(n_screen_rows(answer, 80), 3, 23);
            for (const char *at = answer; (at = strstr(at, "\n  - ")); at++)
                assert_in_range(strcspn(at + 1, "\n"), 5, 80);
            free(text);
            json_decref(doc);
        }
}

/* A word that is longer than a row, as a path may be, is cut between two of its characters. */
static void test_a_long_word_is_cut(void **state)
{
    (void)state;
    static const char *const names[] = {"sweep", "storage"}, *const letters[] = {"a", "\u00e9"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        for (size_t k = 0; k < sizeof(letters) / sizeof(letters[0]); k++) {
            char word[4001] = "";
            size_t n_letter = strlen(letters[k]);
            for (size_t at = 0; at + n_letter < sizeof word; at += n_letter)
                memcpy(word + at, letters[k], n_letter + 1);
            json_t *doc = summary_of(names[i]);
            json_object_set_new(doc, "recommendation", json_string(word));
            json_object_set_new(json_object_get(doc, "verdict"), "text", json_string(word));
            char *text = rendered(doc, "terminal", 80);
            const char *answer = strstr(text, "Verdict: ");
            assert_non_null(answer);
            assert_in_range(n_screen_rows(answer, 80), 3, 23);
            json_t *valid = json_string(text); /* checks that it is UTF-8 */
            assert_non_null(valid);
            json_decref(valid);
            free(text);
            json_decref(doc);
        }
}

/* The command that is offered next, in every report; where no arguments are known, none is. */
static void test_the_next_step_is_a_command(void **state)
{
    (void)state;
    json_t *doc = summary_of("run");
    json_object_set_new(json_object_get(doc, "verdict"), "class", json_string("INPUT-BOUND"));
    for (int known = 0; known < 2; known++) {
        static const char *const reports[] = {"terminal", "html", "md"};
        if (known)
            json_object_set_new(doc, "arguments", json_string(" --config 'a-b'"));
        else
            json_object_del(doc, "arguments");
        for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
            char *text = rendered(doc, reports[i], 80);
            assert_int_equal(strstr(text, "dlbench sweep --config") != NULL, known);
            free(text);
        }
    }
    json_decref(doc);
}

/* A sweep that noise ended is to be repeated, one that time ended to have more of it, and settings
 * that are offered are to be tried, whosever loader they were measured with. */
static void test_each_end_of_a_sweep_has_a_next_step(void **state)
{
    (void)state;
    static const struct {
        const char *stopped, *has, *has_not;
    } ends[] = {
        {"noise", "dlbench sweep --config 'a-b'\n", "dlbench.watch("},
        {"budget", "dlbench sweep --config 'a-b' --sweep.max_minutes 15\n", "dlbench.watch("},
        {"interrupted", "Result: ", "Next"},
        {"decided", "dlbench.watch(", "dlbench sweep"}};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        json_t *doc = sweep();
        bool decided = strcmp(ends[i].stopped, "decided") == 0;
        json_object_set_new(doc, "arguments", json_string(" --config 'a-b'"));
        json_object_set_new(json_object_get(doc, "config"), "sweep.max_minutes", json_real(5));
        json_object_set_new(doc, "recommendation_detail",
                            json_pack("{ss}", "stopped", ends[i].stopped));
        json_object_set_new(doc, "recommended_cell", decided ? json_integer(4) : json_null());
        char *text = rendered(doc, "terminal", 80);
        assert_has(text, ends[i].has);
        assert_null(strstr(strstr(text, "Verdict: "), ends[i].has_not));
        free(text);
        json_decref(doc);
    }
}

/* Several accelerators are shown with each definition of utilisation; a single one is not. */
static void test_accelerators_are_told_of(void **state)
{
    (void)state;
    json_t *doc = sweep();
    json_t *best = json_array_get(json_object_get(doc, "cells"),
                                  (size_t)json_integer_value(json_object_get(doc, "best_cell")));
    json_object_set_new(best, "accelerators", json_pack("{si, sn}", "count", 12, "each"));
    json_object_set_new(best, "au",
                        json_pack("{sf, sf, sf, sn, s{sf}}", "nominal", 0.9123, "measured", 0.9,
                                  "mlperf_v1", 0.934, "mlperf_v2", "lowest", "nominal", 0.8551));
    json_object_set_new(best, "reads",
                        json_pack("{ss, si, si, si, si, sf}", "of", "samples", "count", 100,
                                  "p50_ns", 150000, "p99_ns", 2500000, "p999_ns", 31000000, "per_s",
                                  12345.6));
    json_object_set_new(doc, "pytorch", json_string("short()"));
    char *text = rendered(doc, "terminal", 80);
    assert_in_range(longest_line(text), 1, 80);
    free(text);
    text = rendered(doc, "text", 0);
    assert_has(text, "12 accelerators: ");
    static const char *const figures[] = {"91.2% nominal", "90.0% measured", "93.4% ",
                                          "85.5% nominal"};
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        assert_has(text, figures[i]);
    assert_has(text, "p50 150 us, p99 2.5 ms, p99.9 31.0 ms; 12,346/s");
    free(text);
    json_object_set_new(best, "accelerators", json_pack("{si, sn}", "count", 1, "each"));
    text = rendered(doc, "text", 0);
    assert_null(strstr(text, "utilisation"));
    free(text);
    json_decref(doc);
}

static size_t n_times(const char *text, const char *words)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, words)); at++)
        n++;
    return n;
}

/* Why PyTorch's loader was not measured: once, among what was not modelled; on a screen as a line
 * of the caveats. */
static void test_a_reason_is_told_once(void **state)
{
    (void)state;
    json_t *doc = sweep(), *cell;
    json_t *list = json_object_get(doc, "not_modelled");
    size_t i;
    json_array_foreach(json_object_get(doc, "cells"), i, cell)
        json_object_set_new(cell, "pipeline", json_string("hardware"));
    json_array_clear(list);
    json_array_append_new(list,
                          json_pack("{ss, ss}", "code", "PYTORCH_NOT_MEASURED", "text", "[E_WHY]"));
    for (int settings = 1; settings >= 0; settings--) {
        json_object_set_new(doc, "pytorch", json_string(settings ? "DataLoader()" : ""));
        char *text = rendered(doc, "terminal", 80);
        assert_int_equal(n_times(text, "[E_WHY]"), 1);
        assert_has(text, "\n  - [E_WHY]\n");
        assert_int_equal(strstr(text, "PyTorch's not measured") != NULL, settings);
        free(text);
        text = rendered_whole(doc, 80);
        assert_int_equal(n_times(text, "[E_WHY]"), 1);
        assert_true(strstr(text, "Not modelled:") < strstr(text, "[E_WHY]"));
        free(text);
    }
    json_decref(doc);
}

static void test_the_noise_floor_is_told(void **state)
{
    (void)state;
    static const char *const names[] = {"run", "sweep", "storage", "gap"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        json_t *doc = summary_of(names[i]);
        json_object_set_new(doc, "noise_floor_frac", json_real(0.0123));
        for (int k = 0; k < 2; k++) {
            char *text = rendered(doc, k ? "text" : "terminal", 80);
            assert_has(text, " 1.2% ");
            assert_has(text, "Noise floor");
            free(text);
        }
        json_object_set_new(doc, "noise_floor_frac", json_real(1.02));
        char *coarse = rendered(doc, "text", 80);
        assert_has(coarse, " 102% ");
        free(coarse);
        json_object_set_new(doc, "noise_floor_frac", json_null());
        char *text = rendered(doc, "text", 80);
        assert_null(strstr(text, "Noise floor"));
        free(text);
        json_decref(doc);
    }
}

/* Settings that DataLoader does not take are listed beside its arguments; settings without a
 * meaning are not. */
static void test_settings_are_whole(void **state)
{
    (void)state;
    json_t *doc = sweep();
    json_t *config = json_object_get(json_array_get(json_object_get(doc, "cells"), 4), "config");
    json_object_set_new(doc, "recommended_cell", json_integer(4));
    char *text = rendered(doc, "terminal", 80);
    assert_has(text, "DataLoader(");
    assert_null(strstr(text, "best cell's"));
    assert_null(strstr(text, "and with"));
    free(text);
    json_object_set_new(doc, "axes",
                        json_pack("{s:[ii], s:[ss], s:[ff], s:[ss], s:[ii]}", "device.prefetch", 1,
                                  2, "loader.bind", "none", "core", "loader.sample_spin_us", 0.1,
                                  0.2, "loader.io", "sync", "io_uring", "loader.batch_size", 1, 2));
    json_object_set_new(config, "device.prefetch", json_integer(2));
    json_object_set_new(config, "loader.bind", json_string("core"));
    json_object_set_new(config, "loader.sample_spin_us", json_real(0.1));
    json_object_set_new(config, "loader.io", json_null());
    text = rendered(doc, "terminal", 120);
    assert_has(text, ")\n  and with: device.prefetch = 2, loader.bind = \"core\", "
                     "loader.sample_spin_us = 0.1\n");
    free(text);
    json_object_set_new(doc, "recommendation_detail",
                        json_pack("{s:[ss]}", "left_out", "loader.bind", "device.prefetch"));
    text = rendered(doc, "terminal", 120);
    assert_has(text, ")\n  and with: loader.sample_spin_us = 0.1\n");
    free(text);
    json_decref(doc);
}

/* Where the best cell is not judged, there is nothing to paste. */
static void test_nothing_to_paste(void **state)
{
    (void)state;
    static const struct {
        const char *klass;
        bool pasted;
    } cases[] = {{"INCOMPLETE", false}, {"HARNESS-BOUND", false}, {"INPUT-BOUND", true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *doc = sweep();
        json_object_set_new(doc, "recommended_cell", json_null());
        json_object_set_new(json_object_get(doc, "verdict"), "class", json_string(cases[i].klass));
        char *text = rendered(doc, "text", 0);
        assert_int_equal(strstr(text, "DataLoader(") != NULL, cases[i].pasted);
        assert_int_equal(strstr(text, "best cell's") != NULL, cases[i].pasted);
        free(text);
        json_decref(doc);
    }
}

/* Marks and their legend: only those that there are, and none where there is one cell. */
static void test_legend_names_the_marks_there_are(void **state)
{
    (void)state;
    json_t *doc = sweep();
    json_object_set_new(doc, "best_cell", json_integer(0));
    json_object_set_new(doc, "recommended_cell", json_null());
    char *text = rendered(doc, "terminal", 160);
    assert_has(text, "* best\n");
    assert_has(text, "*0  ");
    assert_null(strstr(text, "> recommended"));
    free(text);
    json_t *cells = json_object_get(doc, "cells");
    while (json_array_size(cells) > 1)
        json_array_remove(cells, 1);
    json_object_set_new(doc, "recommended_cell", json_integer(0));
    text = rendered(doc, "terminal", 160);
    assert_null(strstr(text, "* best"));
    assert_null(strstr(text, ">*0"));
    free(text);
    json_decref(doc);
}

static void test_failures_and_interrupts_show(void **state)
{
    (void)state;
    json_t *doc = sweep(), *cells = json_object_get(doc, "cells");
    for (size_t i = 2; i < 4; i++) {
        json_object_set_new(json_array_get(cells, i), "status", json_string("failed"));
        json_object_set_new(json_array_get(cells, i), "reason", json_string("fire"));
    }
    json_object_set_new(doc, "interrupted", json_true());
    char *text = rendered(doc, "terminal", 100);
    assert_has(text, "PARTIAL: interrupted");
    assert_has(text, "failed: fire (cells 2, 3)");
    free(text);
    json_decref(doc);
}

static void test_text_has_every_cell_and_key(void **state)
{
    (void)state;
    json_t *doc = sweep();
    char *text = rendered(doc, "text", 0);
    assert_has(text, "cell 5:");
    assert_has(text, "loader.batch_size = 64");
    free(text);
    json_decref(doc);
}

static void test_json_is_the_document(void **state)
{
    (void)state;
    json_t *doc = sweep(), *again = NULL;
    struct dlb_err err;
    char *text = rendered(doc, "json", 0);
    assert_int_equal(dlb_summary_parse(text, strlen(text), "x", &again, &err), DLB_OK);
    assert_string_equal(json_string_value(json_object_get(again, "config_hash")),
                        json_string_value(json_object_get(doc, "config_hash")));
    assert_int_equal(json_array_size(json_object_get(again, "cells")), 6);
    free(text);
    json_decref(again);
    json_decref(doc);
}

static void refuses(json_t *doc, enum dlb_code code, const char *field)
{
    struct dlb_err err;
    assert_int_equal(dlb_summary_check(doc, "x.json", &err), DLB_E_FORMAT);
    assert_int_equal(err.code, code);
    assert_string_equal(err.path, "x.json");
    assert_has(err.what, field);
    json_decref(doc);
}

static void test_check_names_the_offence(void **state)
{
    (void)state;
    json_t *doc = sweep();
    json_object_set_new(
        json_object_get(json_array_get(json_object_get(doc, "cells"), 3), "samples_per_s"),
        "median", json_string("fast"));
    refuses(doc, DLB_ERR_SUMMARY_FIELD_BAD, " cells[3].samples_per_s.median ");
    doc = sweep();
    json_object_del(doc, "verdict");
    refuses(doc, DLB_ERR_SUMMARY_FIELD_MISSING, " verdict ");
    doc = sweep();
    json_object_set_new(json_object_get(doc, "config"), "loader.x", json_object());
    refuses(doc, DLB_ERR_SUMMARY_FIELD_BAD, " config.loader.x ");
    doc = sweep();
    json_object_set_new(doc, "schema_version", json_integer(1));
    refuses(doc, DLB_ERR_SUMMARY_VERSION, "schema_version 1");
    refuses(json_array(), DLB_ERR_SUMMARY_FIELD_BAD, "object");
}

/* Which of the corpus are summaries. Other versions of the program wrote some of those that are. */
static void test_which_summaries_can_be_read(void **state)
{
    (void)state;
    static const char *const can[] = {"failed",  "gap",   "gap_hostile", "hostile",      "run",
                                      "storage", "sweep", "watch",       "watch_hostile"};
    static const struct {
        const char *name;
        enum dlb_code code;
    } cannot[] = {
        {"cut", DLB_ERR_SUMMARY_NOT_JSON},         {"deep", DLB_ERR_SUMMARY_NOT_JSON},
        {"empty", DLB_ERR_SUMMARY_NOT_JSON},       {"missing", DLB_ERR_SUMMARY_FIELD_MISSING},
        {"not_object", DLB_ERR_SUMMARY_FIELD_BAD}, {"version", DLB_ERR_SUMMARY_VERSION},
        {"wrong_type", DLB_ERR_SUMMARY_FIELD_BAD}};
    for (size_t i = 0; i < sizeof(can) / sizeof(can[0]); i++)
        json_decref(summary_of(can[i]));
    for (size_t i = 0; i < sizeof(cannot) / sizeof(cannot[0]); i++) {
        char path[4096];
        struct dlb_err err;
        json_t *doc = NULL;
        corpus_path(cannot[i].name, path, sizeof(path));
        assert_int_equal(dlb_summary_load(path, &doc, &err), DLB_E_FORMAT);
        assert_string_equal(dlb_code_name(err.code), dlb_code_name(cannot[i].code));
        assert_null(doc);
    }
}

static void test_load_takes_folders_and_says_what_is_wrong(void **state)
{
    (void)state;
    char folder[] = "/tmp/dlb_report_XXXXXX", path[64], begun[64];
    struct dlb_err err;
    json_t *doc = NULL;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(dlb_summary_load(folder, &doc, &err), DLB_E_IO);
    assert_int_equal(err.code, DLB_ERR_NOT_FOUND);
    (void)snprintf(begun, sizeof(begun), "%s/environment.json", folder);
    assert_int_equal(dlb_write_file_atomic(begun, "{}", 2, &err), DLB_OK);
    assert_int_equal(dlb_summary_load(folder, &doc, &err), DLB_E_IO);
    assert_int_equal(err.code, DLB_ERR_SUMMARY_NOT_WRITTEN);
    assert_string_equal(err.path, folder);
    (void)snprintf(path, sizeof(path), "%s/summary.json", folder);
    assert_int_equal(dlb_write_file_atomic(path, "{\n\n!", 4, &err), DLB_OK);
    assert_int_equal(dlb_summary_load(folder, &doc, &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_SUMMARY_NOT_JSON);
    assert_has(err.what, "line 3");
    json_t *good = sweep();
    char *text = rendered(good, "json", 0);
    assert_int_equal(dlb_write_file_atomic(path, text, strlen(text), &err), DLB_OK);
    assert_int_equal(dlb_summary_load(folder, &doc, &err), DLB_OK);
    free(text);
    json_decref(doc);
    json_decref(good);
    (void)unlink(path);
    (void)unlink(begun);
    (void)rmdir(folder);
}

static void test_fold(void **state)
{
    (void)state;
    struct dlb_text text = {0};
    dlb_text_fold_lines(&text, "one two three\nfour \033[2J", 2, 10);
    assert_string_equal(text.data, "  one two\n  three\n  four\n  \\x1b[2J\n");
    dlb_text_free(&text);
    dlb_text_fold(&text, "one\ntwo \xc2\x9b \x9b \x7f\xc3\xa4", 0, 0);
    assert_string_equal(text.data, "one\\x0atwo \\xc2\\x9b \\x9b \\x7f\xc3\xa4\n");
    dlb_text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terminal_says_everything),
        cmocka_unit_test(test_the_answer_fits_the_screen),
        cmocka_unit_test(test_a_long_word_is_cut),
        cmocka_unit_test(test_the_next_step_is_a_command),
        cmocka_unit_test(test_each_end_of_a_sweep_has_a_next_step),
        cmocka_unit_test(test_accelerators_are_told_of),
        cmocka_unit_test(test_a_reason_is_told_once),
        cmocka_unit_test(test_the_noise_floor_is_told),
        cmocka_unit_test(test_settings_are_whole),
        cmocka_unit_test(test_nothing_to_paste),
        cmocka_unit_test(test_legend_names_the_marks_there_are),
        cmocka_unit_test(test_failures_and_interrupts_show),
        cmocka_unit_test(test_text_has_every_cell_and_key),
        cmocka_unit_test(test_json_is_the_document),
        cmocka_unit_test(test_check_names_the_offence),
        cmocka_unit_test(test_which_summaries_can_be_read),
        cmocka_unit_test(test_load_takes_folders_and_says_what_is_wrong),
        cmocka_unit_test(test_fold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
