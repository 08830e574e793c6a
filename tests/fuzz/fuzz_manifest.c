/* What gen leaves beside the data: manifest, mark of an unfinished gen, and list of lengths. Form
 * feeds divide the input into the three. */
#include "formats/format.h"
#include "formats/generate/listed.h"
#include "formats/generate/made.h"
#include "formats/generate/manifest.h"
#include "formats/generate/mark.h"
#include "tests/support/memory_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_err(int rc, const struct dlb_err *err)
{
    if (rc != DLB_OK && (rc != (int)err->status || err->what[0] == '\0' || err->path[0] == '\0'))
        DLB_BUG("an error without words");
}

static void manifest(const char *folder)
{
    struct dlb_err err = {.status = DLB_OK};
    json_t *doc = NULL, *want = json_pack("{s:s, s:i}", "dataset.format", "tokens", "generator", 1);
    int rc = dlb_manifest_load(folder, &doc, &err);

    check_err(rc, &err);
    if (!want || (rc != DLB_OK && doc))
        DLB_BUG("an error with a manifest");
    if (doc) {
        rc = dlb_manifest_same(json_object_get(doc, "params"), want, folder, &err);
        check_err(rc, &err);
    }
    json_decref(doc);
    json_decref(want);
}

static void mark(const char *folder)
{
    struct dlb_err err = {.status = DLB_OK};
    struct dlb_gen_mark out;
    char path[128];

    (void)snprintf(path, sizeof path, "%s/" DLB_INCOMPLETE_MARK, folder);
    check_err(dlb_gen_mark_read(path, &out, &err), &err);
    json_decref(out.params);
}

static void lengths(const char *folder)
{
    struct dlb_err err = {.status = DLB_OK};
    struct dlb_made out;
    const struct dlb_generate_opts opts = {.samples = 100000, .classes = 10};
    const struct dlb_gen gen = {
        .opts = &opts, .format = dlb_format_by_name("webdataset"), .path = folder};

    check_err(dlb_made_check(&gen, false, &out, &err), &err);
    if (!out.noted && out.n_bad)
        DLB_BUG("damage without a list");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const char *const names[] = {DLB_MANIFEST_NAME, DLB_INCOMPLETE_MARK, DLB_FILES_NAME};
    static int fd[3];
    const uint8_t *part;

    for (size_t i = 0; i < 3; i++) {
        if (fd[i] == 0)
            fd[i] = memory_files_new(names[i]);
        size_t n_part = memory_files_part(&data, &n_bytes, &part);
        memory_files_set(fd[i], part, n_part);
    }
    manifest(memory_files_folder());
    mark(memory_files_folder());
    lengths(memory_files_folder());
    return 0;
}
