/* HDF5 files that h5py wrote: dlbench delivers exactly the bytes that h5py has, with and without
 * the library, in order and out of it. Skipped where there is no Python with h5py ($PYTHON, or
 * python3), or no HDF5 in this build. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/peers.h"
#include "tests/support/hdf5.h"

/* Where each sample begins in the file of wanted bytes. */
static uint64_t *starts(struct hdf5_set *set, const char *name, size_t n_want)
{
    uint64_t n = set->ds.shape.n_samples, at = 0;
    uint64_t *start = calloc(n + 1, sizeof *start);
    assert_non_null(start);
    for (uint64_t i = 0; i < n; i++) {
        if (hdf5_read_one(set, i) != DLB_OK)
            fail_msg("%s: sample %llu: %s", name, (unsigned long long)i, set->err.what);
        start[i] = at;
        at += set->sample.field[0].len_bytes;
    }
    start[n] = at;
    if (at != n_want || set->ds.shape.total_bytes != n_want)
        fail_msg("%s: %llu bytes, not %zu", name, (unsigned long long)at, n_want);
    return start;
}

static void same(struct hdf5_set *set, const char *name, uint64_t i, const uint64_t *start,
                 const uint8_t *want)
{
    if (hdf5_read_one(set, i) != DLB_OK)
        fail_msg("%s: sample %llu: %s", name, (unsigned long long)i, set->err.what);
    if (memcmp(set->sample.field[0].data, want + start[i], set->sample.field[0].len_bytes) != 0)
        fail_msg("%s: sample %llu differs", name, (unsigned long long)i);
}

/* Nothing outside of the file is touched unless that is asked for. */
static void check_refused(const char *file, const char *dataset, int access)
{
    struct dlb_hdf5_opts opts = {.dataset = ""};
    struct hdf5_set set;

    (void)snprintf(opts.dataset, sizeof opts.dataset, "%s", dataset);
    int rc = hdf5_open_set(&set, file, access, &opts);
    if (rc != DLB_E_CONFIG || set.err.code != DLB_ERR_HDF5_EXTERNAL)
        fail_msg("%s: status %d: %s", file, rc, set.err.what);
}

static void check(const char *name, const char *dataset, int access, const char *how)
{
    bool may_refuse = strcmp(how, "maybe") == 0, outside = strcmp(how, "outside") == 0;
    struct dlb_hdf5_opts opts = {.allow_external = outside};
    struct hdf5_set set;
    char file[128];
    size_t n_want, n_label;

    (void)snprintf(file, sizeof file, "%s.want", name);
    uint8_t *want = folder_read(file, &n_want);
    if (strcmp(dataset, "-") != 0)
        (void)snprintf(opts.dataset, sizeof opts.dataset, "%s", dataset);
    (void)snprintf(file, sizeof file, "%s.h5", name);
    if (outside)
        check_refused(file, "x", access);
    int rc = hdf5_open_set(&set, file, access, &opts);
    if (rc != DLB_OK && may_refuse) { /* and says so */
        assert_non_null(strstr(set.err.what, "libhdf5"));
        assert_non_null(strstr(set.err.path, file));
        free(want);
        return;
    }
    if (rc != DLB_OK)
        fail_msg("%s: %s", name, set.err.what);
    uint64_t n = set.ds.shape.n_samples, *start = starts(&set, name, n_want);
    for (uint64_t i = 0; i < n; i++)
        same(&set, name, i, start, want);
    for (uint64_t i = 0; i < n; i++) /* 7919 is a prime: all of them, out of order */
        same(&set, name, i * 7919 % n, start, want);
    (void)snprintf(file, sizeof file, "%s.label", name);
    if (folder_has(file)) {
        uint8_t *label = folder_read(file, &n_label);
        assert_int_equal(n_label, n * 4);
        for (uint64_t i = 0; i < n; i++) {
            assert_int_equal(hdf5_read_one(&set, i), DLB_OK);
            assert_memory_equal(&set.sample.label, label + i * 4, 4);
        }
        free(label);
    } else {
        assert_int_equal(set.ds.shape.n_classes, 0);
    }
    hdf5_close_set(&set);
    free(start);
    free(want);
}

static void files_by_h5py(void **state)
{
    size_t n;
    uint32_t n_files = 0;
    (void)state;
    uint8_t *list = folder_read("list", &n);
    list[n] = '\0';
    for (char *rest = NULL, *line = strtok_r((char *)list, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char name[64], dataset[64], how[16];
        assert_int_equal(sscanf(line, "%63s %63s %15s", name, dataset, how), 3);
        check(name, dataset, DLB_ACCESS_CHUNKS, how);
        check(name, dataset, DLB_ACCESS_LIBRARY, how);
        n_files++;
    }
    assert_true(n_files > 100);
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_by_h5py)};

    if (dlb_format_by_name("hdf5")->missing)
        return 77;
    return peers_run("write_hdf5.py", "", tests, sizeof tests / sizeof *tests);
}
