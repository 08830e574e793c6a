/* formats/convert on a file system that cannot exchange two names, killed at each system call of
 * the last step: the next conversion finds the earlier data or the new ones, whole, and removes the
 * rest. */
#include "tests/support/folder.h"

#include "formats/convert/target.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static struct dlb_err err;
static char dst[512], src[512];

static const char *const words[] = {"old", "new"};

/* Two files, as format files has them. */
static void fill(const char *path, const char *word)
{
    char name[600];
    if (mkdir(path, 0755) != 0)
        _exit(90);
    (void)snprintf(name, sizeof name, "%s/class_000000", path);
    if (mkdir(name, 0755) != 0)
        _exit(91);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(name, sizeof name, "%s/class_000000/0000000%d.bin", path, i);
        FILE *file = fopen(name, "w");
        if (!file || fputs(word, file) < 0 || fclose(file) != 0)
            _exit(92);
    }
}

static int left_n[3];

static void left(void *ctx, enum dlb_convert_left what, const char *path, const struct dlb_err *why)
{
    (void)ctx, (void)path;
    assert_true((why != NULL) == (what == DLB_CONVERT_KEPT));
    left_n[what]++;
}

/* As on NFS: renameat2 with flags fails. */
static bool without_exchange(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static const struct dlb_reader reader;
static const struct dlb_format without_files = {.name = "source", .reader = &reader};

/* In a child: a conversion to `dst`, stopped before the data are put in place. */
static int convert(const char *word, bool stops)
{
    const struct dlb_format *files = dlb_format_by_name("files");
    const struct dlb_dataset from = {.format = &without_files};
    const struct dlb_convert_watch watch = {.left = left};
    const struct dlb_convert how = {.from = &from,
                                    .from_path = src,
                                    .to = files,
                                    .to_path = dst,
                                    .overwrite = true,
                                    .watch = &watch};
    struct dlb_convert_target target;
    int rc = dlb_convert_target_open(&target, &how, &err);
    if (rc == DLB_OK) {
        fill(target.inside, word);
        if (stops && (!without_exchange() || ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0))
            _exit(77);
        if (stops)
            (void)raise(SIGSTOP);
        rc = dlb_convert_target_commit(&target, files, &err);
    }
    dlb_convert_target_close(&target);
    return rc;
}

static int in_a_child(const char *word)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(convert(word, false) == DLB_OK ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Kills the child at its n-th stop, at the entry or the exit of a system call; its status. */
static int killed_at(int n)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(convert("new", true) == DLB_OK ? 0 : 1);
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

/* Which of the two words both files hold; -1: neither. */
static int age(void)
{
    int n[2] = {0};
    for (int i = 0; i < 2; i++) {
        char name[600], text[8] = "";
        (void)snprintf(name, sizeof name, "%s/class_000000/0000000%d.bin", dst, i);
        FILE *file = fopen(name, "r");
        bool got = file && fgets(text, sizeof text, file);
        if (file)
            (void)fclose(file);
        for (int w = 0; got && w < 2; w++)
            n[w] += strcmp(text, words[w]) == 0;
    }
    return n[0] == 2 ? 0 : n[1] == 2 ? 1 : -1;
}

static int n_entries(void)
{
    int n = -2;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n;
}

/* As the next conversion does when it begins. */
static void take_leftovers(void)
{
    memset(left_n, 0, sizeof left_n);
    assert_int_equal(dlb_convert_take_leftovers(folder, "dst", left, NULL, &err), DLB_OK);
}

static void prepare(void)
{
    (void)snprintf(dst, sizeof dst, "%s", folder_path("dst"));
    (void)snprintf(src, sizeof src, "%s", folder_path("src"));
    folder_sub("src");
    assert_int_equal(in_a_child("old"), 0);
    assert_int_equal(age(), 0);
}

static void test_a_kill_at_each_call(void **state)
{
    int n_of[2] = {0}, n_back = 0, n = 0;
    bool ended = false;

    for (; !ended && n < 2000; n++) {
        prepare();
        int status = killed_at(n);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
            skip(); /* no seccomp or no ptrace here */
        ended = WIFEXITED(status);
        bool gone = age() < 0;
        take_leftovers();
        if (age() < 0)
            fail_msg("killed at stop %d: the target is lost", n);
        if (n_entries() != 2)
            fail_msg("killed at stop %d: %d entries beside source and target", n, n_entries() - 2);
        assert_int_equal(left_n[DLB_CONVERT_PUT_BACK], gone ? 1 : 0);
        assert_int_equal(left_n[DLB_CONVERT_KEPT], 0);
        n_back += gone;
        n_of[age()]++;
        assert_int_equal(in_a_child("new"), 0); /* and it may be replaced again */
        assert_int_equal(folder_remove(state), 0);
        assert_int_equal(mkdir(folder, 0700), 0);
    }
    assert_true(ended && n_of[0] > 10 && n_of[1] > 10 && n_back > 0);
    print_message("%d stops: %d old, %d new, put back %d times\n", n, n_of[0], n_of[1], n_back);
}

/* A folder of the user's with the name in between, or a target that somebody made since. */
static void test_what_is_not_ours_stays(void **state)
{
    (void)state;
    prepare();
    int status = 0, n = 0;
    for (; n < 2000 && age() >= 0; n++) { /* to between the two renames */
        if (n > 0)
            take_leftovers();
        status = killed_at(n);
        if (WIFEXITED(status))
            skip();
    }
    assert_true(age() < 0);
    folder_sub("dst");
    folder_write("dst/thesis.txt", "mine", 4);
    int before = n_entries();
    take_leftovers();
    assert_int_equal(left_n[DLB_CONVERT_KEPT], 1);
    assert_int_equal(n_entries(), before); /* the earlier data are still there */
    assert_true(folder_has("dst/thesis.txt"));
    assert_int_equal(remove(folder_path("dst/thesis.txt")), 0);
    assert_int_equal(rmdir(dst), 0);
    take_leftovers();
    assert_int_equal(left_n[DLB_CONVERT_PUT_BACK], 1);
    assert_int_equal(age(), 0);
    assert_int_equal(n_entries(), 2);
    folder_sub("dst.old-78"); /* no note says what it is */
    folder_write("dst.old-78/thesis.txt", "mine", 4);
    take_leftovers();
    assert_int_equal(in_a_child("new"), 0);
    assert_true(folder_has("dst.old-78/thesis.txt"));
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_a_kill_at_each_call),
        IN_FOLDER(test_what_is_not_ours_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
