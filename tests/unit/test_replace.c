/* bench/experiment/replace under a kill at each system call: the result is the old one or the new
 * one, and the user's files are where they were after the next run has begun. */
#include "bench/experiment/contents.h"
#include "bench/experiment/replace.h"
#include "tests/support/folder.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static const char *const files[] = {"environment.json", "summary.json", "summary.txt"};
enum { N_FILES = 3 };

static const char *at(char path[PATH_MAX], const char *name)
{
    assert_true(snprintf(path, PATH_MAX, "%s/results/%s", folder, name) < PATH_MAX);
    return path;
}

static void make(const char *name)
{
    char path[PATH_MAX];
    assert_int_equal(mkdir(at(path, name), 0755), 0);
}

static bool put(const char *dir, const char *name, const char *text)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    return file && fputs(text, file) >= 0 && fclose(file) == 0;
}

static int write_new(const void *ctx, const char *dir, struct dlb_err *err)
{
    (void)ctx;
    for (int i = 0; i < N_FILES; i++)
        if (!put(dir, files[i], "new"))
            return dlb_fail_errno(err, dir, DLB_NO_OFFSET, "writing");
    return DLB_OK;
}

/* A result, a file and a folder of the user's. */
static void prepare(void)
{
    char path[PATH_MAX];
    folder_sub("results");
    make("r");
    make("r/own");
    for (int i = 0; i < N_FILES; i++)
        assert_true(put(at(path, "r"), files[i], "old"));
    assert_true(put(at(path, "r"), "notes.txt", "mine"));
    assert_true(put(at(path, "r/own"), "thesis.txt", "mine"));
}

/* In a child: 0 if the folder was exchanged. */
static int replace(const char *name)
{
    char path[PATH_MAX], scratch[PATH_MAX + 40], mark[32];
    dlb_scratch_name(mark, sizeof mark);
    (void)snprintf(scratch, sizeof scratch, "%s/%s", at(path, name), mark);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) || mkdir(scratch, 0755))
        return 90;
    bool done = dlb_replace_folder(path, scratch, write_new, NULL, &fd);
    if (!dlb_replace_is_same(fd, path))
        return 91;
    return done ? 0 : 1;
}

/* Kills the child at its n-th stop, at the entry or the exit of a system call; its status. */
static int killed_at(int n)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
            _exit(77);
        (void)raise(SIGSTOP);
        _exit(replace("r"));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    for (int i = 0; i < n && WIFSTOPPED(status); i++) {
        assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
    }
    if (!WIFSTOPPED(status))
        return status;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void assert_text(const char *name, const char *text)
{
    char path[PATH_MAX], read[8] = "";
    FILE *file = fopen(at(path, name), "r");
    if (!file || !fgets(read, sizeof read, file) || strcmp(read, text) != 0)
        fail_msg("%s: \"%s\", not \"%s\"", path, read, text);
    (void)fclose(file);
}

/* All files of the result have the same text. */
static bool is_new(void)
{
    char path[PATH_MAX], read[8] = "", name[64];
    FILE *file = fopen(at(path, "r/summary.json"), "r");
    assert_non_null(file);
    assert_non_null(fgets(read, sizeof read, file));
    (void)fclose(file);
    for (int i = 0; i < N_FILES; i++) {
        (void)snprintf(name, sizeof name, "r/%s", files[i]);
        assert_text(name, read);
    }
    return strcmp(read, "new") == 0;
}

static int count(const char *name)
{
    char path[PATH_MAX];
    int n = 0;
    DIR *dir = opendir(at(path, name));
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n - 2;
}

static void recover(void)
{
    char path[PATH_MAX];
    dlb_replace_recover(at(path, "."));
    dlb_remove_scratch(at(path, "r"));
}

static void assert_users_files(void)
{
    assert_text("r/notes.txt", "mine");
    assert_text("r/own/thesis.txt", "mine");
    assert_int_equal(count("r"), N_FILES + 2);
    assert_int_equal(count("."), 1);
}

static void test_a_kill_at_each_call(void **state)
{
    (void)state;
    int n_old = 0, n_new = 0, status = 0;
    for (int n = 0; n == 0 || WIFSIGNALED(status); n++) {
        prepare();
        status = killed_at(n);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
            skip(); /* no process may be traced here */
        bool new = is_new();
        assert_text("r/notes.txt", "mine");
        n_old += !new;
        n_new += new;
        recover();
        assert_int_equal(is_new(), new);
        assert_users_files();
        folder_remove(NULL);
        folder_make(NULL);
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(n_old > 20 && n_new > 20);
}

static void test_the_mode_stays(void **state)
{
    (void)state;
    char path[PATH_MAX];
    struct stat st;
    prepare();
    assert_int_equal(chmod(at(path, "r"), 02770), 0);
    assert_int_equal(replace("r"), 0);
    assert_true(is_new());
    assert_int_equal(stat(at(path, "r"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 02770);
    assert_users_files();
}

/* The name leads elsewhere: the folder that it leads to is not exchanged, and nothing is left. */
static void test_a_link_is_no_folder(void **state)
{
    (void)state;
    char path[PATH_MAX];
    struct stat st;
    prepare();
    assert_int_equal(symlink("r", at(path, "link")), 0);
    assert_int_equal(replace("link"), 1);
    assert_false(is_new());
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(unlink(path), 0);
    assert_users_files();
}

/* What the user wrote anew since the kill stays, and what was there before, too. */
static void test_both_files_of_a_name_are_kept(void **state)
{
    (void)state;
    char path[PATH_MAX];
    prepare();
    make("r.next-7");
    make("r.next-7/.cells-7");
    assert_true(put(at(path, "r.next-7"), "notes.txt", "more"));
    assert_true(put(path, "summary.txt", "old"));
    recover();
    assert_text("r/notes.txt", "mine");
    assert_text("r.next-7/notes.txt", "more");
    assert_int_equal(count("r.next-7"), 1);
}

/* Of such a name, but without the mark, or without a result beside it. */
static void test_folders_of_others_stay(void **state)
{
    (void)state;
    static const char *const others[] = {"r.next-7", "s.next-7", "r.next-", "r.next-7x", ".next-7"};
    char path[PATH_MAX], mark[64];
    prepare();
    for (int i = 0; i < 5; i++) {
        make(others[i]);
        assert_true(put(at(path, others[i]), "summary.txt", "mine"));
        (void)snprintf(mark, sizeof mark, "%s/.cells-7", others[i]);
        if (i > 0)
            make(mark);
    }
    recover();
    for (int i = 0; i < 5; i++)
        assert_int_equal(count(others[i]), i > 0 ? 2 : 1);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_a_kill_at_each_call),           IN_FOLDER(test_the_mode_stays),
        IN_FOLDER(test_a_link_is_no_folder),           IN_FOLDER(test_folders_of_others_stay),
        IN_FOLDER(test_both_files_of_a_name_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
