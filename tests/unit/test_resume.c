/* bench/experiment/resume: journals whose records are whole, and that dlbench did not write so. */
#include "bench/cli/version.h"
#include "bench/experiment/resume.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "scenarios/spec/spec.h"
#include "tests/support/error.h"
#include "tests/support/folder.h"

/* The first record of a run of this program, with this as what was asked for. */
static json_t *head_with(const char *key, const char *asked)
{
    uint64_t hash = 0;
    assert_true(dlb_hash_file("/proc/self/exe", &hash));
    json_t *head =
        json_pack("{ss, ss, s[], s{ss, ss, so}}", "is", "run", "command", "run", "asked", "program",
                  "version", DLB_VERSION, "commit", DLB_COMMIT, "xxh64", dlb_json_hex(hash));
    json_t *value = json_loads(asked, JSON_DECODE_ANY, NULL);
    assert_non_null(value);
    assert_int_equal(json_object_set_new(head, key, value), 0);
    return head;
}

static int open_with(const char *key, const char *asked, struct dlb_err *err)
{
    static struct dlb_result_folder at;
    struct dlb_resume resume = {.n_ranks = 0};
    struct dlb_config *a = dlb_config_new(dlb_spec_groups()),
                      *b = dlb_config_new(dlb_spec_groups());
    json_t *head = head_with(key, asked);
    size_t n_bytes;
    uint64_t hash = 0;
    char *line = dlb_journal_line(head, &hash, &n_bytes);

    folder_write("journal.jsonl", line, n_bytes);
    (void)snprintf(at.path, sizeof at.path, "%s", folder);
    int rc = dlb_resume_open(&resume, &at, "run", a, b, err);
    dlb_resume_close(&resume);
    dlb_config_free(a);
    dlb_config_free(b);
    json_decref(head);
    free(line);
    return rc;
}

static void test_a_setting_without_key_or_value(void **state)
{
    static const char *const asked[] = {
        "[{\"key\": \"run.repeats\"}]",
        "[{\"value\": 1}]",
        "[{\"key\": 1, \"value\": 1}]",
        "[1]",
        "[null]",
        "{\"key\": \"a\", \"value\": 1}",
        "1",
    };
    struct dlb_err err;
    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        for (int b = 0; b < 2; b++) {
            assert_int_equal(open_with(b ? "asked_b" : "asked", asked[i], &err), DLB_E_FORMAT);
            assert_int_equal(err.code, DLB_ERR_JOURNAL_DAMAGED);
            assert_string_equal(err.path, folder_path("journal.jsonl"));
        }
    assert_int_equal(open_with("asked", "[]", &err), DLB_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_setting_without_key_or_value, folder_make,
                                        folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
