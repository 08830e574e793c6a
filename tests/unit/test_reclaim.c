/* Whether DAMON takes pages out of memory, read from folders that are laid out like /sys. */
#include "core/host/reclaim.h"
#include "tests/support/folder.h"

#define THREAD "kernel/mm/damon/admin/kdamonds"

/* Writes a file of the folder, with the folders above it. */
static void put(const char *name, const char *text)
{
    char path[256];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        (void)mkdir(path, 0700);
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file, "%s\n", text);
    assert_int_equal(fclose(file), 0);
}

static void nothing_is_there(void **state)
{
    (void)state;
    assert_false(dlb_reclaim_is_on(folder));
}

static void module_is_on(void **state)
{
    (void)state;
    put("module/damon_reclaim/parameters/enabled", "N");
    assert_false(dlb_reclaim_is_on(folder));
    put("module/damon_reclaim/parameters/enabled", "Y");
    assert_true(dlb_reclaim_is_on(folder));
}

/* The second thread, by its second scheme; the first one only watches. */
static void scheme_pages_out(void **state)
{
    (void)state;
    put(THREAD "/nr_kdamonds", "2");
    put(THREAD "/0/state", "on");
    put(THREAD "/0/contexts/0/schemes/nr_schemes", "1");
    put(THREAD "/0/contexts/0/schemes/0/action", "stat");
    put(THREAD "/1/state", "on");
    put(THREAD "/1/contexts/0/schemes/nr_schemes", "2");
    put(THREAD "/1/contexts/0/schemes/0/action", "lru_prio");
    assert_false(dlb_reclaim_is_on(folder));
    put(THREAD "/1/contexts/0/schemes/1/action", "pageout");
    assert_true(dlb_reclaim_is_on(folder));
    put(THREAD "/1/state", "off");
    assert_false(dlb_reclaim_is_on(folder));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_there, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(module_is_on, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(scheme_pages_out, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
