/* bench/experiment/contents: a folder that cannot be listed to its end is not taken for a whole
 * one. */
#include "bench/experiment/contents.h"
#include "tests/support/error.h"
#include "tests/support/folder.h"

#include <dirent.h>
#include <errno.h>

/* Looks at the test's folder. */
static int look(struct dlb_contents *there, struct dlb_err *err)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    int rc = dlb_contents_of(fd, folder, there, err);
    (void)close(fd);
    return rc;
}

static int n_left; /* entries until the folder's storage fails; below 0: it does not */

struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);

struct dirent *__wrap_readdir(DIR *dir)
{
    if (n_left == 0) {
        errno = EIO;
        return NULL;
    }
    n_left--;
    return __real_readdir(dir);
}

static void fails_at_each_entry(void **state)
{
    struct dlb_contents there;
    struct dlb_err err;
    int n_entries = 5; /* with "." and ".." */

    (void)state;
    for (int i = 0; i < n_entries - 2; i++)
        folder_write((const char *[]){"notes", "more", "thesis"}[i], "x", 1);
    for (int i = 0; i <= n_entries; i++) {
        n_left = i;
        assert_int_equal(look(&there, &err), DLB_E_IO);
        assert_int_equal(err.code, DLB_ERR_IO);
        assert_int_equal(err.sys_errno, EIO);
        assert_string_equal(err.path, folder);
    }
    n_left = n_entries + 1;
    assert_int_equal(look(&there, &err), DLB_OK);
    assert_true(there.foreign);
}

/* What stands in errno before is not taken for the folder's. */
static void whole_with_an_old_errno(void **state)
{
    struct dlb_contents there;
    struct dlb_err err;

    (void)state;
    n_left = -1;
    errno = EIO;
    assert_int_equal(look(&there, &err), DLB_OK);
    assert_false(there.foreign || there.summary || there.leftover);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fails_at_each_entry, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(whole_with_an_old_errno, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
