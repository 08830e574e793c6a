/* formats/generate/file and verify: files of any size are written whole on any file system, and
 * changed bytes are detected. */
#include "formats/generate/file.h"
#include "formats/generate/verify.h"
#include "tests/support/dataset.h"
#include "tests/support/folder.h"

#include <errno.h>
#include <sys/statfs.h>

#define CHUNK ((size_t)1 << 20)

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 31 + i / 4093);
}

/* In pieces of odd sizes, and a patch at the end. */
static void write_and_compare(const char *path, size_t n_bytes, bool patch)
{
    struct dlb_gen_file file;
    struct dlb_err err;
    uint8_t *data = malloc(n_bytes + 1), *back = malloc(n_bytes + 1);
    const uint8_t mark[4] = {1, 2, 3, 4};

    assert_true(data && back);
    for (size_t i = 0; i < n_bytes; i++)
        data[i] = byte_at(i);
    assert_int_equal(dlb_gen_file_open(&file, path, &err), DLB_OK);
    for (size_t done = 0, piece = 1; done < n_bytes; piece = piece * 5 % 700001 + 1) {
        size_t n = n_bytes - done < piece ? n_bytes - done : piece;
        assert_int_equal(dlb_gen_file_write(&file, data + done, n, &err), DLB_OK);
        done += n;
    }
    if (patch) {
        assert_int_equal(dlb_gen_file_patch(&file, 14, mark, sizeof mark, &err), DLB_OK);
        memcpy(data + 14, mark, sizeof mark);
    }
    assert_int_equal(access(path, F_OK), -1); /* it does not exist before it is whole */
    assert_int_equal(dlb_gen_file_finish(&file, DLB_OK, &err), DLB_OK);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(back, 1, n_bytes + 1, f), n_bytes);
    assert_int_equal(fclose(f), 0);
    assert_memory_equal(back, data, n_bytes);
    assert_int_equal(unlink(path), 0);
    free(data);
    free(back);
}

static void test_every_size(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 4095, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 4097};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        write_and_compare(folder_path("file"), sizes[i], false);
        if (sizes[i] > 100)
            write_and_compare(folder_path("file"), sizes[i], true);
    }
}

/* Where O_DIRECT is refused (tmpfs of some kernels), the page cache is used. */
static void test_memory_file_system(void **state)
{
    (void)state;
    char path[64];
    (void)snprintf(path, sizeof path, "/dev/shm/dlb-test-%d", (int)getpid());
    if (access("/dev/shm", W_OK) != 0)
        skip();
    write_and_compare(path, 2 * CHUNK + 5, true);
}

static void test_a_failure_leaves_nothing(void **state)
{
    (void)state;
    struct dlb_gen_file file;
    struct dlb_err err;
    char *temporary = dlb_gen_temporary(folder_path("file"));
    assert_non_null(temporary);
    assert_int_equal(dlb_gen_file_open(&file, folder_path("file"), &err), DLB_OK);
    assert_int_equal(dlb_gen_file_write(&file, "abc", 3, &err), DLB_OK);
    assert_int_equal(access(temporary, F_OK), 0);
    assert_int_equal(dlb_gen_file_finish(&file, DLB_E_CANCELLED, &err), DLB_E_CANCELLED);
    assert_int_equal(access(temporary, F_OK), -1);
    assert_int_equal(access(folder_path("file"), F_OK), -1);
    free(temporary);
    assert_int_equal(dlb_gen_file_open(&file, folder_path("no/such"), &err), DLB_E_IO);
}

/* Two bytes of a file that gen wrote. */
static void test_damage_is_found(void **state)
{
    (void)state;
    const struct {
        const char *format, *file;
        long at;
    } cases[] = {{"files", NULL, 1000}, {"npz", "data.npz", 100000}, {"tfrecord", NULL, 900}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *target = folder_path(cases[i].format);
        struct dlb_dataset ds;
        struct generation g;
        struct dlb_err err;
        uint32_t n_checked = 0;
        char command[1200];
        generation_set(&g, cases[i].format, "raw", target, 20, 20000);
        int rc = generation_run(&g, 2);
        if (rc == DLB_E_MISSING) /* this build lacks it */
            continue;
        assert_int_equal(rc, DLB_OK);
        assert_int_equal(dataset_open(&ds, cases[i].format, "raw", target, &err), DLB_OK);
        assert_int_equal(dlb_gen_verify(&g.gen, &ds, &n_checked, &err), DLB_OK);
        assert_true(n_checked > 0);
        dlb_dataset_close(&ds);
        (void)snprintf(
            command, sizeof command,
            "f=$(find '%s' -type f ! -name '.*' | sort | head -n 1); printf '\\377\\0' | "
            "dd of=\"$f\" bs=1 seek=%ld conv=notrunc status=none",
            target, cases[i].at);
        assert_int_equal(system(command), 0);
        assert_int_equal(dataset_open(&ds, cases[i].format, "raw", target, &err), DLB_OK);
        assert_int_not_equal(dlb_gen_verify(&g.gen, &ds, &n_checked, &err), DLB_OK);
        dlb_dataset_close(&ds);
    }
}

/* The file has no name, so a kill leaves nothing: the folder is empty even while writing. */
static void test_nameless(void **state)
{
    struct dlb_gen_file file;
    struct dlb_err err;
    static uint8_t data[3 << 20];

    (void)state;
    assert_int_equal(dlb_gen_file_open_nameless(&file, folder, &err), DLB_OK);
    assert_int_equal(dlb_gen_file_write(&file, data, sizeof data, &err), DLB_OK);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(dlb_gen_file_finish(&file, DLB_OK, &err), DLB_OK);
    assert_int_equal(dlb_gen_file_open_nameless(&file, folder, &err), DLB_E_IO);
    assert_string_equal(err.path, folder);
    assert_int_equal(mkdir(folder, 0700), 0); /* folder_remove expects it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_size, folder_make, folder_remove),
        cmocka_unit_test(test_memory_file_system),
        cmocka_unit_test_setup_teardown(test_nameless, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_a_failure_leaves_nothing, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_damage_is_found, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
