/* HDF5 files that are cut, changed, empty, of another kind or not ours to read: an error with path
 * and reason, whatever the library does with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/hdf5/btree.h"
#include "tests/support/folder.h"
#include "tests/support/hdf5.h"

#include <sys/wait.h>

enum { N = 12, EACH = 40 };

static const struct dlb_hdf5_opts opts = {.chunk_samples = 3, .filter = 2};

/* A small file, its bytes, and what its samples are. */
static uint8_t *file, *samples;
static size_t n_file;

static int make(void **state)
{
    struct generation g;
    struct hdf5_set set;
    if (folder_make(state) != 0)
        return -1;
    if (!is_built("hdf5", "raw"))
        return 0;
    generation_set(&g, "hdf5", "raw", folder_path("g"), N, EACH);
    g.gen.format_opts = &opts;
    assert_int_equal(generation_run(&g, 1), DLB_OK);
    file = folder_read("g/data.h5", &n_file);
    samples = malloc(N * EACH);
    assert_non_null(samples);
    assert_int_equal(hdf5_open_set(&set, "g", DLB_ACCESS_CHUNKS, &opts), DLB_OK);
    for (uint64_t i = 0; i < N; i++) {
        assert_int_equal(hdf5_read_one(&set, i), DLB_OK);
        memcpy(samples + i * EACH, set.sample.field[0].data, EACH);
    }
    hdf5_close_set(&set);
    return 0;
}

static int clean(void **state)
{
    free(file);
    free(samples);
    return folder_remove(state);
}

static void check_err(const struct dlb_err *err, int rc)
{
    if (rc != (int)err->status || err->what[0] == '\0' || !strstr(err->path, "a.h5"))
        fail_msg("status %d: \"%s\": \"%s\"", rc, err->path, err->what);
}

/* Opens a.h5 and reads what there is, without the library in this process. */
static void read_all(uint32_t *n_refused, uint32_t *n_failed, uint32_t *n_other)
{
    struct hdf5_set set;
    int rc = hdf5_open_path(&set, folder_path("a.h5"), DLB_ACCESS_CHUNKS, &opts);

    if (rc != DLB_OK) {
        check_err(&set.err, rc);
        ++*n_refused;
        return;
    }
    if (set.ds.shape.n_odd == 0) { /* else the library would be asked */
        bool failed = false, other = false;
        set.reader = dataset_reader(&set.ds);
        for (uint64_t i = 0; i < set.ds.shape.n_samples && i < N; i++) {
            rc = hdf5_read_one(&set, i);
            if (rc != DLB_OK)
                check_err(&set.err, rc);
            failed = failed || rc != DLB_OK;
            size_t n = set.sample.field[0].len_bytes;
            other = other || n != EACH ||
                    (rc == DLB_OK && memcmp(set.sample.field[0].data, samples + i * EACH, n) != 0);
        }
        *n_failed += failed;
        *n_other += !failed && other;
    }
    hdf5_close_set(&set);
}

static void cut_short(void **state)
{
    uint32_t n_refused = 0, n_failed = 0, n_other = 0;
    (void)state;
    if (!file)
        skip();
    for (size_t n = 0; n < n_file; n += n < 16 ? 1 : 101) {
        folder_write("a.h5", file, n);
        uint32_t before = n_refused + n_failed;
        read_all(&n_refused, &n_failed, &n_other);
        assert_int_equal(n_refused + n_failed, before + 1);
    }
    assert_int_equal(n_other, 0);
}

static void changed(void **state)
{
    uint32_t n_refused = 0, n_failed = 0, n_other = 0;
    (void)state;
    if (!file)
        skip();
    for (size_t i = 0; i < n_file; i += 13) {
        uint8_t bit = (uint8_t)(1 << i % 8);
        file[i] ^= bit;
        folder_write("a.h5", file, n_file);
        read_all(&n_refused, &n_failed, &n_other);
        file[i] ^= bit;
    }
    assert_true(n_refused > 5);
    assert_true(n_failed > 1);
}

static void refused(const char *name, const struct dlb_hdf5_opts *asked, enum dlb_code code)
{
    for (int access = DLB_ACCESS_LIBRARY; access <= DLB_ACCESS_CHUNKS; access++) {
        struct hdf5_set set;
        int rc = hdf5_open_path(&set, folder_path(name), access, asked);
        if (rc != (int)dlb_code_status(code) || set.err.code != code || !strstr(set.err.path, name))
            fail_msg("%s: %s, \"%s\": \"%s\"; wanted %s", name, dlb_code_name(set.err.code),
                     set.err.path, set.err.what, dlb_code_name(code));
    }
}

