/* formats/generate: whole or not at all, resumable, the same bytes with any number of threads. */
#include "formats/generate/generate.h"
#include "formats/generate/manifest.h"
#include "formats/generate/mark.h"
#include "formats/generate/target.h"
#include "formats/webdataset/write.h"
#include "tests/support/dataset.h"
#include "tests/support/gen_target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

static int run(const char *format, const char *codec, int64_t samples, int64_t bytes,
               uint32_t threads, struct generation *g)
{
    generation_set(g, format, codec, target, samples, bytes);
    return generation_run(g, threads);
}

static void check_read_back(const char *format, const char *codec, uint64_t samples)
{
    struct dlb_dataset ds;
    struct dlb_err err = {0};
    if (dataset_open(&ds, format, codec, target, &err) != DLB_OK)
        fail_msg("%s: %s", err.path, err.what);
    assert_int_equal(ds.shape.n_samples, samples);
    assert_int_equal(ds.shape.n_odd, 0);
    assert_int_equal(ds.shape.n_classes, 5);
    dlb_dataset_close(&ds);
}

static void test_writes_and_knows_it(void **state)
{
    static const char *const formats[] = {"files", "webdataset"};
    struct generation g;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        if (!is_built(formats[i], "raw"))
            continue;
        assert_int_equal(run(formats[i], "raw", 37, 500, 3, &g), DLB_OK);
        assert_int_equal(g.n_written, 37);
        assert_true(folder_has("data/" DLB_MANIFEST_NAME));
        assert_false(folder_has("data/" DLB_INCOMPLETE_MARK));
        check_read_back(formats[i], "raw", 37);
        /* Again: nothing to do. */
        assert_int_equal(generation_run(&g, 1), DLB_OK);
        assert_int_equal(g.n_written, 0);
        /* Other parameters: refused, and nothing is touched. */
        uint64_t before = hash_tree();
        g.opts.seed = 8;
        assert_int_equal(generation_run(&g, 1), DLB_E_CONFIG);
        assert_int_equal(g.err.code, DLB_ERR_TARGET_OTHER_DATA);
        assert_non_null(strstr(g.err.what, "generate.seed"));
        assert_true(hash_tree() == before);
        assert_int_equal(folder_remove(state), 0);
        assert_int_equal(mkdir(folder, 0700), 0);
    }
}

static void test_threads_do_not_matter(void **state)
{
    static const char *const combos[][2] = {
        {"files", "raw"}, {"files", "jpeg"}, {"webdataset", "raw"}, {"webdataset", "jpeg"}};
    struct generation g;

    for (size_t i = 0; i < sizeof combos / sizeof *combos; i++) {
        uint64_t hash[2];
        if (!is_built(combos[i][0], combos[i][1]))
            continue;
        for (int k = 0; k < 2; k++) {
            assert_int_equal(run(combos[i][0], combos[i][1], 12, 6000, k ? 4 : 1, &g), DLB_OK);
            hash[k] = hash_tree();
            assert_int_equal(folder_remove(state), 0);
            assert_int_equal(mkdir(folder, 0700), 0);
        }
        assert_true(hash[0] == hash[1]);
    }
}

static void test_labels(void **state)
{
    struct dlb_generate_opts opts = {.samples = 1000, .seed = 3, .classes = 7};
    unsigned seen[7] = {0};
    bool shuffled = false;

    (void)state;
    for (uint64_t i = 0; i < 700; i++) {
        assert_in_range(dlb_gen_label(&opts, i), 0, 6);
        seen[dlb_gen_label(&opts, i)]++;
        shuffled |= dlb_gen_label(&opts, i) != i % 7;
    }
    for (int c = 0; c < 7; c++)
        assert_int_equal(seen[c], 100);
    assert_true(shuffled);
    opts.samples = 3; /* fewer samples than classes: no class beyond them */
    bool used[3] = {false};
    for (uint64_t i = 0; i < 3; i++)
        used[dlb_gen_label(&opts, i)] = true;
    assert_true(used[0] && used[1] && used[2]);
}

/* After a kill the data set does not open. The same call finishes it, and the result equals that of
 * an undisturbed run. */
