#include "formats/convert/kept.h"

#include "core/base/io.h"
#include "core/base/mem.h"
#include "core/base/told.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const sums_names[] = {
    [DLB_CONVERT_HAVE] = "written", [DLB_CONVERT_GOT] = "read"};

FILE *dlb_convert_kept_keys(const char *folder, bool writes, struct dlb_err *err)
{
    char *path = dlb_mem_check(dlb_path_join(folder, "keys"));
    FILE *file = fopen(path, writes ? "wxe" : "re");

    if (!file)
        (void)dlb_fail_errno(err, path, DLB_NO_OFFSET, "opening it");
    free(path);
    return file;
}

static int save(const char *folder, const char *name, const void *data, size_t n_bytes,
                struct dlb_err *err)
{
    char *path = dlb_mem_check(dlb_path_join(folder, name));
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    int rc = fd >= 0 ? dlb_write_all(fd, path, data, n_bytes, err)
                     : dlb_fail_errno(err, path, DLB_NO_OFFSET, "creating it");

    if (fd >= 0 && close(fd) != 0 && rc == DLB_OK)
        rc = dlb_fail_errno(err, path, DLB_NO_OFFSET, "writing");
    free(path);
    return rc;
}

static int load(const char *folder, const char *name, char **data, size_t *n_bytes,
                struct dlb_err *err)
{
    char *path = dlb_mem_check(dlb_path_join(folder, name));
    int rc = dlb_read_file(path, SIZE_MAX - 1, data, n_bytes, err);

    free(path);
    return rc;
}

int dlb_convert_kept_save(const char *folder, const struct dlb_convert_kept *kept,
                          struct dlb_err *err)
{
    return save(folder, "kept", kept, sizeof *kept, err);
}

static bool are_notes(const struct dlb_convert_kept *kept)
{
    if (kept->n_notes > DLB_CONVERT_N_KINDS * DLB_CONVERT_NOTES)
        return false;
    for (uint32_t i = 0; i < kept->n_notes; i++)
        if ((unsigned)kept->note[i].kind >= DLB_CONVERT_N_KINDS ||
            !dlb_told_err(&kept->note[i].why))
            return false;
    return true;
}

static bool is_check(const struct dlb_convert_check *check)
{
    if (check->n_names > DLB_CONVERT_NAMES)
        return false;
    for (uint32_t i = 0; i < check->n_names; i++)
        if (!dlb_told_text(check->name[i], sizeof check->name[i]))
            return false;
    return dlb_told_bool(&check->label_each) && dlb_told_bool(&check->payload.some) &&
           dlb_told_bool(&check->label.some) && dlb_told_err(&check->payload.without) &&
           dlb_told_err(&check->label.without);
}

bool dlb_convert_kept_is_whole(const struct dlb_convert_kept *kept)
{
    return is_check(&kept->check) && dlb_told_err(&kept->cut.why) && dlb_told_bool(&kept->fields) &&
           are_notes(kept);
}

int dlb_convert_kept_load(const char *folder, struct dlb_convert_kept *kept, struct dlb_err *err)
{
    char *data = NULL;
    size_t n_bytes = 0;
    int rc = load(folder, "kept", &data, &n_bytes, err);

    if (rc == DLB_OK && n_bytes == sizeof *kept)
        memcpy(kept, data, sizeof *kept);
    if (rc == DLB_OK && (n_bytes != sizeof *kept || !dlb_convert_kept_is_whole(kept)))
        rc = dlb_fail(err, DLB_ERR_FORMAT, folder, DLB_NO_OFFSET,
                      "does not hold what a share leaves: did another program write there?");
    free(data);
    return rc;
}

int dlb_convert_kept_save_sums(const char *folder, enum dlb_convert_side side,
                               const struct dlb_convert_sums *sums, struct dlb_err *err)
{
    return save(folder, sums_names[side], sums->sum, sums->n * sizeof *sums->sum, err);
}

int dlb_convert_kept_load_sums(const char *folder, enum dlb_convert_side side,
                               struct dlb_convert_sums *sums, struct dlb_err *err)
{
    char *data = NULL;
    size_t n_bytes = 0;
    uint64_t sum;
    int rc = load(folder, sums_names[side], &data, &n_bytes, err);

    for (size_t at = 0; rc == DLB_OK && at + sizeof sum <= n_bytes; at += sizeof sum) {
        memcpy(&sum, data + at, sizeof sum);
        rc = dlb_convert_sums_add(sums, sum, err);
    }
    free(data);
    return rc;
}
