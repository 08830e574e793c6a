/* Errors of asynchronous reads name their sample, refusals are reported, and no read stays in
 * flight. */
#include "core/base/clock.h"
#include "tests/support/async.h"
#include "tests/support/error.h"
#include "tests/support/refuse.h"

#include <errno.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

/* The path of sample i, as gen names it. */
static const char *sample_path(uint64_t i)
{
    char name[64];
    (void)snprintf(name, sizeof name, "data/class_%04u/%08llu.bin", dlb_gen_label(&g.opts, i),
                   (unsigned long long)i);
    return folder_path(name);
}

/* Its number in the order of classes. */
static uint64_t number_of(const char *path)
{
    char at[512];
    for (uint64_t i = 0; i < ds.shape.n_samples; i++) {
        ds.format->reader->whereabouts(ds.state, i, at, sizeof at);
        if (strcmp(at, path) == 0)
            return i;
    }
    fail_msg("%s is no sample", path);
    return 0;
}

static void replace_by_fifo(const char *path)
{
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static bool is_cut(const struct dlb_err *err, uint64_t at_bytes, const char *missing)
{
    return err->code == DLB_ERR_FILE_CHANGED && err->offset_bytes == at_bytes &&
           strstr(err->what, missing);
}

/* Files that changed after the folder was listed: those that lack bytes are told, one by one, with
 * path and offset; the others come as they are, in their places. */
static void changed_files_are_told(void **state)
{
    (void)state;
    if (!usable)
        skip();
    make_files("raw");
    opens("files", "raw", false, NULL);
    const char *cut = strdup(sample_path(7)), *gone = strdup(sample_path(21)),
               *empty = strdup(sample_path(22)), *grown = strdup(sample_path(40)),
               *folder_now = strdup(sample_path(63));
    assert_int_equal(truncate(cut, 1234), 0);
    assert_int_equal(unlink(gone), 0);
    assert_int_equal(truncate(empty, 0), 0);
    assert_int_equal(truncate(grown, BYTES * 2), 0);
    assert_int_equal(unlink(folder_now), 0);
    assert_int_equal(mkdir(folder_now, 0700), 0);
    ds.on_error = DLB_ON_ERROR_SKIP;
    struct pipeline sync = with(DLB_READ_SYNC, "inline");
    runs(&sync);
    assert_int_equal(sync.out->epoch[0].n_unique, N - 4);
    /* What fails takes its time, too. */
    assert_int_equal(sync.stats->workers.stage[DLB_WS_READ].count, N);
    for (size_t k = 0; k < 9; k++) {
        struct pipeline p = with(DLB_READ_URING, kinds[k / 3]);
        p.loader.io_depth = depths[k % 3];
        runs(&p);
        assert_int_equal(p.out->epoch[0].n_unique, N - 4);
        assert_int_equal(p.stats->workers.stage[DLB_WS_READ].count, N);
        assert_true(p.out->epoch[0].set_checksum == sync.out->epoch[0].set_checksum);
        assert_true(p.out->epoch[0].seq_checksum == sync.out->epoch[0].seq_checksum);
        assert_int_equal(p.stats->workers.n_skipped, 4);
        uint32_t n_found = 0;
        for (uint32_t i = 0; i < p.stats->n_skipped_named; i++) {
            const struct dlb_err *err = &p.stats->skipped[i];
            assert_int_equal(err->status, DLB_E_IO);
            if (strcmp(err->path, cut) == 0)
                n_found += is_cut(err, 1234, "1766 bytes");
            else if (strcmp(err->path, gone) == 0)
                n_found += err->sys_errno == ENOENT;
            else if (strcmp(err->path, empty) == 0)
                n_found += is_cut(err, 0, "3000 bytes");
            else if (strcmp(err->path, folder_now) == 0)
                n_found += err->sys_errno == EISDIR;
        }
        assert_int_equal(n_found, 4);
        pipeline_free(&p);
    }
    pipeline_free(&sync);
    ds.on_error = DLB_ON_ERROR_FAIL;
    for (size_t k = 0; k < 3; k++) {
        struct pipeline p = with(DLB_READ_URING, kinds[k]);
        p.loader.shuffle = false;
        pipeline_run(&p);
        assert_int_equal(p.rc, DLB_E_IO);
        assert_true(strstr(p.err.path, "/class_") != NULL);
        pipeline_free(&p);
    }
    dlb_dataset_close(&ds);
    free((void *)cut), free((void *)gone), free((void *)empty), free((void *)grown),
        free((void *)folder_now);
}

/* Permissions do not bind root: in a process of an ordinary user. */
static void forbidden_files_are_told(void **state)
{
    int status = 0;
    (void)state;
    if (!usable)
        skip();
    make_files("raw");
    opens("files", "raw", false, NULL);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(chmod(sample_path(33), 0), 0);
    ds.on_error = DLB_ON_ERROR_SKIP;
    pid_t pid = fork();
    if (pid == 0) {
        if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(77);
        struct pipeline p = with(DLB_READ_URING, "inline");
        pipeline_run(&p);
        if (p.stats->io.n_uring == 0)
            _exit(77); /* io_uring is for root alone here */
        bool told = p.rc == DLB_OK && p.stats->n_skipped_named == 1 &&
                    p.stats->skipped[0].sys_errno == EACCES &&
                    strcmp(p.stats->skipped[0].path, sample_path(33)) == 0;
        _exit(told ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    dlb_dataset_close(&ds);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

struct feeder {
    int fd;
    uint8_t data[BYTES];
};

/* A pipe gives what there is: a part, and when that has been taken, the rest. */
static void *feed_in_parts(void *arg)
{
    struct feeder *feeder = arg;
    size_t at = 0;

    for (size_t part = 100; at < BYTES; at += part, part *= 2) {
        int waiting = 1;
        part = part < BYTES - at ? part : BYTES - at;
        if (write(feeder->fd, feeder->data + at, part) != (ssize_t)part)
            break;
        while (ioctl(feeder->fd, FIONREAD, &waiting) == 0 && waiting > 0)
            (void)dlb_sleep_until_ns(dlb_now_ns() + DLB_NS_PER_MS);
    }
    return NULL;
}

static void short_reads_are_completed(void **state)
{
    (void)state;
    if (!usable)
        skip();
    make_files("raw");
    opens("files", "raw", false, NULL);
    struct pipeline sync = with(DLB_READ_SYNC, "inline");
    runs(&sync);
    for (size_t k = 0; k < 3; k++) {
        struct feeder feeder;
        pthread_t thread;
        const char *path = sample_path(50 + k);
        int fd = open(path, O_RDONLY);
        assert_int_equal(read(fd, feeder.data, BYTES), BYTES);
        assert_int_equal(close(fd), 0);
        replace_by_fifo(path);
        feeder.fd = open(path, O_RDWR);
        assert_true(feeder.fd >= 0);
        assert_int_equal(pthread_create(&thread, NULL, feed_in_parts, &feeder), 0);
        struct pipeline p = with(DLB_READ_URING, kinds[k]);
        runs(&p);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(p.out->epoch[0].seq_checksum == sync.out->epoch[0].seq_checksum);
        assert_true(p.stats->workers.io.n_again >= 3);
        assert_int_equal(close(feeder.fd), 0);
        assert_int_equal(unlink(path), 0);
        FILE *again = fopen(path, "wb");
        assert_int_equal(fwrite(feeder.data, 1, BYTES, again), BYTES);
        assert_int_equal(fclose(again), 0);
        pipeline_free(&p);
    }
    pipeline_free(&sync);
    dlb_dataset_close(&ds);
}

static void *cancel_later(void *arg)
{
    (void)dlb_sleep_until_ns(dlb_now_ns() + 200 * DLB_NS_PER_MS);
    atomic_store((atomic_bool *)arg, true);
    return NULL;
}

/* A read that never ends: with a timeout it is named; without, an interrupt ends it all the same.
 */
static void what_hangs_is_named_and_left(void **state)
{
    (void)state;
    if (!usable)
        skip();
    make_files("raw");
    opens("files", "raw", false, NULL);
    char path[512];
    (void)snprintf(path, sizeof path, "%s", sample_path(50));
    uint64_t number = number_of(path);
    replace_by_fifo(path);
    int writer = open(path, O_RDWR);
    for (size_t k = 0; k < 3; k++) {
        struct pipeline p = with(DLB_READ_URING, kinds[k]);
        atomic_bool cancel = false;
        pthread_t thread;
        if (k == 0) {
            p.cancel = &cancel;
            assert_int_equal(pthread_create(&thread, NULL, cancel_later, &cancel), 0);
        } else {
            p.loader.timeout_s = 0.3;
        }
        pipeline_run(&p);
        if (k == 0) {
            assert_int_equal(pthread_join(thread, NULL), 0);
            assert_int_equal(p.rc, DLB_E_CANCELLED);
        } else {
            char sample[64];
            assert_int_equal(p.rc, DLB_E_WORKER);
            (void)snprintf(sample, sizeof sample, "sample %llu", (unsigned long long)number);
            error_is(&p.err, DLB_ERR_READER_HANGS, sample);
            assert_string_equal(p.err.path, path);
        }
        assert_true(p.stop_ns < 5 * DLB_NS_PER_S); /* it could be left */
        pipeline_free(&p);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
    assert_int_equal(close(writer), 0);
    dlb_dataset_close(&ds);
}

/* Ended in the midst of batches, over and over. */
static void stops_leave_nothing_behind(void **state)
{
    (void)state;
    if (!usable)
        skip();
    make_files("raw");
    opens("files", "raw", false, NULL);
    for (size_t k = 0; k < 12; k++) {
        struct pipeline p = with(DLB_READ_URING, kinds[k % 3]);
        p.loader.batch_size = 40;
        p.loader.io_depth = 1 + (int64_t)k;
        p.max_batches = 1;
        runs(&p);
        pipeline_free(&p);
    }
    dlb_dataset_close(&ds);
}

static void refusal_falls_back_and_says_so(void **state)
{
    (void)state;
    if (dlb_uring_missing())
        skip();
    make_files("raw");
    opens("files", "raw", false, NULL);
    struct pipeline sync = with(DLB_READ_SYNC, "inline");
    runs(&sync);
    for (size_t k = 0; k < 3; k++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0) {
            struct pipeline p = with(DLB_READ_URING, kinds[k]);
            if (refuse_syscall(__NR_io_uring_setup, EPERM) != 0)
                _exit(77);
            pipeline_run(&p);
            bool fine = p.rc == DLB_OK && p.stats->io.n_uring == 0 && p.stats->io.n_sync > 0 &&
                        strstr(p.stats->io.reason, strerrordesc_np(EPERM)) &&
                        p.stats->workers.io.max_in_flight == 0 &&
                        p.out->epoch[0].seq_checksum == sync.out->epoch[0].seq_checksum;
            _exit(fine ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    pipeline_free(&sync);
    dlb_dataset_close(&ds);
}

static void refused(const char *format, int access, bool iterable, enum dlb_code code,
                    const char *option)
{
    struct dlb_loader_opts opts = {.io = DLB_READ_URING};
    struct dlb_err err;

    assert_int_equal(
        dlb_loader_check_reads(&opts, dlb_format_by_name(format), access, iterable, &err),
        DLB_E_CONFIG);
    error_is(&err, code, option);
    error_is(&err, code, "loader.io");
    opts.io = DLB_READ_SYNC;
    assert_int_equal(
        dlb_loader_check_reads(&opts, dlb_format_by_name(format), access, iterable, &err), DLB_OK);
}

static void what_makes_no_sense_is_refused(void **state)
{
    struct dlb_err err;
    (void)state;
    refused("webdataset", DLB_ACCESS_AUTO, true, DLB_ERR_URING_FORMAT_UNFIT, "webdataset");
    if (!dlb_format_by_name("webdataset")->missing)
        refused("webdataset", DLB_ACCESS_AUTO, true, DLB_ERR_URING_FORMAT_UNFIT, "dataset.access");
    refused("synthetic", DLB_ACCESS_AUTO, false, DLB_ERR_URING_FORMAT_UNFIT, "synthetic");
    refused("tokens", DLB_ACCESS_MMAP, false, DLB_ERR_URING_ACCESS_UNFIT, "mmap");

    make_files("raw");
    struct dlb_dataset_opts opts = {.format = dataset_place(dlb_format_names, "files"),
                                    .codec = dataset_place(dlb_codec_names, "raw"),
                                    .access = DLB_ACCESS_PREAD,
                                    .direct = true};
    struct dlb_transform_opts transform = {.size = 32};
    (void)snprintf(opts.path, sizeof opts.path, "%s", folder_path("data"));
    assert_int_equal(dlb_dataset_open(&ds, &opts, &transform, &g.opts, NULL, &err), DLB_E_CONFIG);
    error_is(&err, DLB_ERR_DATASET_ACCESS_UNFIT, "loader.direct");
    error_is(&err, DLB_ERR_DATASET_ACCESS_UNFIT, "\"pread\"");
    opts.access = DLB_ACCESS_AUTO;
    opts.format = dataset_place(dlb_format_names, "webdataset");
    if (!dlb_format_by_name("webdataset")->missing) {
        assert_int_equal(dlb_dataset_open(&ds, &opts, &transform, &g.opts, NULL, &err),
                         DLB_E_CONFIG);
        error_is(&err, DLB_ERR_DATASET_ACCESS_UNFIT, "loader.direct");
        error_is(&err, DLB_ERR_DATASET_ACCESS_UNFIT, "webdataset");
    }
}

/* Files of sysfs have no storage below them. */
static void direct_is_never_quietly_left_out(void **state)
{
    static const char where[] = "/sys/kernel/mm/ksm";
    struct dlb_dataset_opts opts = {.format = dataset_place(dlb_format_names, "files"),
                                    .codec = dataset_place(dlb_codec_names, "raw"),
                                    .direct = true};
    struct dlb_transform_opts transform = {.size = 32};
    struct dlb_err err;
    (void)state;

    if (access(where, R_OK) != 0)
        skip();
    (void)snprintf(opts.path, sizeof opts.path, "%s", where);
    assert_int_equal(dlb_dataset_open(&ds, &opts, &transform, &g.opts, NULL, &err), DLB_E_CONFIG);
    error_is(&err, DLB_ERR_DIRECT_UNSUPPORTED, "O_DIRECT");
    assert_non_null(strstr(err.path, where));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(changed_files_are_told),         TEST(forbidden_files_are_told),
        TEST(short_reads_are_completed),      TEST(what_hangs_is_named_and_left),
        TEST(stops_leave_nothing_behind),     TEST(refusal_falls_back_and_says_so),
        TEST(what_makes_no_sense_is_refused), TEST(direct_is_never_quietly_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