static void check_killed(const char *format)
{
    struct generation g;
    struct dlb_dataset ds;
    struct dlb_err err = {0};
    int status, n_tries = 0;

    pid_t child = fork();
    if (child == 0) {
        _exit(run(format, "raw", 3000, 40000, 2, &g) == DLB_OK ? 0 : 1);
    }
    assert_true(child > 0);
    while (!folder_has("data/" DLB_INCOMPLETE_MARK) && n_tries++ < 5000)
        (void)usleep(1000);
    (void)usleep(20000);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) /* it finished before the kill */
        return;
    assert_int_equal(dataset_open(&ds, format, "raw", target, &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_DATASET_INCOMPLETE);
    assert_int_equal(run(format, "raw", 2999, 40000, 2, &g), DLB_E_CONFIG);
    assert_int_equal(run(format, "raw", 3000, 40000, 2, &g), DLB_OK);
    assert_true(g.n_written <= 3000);
    check_read_back(format, "raw", 3000);
    uint64_t resumed = hash_tree();
    assert_int_equal(n_hidden, 2); /* manifest and lengths: no temporaries are left */
    (void)snprintf(target, sizeof target, "%s/other", folder);
    assert_int_equal(run(format, "raw", 3000, 40000, 2, &g), DLB_OK);
    assert_true(hash_tree() == resumed);
}

static void test_killed_files(void **state)
{
    (void)state;
    check_killed("files");
}

static void test_killed_webdataset(void **state)
{
    (void)state;
    if (is_built("webdataset", "raw"))
        check_killed("webdataset");
}

/* After a restart of the machine, renamed files may be empty: all files are written again. */
static void test_suspect_after_restart(void **state)
{
    struct generation g;
    char mark[4096];
    size_t n;

    (void)state;
    assert_int_equal(run("files", "raw", 20, 300, 1, &g), DLB_OK);
    uint64_t whole = hash_tree();
    uint8_t *manifest = folder_read("data/" DLB_MANIFEST_NAME, &n);
    json_t *json = json_loadb((char *)manifest, n, 0, NULL);
    assert_non_null(json);
    char *params = json_dumps(json_object_get(json, "params"), 0);
    (void)snprintf(mark, sizeof mark, "{\"params\": %s, \"boot\": \"another\"}", params);
    free(params);
    json_decref(json);
    free(manifest);
    assert_int_equal(remove(folder_path("data/" DLB_MANIFEST_NAME)), 0);
    folder_write("data/" DLB_INCOMPLETE_MARK, mark, strlen(mark));
    char name[64], zeros[300] = {0};
    (void)snprintf(name, sizeof name, "data/class_%04u/00000000.bin", dlb_gen_label(&g.opts, 0));
    assert_true(folder_has(name));
    folder_write(name, zeros, sizeof zeros); /* of the right size, but never on disk */
    assert_int_equal(run("files", "raw", 20, 300, 1, &g), DLB_OK);
    assert_int_equal(g.n_written, 20);
    assert_true(hash_tree() == whole);
}

static void test_targets_that_are_refused(void **state)
{
    struct generation g;

    (void)state;
    folder_sub("data");
    folder_write("data/thesis.txt", "mine", 4);
    assert_int_equal(run("files", "raw", 5, 100, 1, &g), DLB_E_CONFIG);
    assert_int_equal(g.err.code, DLB_ERR_TARGET_FOREIGN);
    assert_non_null(strstr(g.err.what, "thesis.txt"));
    assert_false(folder_has("data/" DLB_INCOMPLETE_MARK));
    assert_int_equal(remove(folder_path("data/thesis.txt")), 0);
    folder_write("data/" DLB_INCOMPLETE_MARK, "", 0);
    assert_int_equal(run("files", "raw", 5, 100, 1, &g), DLB_E_CONFIG);
    assert_int_equal(g.err.code, DLB_ERR_TARGET_MARK_DAMAGED);
    assert_int_equal(remove(folder_path("data/" DLB_INCOMPLETE_MARK)), 0);
    assert_int_equal(rmdir(target), 0);
    folder_write("data", "a file", 6);
    assert_int_equal(run("files", "raw", 5, 100, 1, &g), DLB_E_CONFIG);
    assert_int_equal(g.err.code, DLB_ERR_TARGET_NOT_A_FOLDER);
    generation_set(&g, "files", "raw", "", 5, 100);
    assert_int_equal(generation_run(&g, 1), DLB_E_CONFIG);
    assert_int_equal(g.err.code, DLB_ERR_DATASET_PATH_NOT_SET);
    generation_set(&g, "synthetic", "raw", "", 5, 100);
    assert_int_equal(generation_run(&g, 1), DLB_OK); /* has nothing to write */
    assert_int_equal(g.n_written, 0);
}

