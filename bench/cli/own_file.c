#include "bench/cli/own_file.h"

#include "core/base/io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_FILE_BYTES 65536

static bool is_ours(const char *path, const char *mark)
{
    struct dlb_err ignored;
    char *text = NULL;
    size_t n_bytes;
    bool ours = dlb_read_file(path, MAX_FILE_BYTES, &text, &n_bytes, &ignored) == DLB_OK &&
                strncmp(text, mark, strlen(mark)) == 0;
    free(text);
    return ours;
}

int dlb_own_file_may(const char *path, const char *mark, bool overwrite, struct dlb_err *err)
{
    struct stat st;

    if (!*path)
        return dlb_fail(err, DLB_ERR_USAGE_FLAG_VALUE, NULL, DLB_NO_OFFSET,
                        "--write: names no file");
    if (lstat(path, &st)) /* a link that leads nowhere is the user's, too */
        return errno == ENOENT ? DLB_OK : dlb_fail_errno(err, path, DLB_NO_OFFSET, "--write");
    if (!overwrite)
        return dlb_fail(err, DLB_ERR_TARGET_EXISTS, path, DLB_NO_OFFSET,
                        "--write: exists already: give another name, or --overwrite");
    if (!S_ISREG(st.st_mode))
        return dlb_fail(err, DLB_ERR_TARGET_FOREIGN, path, DLB_NO_OFFSET,
                        "--write: is no regular file, so --overwrite does not replace it: give "
                        "another name");
    if (!is_ours(path, mark))
        return dlb_fail(err, DLB_ERR_TARGET_FOREIGN, path, DLB_NO_OFFSET,
                        "--write: does not begin with \"%s\", so --overwrite does not replace it: "
                        "give another name",
                        mark);
    return DLB_OK;
}

int dlb_own_file_write(const char *path, const char *mark, bool overwrite, const char *text,
                       size_t n_bytes, struct dlb_err *err)
{
    int rc = dlb_own_file_may(path, mark, overwrite, err);
    return rc ? rc : dlb_write_file_atomic(path, text, n_bytes, err);
}
