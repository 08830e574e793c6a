#include "formats/numpy/zip.h"

#include "core/base/escape.h"
#include "core/base/little.h"

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

/* Where the directory lies, by the end record. */
struct directory {
    uint64_t at, n_bytes, n_entries;
};

static int read_exactly(const struct dlb_zip_file *file, uint64_t file_bytes, uint8_t *dst,
                        size_t n_bytes, uint64_t at, const char *what, struct dlb_err *err)
{
    size_t n_read = 0;

    if (n_bytes > file_bytes || at > file_bytes - n_bytes)
        return dlb_fail(err, DLB_ERR_NPZ_ZIP_DAMAGED, file->path, at,
                        "%s lies beyond the end of the file", what);
    int rc = file->io->pread(file->handle, dst, n_bytes, at, &n_read, file->path, err);
    if (rc == DLB_OK && n_read < n_bytes)
        rc = dlb_fail(err, DLB_ERR_FILE_CHANGED, file->path, at + n_read,
                      "the file was cut short in %s while it was opened", what);
    return rc;
}

/* The last end record whose comment ends exactly with the file. Bytes that only look like an end
 * record may be part of the comment. */
static int find_end(const struct dlb_zip_file *file, uint64_t file_bytes, uint8_t end[END_BYTES],
                    uint64_t *end_at, struct dlb_err *err)
{
    size_t n =
        file_bytes < END_BYTES + MAX_COMMENT ? (size_t)file_bytes : (size_t)END_BYTES + MAX_COMMENT;
    uint64_t from = file_bytes - n;
    uint8_t *tail = malloc(n ? n : 1);
    int rc = tail ? read_exactly(file, file_bytes, tail, n, from, "the end record", err)
                  : dlb_fail_memory(err, file->path, n);
    bool found = false;

    for (size_t i = n < END_BYTES ? 0 : n - END_BYTES + 1; rc == DLB_OK && !found && i-- > 0;)
        if (dlb_little_get(tail + i, 4) == END_MAGIC &&
            i + END_BYTES + dlb_little_get(tail + i + 20, 2) == n) {
            memcpy(end, tail + i, END_BYTES);
            *end_at = from + i;
            found = true;
        }
    free(tail);
    if (rc == DLB_OK && !found)
        rc = dlb_fail(err, DLB_ERR_FILE_NOT_OF_FORMAT, file->path, file_bytes,
                      "not a ZIP file (.npz), or cut short: it does not end with a directory");
    return rc;
}

static int read_end64(const struct dlb_zip_file *file, uint64_t file_bytes, uint64_t end_at,
                      struct directory *dir, struct dlb_err *err)
{
    uint8_t locator[LOCATOR_BYTES], end64[END64_BYTES];

    if (end_at < LOCATOR_BYTES)
        return dlb_fail(err, DLB_ERR_NPZ_ZIP_DAMAGED, file->path, end_at,
                        "a ZIP64 file without its locator");
    int rc = read_exactly(file, file_bytes, locator, sizeof locator, end_at - LOCATOR_BYTES,
                          "ZIP64's locator", err);
    if (rc != DLB_OK)
        return rc;
    uint64_t at = dlb_little_get(locator + 8, 8);
    if (dlb_little_get(locator, 4) != LOCATOR_MAGIC || at > end_at - LOCATOR_BYTES)
        return dlb_fail(err, DLB_ERR_NPZ_ZIP_DAMAGED, file->path, end_at - LOCATOR_BYTES,
                        "a ZIP64 file without its locator");
    rc = read_exactly(file, file_bytes, end64, sizeof end64, at, "ZIP64's end record", err);
    if (rc == DLB_OK && dlb_little_get(end64, 4) != END64_MAGIC)
        rc = dlb_fail(err, DLB_ERR_NPZ_ZIP_DAMAGED, file->path, at, "is not ZIP64's end record");
    *dir = (struct directory){dlb_little_get(end64 + 48, 8), dlb_little_get(end64 + 40, 8),
                              dlb_little_get(end64 + 32, 8)};
    return rc;
}

static int find_directory(const struct dlb_zip_file *file, uint64_t file_bytes,
                          struct directory *dir, struct dlb_err *err)
{
    uint8_t end[END_BYTES];
    uint64_t end_at = 0;
    int rc = find_end(file, file_bytes, end, &end_at, err);

