/* bench/experiment/replace under a kill at each system call: the result is the old one or the new
 * one, and the user's files are where they were after the next run has begun. */
#include "bench/experiment/contents.h"
#include "bench/experiment/replace.h"
#include "bench/experiment/scratch.h"
#include "tests/support/folder.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

/* A result's files, as far as they are recognised; %s is "old" or "new". */
static const char *const files[] = {"environment.json", "summary.json", "summary.txt"};
static const char *const texts[] = {
    "{\"kernel\": \"%s\", \"versions\": {\"libc\": \"\", \"jansson\": \"\"}}",
    "{\"schema_version\": 2, \"run_name\": \"%s\", \"dlbench\": {}}", "dlbench run: %s\n"};
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

/* A result's file. */
static bool put_own(const char *dir, int i, const char *age)
{
    char text[128];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(text, sizeof text, texts[i], age);
#pragma GCC diagnostic pop
    return put(dir, files[i], text);
}

static int write_new(const void *ctx, const char *dir, struct dlb_err *err)
{
    (void)ctx;
    for (int i = 0; i < N_FILES; i++)
        if (!put_own(dir, i, "new"))
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
        assert_true(put_own(at(path, "r"), i, "old"));
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
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) || !dlb_scratch_make(fd, false))
        return 90;
    bool done = dlb_replace_folder(path, scratch, write_new, NULL, &fd);
    if (!dlb_contents_is_at(fd, path))
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

/* All files of the result have the same age. */
static bool is_new(void)
{
    char path[PATH_MAX], read[128] = "";
    int n_new = 0;
    for (int i = 0; i < N_FILES; i++) {
        (void)snprintf(path, sizeof path, "%s/results/r/%s", folder, files[i]);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        assert_non_null(fgets(read, sizeof read, file));
        (void)fclose(file);
        n_new += strstr(read, "new") != NULL;
        assert_true(strstr(read, "new") || strstr(read, "old"));
    }
    assert_true(n_new == 0 || n_new == N_FILES);
    return n_new > 0;
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
    int fd = open(at(path, "r"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    (void)dlb_contents_remove_leftovers(fd);
    (void)close(fd);
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
    recover();
    assert_users_files();
}

/* Makes NAME.next-<process> as a kill of this process leaves it; its path below results/. */
static const char *make_next(char name[64])
{
    char path[PATH_MAX];
    (void)snprintf(name, 64, "r.next-%ld", (long)getpid());
    make(name);
    int fd = open(at(path, name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0 && dlb_scratch_make(fd, false));
    (void)close(fd);
    return name;
}

static void assert_text_in(const char *dir, const char *name, const char *text)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_text(path, text);
}

/* What the user wrote anew since the kill stays, and what was there before, too. */
static void test_both_files_of_a_name_are_kept(void **state)
{
    (void)state;
    char path[PATH_MAX], next[64];
    prepare();
    assert_true(put(at(path, make_next(next)), "notes.txt", "more"));
    for (int i = 0; i < N_FILES; i++)
        assert_true(put_own(path, i, "old"));
    recover();
    assert_text("r/notes.txt", "mine");
    assert_text_in(next, "notes.txt", "more");
    assert_int_equal(count(next), 1);
}

/* Files of a result's names that the user wrote are not removed with the earlier result. */
static void test_users_files_of_our_names_are_kept(void **state)
{
    (void)state;
    static const char *const names[] = {"environment.json", "summary.json", "summary.txt",
                                        "summary.json.2024.tmp", "summary.txt.7.tmp"};
    char path[PATH_MAX], next[64];
    prepare();
    make_next(next);
    for (int i = 0; i < 5; i++)
        assert_true(put(at(path, next), names[i], "mine"));
    recover();
    assert_false(is_new());
    for (int i = 0; i < 5; i++)
        assert_text_in(i < 3 ? next : "r", names[i], "mine");
}

/* The user replaces a file of the result while the run goes on. */
static void test_a_report_of_the_users_outlives_the_exchange(void **state)
{
    (void)state;
    char path[PATH_MAX], next[64];
    prepare();
    assert_true(put(at(path, "r"), "summary.txt", "mine"));
    assert_int_equal(replace("r"), 0);
    assert_true(is_new());
    (void)snprintf(next, sizeof next, "r.next-%ld", (long)getpid());
    assert_text_in(next, "summary.txt", "mine");
}

/* Empty, or with an empty folder of the mark's name: only a mark in the result proves that they
 * were left by a kill. */
static void test_empty_folders_of_others_stay(void **state)
{
    (void)state;
    prepare();
    make("r.next-2");
    make("r.next-3");
    make("r.next-3/.cells-3");
    recover();
    assert_int_equal(count("r.next-2"), 0);
    assert_int_equal(count("r.next-3"), 1);
    assert_int_equal(count("r.next-3/.cells-3"), 0);
}

/* Of such a name, but without the mark, with another's mark, or without a result beside it. */
static void test_folders_of_others_stay(void **state)
{
    (void)state;
    static const char *const others[] = {"r.next-7", "s.next-7", "r.next-",          "r.next-7x",
                                         ".next-7",  "r.next-8", "r.next-1000000000"};
    static const char *const marks[] = {"", "dlbench", "dlbench scratch folder\n",
                                        "dlbench scratch folder\nprocess 7\nmade 1\nmachine \n"};
    char path[PATH_MAX], mark[PATH_MAX + 32];
    prepare();
    for (int i = 0; i < 7; i++) {
        make(others[i]);
        assert_true(put(at(path, others[i]), "summary.txt", "mine"));
        (void)snprintf(mark, sizeof mark, "%s/.cells-7", path);
        assert_int_equal(mkdir(mark, 0755), 0);
        assert_true(put(mark, i % 2 ? ".dlbench" : "thesis.txt", marks[i % 4]));
    }
    recover();
    for (int i = 0; i < 7; i++) {
        assert_int_equal(count(others[i]), 2);
        (void)snprintf(mark, sizeof mark, "%s/.cells-7", others[i]);
        assert_int_equal(count(mark), 1);
    }
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_a_kill_at_each_call),
        IN_FOLDER(test_the_mode_stays),
        IN_FOLDER(test_a_link_is_no_folder),
        IN_FOLDER(test_folders_of_others_stay),
        IN_FOLDER(test_empty_folders_of_others_stay),
        IN_FOLDER(test_both_files_of_a_name_are_kept),
        IN_FOLDER(test_users_files_of_our_names_are_kept),
        IN_FOLDER(test_a_report_of_the_users_outlives_the_exchange),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
