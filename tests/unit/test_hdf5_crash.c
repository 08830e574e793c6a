/* A libhdf5 that crashes, hangs up or babbles on a file: this process lives and says what happened.
 * H5Fopen and H5Dread are ours here, before the library's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/cell.h"
#include "tests/support/error.h"
#include "tests/support/folder.h"
#include "tests/support/hdf5.h"

#include "bench/verbs/inspect.h"
#include "formats/convert/convert.h"
#include "scenarios/spec/spec.h"

#include <dirent.h>
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>

enum { N = 300, EACH = 40 };

static enum { CRASHES, ABORTS, EXITS, IS_INTERRUPTED, OPENS } what;
static enum { READS, READING_CRASHES, READING_HANGS } reading;
static unsigned n_reads_left; /* that go well */
static bool hurries;

int64_t H5Fopen(const char *name, unsigned flags, int64_t access);
int64_t H5Fopen(const char *name, unsigned flags, int64_t access)
{
    static const int signals[] = {
        [CRASHES] = SIGSEGV, [ABORTS] = SIGABRT, [IS_INTERRUPTED] = SIGINT};
    int64_t (*next)(const char *, unsigned, int64_t);
    if (what == EXITS)
        _exit(0);
    if (what != OPENS) {
        (void)raise(signals[what]);
        return -1;
    }
    *(void **)&next = dlsym(RTLD_NEXT, "H5Fopen");
    return next(name, flags, access);
}

int H5Dread(int64_t set, int64_t type, int64_t memory, int64_t file, int64_t how, void *out);
int H5Dread(int64_t set, int64_t type, int64_t memory, int64_t file, int64_t how, void *out)
{
    int (*next)(int64_t, int64_t, int64_t, int64_t, int64_t, void *);
    bool now = n_reads_left == 0;
    n_reads_left -= !now;
    if (reading == READING_CRASHES && now)
        (void)raise(SIGSEGV);
    while (reading == READING_HANGS && now)
        (void)pause();
    *(void **)&next = dlsym(RTLD_NEXT, "H5Dread");
    return next(set, type, memory, file, how, out);
}

/* Of a hang, seconds pass in no time. */
int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    int (*next)(struct pollfd *, nfds_t, int);
    *(void **)&next = dlsym(RTLD_NEXT, "poll");
    return next(fds, n, reading == READING_HANGS && timeout_ms == 1000 && hurries ? 1 : timeout_ms);
}

static uint32_t n_descriptors(void)
{
    uint32_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n;
}

static void dies(void **state)
{
    static const struct {
        enum dlb_code code;
        const char *figure;
    } wanted[] = {
        [CRASHES] = {DLB_ERR_CHILD_CRASHED, "(Segmentation fault)"},
        [ABORTS] = {DLB_ERR_CHILD_CRASHED, "(Aborted)"},
        [EXITS] = {DLB_ERR_CHILD_GAVE_UP, "libhdf5"},
        [IS_INTERRUPTED] = {DLB_ERR_CANCELLED, ""},
    };
    static const uint8_t magic[64] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n', 2, 8, 8};
    uint32_t before = n_descriptors();
    (void)state;
    if (dlb_format_by_name("hdf5")->missing)
        skip();
    folder_write("a.h5", magic, sizeof magic);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct hdf5_set set;
        what = (int)i;
        int rc = hdf5_open_path(&set, folder_path("a.h5"), DLB_ACCESS_AUTO, NULL);
        error_is(&set.err, wanted[i].code, wanted[i].figure);
        assert_int_equal(rc, set.err.status);
        assert_string_equal(set.err.path, folder_path("a.h5"));
    }
    assert_int_equal(n_descriptors(), before);
}

static void make_file(void)
{
    struct generation g;
    if (!is_built("hdf5", "raw"))
        skip();
    what = OPENS;
    reading = READS;
    generation_set(&g, "hdf5", "raw", folder_path("g"), N, EACH);
    assert_int_equal(generation_run(&g, 1), DLB_OK);
}

static int inspect(struct dlb_inspected *in, struct dlb_err *err)
{
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    assert_non_null(cfg);
    assert_int_equal(dlb_config_set(cfg, "dataset.access=library", err), DLB_OK);
    int rc = dlb_inspect(folder_path("g"), cfg, in, err);
    dlb_config_free(cfg);
    return rc;
}

static const char crashed[] = "(Segmentation fault)";

