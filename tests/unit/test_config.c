#include "core/base/config.h"
#include "core/base/config_toml.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct loader {
    int64_t num_workers;
    bool pin_memory;
    int pin_mode;
    double sleep_us;
    int64_t buffer_bytes;
    char path[DLB_OPT_STRING_CAP];
};

static const char *const pin_modes[] = {"direct", "thread", NULL};
static const struct dlb_opt loader_opts[] = {
    {"num_workers", DLB_OPT_INT, offsetof(struct loader, num_workers), 0, 1024, "2", "workers", "h",
     NULL, 0, 0, 0, false, false, false},
    {"pin_memory", DLB_OPT_BOOL, offsetof(struct loader, pin_memory), 0, 0, "true", NULL, "h", NULL,
     0, 0, 0, false, false, false},
    {"pin_mode", DLB_OPT_CHOICE, offsetof(struct loader, pin_mode), 0, 0, "thread", NULL, "h",
     pin_modes, 0, 0, 0, false, false, false},
    {"sleep_us", DLB_OPT_FLOAT, offsetof(struct loader, sleep_us), 0, 1000, "0.5", "us", "h", NULL,
     0, 0, 0, false, false, false},
    {"buffer_bytes", DLB_OPT_BYTES, offsetof(struct loader, buffer_bytes), 4096, INT64_C(1) << 40,
     "64 MiB", NULL, "h", NULL, 0, 0, 0, false, false, false},
    {"path", DLB_OPT_STRING, offsetof(struct loader, path), 0, 0, "data/x", NULL, "h", NULL, 0, 0,
     0, false, false, false},
    DLB_OPT_END};
static const struct dlb_opt_group loader_group = {"loader", "Loader", loader_opts,
                                                  sizeof(struct loader)};

struct run {
    int64_t seed;
};
static const struct dlb_opt run_opts[] = {{"seed", DLB_OPT_INT, offsetof(struct run, seed), 0,
                                           INT64_MAX, "7", NULL, "h", NULL, 0, 0, 0, false, false,
                                           false},
                                          DLB_OPT_END};
static const struct dlb_opt_group run_group = {"run", "Run", run_opts, sizeof(struct run)};
static const struct dlb_opt_group *const groups[] = {&loader_group, &run_group, NULL};

static char folder[] = "/tmp/dlb_test_config_XXXXXX";
static char file[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(file, sizeof file, "%s/c.toml", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(file);
    return rmdir(folder);
}

static void write_file(const char *text, size_t n_bytes)
{
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(text, 1, n_bytes, out), n_bytes);
    assert_int_equal(fclose(out), 0);
}

static struct dlb_config *load(const char *text)
{
    struct dlb_config *cfg = dlb_config_new(groups);
    struct dlb_err err;
    assert_non_null(cfg);
    write_file(text, strlen(text));
    if (dlb_config_load(cfg, file, &err) != DLB_OK)
        fail_msg("%s: %s\nin: %s", err.path, err.what, text);
    return cfg;
}

static struct loader filled(const struct dlb_config *cfg)
{
    struct loader out;

    dlb_config_fill(cfg, &loader_group, &out);
    return out;
}

/* The text is refused with this code, at `line` (0: none), and the message names `part`: a key, a
 * value or a limit. */
static void refused_bytes(const char *text, size_t n_bytes, int line, enum dlb_code code,
                          const char *part)
{
    struct dlb_config *cfg = dlb_config_new(groups);
    char where[96];
    struct dlb_err err;

    assert_non_null(cfg);
    write_file(text, n_bytes);
    if (dlb_config_load(cfg, file, &err) == DLB_OK)
        fail_msg("taken: %.200s", text);
    assert_int_equal(err.status, DLB_E_CONFIG);
    (void)snprintf(where, sizeof where, line ? "%s:%d" : "%s", file, line);
    if (err.code != code || strcmp(err.path, where) != 0 || !strstr(err.what, part))
        fail_msg("wanted %s at %s with \"%s\", got %s at %s: %s", dlb_code_name(code), where, part,
                 dlb_code_name(err.code), err.path, err.what);
    assert_int_equal(json_object_size(dlb_config_axes(cfg)), 0);
    assert_false(dlb_config_has(cfg, "loader.pin_memory")); /* nothing of a refused file is kept */
    dlb_config_free(cfg);
}

