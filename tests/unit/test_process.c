/* core/base/process: programs are found as they are run, and children are ended and reaped. */
#include "core/base/process.h"
#include "tests/support/folder.h"

#include "core/base/clock.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#define SHORT_NS (50 * DLB_NS_PER_MS)
#define LONG_NS (60 * DLB_NS_PER_S)

static char *path_before;

static int setup(void **state)
{
    path_before = strdup(getenv("PATH"));
    return folder_make(state);
}

static int teardown(void **state)
{
    assert_int_equal(setenv("PATH", path_before, 1), 0);
    free(path_before);
    return folder_remove(state);
}

static void make(const char *path, mode_t mode)
{
    folder_write(path, "#!/bin/sh\n", 10);
    assert_int_equal(chmod(folder_path(path), mode), 0);
}

/* A folder of that name and a file that may not be run come first. */
static void a_program_is_found_in_path(void **state)
{
    char path[PATH_MAX], found[PATH_MAX];
    (void)state;

    folder_sub("1");
    folder_sub("1/tool");
    folder_sub("2");
    make("2/tool", 0644);
    folder_sub("3");
    (void)snprintf(path, sizeof path, "%s/1::%s/2:%s/3:", folder, folder, folder);
    assert_int_equal(setenv("PATH", path, 1), 0);
    assert_false(dlb_find_program("tool", found));
    make("3/tool", 0755);
    assert_true(dlb_find_program("tool", found));
    assert_string_equal(found, folder_path("3/tool"));
    assert_int_equal(setenv("PATH", "", 1), 0);
    assert_false(dlb_find_program("tool", found));
}

/* Of the active environments first; PATH has one, too. */
static void a_python_is_found_in_the_active_environment(void **state)
{
    char found[PATH_MAX];
    (void)state;

    folder_sub("venv");
    folder_sub("venv/bin");
    folder_sub("path");
    make("venv/bin/python3", 0755);
    make("path/python3", 0755);
    assert_int_equal(setenv("PATH", folder_path("path"), 1), 0);
    assert_int_equal(unsetenv("CONDA_PREFIX"), 0);
    assert_int_equal(setenv("VIRTUAL_ENV", folder_path("venv"), 1), 0);
    assert_true(dlb_find_python(0, found));
    assert_string_equal(found, folder_path("venv/bin/python3"));
    assert_false(dlb_find_python(1, found));
    assert_int_equal(setenv("CONDA_PREFIX", folder_path("venv"), 1), 0);
    assert_true(dlb_find_python(1, found));
    assert_int_equal(setenv("VIRTUAL_ENV", "", 1), 0);
    assert_false(dlb_find_python(0, found));
    assert_true(dlb_find_python(2, found));
    assert_string_equal(found, folder_path("path/python3"));
    assert_false(dlb_find_python(DLB_N_PYTHON_PLACES, found));
    assert_int_equal(unsetenv("VIRTUAL_ENV") | unsetenv("CONDA_PREFIX"), 0);
}

static void a_path_is_not_searched_for(void **state)
{
    char found[PATH_MAX], name[2 * PATH_MAX];
    (void)state;

    make("tool", 0755);
    assert_true(dlb_find_program(folder_path("tool"), found));
    assert_string_equal(found, folder_path("tool"));
    assert_false(dlb_find_program(folder_path("other"), found));
    assert_false(dlb_find_program(folder, found)); /* a folder */
    memset(name, '/', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_false(dlb_find_program(name, found));
}

/* A child that exits with 7, or waits for a signal; it leaves SIGTERM alone if it is deaf. It runs
 * and has done so when this returns. */
static pid_t child(bool leaves, bool deaf)
{
    int ready[2];
    char byte = 0;

    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)signal(SIGTERM, deaf ? SIG_IGN : SIG_DFL);
        if (write(ready[1], &byte, 1) != 1 || leaves)
            _exit(7);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    return pid;
}

static void assert_reaped(pid_t pid)
{
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void one_that_leaves_is_reaped(void **state)
{
    int status;
    (void)state;

    for (int i = 0; i < 2; i++) {
        pid_t pid = child(true, false);
        assert_true(dlb_process_reap(pid, i ? DLB_NO_LIMIT : LONG_NS, &status));
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 7);
        assert_reaped(pid);
    }
}

static void one_that_stays_is_ended(void **state)
{
    static const struct {
        bool deaf;
        uint64_t patience_ns;
        int signo;
    } cases[] = {{false, LONG_NS, SIGTERM}, {true, SHORT_NS, SIGKILL}, {false, 0, SIGKILL}};
    int status;
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pid_t pid = child(false, cases[i].deaf);
        assert_false(dlb_process_reap(pid, SHORT_NS, &status));
        assert_true(dlb_process_end(pid, cases[i].patience_ns, &status));
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), cases[i].signo);
        assert_reaped(pid);
    }
}

/* A program inherits an ignored SIGCHLD. Then the kernel reaps its children. */
static void one_that_the_system_reaped_has_ended(void **state)
{
    int status = 1;
    (void)state;

    (void)signal(SIGCHLD, SIG_IGN);
    pid_t pid = child(true, false);
    assert_true(dlb_process_reap(pid, LONG_NS, &status));
    (void)signal(SIGCHLD, SIG_DFL);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_program_is_found_in_path, setup, teardown),
        cmocka_unit_test_setup_teardown(a_python_is_found_in_the_active_environment, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_path_is_not_searched_for, setup, teardown),
        cmocka_unit_test(one_that_leaves_is_reaped),
        cmocka_unit_test(one_that_stays_is_ended),
        cmocka_unit_test(one_that_the_system_reaped_has_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
