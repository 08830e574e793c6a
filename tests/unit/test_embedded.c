#include "core/base/embedded.h"
#include "tests/support/folder.h"

static const struct dlb_embedded table[] = {{"one.py", "a\0b", 3}, {"two.py", "", 0}, {0}};

static void expect_file(const struct dlb_embedded *file)
{
    size_t n_bytes;
    uint8_t *bytes = folder_read(file->name, &n_bytes);

    assert_int_equal(n_bytes, file->n_bytes);
    assert_memory_equal(bytes, file->bytes, n_bytes);
    free(bytes);
}

static void every_file_is_written(void **state)
{
    struct dlb_err err;

    (void)state;
    folder_write("two.py", "older", 5);
    assert_int_equal(dlb_embedded_write(table, folder, &err), DLB_OK);
    for (const struct dlb_embedded *file = table; file->name; file++)
        expect_file(file);
}

static void an_error_names_the_file(void **state)
{
    struct dlb_err err;

    (void)state;
    folder_sub("two.py");
    assert_int_not_equal(dlb_embedded_write(table, folder, &err), DLB_OK);
    assert_string_equal(err.path, folder_path("two.py"));
    expect_file(&table[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_file_is_written, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(an_error_names_the_file, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
