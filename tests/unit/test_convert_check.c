/* formats/convert/check: samples that lack what others have, keys that occur again. */
#include "formats/convert/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct dlb_convert_check check;
static struct dlb_err err;
static bool alone;

static uint64_t number; /* of the sample that is taken */

/* A sample of shard `shard` with these fields, separated by spaces. */
static int take(const char *key, uint32_t shard, const char *fields, bool labelled)
{
    char names[DLB_MAX_FIELDS][DLB_FIELD_NAME_BYTES];
    struct dlb_sample sample = {.labelled = labelled,
                                .path = shard ? "b.tar" : "a.tar",
                                .offset_bytes = 512,
                                .index = number,
                                .key = key,
                                .n_key_bytes = key ? strlen(key) : 0};

    for (size_t n; *fields; fields += n + (fields[n] == ' ')) {
        n = strcspn(fields, " ");
        char *name = names[sample.n_fields];
        (void)snprintf(name, DLB_FIELD_NAME_BYTES, "%.*s", (int)n, fields);
        sample.field[sample.n_fields++].name = name;
    }
    err = (struct dlb_err){.status = DLB_OK};
    return dlb_convert_check(&check, &sample, shard, &alone, &err);
}

static void refused(int rc, enum dlb_code code, const char *path, const char *named, bool only)
{
    assert_int_equal(rc, dlb_code_status(code));
    assert_string_equal(dlb_code_name(err.code), dlb_code_name(code));
    assert_string_equal(err.path, path);
    assert_int_equal(err.offset_bytes, 512);
    assert_non_null(strstr(err.what, named));
    assert_int_equal(alone, only);
}

static int fresh(void **state)
{
    (void)state;
    check = (struct dlb_convert_check){.most_key_bytes = 1 << 20};
    return 0;
}

static int drop(void **state)
{
    (void)state;
    dlb_convert_check_free(&check);
    return 0;
}

static void payloads(void **state)
{
    (void)state;
    refused(take("a", 0, "cls", true), DLB_ERR_SAMPLE_NO_PAYLOAD, "a.tar", " a ", true);
    assert_int_equal(take("b", 0, "cls jpg", true), DLB_OK);
    assert_int_equal(take("c", 0, "json jpg cls", true), DLB_OK);
    refused(take("d", 0, "cls json", true), DLB_ERR_SAMPLE_NO_PAYLOAD, "a.tar", " d ", true);
    refused(take("e", 0, "json", true), DLB_ERR_SAMPLE_NO_PAYLOAD, "a.tar", " e ", true);
    refused(take(NULL, 0, "", true), DLB_ERR_SAMPLE_NO_PAYLOAD, "a.tar", "", true);
    assert_int_equal(take("f", 0, "txt cls", true), DLB_OK); /* those that were left out are gone */
}

/* The data set itself may be one of descriptions. The first of them is named once it is not. */
static void descriptions(void **state)
{
    (void)state;
    assert_int_equal(take("a", 0, "json cls", true), DLB_OK);
    assert_int_equal(take("b", 0, "json", true), DLB_OK);
    refused(take("c", 1, "jpg json", true), DLB_ERR_SAMPLE_NO_PAYLOAD, "a.tar", " a ", false);
}

static void labels(void **state)
{
    (void)state;
    assert_int_equal(take("a", 0, "jpg cls", true), DLB_OK);
    refused(take("b", 1, "jpg", false), DLB_ERR_SAMPLE_NO_LABEL, "b.tar", " b ", true);
    (void)drop(state);
    (void)fresh(state);
    assert_int_equal(take("a", 1, "jpg", false), DLB_OK);
    assert_int_equal(take("b", 1, "jpg", false), DLB_OK);
    refused(take("c", 0, "jpg cls", true), DLB_ERR_SAMPLE_NO_LABEL, "b.tar", " a ", false);
    (void)drop(state);
    (void)fresh(state);
    assert_int_equal(take("a", 0, "jpg cls", false), DLB_OK); /* a word */
    refused(take("b", 0, "jpg cls", true), DLB_ERR_SAMPLE_LABEL_UNFIT, "a.tar", "\"cls\"", false);
    check.label_each = true;
    assert_int_equal(take("d", 0, "jpg cls", true), DLB_OK);
    assert_int_equal(take("e", 0, "jpg", false), DLB_OK);
}

/* Without a key, or with an empty one, its number names the sample. */
static void without_keys(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *none = i ? "" : NULL;
        number = 1234;
        refused(take(none, 0, "cls", true), DLB_ERR_SAMPLE_NO_PAYLOAD, "a.tar", " 1234 ", true);
        assert_null(strstr(err.what, "  "));
        number = 1235;
        refused(take(NULL, 1, "", true), DLB_ERR_SAMPLE_NO_PAYLOAD, "b.tar", " 1235 ", true);
        assert_null(strstr(err.what, "\"\""));
        number = 1236;
        assert_int_equal(take(NULL, 0, "jpg cls", true), DLB_OK);
        number = 1237;
        refused(take(NULL, 1, "jpg", false), DLB_ERR_SAMPLE_NO_LABEL, "b.tar", " 1237 ", true);
        assert_null(strstr(err.what, "  "));
        number = 0;
        (void)drop(state);
        (void)fresh(state);
    }
}

