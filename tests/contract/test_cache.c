/* Every format knows the files that it reads: after a cold start none of them is in the page cache,
 * and what workers say they read is what the kernel fetched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/host/backing.h"
#include "scenarios/cell/cell.h"
#include "tests/support/folder.h"
#include "tests/support/variants.h"

#include <sys/stat.h>

enum { SAMPLES = 200, BYTES = 20000 };

/* Each file is there, and they are all different. False where the data set cannot be had so. */
static bool check_files(const struct variant *v)
{
    struct dlb_dataset ds;
    struct dlb_err err;
    char path[4096], before[4096] = "";

    int rc = variant_open(v, DLB_ACCESS_AUTO, &ds, &err);
    if (rc == DLB_E_CONFIG)
        return false;
    assert_int_equal(rc, DLB_OK);
    assert_non_null(v->format->reader->files);
    uint64_t n = v->format->reader->files(ds.state, UINT64_MAX, path, sizeof path);
    assert_true(n > 0);
    for (uint64_t i = 0; i < n; i++) {
        struct stat st;
        path[0] = '\0';
        assert_int_equal(v->format->reader->files(ds.state, i, path, sizeof path), n);
        if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || strcmp(path, before) == 0)
            fail_msg("%s: file %llu: %s", v->format->name, (unsigned long long)i, path);
        (void)snprintf(before, sizeof before, "%s", path);
    }
    dlb_dataset_close(&ds);
    return true;
}

/* Windows that overlap are read once, and others are missing: raw tokens are drawn at random
 * offsets unless they are to be contiguous. */
static bool reads_each_byte_once(const struct variant *v)
{
    if (strcmp(v->format->name, "tokens") != 0)
        return true;
    return strcmp(v->word, "contiguous") == 0 || strcmp(v->word, "llmc") == 0 ||
           strcmp(v->word, "npy") == 0 || strcmp(v->word, "megatron") == 0;
}

static void run_cold(const struct variant *v, int access, bool proven)
{
    struct dlb_spec *spec = calloc(1, sizeof *spec);
    const struct dlb_cell_watch unwatched = {.pulse = NULL};
    struct dlb_cell_result ran;

    assert_non_null(spec);
    *spec = v->spec;
    spec->dataset.access = access;
    spec->loader.batch_size = 16;
    spec->loader.num_workers = 2;
    spec->device.step_ms = 0;
    spec->run.epochs = 1;
    spec->run.cache = DLB_RUN_COLD;
    dlb_cell_run(spec, DLB_MODE_MEASURE, &unwatched, &ran);
    bool ok = ran.status == DLB_REP_OK;
    /* By a file system without O_DIRECT, or for compressed shards, which cannot be sought in. */
    bool refused = (access == DLB_ACCESS_DIRECT && ran.code == DLB_ERR_DIRECT_UNSUPPORTED) ||
                   (access == DLB_ACCESS_INDEXED && ran.code == DLB_ERR_DATASET_ACCESS_UNFIT);

    if (!ok && !refused)
        fail_msg("%s %s=%s %s: %s: %s", v->format->name, v->option, v->word,
                 dlb_access_names[access], dlb_code_name(ran.code), ran.reason);
    if (ok && proven && reads_each_byte_once(v) && ran.cache.label != DLB_CACHE_COLD)
        fail_msg("%s %s=%s %s: %s: %s", v->format->name, v->option, v->word,
                 dlb_access_names[access], dlb_cache_label_name(ran.cache.label), ran.cache.why);
    dlb_cell_result_free(&ran);
    free(spec);
}

/* Where the kernel shows all of it: a file system that stores bytes as they are, on a device. */
static bool can_be_proven(const char *path)
{
    struct dlb_backing backing;
    FILE *io = fopen("/proc/self/io", "re");

    dlb_backing_of(path, &backing);
    if (io)
        (void)fclose(io);
    return io && backing.device[0] &&
           (strcmp(backing.type, "ext4") == 0 || strcmp(backing.type, "xfs") == 0);
}

static void check_variant(struct variant *v, void *ctx)
{
    static const int one_way[] = {DLB_ACCESS_AUTO, DLB_ACCESS_AUTO};
    const int *access = v->format->access ? v->format->access : one_way;
    char path[256];

    (void)ctx;
    (void)snprintf(path, sizeof path, "%s/set", folder);
    variant_fill(v, path, SAMPLES, BYTES);
    if (!variant_generate(v))
        return;
    if (check_files(v))
        do
            run_cold(v, *access, can_be_proven(path));
        while (*access != DLB_ACCESS_AUTO && *++access != DLB_ACCESS_AUTO);
    (void)folder_remove(NULL);
    (void)folder_make(NULL);
}

static void cold(void **state)
{
    const struct dlb_format *format = *state;
    const struct dlb_codec *raw = dlb_codec_by_name("raw");

    if (format->synthetic) {
        assert_null(format->reader->files);
        return;
    }
    if (!variant_fits(format, raw))
        skip();
    variants_of(format, raw, check_variant, NULL);
}

int main(void)
{
    struct CMUnitTest tests[32];
    size_t n = variant_tests(tests, 32, cold, folder_make, folder_remove);
    return _cmocka_run_group_tests("cache", tests, n, NULL, NULL);
}