    if (rc != DLB_OK)
        return rc;
    *dir = (struct directory){dlb_little_get(end + 16, 4), dlb_little_get(end + 12, 4),
                              dlb_little_get(end + 10, 2)};
    uint64_t disk = dlb_little_get(end + 4, 2);
    if (dir->at == UINT32_MAX || dir->n_bytes == UINT32_MAX || dir->n_entries == UINT16_MAX)
        rc = read_end64(file, file_bytes, end_at, dir, err);
    else if (disk != 0)
        rc = dlb_fail(err, DLB_ERR_NPZ_ZIP_UNSUPPORTED, file->path, end_at,
                      "is part %" PRIu64 " of a split ZIP archive", disk + 1);
    if (rc != DLB_OK)
        return rc;
    if (dir->at > end_at || dir->n_bytes > end_at - dir->at)
        return dlb_fail(err, DLB_ERR_NPZ_ZIP_DAMAGED, file->path, end_at,
                        "the directory at %" PRIu64 " with %" PRIu64
                        " bytes would go beyond the end record",
                        dir->at, dir->n_bytes);
    if (dir->n_bytes > DLB_ZIP_MAX_DIRECTORY_BYTES || dir->n_entries > dir->n_bytes / ENTRY_BYTES)
        return dlb_fail(err, DLB_ERR_NPZ_ZIP_DAMAGED, file->path, dir->at,
                        "%" PRIu64 " members do not fit into a directory of %" PRIu64
                        " bytes, or it is too large",
                        dir->n_entries, dir->n_bytes);
    return DLB_OK;
}

/* Takes the sizes and the offset that did not fit into the entry, and only these, from ZIP64's
 * extra field: in this order. */
static bool take_wide(const uint8_t *field, size_t n, struct dlb_zip_member *member)
{
    uint64_t *wide[] = {&member->n_bytes, &member->stored_bytes, &member->header_at};

    for (size_t i = 0, at = 0; i < 3; i++) {
        if (*wide[i] != UINT32_MAX)
            continue;
        if (n - at < 8)
            return false;
        *wide[i] = dlb_little_get(field + at, 8);
        at += 8;
    }
    return true;
}

/* Looks for ZIP64's extra field when it is needed. False when it is missing, or fields do not fit.
 */
static bool take_zip64(const uint8_t *extra, size_t n_extra, struct dlb_zip_member *member)
{
    if (member->n_bytes != UINT32_MAX && member->stored_bytes != UINT32_MAX &&
        member->header_at != UINT32_MAX)
        return true;
    for (size_t at = 0; n_extra - at >= 4;) {
        size_t id = (size_t)dlb_little_get(extra + at, 2),
               len = (size_t)dlb_little_get(extra + at + 2, 2);
        at += 4;
        if (len > n_extra - at)
            return false;
        if (id == EXTRA_ZIP64)
            return take_wide(extra + at, len, member);
        at += len;
    }
    return false; /* a size of exactly 4 GiB - 1 needs the field as well */
}

/* One entry of the directory, `left` bytes before its end. Its name is appended at *names. */
static bool take_entry(const uint8_t *entry, size_t left, struct dlb_zip_member *member,
                       size_t *entry_bytes, char **names)
{
    if (left < ENTRY_BYTES || dlb_little_get(entry, 4) != ENTRY_MAGIC)
        return false;
    size_t n_name = (size_t)dlb_little_get(entry + 28, 2),
           n_extra = (size_t)dlb_little_get(entry + 30, 2);
    *entry_bytes = ENTRY_BYTES + n_name + n_extra + (size_t)dlb_little_get(entry + 32, 2);
    if (*entry_bytes > left || memchr(entry + ENTRY_BYTES, 0, n_name))
        return false;
    *member = (struct dlb_zip_member){.name = *names,
                                      .method = (uint32_t)dlb_little_get(entry + 10, 2),
                                      .crc = (uint32_t)dlb_little_get(entry + 16, 4),
                                      .stored_bytes = dlb_little_get(entry + 20, 4),
                                      .n_bytes = dlb_little_get(entry + 24, 4),
                                      .header_at = dlb_little_get(entry + 42, 4)};
    memcpy(*names, entry + ENTRY_BYTES, n_name);
    *names += n_name;
    *(*names)++ = '\0';
    return take_zip64(entry + ENTRY_BYTES + n_name, n_extra, member);
}