static void test_two_at_once(void **state)
{
    struct generation g;
    char path[600];

    (void)state;
    /* Make an incomplete target and take its lock, as a running gen does. */
    assert_int_equal(run("files", "raw", 5, 100, 1, &g), DLB_OK);
    uint8_t *manifest;
    size_t n;
    manifest = folder_read("data/" DLB_MANIFEST_NAME, &n);
    json_t *json = json_loadb((char *)manifest, n, 0, NULL);
    char *params = json_dumps(json_object_get(json, "params"), 0);
    (void)snprintf(path, sizeof path, "{\"params\": %s}", params);
    folder_write("data/" DLB_INCOMPLETE_MARK, path, strlen(path));
    free(params);
    free(manifest);
    json_decref(json);
    (void)snprintf(path, sizeof path, "%s/%s", target, DLB_INCOMPLETE_MARK);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(generation_run(&g, 1), DLB_E_CONFIG);
    assert_int_equal(g.err.code, DLB_ERR_TARGET_BUSY);
    assert_int_equal(close(fd), 0);
    assert_int_equal(generation_run(&g, 1), DLB_OK);
    assert_int_equal(g.n_written, 0); /* everything existed already */
}

struct counted {
    unsigned n_reports;
    uint64_t last, total;
    atomic_bool *cancel;
};

static void on_report(void *ctx, uint64_t n_done, uint64_t n_total, uint64_t n_bytes)
{
    struct counted *counted = ctx;
    (void)n_bytes;
    assert_true(n_done >= counted->last || n_done == 0);
    counted->last = n_done;
    counted->total = n_total;
    counted->n_reports++;
    if (counted->cancel && n_done > 0)
        atomic_store(counted->cancel, true);
}

static void test_progress_and_cancel(void **state)
{
    struct generation g;
    atomic_bool cancel = false;
    struct counted counted = {.cancel = &cancel};
    struct dlb_gen_progress progress = {on_report, &counted, &cancel, NULL, NULL};
    struct dlb_dataset ds;

    (void)state;
    generation_set(&g, "files", "raw", target, 200000, 4000);
    assert_int_equal(dlb_generate(&g.gen, 2, &progress, &g.n_written, &g.err), DLB_E_CANCELLED);
    assert_true(counted.last > 0 && counted.last < 200000);
    assert_int_equal(counted.total, 200000);
    assert_int_equal(dataset_open(&ds, "files", "raw", target, &g.err), DLB_E_FORMAT);
    if (!is_built("webdataset", "raw"))
        return;
    /* Also within a shard, which is then removed. */
    (void)snprintf(target, sizeof target, "%s/shards", folder);
    atomic_store(&cancel, false);
    counted = (struct counted){.cancel = &cancel};
    generation_set(&g, "webdataset", "raw", target, 1000, 2000000);
    assert_int_equal(dlb_generate(&g.gen, 1, &progress, &g.n_written, &g.err), DLB_E_CANCELLED);
    (void)hash_tree();
    assert_int_equal(n_regular, 0);
    assert_int_equal(n_hidden, 1);
}

static void test_too_large_for_the_disk(void **state)
{
    struct generation g;

    (void)state;
    assert_int_equal(run("files", "raw", INT64_C(1000000000), INT64_C(1) << 40, 1, &g), DLB_E_IO);
    assert_int_equal(g.err.code, DLB_ERR_NO_SPACE);
    assert_false(folder_has("data/" DLB_INCOMPLETE_MARK));
}