static void other_files(void **state)
{
    static const uint8_t magic[64] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    struct dlb_hdf5_opts asked = opts;
    (void)state;
    if (!file)
        skip();
    folder_write("a.h5", "", 0);
    refused("a.h5", &opts, DLB_ERR_FILE_NOT_OF_FORMAT);
    folder_write("a.h5", "what is this?", 13);
    refused("a.h5", &opts, DLB_ERR_FILE_NOT_OF_FORMAT);
    folder_write("a.h5", magic, sizeof magic);
    refused("a.h5", &opts, DLB_ERR_HDF5_HEADER_DAMAGED);
    refused("nothing.h5", &opts, DLB_ERR_NOT_FOUND);
    folder_sub("d");
    refused("/d", &opts, DLB_ERR_DATASET_EMPTY);
    folder_write("a.h5", file, n_file);
    (void)snprintf(asked.dataset, sizeof asked.dataset, "nowhere");
    refused("a.h5", &asked, DLB_ERR_HDF5_NO_SUCH_DATASET);
    asked = opts;
    (void)snprintf(asked.label, sizeof asked.label, "/data");
    (void)snprintf(asked.dataset, sizeof asked.dataset, "/data");
    refused("a.h5", &asked, DLB_ERR_HDF5_LABEL_UNFIT);
}

/* As a user who may not read it: root may read everything. */
static void not_ours(void **state)
{
    int status = -1;
    (void)state;
    if (!file)
        skip();
    folder_write("a.h5", file, n_file);
    assert_int_equal(chmod(folder_path("a.h5"), 0), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct hdf5_set set;
        if (getuid() == 0 && setuid(65534) != 0)
            _exit(3);
        int rc = hdf5_open_path(&set, folder_path("a.h5"), DLB_ACCESS_CHUNKS, &opts);
        _exit(rc == DLB_E_IO && set.err.code == DLB_ERR_PERMISSION && strstr(set.err.path, "a.h5")
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(chmod(folder_path("a.h5"), 0644), 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* While it is read: the bytes that are gone are an error with their place. */
static void shrinks(void **state)
{
    struct hdf5_set set;
    uint32_t n_failed = 0;
    (void)state;
    if (!file)
        skip();
    folder_write("a.h5", file, n_file);
    assert_int_equal(hdf5_open_set(&set, "a.h5", DLB_ACCESS_CHUNKS, &opts), DLB_OK);
    folder_cut("a.h5", n_file / 2);
    for (uint64_t i = 0; i < N; i++) {
        int rc = hdf5_read_one(&set, i);
        if (rc == DLB_OK)
            continue;
        check_err(&set.err, rc);
        assert_int_equal(rc, DLB_E_IO);
        assert_int_equal(set.err.code, DLB_ERR_FILE_CHANGED);
        assert_true(set.err.offset_bytes >= n_file / 2 && set.err.offset_bytes <= n_file);
        n_failed++;
    }
    assert_true(n_failed > 0);
    hdf5_close_set(&set);
}

/* A tree in a file of 256 bytes, over 64 samples of one byte in 8 chunks. */
static void tree_fails(const uint8_t tree[256], uint64_t root, enum dlb_code code, uint64_t at)
{
    const struct dlb_hdf5_about about = {
        .rank = 1, .dims = {64}, .chunk = {8}, .element_bytes = 1, .n_filters = 0};
    struct dlb_hdf5_chunk table[8] = {0};
    struct dlb_hdf5_bytes bytes = {
        .io = &dlb_io_posix, .path = "a.h5", .file_bytes = 256, .n_offset = 8, .n_length = 8};
    struct dlb_err err;

    folder_write("tree", tree, 256);
    assert_int_equal(dlb_io_posix.open(folder_path("tree"), &bytes.handle, &err), DLB_OK);
    check_err(&err, dlb_hdf5_btree_read(&bytes, root, &about, table, 8, &err));
    assert_int_equal(err.code, code);
    assert_int_equal(err.offset_bytes, at);
    dlb_io_posix.close(bytes.handle);
}

/* Nodes that point at each other, or repeat what is there. */
static void trees(void **state)
{
    static const uint8_t nothing[256];
    uint8_t tree[256] = "TREE\1\1\2";
    (void)state;
    /* A root whose children are itself, and so of the wrong level; a root beyond the file. */
    tree_fails(tree, 0, DLB_ERR_HDF5_INDEX_DAMAGED, 0);
    tree_fails(tree, 1 << 20, DLB_ERR_HDF5_INDEX_DAMAGED, 1 << 20);
    /* A leaf with the same chunk twice. */
    tree[5] = 0;
    for (size_t i = 0; i < 2; i++)
        tree[24 + i * 32] = 8;
    tree_fails(tree, 0, DLB_ERR_HDF5_INDEX_DAMAGED, 0);
    /* One chunk alone: it does not begin on the grid, has the wrong size, lies beyond the file. */
    tree[6] = 1;
    tree[32] = 3;
    tree_fails(tree, 0, DLB_ERR_HDF5_INDEX_DAMAGED, 0);
    tree[32] = 0;
    tree[24] = 7;
    tree_fails(tree, 0, DLB_ERR_HDF5_INDEX_DAMAGED, 0);
    tree[24] = 8;
    tree[48] = 249;
    tree_fails(tree, 0, DLB_ERR_FILE_CUT_SHORT, 0);
    tree_fails(nothing, 0, DLB_ERR_HDF5_INDEX_DAMAGED, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_short), cmocka_unit_test(changed), cmocka_unit_test(other_files),
        cmocka_unit_test(not_ours),  cmocka_unit_test(shrinks), cmocka_unit_test(trees),
    };
    return cmocka_run_group_tests(tests, make, clean);
}