static void inspecting(void **state)
{
    struct dlb_inspected in;
    struct dlb_err err;
    (void)state;
    make_file();
    n_reads_left = 50;
    assert_int_equal(inspect(&in, &err), DLB_OK);
    assert_int_equal(in.shape.n_samples, N);
    assert_int_equal(in.seen.n_looked, DLB_INSPECT_SAMPLES);
    assert_int_equal(in.seen.n_bytes[0], EACH);
    reading = READING_CRASHES;
    assert_int_equal(inspect(&in, &err), DLB_E_FORMAT);
    error_is(&err, DLB_ERR_CHILD_CRASHED, crashed);
    assert_string_equal(err.path, folder_path("g"));
    reading = READING_HANGS;
    hurries = true;
    (void)alarm(30); /* ends this process */
    assert_int_equal(inspect(&in, &err), DLB_E_FORMAT);
    (void)alarm(0);
    hurries = false;
    error_is(&err, DLB_ERR_CHILD_HANGS, " 300 s ");
    assert_string_equal(err.path, folder_path("g"));
}

static atomic_bool cancel;

static void on_alarm(int number)
{
    (void)number;
    atomic_store(&cancel, true);
}

static void report(void *ctx, enum dlb_convert_phase phase, uint64_t n_done, uint64_t n_total,
                   uint64_t n_bytes)
{
    uint64_t *most = ctx;
    (void)n_bytes;
    assert_int_equal(n_total, N);
    most[phase] = n_done;
}

static void skipped(void *ctx, const struct dlb_err *why, bool shard)
{
    (void)ctx, (void)why, (void)shard;
    fail_msg("nothing can be unreadable here");
}

static int convert(uint64_t most[2], struct dlb_converted *done, struct dlb_err *err)
{
    struct dlb_convert_watch watch = {
        .report = report, .skipped = skipped, .ctx = most, .cancel = &cancel};
    struct hdf5_set set;
    char to[512], from[512];
    most[0] = most[1] = 0;
    n_reads_left = 200;
    (void)snprintf(from, sizeof from, "%s", folder_path("g"));
    (void)snprintf(to, sizeof to, "%s", folder_path("to/files"));
    assert_int_equal(hdf5_open_path(&set, from, DLB_ACCESS_LIBRARY, NULL), DLB_OK);
    struct dlb_convert how = {.from = &set.ds,
                              .from_path = from,
                              .to = dlb_format_by_name("files"),
                              .to_path = to,
                              .watch = &watch};
    int rc = dlb_convert(&how, done, err);
    dlb_dataset_close(&set.ds);
    return rc;
}

static uint32_t n_in(const char *name)
{
    uint32_t n = 0;
    DIR *dir = opendir(folder_path(name));
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n - 2;
}

static void converting(void **state)
{
    struct dlb_converted done;
    struct dlb_err err;
    uint64_t most[2];
    uint32_t before = n_descriptors();
    (void)state;
    make_file();
    folder_sub("to");

    reading = READING_CRASHES;
    assert_int_equal(convert(most, &done, &err), DLB_E_FORMAT);
    error_is(&err, DLB_ERR_CHILD_CRASHED, crashed);
    assert_string_equal(err.path, folder_path("g"));
    assert_true(most[DLB_CONVERT_WRITE] >= 64); /* told before that */
    assert_int_equal(n_in("to"), 0);

    reading = READING_HANGS;
    (void)signal(SIGALRM, on_alarm);
    (void)alarm(1);
    assert_int_equal(convert(most, &done, &err), DLB_E_CANCELLED);
    assert_int_equal(err.code, DLB_ERR_CANCELLED);
    assert_int_equal(n_in("to"), 0);
    atomic_store(&cancel, false);

    reading = READS;
    assert_int_equal(convert(most, &done, &err), DLB_OK);
    assert_int_equal(done.n_samples, N);
    assert_int_equal(done.n_verified, N);
    assert_int_equal(most[DLB_CONVERT_WRITE], N);
    assert_int_equal(most[DLB_CONVERT_CHECK], N);
    assert_int_equal(n_in("to"), 1);
    assert_int_equal(n_descriptors(), before);
}

/* Who watches a cell knows through what it reads. */
static void measuring(void **state)
{
    static const char *const accesses[] = {"chunks", "library"};
    (void)state;
    make_file();
    for (size_t i = 0; i < 2; i++) {
        struct dlb_pulse pulse = {.n_batches = 0};
        const struct dlb_cell_watch watch = {.pulse = &pulse};
        char path[512], access[64];
        (void)snprintf(path, sizeof path, "dataset.path=%s", folder_path("g"));
        (void)snprintf(access, sizeof access, "dataset.access=%s", accesses[i]);
        const char *const settings[] = {"dataset.format=hdf5",
                                        "dataset.codec=raw",
                                        "loader.kind=inline",
                                        "loader.num_workers=0",
                                        "device.kind=emulated",
                                        "device.step_ms=0",
                                        "run.epochs=1",
                                        path,
                                        access,
                                        NULL};
        struct dlb_cell_result ran;
        cell_ran(settings, DLB_MODE_MEASURE, &watch, &ran);
        assert_ok(&ran);
        assert_string_equal(pulse.library, i ? "libhdf5" : "");
        dlb_cell_result_free(&ran);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(inspecting, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(measuring, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(converting, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(dies, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
