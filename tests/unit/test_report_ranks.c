/* Ranks in the reports: a row for each, and the straggler. */
#include "core/base/json.h"
#include "tests/support/rendered.h"

/* A result of three ranks; `straggler`: the third one is. */
static json_t *ranked_doc(bool straggler)
{
    json_t *doc = summary_of("run"), *ranks = json_array();
    for (int i = 0; i < 3; i++)
        json_array_append_new(
            ranks, json_pack("{si, ss, ss, sf, sf, sf, sf, so}", "rank", i, "node",
                             i < 2 ? "nodea" : "node\033[31mb", "status", "ok", "samples_per_s",
                             1000.0 + i, "gpu_idle_frac", 0.125, "input_wait_frac", 0.0625,
                             "done_s", 3.25, "straggler",
                             straggler && i == 2 ? json_string("INPUT STRAGGLER") : json_null()));
    json_object_set_new(doc, "ranks", ranks);
    json_object_set_new(
        doc, "ranks_samples_per_s",
        json_pack("{sf, sf, sf}", "total", 3003.0, "worst", 1000.0, "median", 1001.0));
    json_object_set_new(doc, "first_done_s", json_real(3.25));
    json_object_set_new(doc, "last_done_s", json_real(3.5));
    json_object_set_new(doc, "barrier_us", json_pack("{sf, sf}", "p50", 150.0, "p99", 900.0));
    json_object_set_new(doc, "straggler",
                        straggler ? json_pack("{ss, si, ss, si, sf, sf, sf, sf}", "class",
                                              "INPUT STRAGGLER", "rank", 2, "node", "nodeb",
                                              "median_rank", 1, "cost_ms", 12.5, "score", 0.25,
                                              "part_ms", 30.0, "median_part_ms", 18.0)
                                  : json_null());
    return doc;
}

static void test_text_has_each_rank(void **state)
{
    json_t *doc = ranked_doc(true);
    (void)state;
    char *text = rendered(doc, "text", 0);
    static const char *const has[] = {"nodea",  "1,000",           "1,002",  "12.5", "3,003",
                                      "150 us", "INPUT STRAGGLER", "rank 2", "25%"};
    for (size_t i = 0; i < sizeof(has) / sizeof(*has); i++)
        assert_has(text, has[i]);
    assert_null(strchr(text, '\033'));
    free(text);
    text = rendered(doc, "terminal", 60); /* what does not fit is left out, the ranks stay */
    assert_has(text, "1,002");
    free(text);
    json_decref(doc);
}

static void test_page_has_each_rank(void **state)
{
    json_t *doc = ranked_doc(true);
    (void)state;
    char *text = rendered(doc, "html", 0);
    assert_has(text, "2 on node");
    assert_has(text, "INPUT STRAGGLER");
    assert_null(strchr(text, '\033'));
    free(text);
    json_decref(doc);
}

static void test_one_rank_and_no_straggler(void **state)
{
    json_t *doc = ranked_doc(false);
    (void)state;
    char *text = rendered(doc, "text", 0);
    assert_has(text, "3,003");
    assert_null(strstr(text, "STRAGGLER"));
    free(text);
    json_array_remove(json_object_get(doc, "ranks"), 2);
    json_array_remove(json_object_get(doc, "ranks"), 1);
    text = rendered(doc, "text", 0);
    assert_null(strstr(text, "nodea"));
    free(text);
    json_decref(doc);
}

/* When a rank has ended is not known of one that was killed. */
static void test_ends_not_known(void **state)
{
    static const char *const formats[] = {"text", "md", "html"};
    (void)state;
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        json_t *doc = ranked_doc(false);
        char *text = rendered(doc, formats[i], 0);
        bool said = strstr(text, "3.50 s") != NULL;
        assert_int_equal(said, i == 0);
        free(text);
        json_object_set_new(doc, "first_done_s", json_null());
        json_object_set_new(doc, "last_done_s", json_null());
        json_object_set_new(json_array_get(json_object_get(doc, "ranks"), 1), "done_s",
                            json_null());
        text = rendered(doc, formats[i], 0);
        assert_has(text, "1,002");
        assert_null(strstr(text, "nan s"));
        assert_null(strstr(text, ">nan"));
        free(text);
        json_decref(doc);
    }
}

/* Why the rate of all is not the sum of those in the table. */
static void test_not_together(void **state)
{
    (void)state;
    json_t *doc = ranked_doc(false);
    for (int together = -1; together < 2; together++) { /* -1: an older result does not say */
        if (together >= 0)
            json_object_set_new(doc, "ranks_together", json_boolean(together));
        char *text = rendered(doc, "text", 0);
        assert_int_equal(strstr(text, "ranks_together") != NULL, together == 0);
        free(text);
    }
    json_decref(doc);
}

/* The machines of a job of three ranks, its clocks and its traffic. */
static json_t *noded_doc(int cpus_of_last, double ram_of_last)
{
    json_t *doc = ranked_doc(false), *nodes = json_array();
    for (int i = 0; i < 3; i++)
        json_array_append_new(nodes, json_pack("{ss, si, si, si, sI, ss, ss}", "node",
                                               i == 0   ? "nodea"
                                               : i == 1 ? "node\033[31mb"
                                                        : "nodec",
                                               "ranks", 1, "cpus", i == 2 ? cpus_of_last : 8,
                                               "cpus_there", 16, "ram_bytes",
                                               (json_int_t)(i == 2 ? ram_of_last : 64e9), "program",
                                               "00aa11bb22cc33dd", "data_id", "77ee66ff55001122"));
    json_object_set_new(doc, "nodes", nodes);
    json_object_set_new(doc, "clock_offset_us", json_pack("{sf, sf}", "max", 34.5, "error", 2.25));
    json_object_set_new(doc, "ranks_traffic",
                        json_pack("{si, si, sf}", "calls", 128, "bytes", 44500, "cpu_s", 0.0375));
    return doc;
}

