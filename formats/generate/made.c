#include "formats/generate/made.h"

#include "core/base/beneath.h"
#include "core/base/io.h"
#include "core/base/mem.h"
#include "formats/format.h"
#include "formats/generate/listed.h"
#include "formats/generate/names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail_remove(const struct dlb_gen *gen, const char *name, struct dlb_err *err)
{
    char *path = dlb_mem_check(dlb_path_join(gen->path, name));
    int rc = dlb_fail_errno(err, path, DLB_NO_OFFSET, "removing the damaged file");

    free(path);
    return rc;
}

static int check_one(const struct dlb_gen *gen, int root, const struct dlb_listed_file *file,
                     bool remove_it, struct dlb_made *out, struct dlb_err *err)
{
    const char *last = NULL;
    struct stat st;
    int rc = DLB_OK;

    int folder = dlb_beneath(root, file->name, &last);
    bool there = folder >= 0 && fstatat(folder, last, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != file->n_bytes) {
        if (out->n_bad++ == 0)
            (void)snprintf(out->first, sizeof out->first, "%s", file->name);
        if (remove_it && there && unlinkat(folder, last, 0) != 0)
            rc = fail_remove(gen, file->name, err);
    }
    if (folder >= 0)
        (void)close(folder);
    return rc;
}

int dlb_made_check(const struct dlb_gen *gen, bool remove, struct dlb_made *out,
                   struct dlb_err *err)
{
    struct dlb_listed list;
    int rc = dlb_listed_load(gen->path, &list, err);
    int root = open(gen->path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    *out = (struct dlb_made){.noted = rc == DLB_OK && list.there};
    for (size_t i = 0; rc == DLB_OK && i < list.n; i++)
        if (dlb_names_of_gen(gen, list.file[i].name))
            rc = check_one(gen, root, &list.file[i], remove, out, err);
        else
            out->others = true;
    if (root >= 0)
        (void)close(root);
    dlb_listed_free(&list);
    return rc;
}
