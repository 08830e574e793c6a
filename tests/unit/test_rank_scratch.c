/* scenarios/ranks/scratch: a rank's folder goes with it; what is left of a killed one goes with the
 * next job of that machine, and nothing else does. */
#include "scenarios/ranks/scratch.h"
#include "tests/support/folder.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct dlb_rank_scratch make(const char *node, uint32_t rank)
{
    struct dlb_rank_scratch scratch;
    struct dlb_err err;
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    assert_int_equal(dlb_rank_scratch_make(node, rank, &scratch, &err), DLB_OK);
    return scratch;
}

static bool is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

static void put(const char *path, const char *name, const char *text)
{
    char file[PATH_MAX];
    (void)snprintf(file, sizeof(file), "%s/%s", path, name);
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
}

static void test_own(void **state)
{
    (void)state;
    struct dlb_rank_scratch scratch = make("vm", 3);
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s", scratch.path);
    put(path, "spec.json", "{}");
    dlb_rank_scratch_clear("vm"); /* it is in use */
    assert_true(is_there(path));
    dlb_rank_scratch_remove(&scratch);
    assert_false(is_there(path));
}

/* The folder of a process that was killed. */
static void leave(const char *node, char path[PATH_MAX])
{
    struct dlb_rank_scratch scratch = make(node, 1);
    (void)snprintf(path, PATH_MAX, "%s", scratch.path);
    (void)close(scratch.lock);
    put(path, "spec.json", "{}");
    char below[PATH_MAX + 8];
    (void)snprintf(below, sizeof(below), "%s/python-a", path);
    assert_int_equal(mkdir(below, 0700), 0);
    put(below, "main.py", "");
}

static void test_left(void **state)
{
    (void)state;
    char path[PATH_MAX], other[PATH_MAX], longer[PATH_MAX];
    leave("vm", path);
    leave("other", other);
    leave("vm-1", longer);
    struct dlb_rank_scratch used = make("vm", 2);
    dlb_rank_scratch_clear("vm");
    assert_false(is_there(path));
    assert_true(is_there(other)); /* of other machines */
    assert_true(is_there(longer));
    assert_true(is_there(used.path)); /* of a rank that lives */
    dlb_rank_scratch_clear("vm-1");
    assert_false(is_there(longer));
    dlb_rank_scratch_remove(&used);
}

/* The lock goes with the process, however it ends. */
static void test_killed(void **state)
{
    (void)state;
    int pair[2], status = 0;
    char path[PATH_MAX] = "";
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    assert_int_equal(pipe(pair), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct dlb_rank_scratch scratch = make("vm", 1);
        (void)!write(pair[1], scratch.path, strlen(scratch.path));
        for (;;)
            (void)pause();
    }
    assert_true(read(pair[0], path, sizeof(path) - 1) > 0);
    dlb_rank_scratch_clear("vm");
    assert_true(is_there(path));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    dlb_rank_scratch_clear("vm");
    assert_false(is_there(path));
    (void)close(pair[0]);
    (void)close(pair[1]);
}

/* A user's, by name or by mark, and a link to a folder elsewhere. */
static void test_foreign(void **state)
{
    (void)state;
    static const char *const names[] = {"dlbench-vm-1-abcdef", "dlbench-vm-1-abcdefg",
                                        "dlbench-vm-x-abcdef", "dlbench-vm--abcdef"};
    char path[PATH_MAX], link[PATH_MAX];
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        assert_int_equal(mkdir(folder_path(names[i]), 0700), 0);
        put(folder_path(names[i]), ".dlbench",
            i == 0 ? "mine\n"
                   : "dlbench scratch folder of a rank\n"
                     "machine vm\n");
    }
    leave("other", path);
    (void)snprintf(link, sizeof(link), "%s", folder_path("dlbench-other-9-abcdef"));
    assert_int_equal(rename(path, folder_path("kept")), 0);
    assert_int_equal(symlink(folder_path("kept"), link), 0);
    dlb_rank_scratch_clear("vm");
    dlb_rank_scratch_clear("other");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_true(is_there(folder_path(names[i])));
    assert_true(is_there(link));
}

static void test_no_place(void **state)
{
    (void)state;
    struct dlb_rank_scratch scratch;
    struct dlb_err err;
    assert_int_equal(setenv("TMPDIR", "/there/is/none", 1), 0);
    assert_int_not_equal(dlb_rank_scratch_make("vm", 1, &scratch, &err), DLB_OK);
    assert_string_equal(scratch.path, "");
    dlb_rank_scratch_clear("vm");
    dlb_rank_scratch_remove(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_own, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_left, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_killed, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_foreign, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_no_place, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