static const char *const formats[] = {"text", "md", "html"};
#define N_FORMATS (sizeof(formats) / sizeof(formats[0]))

static void assert_all(const json_t *doc, const char *const *has, size_t n)
{
    for (size_t i = 0; i < N_FORMATS; i++) {
        char *text = rendered(doc, formats[i], 0);
        for (size_t k = 0; k < n; k++)
            assert_has(text, has[k]);
        assert_null(strchr(text, '\033'));
        free(text);
    }
}

/* Machines of one kind take a line; memory that differs by what a kernel keeps is no difference. */
static void test_machines_alike(void **state)
{
    static const char *const has[] = {"3 on 3 machines", "8 of 16", "64.0 GB", "00aa11bb22cc33dd",
                                      "77ee66ff55001122"};
    json_t *doc = noded_doc(8, 63.9e9);
    (void)state;
    assert_all(doc, has, sizeof(has) / sizeof(has[0]));
    for (size_t i = 0; i < N_FORMATS; i++) {
        char *text = rendered(doc, formats[i], 0);
        const char *shown = text; /* a page also holds the document, behind what it shows */
        char *document = strstr(text, "{\"");
        if (i == 2 && document)
            *document = '\0';
        assert_null(strstr(shown, "nodec"));
        free(text);
    }
    json_decref(doc);
}

/* The odd one is marked, and no other. */
static void test_machines_differ(void **state)
{
    static const struct {
        int cpus;
        double ram;
        const char *in[N_FORMATS];
    } cases[] = {
        {4, 64e9, {"DIFFERS: CPUs\n", "| nodec | CPUs |", "nodec</td><td class=\"text\">CPUs<"}},
        {8,
         32e9,
         {"DIFFERS: memory\n", "| nodec | memory |", "nodec</td><td class=\"text\">memory<"}},
        {4,
         32e9,
         {"DIFFERS: CPUs, memory\n", "| nodec | CPUs, memory |",
          "nodec</td><td class=\"text\">CPUs, memory<"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *doc = noded_doc(cases[i].cpus, cases[i].ram);
        for (size_t k = 0; k < N_FORMATS; k++) {
            char *text = rendered(doc, formats[k], 0);
            assert_has(text, cases[i].in[k]);
            assert_has(text, "nodea");
            assert_has(text, "64.0 GB");
            const char *mark = strstr(text, "DIFFERS");
            assert_true(k > 0 || !strstr(mark + 1, "DIFFERS"));
            assert_null(strchr(text, '\033'));
            free(text);
        }
        json_decref(doc);
    }
}

/* Without a majority the first machine's counts; what a machine does not tell differs from
 * nothing. */
static void test_machines_not_known(void **state)
{
    json_t *doc = noded_doc(4, 64e9);
    (void)state;
    json_object_set_new(json_array_get(json_object_get(doc, "nodes"), 1), "cpus", json_integer(2));
    char *text = rendered(doc, "md", 0);
    assert_has(text, "[31mb | CPUs |");
    assert_has(text, "| nodec | CPUs |");
    assert_has(text, "| nodea | - |");
    free(text);
    for (size_t i = 1; i < 3; i++)
        json_object_set_new(json_array_get(json_object_get(doc, "nodes"), i), "cpus", json_null());
    text = rendered(doc, "md", 0);
    assert_has(text, "3 on 3 machines");
    assert_null(strstr(text, "nodec"));
    free(text);
    json_decref(doc);
}

static void test_clocks_and_traffic(void **state)
{
    static const char *const has[] = {"34.5 us", "2.2 us", "128 calls", "44.5 kB", "37.5 ms"};
    json_t *doc = noded_doc(8, 64e9);
    (void)state;
    assert_all(doc, has, sizeof(has) / sizeof(has[0]));
    json_object_set_new(doc, "clock_offset_us", json_null()); /* a rank was lost */
    assert_all(doc, has + 2, 3);
    json_array_remove(json_object_get(doc, "ranks"), 2);
    json_array_remove(json_object_get(doc, "ranks"), 1);
    char *text = rendered(doc, "text", 0);
    assert_null(strstr(text, "128 calls"));
    free(text);
    json_decref(doc);
}

/* What a storage feeds is said of each rank, as the search has it. */
static void test_storage_feeds_each_rank(void **state)
{
    (void)state;
    static const char *const says[][2] = {{"html", "each of 3 ranks"}, {"text", "each rank"}};
    for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++) {
        json_t *doc = summary_of("storage"), *ranked = ranked_doc(false);
        char *text = rendered(doc, says[i][0], 0);
        assert_null(strstr(text, says[i][1]));
        free(text);
        json_object_set(doc, "ranks", json_object_get(ranked, "ranks"));
        text = rendered(doc, says[i][0], 0);
        assert_has(text, says[i][1]);
        free(text);
        json_decref(doc);
        json_decref(ranked);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_storage_feeds_each_rank),
        cmocka_unit_test(test_text_has_each_rank),
        cmocka_unit_test(test_page_has_each_rank),
        cmocka_unit_test(test_one_rank_and_no_straggler),
        cmocka_unit_test(test_ends_not_known),
        cmocka_unit_test(test_not_together),
        cmocka_unit_test(test_machines_alike),
        cmocka_unit_test(test_machines_differ),
        cmocka_unit_test(test_machines_not_known),
        cmocka_unit_test(test_clocks_and_traffic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