static void refused(const char *text, int line, enum dlb_code code, const char *part)
{
    refused_bytes(text, strlen(text), line, code, part);
}

static void defaults_fill(void **state)
{
    struct dlb_config *cfg = dlb_config_new(groups);
    struct loader out = filled(cfg);

    (void)state;
    assert_int_equal(out.num_workers, 2);
    assert_true(out.pin_memory);
    assert_int_equal(out.pin_mode, 1);
    assert_true(out.sleep_us == 0.5);
    assert_int_equal(out.buffer_bytes, 64 << 20);
    assert_string_equal(out.path, "data/x");
    assert_string_equal(dlb_config_origin(cfg, "loader.path"), "default");
    assert_false(dlb_config_has(cfg, "loader.path"));
    dlb_config_free(cfg);
}

static void every_type_from_toml(void **state)
{
    struct dlb_config *cfg =
        load("# a comment with [[[ and \" in it\n"
             "[loader] # here too: }\n"
             "num_workers = 1_0\n"
             "pin_memory = false\n"
             "pin_mode = 'direct'\n"
             "sleep_us = 3\r\n"
             "buffer_bytes = \"1.5 GB\"\n"
             "path = \"a \\\"[b]\\\" # c \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"\n");
    struct loader out = filled(cfg);
    char origin[96];

    (void)state;
    assert_int_equal(out.num_workers, 10);
    assert_false(out.pin_memory);
    assert_int_equal(out.pin_mode, 0);
    assert_true(out.sleep_us == 3.0);
    assert_int_equal(out.buffer_bytes, 1500000000);
    assert_string_equal(out.path, "a \"[b]\" # c \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    (void)snprintf(origin, sizeof origin, "%s:7", file);
    assert_string_equal(dlb_config_origin(cfg, "loader.buffer_bytes"), origin);
    assert_true(dlb_config_has(cfg, "loader.path"));
    dlb_config_free(cfg);
}

/* Tables, dotted keys, quoted keys and inline tables say the same. */
static void spellings_are_equal(void **state)
{
    static const char *const same[] = {
        "[loader]\nnum_workers = 4\n[sweep]\nloader.pin_memory = [true, false]\nrun.seed = [1]\n",
        "loader.num_workers = 4\nsweep.loader.pin_memory = [true, false]\nsweep.run.seed = [1]\n",
        "loader = {num_workers = 4}\n[sweep.loader]\npin_memory = [\n true, # yes\n false,\n]\n"
        "[sweep.run]\nseed = [1]\n",
        "[loader]\nnum_workers = 4\n[sweep]\n\"loader.pin_memory\" = [true, false]\n'run.seed' = "
        "[1]\n",
    };
    char first[17] = "", hex[17];

    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct dlb_config *cfg = load(same[i]);
        char *axes = json_dumps(dlb_config_axes(cfg), JSON_COMPACT);
        assert_string_equal(axes, "{\"loader.pin_memory\":[true,false],\"run.seed\":[1]}");
        free(axes);
        assert_int_equal(filled(cfg).num_workers, 4);
        assert_true(dlb_config_has(cfg, "sweep.run.seed"));
        dlb_config_hash(cfg, hex);
        if (i == 0)
            memcpy(first, hex, sizeof first);
        assert_string_equal(hex, first);
        dlb_config_free(cfg);
    }
}

static void axes_keep_their_order(void **state)
{
    struct dlb_config *cfg = load("[sweep]\nrun.seed = [3, 1]\nloader.sleep_us = [2, 0.5]\n"
                                  "loader.num_workers = [0, 8]\nloader.pin_mode = ['thread']\n"
                                  "loader.buffer_bytes = ['4 KiB', 8192]\n");
    char *axes = json_dumps(dlb_config_axes(cfg), JSON_COMPACT);

    (void)state;
    assert_string_equal(axes, "{\"run.seed\":[3,1],\"loader.sleep_us\":[2.0,0.5],"
                              "\"loader.num_workers\":[0,8],\"loader.pin_mode\":[\"thread\"],"
                              "\"loader.buffer_bytes\":[4096,8192]}");
    free(axes);
    dlb_config_free(cfg);
}

#define UNKNOWN_KEY DLB_ERR_CONFIG_UNKNOWN_KEY
#define WRONG_TYPE DLB_ERR_CONFIG_WRONG_TYPE
#define OUT_OF_RANGE DLB_ERR_CONFIG_OUT_OF_RANGE
#define UNKNOWN_CHOICE DLB_ERR_CONFIG_UNKNOWN_CHOICE
#define BAD_TEXT DLB_ERR_CONFIG_BAD_TEXT
#define BAD_AXIS DLB_ERR_CONFIG_BAD_AXIS
#define NOT_TOML DLB_ERR_CONFIG_NOT_TOML
#define UNSUPPORTED DLB_ERR_CONFIG_UNSUPPORTED_TOML
#define TOO_LARGE DLB_ERR_CONFIG_TOO_LARGE

static void unknown_keys_are_named(void **state)
{
    (void)state;
    refused("\n\n[loader]\nnum_worker = 4\n", 4, UNKNOWN_KEY, "\"loader.num_worker\"");
    refused("\n\n[loader]\nnum_worker = 4\n", 4, UNKNOWN_KEY, "\"loader.num_workers\"");
    refused("num_workers = 4\n", 1, UNKNOWN_KEY, "\"loader.num_workers\"");
    refused("run.num_workers = 4\n", 1, UNKNOWN_KEY, "\"loader.num_workers\"");
    refused("laoder.pin_mode = 'direct'\n", 1, UNKNOWN_KEY, "\"loader.pin_mode\"");
    refused("[sweep]\nloader.pin_mod = ['direct']\n", 2, UNKNOWN_KEY, "\"sweep.loader.pin_mod\"");
    refused("[sweep]\nloader.pin_mod = ['direct']\n", 2, UNKNOWN_KEY, "\"sweep.loader.pin_mode\"");
    refused("zebra.crossing = 1\n", 1, UNKNOWN_KEY, "\"zebra.crossing\"; `dlbench help");
    refused("loader = 3\n", 1, UNKNOWN_KEY, "loader.num_workers");
    refused("sweep = 3\n", 1, UNKNOWN_KEY, "\"sweep\"");
    refused("loader.num_workers.x = 2\n", 1, UNKNOWN_KEY, "\"loader.num_workers.x\"");
}

static void wrong_values_are_named(void **state)
{
    (void)state;
    refused("loader.pin_memory = false\nloader.num_workers = 5000\n", 2, OUT_OF_RANGE,
            "loader.num_workers = 5000 ");
    refused("loader.num_workers = -1\n", 1, OUT_OF_RANGE, "0 to 1024 workers");
    refused("loader.num_workers = 2.0\n", 1, WRONG_TYPE, " 2.0");
    refused("loader.num_workers = \"2\"\n", 1, WRONG_TYPE, "\"2\"");
    refused("loader.num_workers = true\n", 1, WRONG_TYPE, "true");
    refused("loader.num_workers = [1, 2]\n", 1, WRONG_TYPE, "sweep.loader.num_workers = [...]");
    refused("loader.pin_memory = 1\n", 1, WRONG_TYPE, "loader.pin_memory ");
    refused("loader.pin_mode = 'threads'\n", 1, UNKNOWN_CHOICE, "\"thread\"");
    refused("loader.pin_mode = 'sideways'\n", 1, UNKNOWN_CHOICE, "or thread");
    refused("loader.sleep_us = inf\n", 1, OUT_OF_RANGE, "loader.sleep_us");
    refused("loader.sleep_us = nan\n", 1, OUT_OF_RANGE, "loader.sleep_us");
    refused("loader.sleep_us = 1000.5\n", 1, OUT_OF_RANGE, "0 to 1000 us");
    refused("loader.buffer_bytes = 12\n", 1, OUT_OF_RANGE, "loader.buffer_bytes = 12 ");
    refused("loader.buffer_bytes = 12\n", 1, OUT_OF_RANGE, "4 KiB to 1 TiB");
    refused("loader.buffer_bytes = 'lots'\n", 1, WRONG_TYPE, "\"lots\"");
    refused("loader.buffer_bytes = '9e9 TB'\n", 1, WRONG_TYPE, "\"9e9 TB\"");
    refused("loader.buffer_bytes = '99999999999 TB'\n", 1, OUT_OF_RANGE, "\"99999999999 TB\"");
    refused("loader.buffer_bytes = -1\n", 1, OUT_OF_RANGE, "4 KiB to 1 TiB");
    refused("loader.path = 3\n", 1, WRONG_TYPE, "number 3");
    refused("loader.path = \"a\\u0000b\"\n", 1, BAD_TEXT, "loader.path");
    refused("run.seed = -1\n", 1, OUT_OF_RANGE, "at least 0");
    refused("loader.path = 1979-05-27\n", 1, UNSUPPORTED, "loader.path");
}

static void wrong_axes_are_named(void **state)
{
    (void)state;
    refused("sweep.loader.num_workers = 4\n", 1, BAD_AXIS, "sweep.loader.num_workers = [...]");
    refused("sweep.loader.num_workers = []\n", 1, BAD_AXIS, "sweep.loader.num_workers");
    refused("sweep.loader.num_workers = [1, 2, 1]\n", 1, BAD_AXIS, "lists 1 twice");
    refused("sweep.loader.num_workers = [1, 2.5]\n", 1, WRONG_TYPE, "2.5");
    refused("sweep.loader.num_workers = [1, 9999]\n", 1, OUT_OF_RANGE, "9999");
    refused("sweep.loader.num_workers = [[1], [2]]\n", 1, UNSUPPORTED, "loader.num_workers");
    refused("[[sweep.loader.num_workers]]\nx = 1\n", 1, UNSUPPORTED, "loader.num_workers");
}

static void bad_toml_is_named(void **state)
{
    (void)state;
    refused("loader.num_workers = 4\nloader.num_workers = 5\n", 2, NOT_TOML, "");
    refused("[loader]\nnum_workers = 4\n[sweep]\n\"run.seed\" = [1]\nrun.seed = [2]\n", 5, NOT_TOML,
            "line 4");
    refused("a = = 3\n", 1, NOT_TOML, "");
    refused("\n[loader\n", 2, NOT_TOML, "");
    refused("loader.path = \"no end\nrun.seed = 3\n", 1, NOT_TOML, "");
    refused("loader.path = \"\"\"x\n\"\"\"\n", 1, UNSUPPORTED, "");
    refused("run.seed = 99999999999999999999999\n", 1, OUT_OF_RANGE, "run.seed");
    refused("run.seed = 0xfffffffffffffffff\n", 1, OUT_OF_RANGE, "run.seed");
    refused("loader.sleep_us = 1e999\n", 1, OUT_OF_RANGE, "loader.sleep_us");
    refused_bytes("run.seed = 3\0\n", 14, 1, NOT_TOML, "");
    refused_bytes("loader.path = \"\xff\xfe\"\n", 19, 1, NOT_TOML, "UTF-8");
    refused("\nloader.path = '\xff\xfe'\n", 2, NOT_TOML, "UTF-8");
    refused("loader.path = \"\xed\xa0\x80\"\n", 1, NOT_TOML, "UTF-8"); /* a surrogate */
    refused("loader.path = \"\xc0\x80\"\n", 1, NOT_TOML, "UTF-8");     /* overlong */
    refused("loader.path = \"\xf0\x9f\x98\"\n", 1, NOT_TOML, "UTF-8"); /* cut */
    refused("loader.path = 'a\x01'\n", 1, NOT_TOML, "");
    refused("run.seed = 3\r", 1, NOT_TOML, "");
}

static void bombs_are_refused(void **state)
{
    size_t n_bytes = DLB_TOML_MAX_BYTES + 1;
    char *text = malloc(n_bytes);

    (void)state;
    assert_non_null(text);
    memset(text, '#', n_bytes);
    refused_bytes(text, n_bytes, 0, TOO_LARGE, "1048576 bytes");
    memset(text, '[', n_bytes);
    memcpy(text, "a = ", 4);
    refused_bytes(text, n_bytes - 1, 1, TOO_LARGE, "32 levels");
    for (size_t i = 0; i < n_bytes; i += 2)
        memcpy(text + i, "a.", i + 1 < n_bytes ? 2 : 1);
    refused_bytes(text, n_bytes - 1, 1, TOO_LARGE, "32 levels");
    for (size_t i = 0; i + 5 < n_bytes; i += 5)
        memcpy(text + i, "{a = ", 5);
    memcpy(text, "x  = ", 5);
    refused_bytes(text, n_bytes - 6, 1, TOO_LARGE, "32 levels");
    for (size_t i = 0; i + 2 < n_bytes; i += 2)
        memcpy(text + i, "1,", 2);
    memcpy(text, "x=[", 3);
    refused_bytes(text, n_bytes - 1, 1, TOO_LARGE, "2000 values");
    for (size_t i = 0; i + 8 < n_bytes; i += 8)
        memcpy(text + i, "a.b = 1\n", 8);
    refused_bytes(text, n_bytes - 9, 2001, TOO_LARGE, "2000 values");
    free(text);
}

static void unreadable_files_are_refused(void **state)
{
    struct dlb_config *cfg = dlb_config_new(groups);
    struct dlb_err err;

    (void)state;
    assert_int_equal(dlb_config_load(cfg, "/nonexistent/x.toml", &err), DLB_E_CONFIG);
    assert_int_equal(err.status, DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_CONFIG_UNREADABLE);
    assert_string_equal(err.path, "/nonexistent/x.toml");
    assert_int_equal(err.sys_errno, ENOENT);
    assert_int_equal(dlb_config_load(cfg, folder, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_CONFIG_UNREADABLE);
    assert_string_equal(err.path, folder);
    dlb_config_free(cfg);
}

static void set_one(struct dlb_config *cfg, const char *assignment)
{
    struct dlb_err err;
    if (dlb_config_set(cfg, assignment, &err) != DLB_OK)
        fail_msg("%s: %s", assignment, err.what);
}

static void set_reads_by_type(void **state)
{
    struct dlb_config *cfg = load("loader.num_workers = 9\nsweep.loader.num_workers = [1, 2]\n");

    (void)state;
    set_one(cfg, "loader.pin_memory=False");
    set_one(cfg, " loader.pin_mode = direct ");
    set_one(cfg, "loader.sleep_us=1e1");
    set_one(cfg, "loader.buffer_bytes=64 KiB");
    set_one(cfg, "loader.path=a=b, [c]");
    set_one(cfg, "sweep.run.seed=[5, 3,]");
    set_one(cfg, "sweep.loader.path=[\"x,y\", 'z', w]");
    struct loader out = filled(cfg);
    assert_int_equal(out.num_workers, 9);
    assert_false(out.pin_memory);
    assert_int_equal(out.pin_mode, 0);
    assert_true(out.sleep_us == 10.0);
    assert_int_equal(out.buffer_bytes, 65536);
    assert_string_equal(out.path, "a=b, [c]");
    assert_string_equal(dlb_config_origin(cfg, "loader.path"), "--set");
    char *axes = json_dumps(dlb_config_axes(cfg), JSON_COMPACT);
    assert_string_equal(axes, "{\"loader.num_workers\":[1,2],\"run.seed\":[5,3],"
                              "\"loader.path\":[\"x,y\",\"z\",\"w\"]}");
    free(axes);
    set_one(cfg, "loader.path=\"quoted\"");
    assert_string_equal(filled(cfg).path, "quoted");
    set_one(cfg, "loader.num_workers=4"); /* pins what the file swept */
    assert_int_equal(filled(cfg).num_workers, 4);
    assert_null(json_object_get(dlb_config_axes(cfg), "loader.num_workers"));
    assert_null(json_object_get(dlb_config_axes(cfg), "loader.num_workers"));
    assert_true(dlb_config_has(
        cfg, "sweep.loader.num_workers")); /* dlb_config_has still knows that it was set */
    dlb_config_free(cfg);
}

static void set_refuses(void **state)
{
    static const struct {
        const char *assignment;
        enum dlb_code code;
    } bad[] = {
        {"loader.num_workers", DLB_ERR_CONFIG_NO_VALUE},
        {"loader.num_worker=1", UNKNOWN_KEY},
        {"loader.num_workers=two", WRONG_TYPE},
        {"loader.num_workers=2.0", WRONG_TYPE},
        {"loader.num_workers=\"2\"", WRONG_TYPE},
        {"loader.num_workers=", WRONG_TYPE},
        {"loader.num_workers=1025", OUT_OF_RANGE},
        {"loader.num_workers=99999999999999999999", OUT_OF_RANGE},
        {"loader.sleep_us=inf", OUT_OF_RANGE},
        {"loader.sleep_us=1e999", OUT_OF_RANGE},
        {"loader.pin_memory=1", WRONG_TYPE},
        {"loader.pin_mode=x", UNKNOWN_CHOICE},
        {"sweep.loader.num_workers=3", BAD_AXIS},
        {"sweep.loader.num_workers=[]", BAD_AXIS},
        {"sweep.loader.num_workers=[1,,2]", WRONG_TYPE},
        {"sweep.loader.num_workers=[1, 1]", BAD_AXIS},
        {"sweep.loader.x=[1]", UNKNOWN_KEY},
        {"=1", UNKNOWN_KEY},
    };
    struct dlb_config *cfg = dlb_config_new(groups);
    struct dlb_err err;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(dlb_config_set(cfg, bad[i].assignment, &err), DLB_E_CONFIG);
        assert_string_equal(err.path, "--set");
        if (err.code != bad[i].code)
            fail_msg("%s: %s: %s", bad[i].assignment, dlb_code_name(err.code), err.what);
    }
    assert_int_equal(json_object_size(dlb_config_axes(cfg)), 0);
    dlb_config_free(cfg);
}

static void set_json_checks(void **state)
{
    struct dlb_config *cfg = dlb_config_new(groups);
    json_t *four = json_integer(4), *text = json_string("x");
    struct dlb_err err;

    (void)state;
    assert_int_equal(dlb_config_set_json(cfg, "loader.num_workers", four, "cell 3", &err), DLB_OK);
    assert_int_equal(filled(cfg).num_workers, 4);
    assert_string_equal(dlb_config_origin(cfg, "loader.num_workers"), "cell 3");
    assert_int_equal(dlb_config_set_json(cfg, "loader.num_workers", text, "cell 4", &err),
                     DLB_E_CONFIG);
    assert_int_equal(err.code, WRONG_TYPE);
    assert_string_equal(err.path, "cell 4");
    assert_int_equal(filled(cfg).num_workers, 4);
    json_decref(four);
    json_decref(text);
    dlb_config_free(cfg);
}

static void resolved_lists_all(void **state)
{
    struct dlb_config *cfg = load("loader.sleep_us = 2\nsweep.run.seed = [1]\n");
    json_t *all = dlb_config_resolved(cfg);
    char *text = json_dumps(all, JSON_COMPACT);

    (void)state;
    assert_string_equal(
        text, "{\"loader.num_workers\":2,\"loader.pin_memory\":true,"
              "\"loader.pin_mode\":\"thread\",\"loader.sleep_us\":2.0,"
              "\"loader.buffer_bytes\":67108864,\"loader.path\":\"data/x\",\"run.seed\":7}");
    free(text);
    json_decref(all);
    dlb_config_free(cfg);
}

static void hash_follows_values(void **state)
{
    struct dlb_config *a = load("loader.num_workers = 2\n"); /* the default, said */
    struct dlb_config *b = load("");
    char hex_a[17], hex_b[17];

    (void)state;
    dlb_config_hash(a, hex_a);
    dlb_config_hash(b, hex_b);
    assert_string_equal(hex_a, hex_b);
    set_one(a, "loader.num_workers=3");
    dlb_config_hash(a, hex_a);
    assert_string_not_equal(hex_a, hex_b);
    set_one(b, "sweep.loader.num_workers=[3]");
    dlb_config_hash(b, hex_a);
    assert_string_not_equal(hex_a, hex_b);
    dlb_config_free(a);
    dlb_config_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_fill),          cmocka_unit_test(every_type_from_toml),
        cmocka_unit_test(spellings_are_equal),    cmocka_unit_test(axes_keep_their_order),
        cmocka_unit_test(unknown_keys_are_named), cmocka_unit_test(wrong_values_are_named),
        cmocka_unit_test(wrong_axes_are_named),   cmocka_unit_test(bad_toml_is_named),
        cmocka_unit_test(bombs_are_refused),      cmocka_unit_test(unreadable_files_are_refused),
        cmocka_unit_test(set_reads_by_type),      cmocka_unit_test(set_refuses),
        cmocka_unit_test(set_json_checks),        cmocka_unit_test(resolved_lists_all),
        cmocka_unit_test(hash_follows_values),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
