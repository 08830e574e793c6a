/* Arrays by numpy, databases by Python's lmdb, records as TensorFlow's documentation lays them out:
 * dlbench delivers exactly the bytes that went in. Skipped where there is no Python with numpy and
 * lmdb ($PYTHON, or python3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/codecs/inflate.h"
#include "tests/support/opened.h"
#include "tests/support/peers.h"

/* The format's only option of text that is asked for by this test: array, prefix, feature. */
static void *options(const struct dlb_format *format, const char *value)
{
    static const char *const keys[] = {"array", "prefix", "feature"};
    uint8_t *opts = calloc(1, format->opts->n_bytes);
    assert_non_null(opts);
    for (const struct dlb_opt *o = format->opts->opts; o->key; o++) {
        if (o->type == DLB_OPT_BOOL)
            *(bool *)(opts + o->offset) = strcmp(o->def, "true") == 0;
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if (strcmp(o->key, keys[i]) == 0 && strcmp(value, "-") != 0)
                (void)snprintf((char *)opts + o->offset, DLB_OPT_STRING_CAP, "%s", value);
        if (strcmp(o->key, "label") == 0)
            (void)snprintf((char *)opts + o->offset, DLB_OPT_STRING_CAP, "%s", o->def);
    }
    return opts;
}

static void check(const char *format_name, const char *name, const char *option)
{
    const struct dlb_format *format = dlb_format_by_name(format_name);
    char want_name[256];
    struct opened_set set;
    size_t n_want, at = 0;

    if (format->missing || (strstr(name, "compressed") && dlb_inflate_missing))
        return;
    (void)snprintf(want_name, sizeof want_name, "%s.want", name);
    uint8_t *want = folder_read(want_name, &n_want);
    void *opts = options(format, option);
    opened_must(&set, format_name, "raw", folder_path(name), opts);
    bool iterable = set.ds.shape.iterable;
    if (iterable)
        assert_int_equal(opened_shard(&set, 0), DLB_OK);
    for (uint64_t k = 0; k < set.ds.shape.n_samples; k++) {
        int rc = iterable ? opened_next(&set) : opened_read(&set, k);
        if (rc != DLB_OK)
            fail_msg("%s: %s", name, set.err.what);
        const struct dlb_field *field = &set.sample.field[0];
        assert_true(field->len_bytes <= n_want - at);
        assert_memory_equal(field->data, want + at, field->len_bytes);
        at += field->len_bytes;
        if (strcmp(option, "image/encoded") == 0)
            assert_int_equal(set.sample.label, k < 5 ? 0 : k - 5);
    }
    assert_int_equal(at, n_want);
    opened_close(&set);
    free(opts);
    free(want);
}

static void files_by_others(void **state)
{
    size_t n;
    uint32_t n_checked = 0;
    char format[16], name[64], option[64];
    (void)state;
    uint8_t *list = folder_read("list", &n);
    list[n] = '\0';
    for (char *rest = NULL, *line = strtok_r((char *)list, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        assert_int_equal(sscanf(line, "%15s %63s %63s", format, name, option), 3);
        check(format, name, option);
        n_checked++;
    }
    assert_int_equal(n_checked, 23);
    free(list);
}

static void keys_about_the_database(void **state)
{
    struct opened_set set;
    (void)state;
    if (dlb_format_by_name("lmdb")->missing)
        skip();
    opened_must(&set, "lmdb", "raw", folder_path("noted"), NULL);
    assert_non_null(strstr(set.ds.shape.odd[0], "2 keys"));
    opened_close(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_by_others),
                                       cmocka_unit_test(keys_about_the_database)};

    return peers_run("write_arrays.py", "", tests, sizeof tests / sizeof *tests);
}