static void keys(void **state)
{
    (void)state;
    assert_int_equal(take("a", 0, "jpg", true), DLB_OK);
    assert_int_equal(take("b", 0, "jpg", true), DLB_OK);
    refused(take("a", 0, "txt", true), DLB_ERR_SAMPLE_KEY_TWICE, "a.tar", "\"a\"", false);
    refused(take("b", 0, "jpg", true), DLB_ERR_SAMPLE_KEY_TWICE, "a.tar", "\"b\"", false);
    assert_int_equal(take("b", 1, "jpg", true), DLB_OK); /* another sample of another shard */
    refused(take("b", 1, "jpg", true), DLB_ERR_SAMPLE_KEY_TWICE, "b.tar", "\"b\"", false);
    assert_int_equal(take(NULL, 0, "jpg", true), DLB_OK);
    assert_int_equal(take(NULL, 0, "jpg", true), DLB_OK);
}

/* Keys that begin anew in each shard are no halves of samples. */
static void keys_of_several_shards(void **state)
{
    static const struct {
        const char *first, *second;
        bool halves;
    } cases[] = {
        {"jpg", "png", false},          {"jpg cls", "png cls", false}, {"jpg cls", "jpg", false},
        {"jpg json", "png txt", false}, {"jpg", "cls", true},          {"cls", "jpg", true},
        {"jpg", "txt cls", true},       {"jpg cls", "txt", true},      {"jpg cls", "json", true},
        {"json", "png", true},
    };
    char key[8];
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)fresh(state);
        (void)snprintf(key, sizeof key, "%zu", i);
        (void)take(key, 0, cases[i].first, false);
        int rc = take(key, 1, cases[i].second, false);
        assert_int_equal(err.code == DLB_ERR_SAMPLE_KEY_TWICE, cases[i].halves);
        if (cases[i].halves)
            refused(rc, DLB_ERR_SAMPLE_KEY_TWICE, "b.tar", key, false);
        (void)drop(state);
    }
}

static void too_many_keys_are_compared_within_a_shard(void **state)
{
    (void)state;
    check.most_key_bytes = 100;
    assert_int_equal(take("a", 0, "jpg", true), DLB_OK);
    assert_int_equal(take("b", 0, "jpg", true), DLB_OK);
    refused(take("a", 0, "png", true), DLB_ERR_SAMPLE_KEY_TWICE, "a.tar", "\"a\"", false);
    assert_int_equal(check.n_forgotten, 0);
    assert_int_equal(take("b", 1, "png cls", true), DLB_OK);
    assert_int_equal(check.n_forgotten, 2);
    refused(take("b", 1, "png", true), DLB_ERR_SAMPLE_KEY_TWICE, "b.tar", "\"b\"", false);
}

static void more_fields_than_are_told_apart(void **state)
{
    char key[8], field[8];
    (void)state;

    for (int i = 0; i < 3 * DLB_CONVERT_NAMES; i++) {
        (void)snprintf(key, sizeof key, "%d", i);
        (void)snprintf(field, sizeof field, "f%d", i);
        assert_int_equal(take(key, 0, field, true), DLB_OK);
    }
    assert_int_equal(take("0", 1, "f1", true), DLB_OK);
    assert_int_equal(take("80", 1, "f81", true), DLB_OK);
    refused(take("1", 1, "f2 cls", true), DLB_ERR_SAMPLE_KEY_TWICE, "b.tar", "\"1\"", false);
    refused(take("81", 1, "f82 cls", true), DLB_ERR_SAMPLE_KEY_TWICE, "b.tar", "\"81\"", false);
}

static void names(void **state)
{
    char name[DLB_FIELD_NAME_BYTES];
    (void)state;

    memset(name, 'n', sizeof name);
    name[62] = '\0';
    assert_int_equal(take("a", 0, name, true), DLB_OK);
    name[62] = 'n';
    name[63] = '\0';
    refused(take("b", 0, name, true), DLB_ERR_SAMPLE_FIELD_NAME_LONG, "a.tar", name, false);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, drop)
    const struct CMUnitTest tests[] = {
        TEST(payloads),
        TEST(descriptions),
        TEST(labels),
        TEST(without_keys),
        TEST(keys),
        TEST(names),
        TEST(more_fields_than_are_told_apart),
        TEST(keys_of_several_shards),
        TEST(too_many_keys_are_compared_within_a_shard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
