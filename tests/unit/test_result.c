/* bench/experiment/result when memory is exhausted: the scratch folder is removed, and an earlier
 * result stays as it was. */
#include "bench/experiment/result.h"
#include "core/base/mem.h"
#include "tests/support/folder.h"

#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1 /* a sanitizer's shadow memory needs more than any limit */
#else
#define SANITIZED 0
#endif

static const char earlier[] = "{\"schema_version\": 2, \"run_name\": \"r\", \"dlbench\": {}}";

static void write_file(const char *dir, const char *name)
{
    char path[PATH_MAX + 64];
    assert_true(snprintf(path, sizeof path, "%s/%s", dir, name) < (int)sizeof path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("{}", file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Takes all memory that the limit leaves, down to the smallest block. */
static void exhaust_memory(void)
{
    struct rlimit limit = {256 << 20, 256 << 20};
    if (SANITIZED || setrlimit(RLIMIT_AS, &limit) != 0)
        return;
    for (size_t n_bytes = 1 << 20; n_bytes >= 16; n_bytes /= 2)
        while (malloc(n_bytes))
            ;
}

static bool own_file; /* the user puts one into the scratch folder */

/* A cell that is killed leaves the folder of its interpreter. */
static void write_interpreter(const char *scratch, const char *name, mode_t mode)
{
    char path[2 * PATH_MAX], below[2 * PATH_MAX + 32];

    (void)snprintf(path, sizeof path, "%s/%s", scratch, name);
    if (mkdir(path, mode))
        _exit(95);
    write_file(path, "dlbench_serve.py");
    (void)snprintf(below, sizeof below, "%s/pymp-1", path);
    if (mkdir(below, 0700))
        _exit(96);
    (void)snprintf(below, sizeof below, "%s/pymp-1/listener", path);
    if (mkfifo(below, 0600))
        _exit(97);
}

/* In a child: opens results/<name>, leaves a cell's files in its scratch folder as a run does, and
 * runs out of memory. With `forked` it is a child of the run that does. */
static void run_out_of_memory(const char *name, bool overwrite, bool forked)
{
    static struct dlb_result_folder result;
    char results[PATH_MAX];
    struct dlb_args args = {.results_dir = results, .run_name = name, .overwrite = overwrite};
    struct dlb_err err;

    (void)snprintf(results, sizeof results, "%s/results", folder);
    if (dlb_result_open(&args, "run", &result, &err) != DLB_OK)
        _exit(90);
    write_file(result.scratch, "spec.json");
    write_file(result.scratch, "result.json.123.tmp");
    for (int i = 0; i < 200; i++) { /* more than one buffer of directory entries */
        char file[32];
        (void)snprintf(file, sizeof file, "memo-%016x", (unsigned)i);
        write_file(result.scratch, file);
    }
    write_interpreter(result.scratch, "python-AbC123", 0700);
    if (own_file) {
        write_file(result.scratch, "thesis.txt");
        write_interpreter(result.scratch, "python-course", 0755);
    }
    pid_t pid = forked ? fork() : 0;
    if (pid > 0) {
        (void)waitpid(pid, NULL, 0);
        char spec[PATH_MAX + 16];
        (void)snprintf(spec, sizeof spec, "%s/spec.json", result.scratch);
        _exit(access(spec, F_OK) == 0 ? 0 : 93);
    }
    exhaust_memory();
    if (!SANITIZED)
        (void)dlb_mem_new(1 << 20);
    (void)dlb_mem_check(NULL);
    _exit(94);
}

static pid_t last_pid;

static int code_of(const char *name, bool overwrite, bool forked)
{
    int status;
    pid_t pid = fork();
    last_pid = pid;
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(STDERR_FILENO);
        run_out_of_memory(name, overwrite, forked);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_a_new_result_leaves_nothing(void **state)
{
    (void)state;
    assert_int_equal(code_of("new", false, false), DLB_EXIT_FAILED);
    assert_true(folder_has("results"));
    assert_false(folder_has("results/new"));
}

static void test_an_earlier_result_stays(void **state)
{
    (void)state;
    size_t n_bytes;
    folder_sub("results");
    folder_sub("results/first");
    folder_write("results/first/summary.json", earlier, sizeof earlier - 1);
    assert_int_equal(code_of("first", true, false), DLB_EXIT_FAILED);
    uint8_t *kept = folder_read("results/first/summary.json", &n_bytes);
    assert_int_equal(n_bytes, sizeof earlier - 1);
    assert_memory_equal(kept, earlier, n_bytes);
    free(kept);
    assert_int_equal(unlink(folder_path("results/first/summary.json")), 0);
    assert_int_equal(rmdir(folder_path("results/first")), 0); /* nothing else was in it */
}

static void test_a_users_file_in_the_scratch_folder_stays(void **state)
{
    (void)state;
    char name[64];
    own_file = true;
    int code = code_of("new", false, false);
    own_file = false;
    assert_int_equal(code, DLB_EXIT_FAILED);
    (void)snprintf(name, sizeof name, "results/new/.cells-%ld", (long)last_pid);
    assert_true(folder_has(name));
    static const char *const kept[] = {"/thesis.txt", "/python-course/pymp-1/listener",
                                       "/python-course/dlbench_serve.py", "/.dlbench"};
    static const char *const folders[] = {"/python-course/pymp-1", "/python-course"};
    char path[128];
    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(path, sizeof path, "%s%s", name, kept[i]);
        assert_int_equal(unlink(folder_path(path)), 0);
    }
    for (size_t i = 0; i < 2; i++) { /* and nothing else */
        (void)snprintf(path, sizeof path, "%s%s", name, folders[i]);
        assert_int_equal(rmdir(folder_path(path)), 0);
    }
    assert_int_equal(rmdir(folder_path(name)), 0);
}

/* A child that has the lock of results/r for a moment, as a run that looks for leftovers. It waits
 * for `removes`: then it removes the folder, too. */
static pid_t lock_for_a_moment(bool removes)
{
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = open(folder_path("results/r"), O_RDONLY | O_DIRECTORY);
        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) || write(ready[1], "x", 1) != 1)
            _exit(1);
        (void)usleep(100000);
        _exit(removes ? rmdir(folder_path("results/r")) != 0 : 0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    return pid;
}

static void test_a_lock_for_a_moment_is_waited_for(void **state)
{
    (void)state;
    struct dlb_result_folder result;
    struct dlb_err err;
    int status;
    folder_sub("results");
    for (int removes = 0; removes < 2; removes++) {
        char results[PATH_MAX];
        (void)snprintf(results, sizeof results, "%s/results", folder);
        struct dlb_args args = {.results_dir = results, .run_name = "r"};
        folder_sub("results/r");
        pid_t pid = lock_for_a_moment(removes);
        assert_int_equal(dlb_result_open(&args, "run", &result, &err), DLB_OK);
        assert_true(folder_has("results/r"));
        dlb_result_close(&result);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        (void)rmdir(folder_path("results/r"));
    }
}

/* In a child: a part beside results/r, while no file can grow. */
static void write_part_without_space(void)
{
    static struct dlb_result_folder result;
    char results[PATH_MAX];
    (void)snprintf(results, sizeof results, "%s/results", folder);
    struct dlb_args args = {.results_dir = results, .run_name = "r", .overwrite = true};
    struct dlb_err err;
    json_t *doc = json_pack("{ss}", "run_name", "r");

    (void)alarm(2);
    (void)signal(SIGXFSZ, SIG_IGN);
    if (dlb_result_open(&args, "run", &result, &err) || !result.replaces)
        _exit(90);
    if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0}))
        _exit(91);
    if (!dlb_result_finish(&result, doc, doc, DLB_RESULT_PART, &err) || err.sys_errno != EFBIG)
        _exit(92);
    dlb_result_close(&result);
    json_decref(doc);
    _exit(0);
}

static void test_a_part_without_space_leaves_no_folder(void **state)
{
    (void)state;
    int status;
    folder_sub("results");
    folder_sub("results/r");
    folder_sub("results/r.partial"); /* the user's */
    folder_write("results/r.partial/thesis.txt", "x", 1);
    folder_write("results/r/summary.json", earlier, sizeof earlier - 1);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        write_part_without_space();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_false(folder_has("results/r.partial-2"));
    assert_true(folder_has("results/r/summary.json"));
}

/* The scratch folder belongs to the parent, which goes on. */
static void test_a_forked_child_removes_nothing(void **state)
{
    (void)state;
    assert_int_equal(code_of("forked", false, true), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_new_result_leaves_nothing, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(test_an_earlier_result_stays, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_a_users_file_in_the_scratch_folder_stays, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(test_a_lock_for_a_moment_is_waited_for, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(test_a_part_without_space_leaves_no_folder, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(test_a_forked_child_removes_nothing, folder_make,
                                        folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
