#include "formats/generate/mark.h"

#include "core/base/io.h"
#include "core/base/json.h"
#include "core/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_BYTES = 1 << 20 };

void dlb_gen_mark_uuid(const char *name, char text[DLB_MARK_ID])
{
    struct dlb_err ignored;
    char path[64], *read = NULL;
    size_t n = 0;

    text[0] = '\0';
    (void)snprintf(path, sizeof path, "/proc/sys/kernel/random/%s", name);
    if (dlb_read_file(path, 4096, &read, &n, &ignored) == DLB_OK)
        (void)snprintf(text, DLB_MARK_ID, "%.*s", (int)strcspn(read, "\n"), read);
    free(read);
}

int dlb_gen_mark_write(const char *path, json_t *params, char id[DLB_MARK_ID], struct dlb_err *err)
{
    char boot[DLB_MARK_ID];

    dlb_gen_mark_uuid("boot_id", boot);
    dlb_gen_mark_uuid("uuid", id);
    json_t *mark =
        dlb_json_made(json_pack("{s:O, s:s, s:s}", "params", params, "boot", boot, "id", id));
    char *text = dlb_mem_check(json_dumps(mark, JSON_INDENT(1)));
    int rc = dlb_write_file_atomic(path, text, strlen(text), err);
    free(text);
    json_decref(mark);
    return rc;
}

int dlb_gen_mark_read(const char *path, struct dlb_gen_mark *out, struct dlb_err *err)
{
    char boot[DLB_MARK_ID], *text = NULL;
    size_t n_bytes = 0;

    *out = (struct dlb_gen_mark){.params = NULL};
    int rc = dlb_read_file(path, MAX_BYTES, &text, &n_bytes, err);
    if (rc != DLB_OK)
        return rc;
    json_t *mark = json_loadb(text, n_bytes, 0, NULL);
    free(text);
    if (!mark)
        return dlb_fail(err, DLB_ERR_TARGET_MARK_DAMAGED, path, DLB_NO_OFFSET,
                        "the mark is damaged, so the parameters of the data are unknown: remove "
                        "the folder and generate it again");
    const char *then = json_string_value(json_object_get(mark, "boot"));
    dlb_gen_mark_uuid("boot_id", boot);
    out->restarted = then && strcmp(then, boot) != 0;
    out->params = json_incref(json_object_get(mark, "params"));
    dlb_json_take_text(mark, "id", out->id, sizeof out->id);
    json_decref(mark);
    return DLB_OK;
}

int dlb_gen_mark_refuse(const char *folder, struct dlb_err *err)
{
    struct stat st;
    char *mark = dlb_path_join(folder, DLB_INCOMPLETE_MARK);

    if (!mark)
        return dlb_fail_memory(err, folder, strlen(folder) + sizeof DLB_INCOMPLETE_MARK + 1);
    bool there = stat(mark, &st) == 0;
    free(mark);
    if (there)
        return dlb_fail(err, DLB_ERR_DATASET_INCOMPLETE, folder, DLB_NO_OFFSET,
                        "gen has not finished this data set: run the same gen again, it resumes "
                        "where it stopped");
    return DLB_OK;
}