/* Nobody knows beforehand how small compressed data get. */
static void test_large_before_compression(void **state)
{
    static const char *const pairs[][2] = {{"files", "zstd"}, {"webdataset", "raw"}};
    const struct dlb_wds_opts gz = {.shard_samples = 1000, .compression = DLB_TAR_GZ};
    struct dlb_gen_target open;
    struct generation g;

    for (size_t i = 0; i < 2; i++) {
        if (!is_built(pairs[i][0], pairs[i][1]))
            continue;
        generation_set(&g, pairs[i][0], pairs[i][1], target, INT64_C(1000000000), INT64_C(1) << 40);
        g.gen.format_opts = i == 1 ? &gz : NULL;
        assert_int_equal(dlb_gen_target_open(&open, &g.gen, &g.err), DLB_OK);
        dlb_gen_target_close(&open);
        assert_true(folder_has("data/" DLB_INCOMPLETE_MARK));
        assert_int_equal(folder_remove(state), 0);
        assert_int_equal(make_target(state), 0);
    }
}

static bool say(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        (void)close(fd);
    return done;
}

/* Mounting without being root: as root of a user namespace. */
static bool own_namespace(void)
{
    char users[64], groups[64];
    (void)snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    (void)snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && say("/proc/self/setgroups", "deny") &&
           say("/proc/self/uid_map", users) && say("/proc/self/gid_map", groups);
}

/* A filesystem of 40 files at most, in a namespace of this child's own: full after some of them.
 * 77: not allowed here. */
static int fill_disk(const char *format)
{
    struct generation g;

    if (unshare(CLONE_NEWNS) != 0 && !own_namespace())
        return 77;
    if (mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", folder, "tmpfs", 0, "size=8m,nr_inodes=40") != 0)
        return 77;
    if (run(format, "raw", 1000, 4000, 2, &g) != DLB_E_IO || g.err.sys_errno != ENOSPC)
        return 1;
    if (g.err.code != DLB_ERR_NO_SPACE)
        return 2;
    if (!folder_has("data/" DLB_INCOMPLETE_MARK))
        return 3;
    if (mount("tmpfs", folder, "tmpfs", MS_REMOUNT, "size=64m,nr_inodes=4000") != 0)
        return 77;
    if (run(format, "raw", 1000, 4000, 2, &g) != DLB_OK || g.n_written == 1000)
        return 4;
    return 0;
}

static void test_disk_full(void **state)
{
    int status;

    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(fill_disk("files"));
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* As an unprivileged user: root may write anywhere. */
static void test_unwritable(void **state)
{
    struct generation g;
    int status;

    (void)state;
    folder_sub("closed");
    assert_int_equal(chmod(folder_path("closed"), 0555), 0);
    (void)snprintf(target, sizeof target, "%s/closed/data", folder);
    assert_int_equal(chmod(folder, 0755), 0);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(77);
        _exit(run("files", "raw", 5, 100, 1, &g) == DLB_E_IO && g.err.sys_errno == EACCES ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_odd_when_files_are_lost(void **state)
{
    struct generation g;
    struct dlb_dataset ds;
    char name[64];

    (void)state;
    assert_int_equal(run("files", "raw", 20, 100, 1, &g), DLB_OK);
    (void)snprintf(name, sizeof name, "data/class_%04u/00000003.bin", dlb_gen_label(&g.opts, 3));
    assert_int_equal(remove(folder_path(name)), 0);
    assert_int_equal(dataset_open(&ds, "files", "raw", target, &g.err), DLB_OK);
    assert_int_equal(ds.shape.n_odd, 1);
    assert_non_null(strstr(ds.shape.odd[0], "20 samples"));
    dlb_dataset_close(&ds);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_target, folder_remove)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),
        IN_FOLDER(test_writes_and_knows_it),
        IN_FOLDER(test_threads_do_not_matter),
        IN_FOLDER(test_killed_files),
        IN_FOLDER(test_killed_webdataset),
        IN_FOLDER(test_suspect_after_restart),
        IN_FOLDER(test_targets_that_are_refused),
        IN_FOLDER(test_two_at_once),
        IN_FOLDER(test_progress_and_cancel),
        IN_FOLDER(test_too_large_for_the_disk),
        IN_FOLDER(test_large_before_compression),
        IN_FOLDER(test_disk_full),
        IN_FOLDER(test_unwritable),
        IN_FOLDER(test_odd_when_files_are_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
