/* core/host/held: what is open or mapped below a folder. */
#include "core/host/held.h"
#include "tests/support/folder.h"

#include <sys/mman.h>

static void test_open_and_mapped(void **state)
{
    char *root = realpath(folder, NULL);
    (void)state;
    assert_non_null(root);
    folder_sub("d");
    folder_write("d/f", "data", 4);
    assert_false(dlb_held_below(root));
    int dir = open(folder_path("d"), O_RDONLY | O_DIRECTORY);
    assert_false(dlb_held_below(root)); /* folders are no data */
    int fd = open(folder_path("d/f"), O_RDONLY);
    assert_true(dir >= 0 && fd >= 0);
    assert_true(dlb_held_below(root));
    char beside[128];
    (void)snprintf(beside, sizeof beside, "%s/d/", root);
    assert_true(dlb_held_below(beside));
    (void)snprintf(beside, sizeof beside, "%s/d/f", root);
    assert_true(dlb_held_below(beside));
    (void)snprintf(beside, sizeof beside, "%s/", root);
    beside[strlen(beside) - 2] = '\0'; /* its name begins as this one */
    assert_false(dlb_held_below(beside));
    void *map = mmap(NULL, 4, PROT_READ, MAP_PRIVATE, fd, 0);
    (void)close(fd);
    (void)close(dir);
    assert_true(dlb_held_below(root));
    (void)munmap(map, 4);
    assert_false(dlb_held_below(root));
    free(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_open_and_mapped, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
