#include "formats/numpy/zip.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    END_BYTES = 22,      /* of the end record without its comment (4.3.16) */
    MAX_COMMENT = 65535, /* of the end record */
    LOCATOR_BYTES = 20,  /* 4.3.15 */
    END64_BYTES = 56,    /* 4.3.14, version 1 */
    ENTRY_BYTES = 46,    /* of the directory, without name, extra, comment (4.3.12) */
    LOCAL_BYTES = 30,    /* 4.3.7 */
    EXTRA_ZIP64 = 1,     /* 4.5.3 */
    FLAG_ENCRYPTED = 1,  /* 4.4.4 */
};
#define END_MAGIC UINT32_C(0x06054b50)
#define LOCATOR_MAGIC UINT32_C(0x07064b50)
#define END64_MAGIC UINT32_C(0x06064b50)
#define ENTRY_MAGIC UINT32_C(0x02014b50)
#define LOCAL_MAGIC UINT32_C(0x04034b50)

static uint64_t little(const uint8_t *at, size_t n_bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n_bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* What is being opened. */
struct source {
    const struct dlb_io *io;
    int64_t handle;
    const char *path;
    uint64_t file_bytes;
};

struct directory {
    uint64_t at, n_bytes, n_entries;
};

static int read_exactly(const struct source *src, uint8_t *dst, size_t n_bytes, uint64_t at,
                        const char *what, struct dlb_err *err)
{
    size_t n_read = 0;

    if (n_bytes > src->file_bytes || at > src->file_bytes - n_bytes)
        return dlb_fail(err, DLB_ERR_FORMAT, src->path, at, "%s lies beyond the end of the file",
                        what);
    int rc = src->io->pread(src->handle, dst, n_bytes, at, &n_read, src->path, err);
    if (rc == DLB_OK && n_read < n_bytes)
        rc =
            dlb_fail(err, DLB_ERR_IO, src->path, at + n_read, "the file was cut short in %s", what);
    return rc;
}

/* The last end record whose comment fills the file exactly; else the last that looks like one would
 * be a part of the comment. */
static int find_end(const struct source *src, uint8_t end[END_BYTES], uint64_t *end_at,
                    struct dlb_err *err)
{
    size_t n = src->file_bytes < END_BYTES + MAX_COMMENT ? (size_t)src->file_bytes
                                                         : (size_t)END_BYTES + MAX_COMMENT;
    uint64_t from = src->file_bytes - n;
    uint8_t *tail = malloc(n ? n : 1);
    int rc = tail ? read_exactly(src, tail, n, from, "the end record", err)
                  : dlb_fail(err, DLB_ERR_NOMEM, src->path, DLB_NO_OFFSET, "no memory for its end");
    bool found = false;

    for (size_t i = n < END_BYTES ? 0 : n - END_BYTES + 1; rc == DLB_OK && !found && i-- > 0;)
        if (little(tail + i, 4) == END_MAGIC && i + END_BYTES + little(tail + i + 20, 2) == n) {
            memcpy(end, tail + i, END_BYTES);
            *end_at = from + i;
            found = true;
        }
    free(tail);
    if (rc == DLB_OK && !found)
        rc = dlb_fail(err, DLB_ERR_FORMAT, src->path, src->file_bytes,
                      "no ZIP file (.npz), or cut short: it does not end with a directory");
    return rc;
}

static int read_end64(const struct source *src, uint64_t end_at, struct directory *dir,
                      struct dlb_err *err)
{
    uint8_t locator[LOCATOR_BYTES], end64[END64_BYTES];

    if (end_at < LOCATOR_BYTES)
        return dlb_fail(err, DLB_ERR_FORMAT, src->path, end_at, "a ZIP64 file without its locator");
    int rc =
        read_exactly(src, locator, sizeof locator, end_at - LOCATOR_BYTES, "ZIP64's locator", err);
    if (rc != DLB_OK)
        return rc;
    uint64_t at = little(locator + 8, 8);
    if (little(locator, 4) != LOCATOR_MAGIC || at > end_at - LOCATOR_BYTES)
        return dlb_fail(err, DLB_ERR_FORMAT, src->path, end_at - LOCATOR_BYTES,
                        "a ZIP64 file without its locator");
    rc = read_exactly(src, end64, sizeof end64, at, "ZIP64's end record", err);
    if (rc == DLB_OK && little(end64, 4) != END64_MAGIC)
        rc = dlb_fail(err, DLB_ERR_FORMAT, src->path, at, "is not ZIP64's end record");
    *dir = (struct directory){little(end64 + 48, 8), little(end64 + 40, 8), little(end64 + 32, 8)};
    return rc;
}

static int find_directory(const struct source *src, struct directory *dir, struct dlb_err *err)
{
    uint8_t end[END_BYTES];
    uint64_t end_at = 0;
    int rc = find_end(src, end, &end_at, err);

    if (rc != DLB_OK)
        return rc;
    *dir = (struct directory){little(end + 16, 4), little(end + 12, 4), little(end + 10, 2)};
    uint64_t disk = little(end + 4, 2);
    if (dir->at == UINT32_MAX || dir->n_bytes == UINT32_MAX || dir->n_entries == UINT16_MAX)
        rc = read_end64(src, end_at, dir, err);
    else if (disk != 0)
        rc = dlb_fail(err, DLB_ERR_FORMAT, src->path, end_at,
                      "is part %" PRIu64 " of a ZIP in parts", disk + 1);
    if (rc != DLB_OK)
        return rc;
    if (dir->at > end_at || dir->n_bytes > end_at - dir->at)
        return dlb_fail(err, DLB_ERR_FORMAT, src->path, end_at,
                        "the directory is said to lie at %" PRIu64 ", %" PRIu64
                        " bytes long: beyond the file",
                        dir->at, dir->n_bytes);
    if (dir->n_bytes > DLB_ZIP_MAX_DIRECTORY_BYTES || dir->n_entries > dir->n_bytes / ENTRY_BYTES)
        return dlb_fail(err, DLB_ERR_FORMAT, src->path, dir->at,
                        "%" PRIu64 " members in a directory of %" PRIu64 " bytes cannot be",
                        dir->n_entries, dir->n_bytes);
    return DLB_OK;
}

/* ZIP64's extra field has only those of the sizes and the offset that did not fit, in this order.
 */
static bool take_zip64(const uint8_t *extra, size_t n_extra, struct dlb_zip_member *member)
{
    uint64_t *wide[] = {&member->n_bytes, &member->stored_bytes, &member->header_at};

    if (*wide[0] != UINT32_MAX && *wide[1] != UINT32_MAX && *wide[2] != UINT32_MAX)
        return true;
    for (size_t at = 0; n_extra - at >= 4;) {
        uint64_t id = little(extra + at, 2), len = little(extra + at + 2, 2);
        at += 4;
        if (len > n_extra - at)
            return false;
        for (size_t i = 0, in = 0; id == EXTRA_ZIP64 && i < 3; i++) {
            if (*wide[i] != UINT32_MAX)
                continue;
            if (len - in < 8)
                return false;
            *wide[i] = little(extra + at + in, 8);
            in += 8;
        }
        if (id == EXTRA_ZIP64)
            return true;
        at += (size_t)len;
    }
    return false; /* a size of exactly 4 GiB - 1 needs the field as well */
}

static int take_entry(const uint8_t *entry, size_t left, struct dlb_zip_member *member,
                      size_t *entry_bytes, char **names)
{
    if (left < ENTRY_BYTES || little(entry, 4) != ENTRY_MAGIC)
        return -1;
    size_t n_name = (size_t)little(entry + 28, 2), n_extra = (size_t)little(entry + 30, 2);
    *entry_bytes = ENTRY_BYTES + n_name + n_extra + (size_t)little(entry + 32, 2);
    if (*entry_bytes > left || memchr(entry + ENTRY_BYTES, 0, n_name))
        return -1;
    *member = (struct dlb_zip_member){.name = *names,
                                      .method = (uint32_t)little(entry + 10, 2),
                                      .crc = (uint32_t)little(entry + 16, 4),
                                      .stored_bytes = little(entry + 20, 4),
                                      .n_bytes = little(entry + 24, 4),
                                      .header_at = little(entry + 42, 4)};
    memcpy(*names, entry + ENTRY_BYTES, n_name);
    *names += n_name;
    *(*names)++ = '\0';
    return take_zip64(entry + ENTRY_BYTES + n_name, n_extra, member) ? 0 : -1;
}

static int take_entries(struct dlb_zip *zip, const uint8_t *data, const struct directory *dir,
                        const char *path, struct dlb_err *err)
{
    size_t at = 0, entry_bytes = 0;
    char *names = zip->names;

    for (uint64_t i = 0; i < dir->n_entries; i++, at += entry_bytes) {
        struct dlb_zip_member *member = &zip->member[i];
        if (take_entry(data + at, (size_t)dir->n_bytes - at, member, &entry_bytes, &names) != 0)
            return dlb_fail(err, DLB_ERR_FORMAT, path, dir->at + at,
                            "member %" PRIu64 " of the ZIP's directory makes no sense", i);
        if (member->header_at >= dir->at || member->stored_bytes > dir->at - member->header_at)
            return dlb_fail(err, DLB_ERR_FORMAT, path, dir->at + at,
                            "member \"%.40s\" is said to lie at %" PRIu64 ", %" PRIu64
                            " bytes long: beyond the file",
                            member->name, member->header_at, member->stored_bytes);
        zip->n++;
    }
    return DLB_OK;
}

int dlb_zip_open(struct dlb_zip *zip, const struct dlb_io *io, int64_t handle, const char *path,
                 struct dlb_err *err)
{
    struct source src = {io, handle, path, 0};
    struct directory dir = {0};
    uint8_t *data = NULL;

    *zip = (struct dlb_zip){.n = 0};
    int rc = io->size(handle, &src.file_bytes, path, err);
    if (rc == DLB_OK)
        rc = find_directory(&src, &dir, err);
    if (rc != DLB_OK)
        return rc;
    data = malloc((size_t)dir.n_bytes + 1);
    /* Names are shorter than their entries by more than the zero that each gets. */
    zip->names = malloc((size_t)dir.n_bytes + 1);
    zip->member = calloc((size_t)dir.n_entries + 1, sizeof *zip->member);
    zip->directory_at = dir.at;
    if (data && zip->names && zip->member) {
        rc = read_exactly(&src, data, (size_t)dir.n_bytes, dir.at, "the directory", err);
        if (rc == DLB_OK)
            rc = take_entries(zip, data, &dir, path, err);
    } else {
        rc = dlb_fail(err, DLB_ERR_NOMEM, path, DLB_NO_OFFSET, "no memory for its directory");
    }
    free(data);
    return rc;
}

void dlb_zip_free(struct dlb_zip *zip)
{
    free(zip->member);
    free(zip->names);
    *zip = (struct dlb_zip){.n = 0};
}

int dlb_zip_locate(const struct dlb_zip *zip, const struct dlb_zip_member *member,
                   const struct dlb_io *io, int64_t handle, const char *path, uint64_t *data_at,
                   struct dlb_err *err)
{
    struct source src = {io, handle, path, 0};
    uint8_t local[LOCAL_BYTES];
    int rc = io->size(handle, &src.file_bytes, path, err);

    if (rc == DLB_OK)
        rc = read_exactly(&src, local, sizeof local, member->header_at, "a member's header", err);
    if (rc != DLB_OK)
        return rc;
    if (little(local, 4) != LOCAL_MAGIC)
        return dlb_fail(err, DLB_ERR_FORMAT, path, member->header_at,
                        "there is no member \"%.40s\" here, where the directory says",
                        member->name);
    if (little(local + 6, 2) & FLAG_ENCRYPTED)
        return dlb_fail(err, DLB_ERR_FORMAT, path, member->header_at, "\"%.40s\" is encrypted",
                        member->name);
    *data_at = member->header_at + LOCAL_BYTES + little(local + 26, 2) + little(local + 28, 2);
    if (*data_at > zip->directory_at || member->stored_bytes > zip->directory_at - *data_at)
        return dlb_fail(err, DLB_ERR_FORMAT, path, member->header_at,
                        "\"%.40s\", %" PRIu64 " bytes long, reaches into the directory",
                        member->name, member->stored_bytes);
    return DLB_OK;
}
