/* environment.json's content, the parsers below it, and the checks of `doctor`. */
#include "core/host/check.h"
#include "core/host/environment.h"
#include "core/host/mounts.h"
#include "core/host/procfs.h"

#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64], file_path[128];

static int new_dir(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/dlb_environment_XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(file_path, sizeof file_path, "%s/file", dir);
    return 0;
}

static int drop_dir(void **state)
{
    (void)state;
    (void)remove(file_path);
    return remove(dir);
}

static const char *put(const char *text)
{
    FILE *file = fopen(file_path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return file_path;
}

static void numbers(void **state)
{
    (void)state;
    uint64_t value = 7;
    assert_true(dlb_parse_u64("18446744073709551615", &value));
    assert_true(value == UINT64_MAX);
    assert_true(dlb_parse_u64("12 34", &value));
    assert_int_equal(value, 12);
    static const char *const wrong[] = {
        "", " 1", "-1", "+1", "0x10", "1.5", "max", "18446744073709551616", "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(dlb_parse_u64(wrong[i], &value));
    assert_int_equal(value, 12);
}

static void small_files(void **state)
{
    (void)state;
    char text[8];
    uint64_t value;
    assert_false(dlb_procfs_text("/nonexistent", text, sizeof text));
    assert_false(dlb_procfs_text(dir, text, sizeof text)); /* a folder opens and cannot be read */
    assert_true(dlb_procfs_text(put("abc \n\n"), text, sizeof text));
    assert_string_equal(text, "abc");
    assert_true(dlb_procfs_text(put("0123456789"), text, sizeof text));
    assert_string_equal(text, "0123456");
    assert_true(dlb_procfs_text(put(""), text, sizeof text));
    assert_string_equal(text, "");
    assert_true(dlb_procfs_u64(put("42\n"), &value));
    assert_int_equal(value, 42);

    (void)put("Long name: 1\nLong: 2 kB\nmodel name\t: Some CPU @ 3 GHz \nflat 5\n");
    assert_true(dlb_procfs_field(file_path, "Long:", &value));
    assert_int_equal(value, 2);
    assert_true(dlb_procfs_field(file_path, "flat", &value));
    assert_int_equal(value, 5);
    assert_false(dlb_procfs_field(file_path, "fla", &value));
    assert_false(dlb_procfs_field(file_path, "absent", &value));
    char model[32];
    assert_true(dlb_procfs_value(file_path, "model name", model, sizeof model));
    assert_string_equal(model, "Some CPU @ 3 GHz");
    assert_false(dlb_procfs_value(file_path, "flat", model, sizeof model));

    char word[16];
    assert_true(dlb_procfs_chosen(put("always [madvise] never\n"), word, sizeof word));
    assert_string_equal(word, "madvise");
    assert_false(dlb_procfs_chosen(put("always madvise] [never\n"), word, sizeof word));
}

static void paths_and_lists(void **state)
{
    (void)state;
    assert_true(dlb_path_is_below("/data", "/data"));
    assert_true(dlb_path_is_below("/data/x", "/data"));
    assert_true(dlb_path_is_below("/data/x", "/"));
    assert_true(dlb_path_is_below("/", "/"));
    assert_false(dlb_path_is_below("/database", "/data"));
    assert_false(dlb_path_is_below("/dat", "/data"));
    assert_true(dlb_list_has("rw,cpu,cpuacct", "cpu"));
    assert_true(dlb_list_has("cpu", "cpu"));
    assert_false(dlb_list_has("rw,cpuset", "cpu"));
    assert_false(dlb_list_has("", "cpu"));
}

static void mounts(void **state)
{
    (void)state;
    (void)put("27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
              "40 27 0:40 / /data rw,noatime shared:7 master:2 propagate_from:3 - nfs4 "
              "nas:/export\\040one rw,vers=4.2\n"
              "41 40 0:41 /sub /data/set\\040a\\134b ro - xfs /dev/md0 rw\n"
              "42 27 0:42 / /old rw - ext3 /dev/sda1 rw\n"
              "43 27 0:43 / /old rw - btrfs /dev/sdb1 rw,compress=zstd\n"
              "bad line\n"
              "44 27 0:44 / /nosuper rw - tmpfs none\n"
              "45 27 0:45 / /database rw - ext2 /dev/sdc rw\n");
    static const struct {
        const char *path, *point, *type, *source, *options;
    } cases[] = {
        {"/", "/", "ext4", "/dev/vda", "rw,relatime,rw,discard"},
        {"/home/me", "/", "ext4", "/dev/vda", "rw,relatime,rw,discard"},
        {"/data", "/data", "nfs4", "nas:/export one", "rw,noatime,rw,vers=4.2"},
        {"/data/other", "/data", "nfs4", "nas:/export one", "rw,noatime,rw,vers=4.2"},
        {"/data/set a\\b/0.tar", "/data/set a\\b", "xfs", "/dev/md0", "ro,rw"},
        {"/data/set a", "/data", "nfs4", "nas:/export one", "rw,noatime,rw,vers=4.2"},
        {"/old/x", "/old", "btrfs", "/dev/sdb1",
         "rw,rw,compress=zstd"}, /* the later mount hides the earlier */
        {"/database", "/database", "ext2", "/dev/sdc", "rw,rw"},
        {"/databases", "/", "ext4", "/dev/vda", "rw,relatime,rw,discard"},
        {"/nosuper", "/nosuper", "tmpfs", "none", "rw"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dlb_mount_found found;
        assert_true(dlb_mount_of(file_path, cases[i].path, &found));
        assert_string_equal(found.point, cases[i].point);
        assert_string_equal(found.type, cases[i].type);
        assert_string_equal(found.source, cases[i].source);
        assert_string_equal(found.options, cases[i].options);
    }
    struct dlb_mount_found found;
    assert_false(dlb_mount_of("/nonexistent", "/", &found));
    assert_false(dlb_mount_of(put(""), "/", &found));
    assert_false(dlb_mount_of(put("1 2 3:4 / /mnt rw - ext4 a b\n"), "/home", &found));
}

/* Every key is there, with the right type or null. */
static void assert_shape(const json_t *object, const char *keys)
{
    char *copy = strdup(keys), *rest = copy, *word;
    size_t n_keys = 0;
    assert_non_null(copy);
    assert_true(json_is_object(object));
    while ((word = strsep(&rest, " ")) != NULL) {
        const json_t *value = json_object_get(object, word + 2);
        n_keys++;
        if (!value)
            fail_msg("no %s", word + 2);
        bool fits = word[0] == 's'   ? json_is_string(value)
                    : word[0] == 'i' ? json_is_integer(value)
                                     : json_is_number(value);
        if (!fits && !json_is_null(value))
            fail_msg("%s has the wrong type", word + 2);
        if (json_is_string(value))
            assert_true(json_string_length(value) > 0);
    }
    assert_int_equal(json_object_size(object), n_keys);
    free(copy);
}

static void the_document(void **state)
{
    (void)state;
    json_t *env = dlb_environment(dir);
    assert_non_null(env);
    assert_int_equal(json_object_size(env), 9);
    assert_shape(json_object_get(env, "cpu"),
                 "s:model i:sockets i:cores i:threads n:quota_cores s:governor");
    assert_shape(json_object_get(env, "memory"),
                 "i:total_bytes i:available_bytes i:shm_bytes s:transparent_hugepages");
    assert_shape(json_object_get(env, "filesystem"),
                 "s:mount s:type s:options s:device i:total_bytes i:free_bytes");
    assert_shape(json_object_get(env, "limits"), "i:nofile i:memlock_bytes");
    assert_shape(json_object_get(env, "versions"), "s:libc s:compiler s:jansson s:hwloc");
    assert_non_null(json_object_get(env, "clock_source"));

    char host[256];
    assert_int_equal(gethostname(host, sizeof host), 0);
    assert_string_equal(json_string_value(json_object_get(env, "host")), host);
    assert_int_equal(strncmp(json_string_value(json_object_get(env, "kernel")), "Linux ", 6), 0);

    regex_t iso;
    assert_int_equal(regcomp(&iso,
                             "^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z$",
                             REG_EXTENDED),
                     0);
    assert_int_equal(
        regexec(&iso, json_string_value(json_object_get(env, "timestamp")), 0, NULL, 0), 0);
    regfree(&iso);

    const json_t *cpu = json_object_get(env, "cpu");
    json_int_t sockets = json_integer_value(json_object_get(cpu, "sockets"));
    json_int_t cores = json_integer_value(json_object_get(cpu, "cores"));
    json_int_t threads = json_integer_value(json_object_get(cpu, "threads"));
    assert_true(sockets <= cores && cores <= threads);
    assert_int_equal(threads, sysconf(_SC_NPROCESSORS_ONLN));
    json_decref(env);
}

static json_t *filesystem_of(const char *path)
{
    json_t *env = dlb_environment(path);
    assert_non_null(env);
    json_t *fs = json_incref(json_object_get(env, "filesystem"));
    json_decref(env);
    return fs;
}

static void where_the_data_lies(void **state)
{
    (void)state;
    json_t *none = filesystem_of(NULL);
    assert_true(json_is_null(none));
    json_decref(none);

    json_t *proc = filesystem_of("/proc/self");
    assert_string_equal(json_string_value(json_object_get(proc, "mount")), "/proc");
    assert_string_equal(json_string_value(json_object_get(proc, "type")), "proc");
    json_decref(proc);

    /* What is still to be generated lies where its nearest parent lies. */
    char deep[256];
    (void)snprintf(deep, sizeof deep, "%s/not//there/yet/", dir);
    json_t *here = filesystem_of(dir), *later = filesystem_of(deep),
           *nowhere = filesystem_of("/no/such/place");
    json_t *root = filesystem_of("/"), *cwd = filesystem_of("."),
           *relative = filesystem_of("no-such-file"), *empty = filesystem_of("");
    assert_true(json_equal(json_object_get(here, "mount"), json_object_get(later, "mount")));
    assert_true(json_equal(json_object_get(root, "mount"), json_object_get(nowhere, "mount")));
    assert_true(json_equal(json_object_get(cwd, "mount"), json_object_get(relative, "mount")));
    assert_true(json_equal(json_object_get(cwd, "mount"), json_object_get(empty, "mount")));
    assert_true(json_integer_value(json_object_get(here, "total_bytes")) > 0);
    json_t *const all[] = {here, later, nowhere, root, cwd, relative, empty};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        json_decref(all[i]);
}

static void checks(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "kernel",    "cpus",          "governor", "load",       "clock_source", "memory",
        "reclaim",   "huge_pages",    "shm",      "open_files", "memlock",      "cachestat",
        "schedstat", "io_accounting", "io_uring", "sandbox",    "topology",     "gpu"};
    size_t n = 0;
    for (; dlb_checks[n]; n++) {
        const struct dlb_check *check = dlb_checks[n];
        struct dlb_check_result r;
        memset(&r, 0x5a, sizeof r); /* a check fills it whole */
        check->run(&r);
        assert_true(n < sizeof expected / sizeof *expected);
        assert_string_equal(check->name, expected[n]);
        assert_true(strlen(check->summary) > 0);
        assert_true(r.state == DLB_CHECK_OK || r.state == DLB_CHECK_NOTE ||
                    r.state == DLB_CHECK_BAD);
        assert_true(strnlen(r.found, sizeof r.found) > 0);
        assert_true(strnlen(r.found, sizeof r.found) < sizeof r.found - 1); /* nor is it cut */
        assert_true(strnlen(r.advice, sizeof r.advice) < sizeof r.advice - 1);
        if (r.state == DLB_CHECK_BAD)
            assert_true(r.advice[0] != '\0');
        if (r.state == DLB_CHECK_OK)
            assert_true(r.advice[0] == '\0');
        if (getenv("DLB_SHOW_TEXTS"))
            print_message("%-14s %d %s | %s\n", check->name, (int)r.state, r.found, r.advice);
    }
    assert_int_equal(n, sizeof expected / sizeof *expected);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, new_dir, drop_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        IN_DIR(small_files),
        cmocka_unit_test(paths_and_lists),
        IN_DIR(mounts),
        IN_DIR(the_document),
        IN_DIR(where_the_data_lies),
        cmocka_unit_test(checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