static int take_entries(struct dlb_zip *zip, const uint8_t *data, const struct directory *dir,
                        const char *path, struct dlb_err *err)
{
    size_t at = 0, entry_bytes = 0;
    char *names = zip->names;

    for (uint64_t i = 0; i < dir->n_entries; i++, at += entry_bytes) {
        struct dlb_zip_member *member = &zip->member[i];
        if (!take_entry(data + at, (size_t)dir->n_bytes - at, member, &entry_bytes, &names))
            return dlb_fail(err, DLB_ERR_NPZ_ZIP_DAMAGED, path, dir->at + at,
                            "member %" PRIu64 " of the ZIP's directory makes no sense", i);
        if (member->header_at >= dir->at || member->stored_bytes > dir->at - member->header_at)
            return dlb_fail(err, DLB_ERR_NPZ_ZIP_DAMAGED, path, dir->at + at,
                            "member \"%.*s\" at %" PRIu64 " with %" PRIu64
                            " bytes would go beyond the directory",
                            DLB_CUT(member->name, 40), member->header_at, member->stored_bytes);
        zip->n++;
    }
    return DLB_OK;
}

int dlb_zip_open(struct dlb_zip *zip, const struct dlb_zip_file *file, struct dlb_err *err)
{
    struct directory dir = {0};
    uint64_t file_bytes = 0;

    *zip = (struct dlb_zip){.n = 0};
    int rc = file->io->size(file->handle, &file_bytes, file->path, err);
    if (rc == DLB_OK)
        rc = find_directory(file, file_bytes, &dir, err);
    if (rc != DLB_OK)
        return rc;
    size_t n_bytes = (size_t)dir.n_bytes + 1, n_members = (size_t)dir.n_entries + 1;
    uint8_t *data = malloc(n_bytes);
    /* The names fit with a zero after each: an entry is longer than its name by more than that. */
    zip->names = malloc(n_bytes);
    zip->member = calloc(n_members, sizeof *zip->member);
    zip->directory_at = dir.at;
    if (data && zip->names && zip->member) {
        rc =
            read_exactly(file, file_bytes, data, (size_t)dir.n_bytes, dir.at, "the directory", err);
        if (rc == DLB_OK)
            rc = take_entries(zip, data, &dir, file->path, err);
    } else {
        rc = dlb_fail_memory(err, file->path, 2 * n_bytes + n_members * sizeof *zip->member);
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
                   const struct dlb_zip_file *file, uint64_t *data_at, struct dlb_err *err)
{
    uint64_t file_bytes = 0;
    uint8_t local[LOCAL_BYTES];
    int rc = file->io->size(file->handle, &file_bytes, file->path, err);

    if (rc == DLB_OK)
        rc = read_exactly(file, file_bytes, local, sizeof local, member->header_at,
                          "a member's header", err);
    if (rc != DLB_OK)
        return rc;
    if (dlb_little_get(local, 4) != LOCAL_MAGIC)
        return dlb_fail(err, DLB_ERR_NPZ_ZIP_DAMAGED, file->path, member->header_at,
                        "member \"%.*s\" is not here, where the directory says",
                        DLB_CUT(member->name, 40));
    if (dlb_little_get(local + 6, 2) & FLAG_ENCRYPTED)
        return dlb_fail(err, DLB_ERR_NPZ_ZIP_UNSUPPORTED, file->path, member->header_at,
                        "\"%.*s\" is encrypted", DLB_CUT(member->name, 40));
    *data_at = member->header_at + LOCAL_BYTES + dlb_little_get(local + 26, 2) +
               dlb_little_get(local + 28, 2);
    if (*data_at > zip->directory_at || member->stored_bytes > zip->directory_at - *data_at)
        return dlb_fail(err, DLB_ERR_NPZ_ZIP_DAMAGED, file->path, member->header_at,
                        "\"%.*s\" with %" PRIu64 " bytes would reach into the directory",
                        DLB_CUT(member->name, 40), member->stored_bytes);
    return DLB_OK;
}
