#include "formats/tokens/opened.h"

#include "formats/reader.h"

#include <stdlib.h>
#include <sys/resource.h>

static uint32_t most_kept(uint32_t n_files)
{
    struct rlimit limit = {.rlim_cur = 0};

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    uint64_t most = limit.rlim_cur - limit.rlim_cur / 4;
    return n_files < most ? n_files : (uint32_t)most;
}

static int open_file(const struct dlb_tokens_opened *opened, uint32_t number, int64_t *handle,
                     size_t *align_bytes, struct dlb_err *err)
{
    const char *path = opened->files->file[number].path;

    if (opened->access == DLB_ACCESS_DIRECT)
        return opened->io->open_direct(path, handle, align_bytes, err);
    return opened->io->open(path, handle, err);
}

static int open_one(struct dlb_tokens_opened *opened, uint32_t number, bool keep,
                    struct dlb_err *err)
{
    const struct dlb_tokens_file *file = &opened->files->file[number];
    size_t align_bytes = 0;
    int64_t handle;

    int rc = open_file(opened, number, &handle, &align_bytes, err);
    if (rc != DLB_OK)
        return rc;
    if (align_bytes > opened->align_bytes) /* files may lie on several disks */
        opened->align_bytes = align_bytes;
    if (!keep) {
        opened->io->close(handle);
        return DLB_OK;
    }
    struct dlb_tokens_kept *kept = &opened->kept[opened->n_kept++];
    kept->handle = handle;
    return opened->access == DLB_ACCESS_MMAP
               ? dlb_map_open(&kept->map, opened->io, handle, file->file_bytes, file->path, err)
               : DLB_OK;
}

int dlb_tokens_opened_make(struct dlb_tokens_opened *opened, const struct dlb_io *io,
                           const struct dlb_tokens_files *files, int access, struct dlb_err *err)
{
    uint32_t n_kept = most_kept(files->n);
    int rc = DLB_OK;

    *opened = (struct dlb_tokens_opened){.io = io, .files = files, .access = access};
    if (access == DLB_ACCESS_DIRECT && !io->open_direct)
        return dlb_fail(err, DLB_ERR_DATASET_ACCESS_UNFIT, files->file[0].path, DLB_NO_OFFSET,
                        "dataset.access = \"direct\": the byte source %s has no page cache to "
                        "bypass",
                        io->name);
    opened->kept = calloc(n_kept ? n_kept : 1, sizeof *opened->kept);
    if (!opened->kept)
        return dlb_fail_memory(err, files->file[0].path, n_kept * sizeof *opened->kept);
    for (uint32_t i = 0; rc == DLB_OK && i < files->n; i++)
        rc = open_one(opened, i, i < n_kept, err);
    return rc;
}

void dlb_tokens_opened_free(struct dlb_tokens_opened *opened)
{
    for (uint32_t i = 0; i < opened->n_kept; i++) {
        dlb_map_close(&opened->kept[i].map);
        opened->io->close(opened->kept[i].handle);
    }
    free(opened->kept);
    *opened = (struct dlb_tokens_opened){.n_kept = 0};
}

int dlb_tokens_opened_take(const struct dlb_tokens_opened *opened, uint32_t number, int64_t *handle,
                           struct dlb_err *err)
{
    size_t align_bytes = 0;

    if (number >= opened->n_kept)
        return open_file(opened, number, handle, &align_bytes, err);
    *handle = opened->kept[number].handle;
    return DLB_OK;
}

void dlb_tokens_opened_release(const struct dlb_tokens_opened *opened, uint32_t number,
                               int64_t handle)
{
    if (number >= opened->n_kept)
        opened->io->close(handle);
}
