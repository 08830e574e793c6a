/* A libhdf5 that crashes, hangs up or babbles on a file: this process lives and says what happened.
 * H5Fopen is ours here, in place of the library's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/folder.h"
#include "tests/support/hdf5.h"

#include <dirent.h>
#include <signal.h>

static enum { CRASHES, ABORTS, EXITS, IS_INTERRUPTED } what;

int64_t H5Fopen(const char *name, unsigned flags, int64_t access);
int64_t H5Fopen(const char *name, unsigned flags, int64_t access)
{
    static const int signals[] = {
        [CRASHES] = SIGSEGV, [ABORTS] = SIGABRT, [IS_INTERRUPTED] = SIGINT};
    (void)name, (void)flags, (void)access;
    if (what == EXITS)
        _exit(0);
    (void)raise(signals[what]);
    return -1;
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
        int status;
        const char *words;
    } wanted[] = {
        [CRASHES] = {DLB_E_FORMAT, "libhdf5 crashed (Segmentation fault) while opening it"},
        [ABORTS] = {DLB_E_FORMAT, "libhdf5 crashed (Aborted) while opening it"},
        [EXITS] = {DLB_E_FORMAT, "libhdf5 gave up on opening it"},
        [IS_INTERRUPTED] = {DLB_E_CANCELLED, "interrupted"},
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
        if (rc != wanted[i].status || !strstr(set.err.what, wanted[i].words) ||
            !strstr(set.err.path, "a.h5"))
            fail_msg("%zu: status %d, \"%s\"", i, rc, set.err.what);
    }
    assert_int_equal(n_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(dies, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
