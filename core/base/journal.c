#include "core/base/journal.h"

#include "core/base/hash.h"
#include "core/base/io.h"
#include "core/base/json.h"
#include "core/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD "{\"journal\":"
#define MAX_DIGITS 10
enum { PREFIX_CAP = 96, N_END = 2 }; /* N_END: of "}\n" */

/* A line's bytes before its record. */
struct prefix {
    uint64_t version, n_record, hash;
    size_t n_bytes;
};

static size_t put_prefix(char text[PREFIX_CAP], uint64_t n_record, uint64_t hash)
{
    int n = snprintf(text, PREFIX_CAP,
                     HEAD "%d,\"bytes\":%" PRIu64 ",\"xxh64\":\"%016" PRIx64 "\",\"record\":",
                     DLB_JOURNAL_VERSION, n_record, hash);
    return (size_t)n;
}

/* The decimal digits at *at, of a text that ends with a zero; false: none, or too many. */
static bool take_number(const char **at, uint64_t *value)
{
    size_t n = strspn(*at, "0123456789");
    if (n == 0 || n > MAX_DIGITS)
        return false;
    *value = strtoull(*at, NULL, 10);
    *at += n;
    return true;
}

static bool take_text(const char **at, const char *text)
{
    size_t n = strlen(text);
    if (strncmp(*at, text, n) != 0)
        return false;
    *at += n;
    return true;
}

/* The version that a line names; 0: it does not begin as a journal's. */
static uint64_t version_of(const char *line, size_t n_bytes)
{
    char text[sizeof(HEAD) + MAX_DIGITS + 1];
    const char *at = text;
    uint64_t version = 0;
    size_t n = n_bytes < sizeof(text) - 1 ? n_bytes : sizeof(text) - 1;
    memcpy(text, line, n);
    text[n] = '\0';
    return take_text(&at, HEAD) && take_number(&at, &version) && *at == ',' ? version : 0;
}

/* Only what put_prefix would write. */
static bool take_prefix(const char *line, size_t n_bytes, struct prefix *out)
{
    char text[PREFIX_CAP], same[PREFIX_CAP];
    const char *at = text;
    size_t n = n_bytes < sizeof(text) - 1 ? n_bytes : sizeof(text) - 1;
    memcpy(text, line, n);
    text[n] = '\0';
    if (!take_text(&at, HEAD) || !take_number(&at, &out->version) ||
        !take_text(&at, ",\"bytes\":") || !take_number(&at, &out->n_record) ||
        !take_text(&at, ",\"xxh64\":\""))
        return false;
    out->hash = strtoull(at, NULL, 16);
    out->n_bytes = put_prefix(same, out->n_record, out->hash);
    return out->n_bytes <= n && memcmp(text, same, out->n_bytes) == 0;
}

/* The whole record at the beginning of `line`, of *n_line bytes with its end; NULL: it is not
 * whole. New reference. */
static json_t *take_record(const char *line, size_t n_bytes, uint64_t *hash, size_t *n_line)
{
    struct prefix prefix;
    if (!take_prefix(line, n_bytes, &prefix) || prefix.n_record + prefix.n_bytes + N_END > n_bytes)
        return NULL;
    const char *text = line + prefix.n_bytes, *end = text + prefix.n_record;
    if (memcmp(end, "}\n", N_END) != 0 || dlb_hash64(text, prefix.n_record, *hash) != prefix.hash)
        return NULL;
    json_t *record = json_loadb(text, prefix.n_record, 0, NULL);
    if (!json_is_object(record)) {
        json_decref(record);
        return NULL;
    }
    *hash = prefix.hash;
    *n_line = prefix.n_bytes + prefix.n_record + N_END;
    return record;
}

/* Whether the bytes can be what a kill or a power loss left of one record: nothing stands behind a
 * newline, nor behind the length that the record itself names. */
static bool is_torn(const char *line, size_t n_bytes)
{
    struct prefix prefix;
    const char *newline = memchr(line, '\n', n_bytes);
    if (newline && newline + 1 < line + n_bytes)
        return false;
    return !take_prefix(line, n_bytes, &prefix) ||
           prefix.n_bytes + prefix.n_record + N_END >= n_bytes;
}

static int refuse(const char *line, size_t n_bytes, const char *path, uint64_t at,
                  struct dlb_err *err)
{
    uint64_t version = version_of(line, n_bytes);
    if (at == 0 && version > 0 && version != DLB_JOURNAL_VERSION)
        return dlb_fail(err, DLB_ERR_JOURNAL_VERSION, path, DLB_NO_OFFSET,
                        "the journal is of version %" PRIu64 ", and this program reads version %d: "
                        "resume it with the dlbench that wrote it",
                        version, DLB_JOURNAL_VERSION);
    if (at == 0 && is_torn(line, n_bytes))
        return dlb_fail(err, DLB_ERR_JOURNAL_DAMAGED, path, 0,
                        "the journal holds no whole record: nothing can be resumed");
    return dlb_fail(err, DLB_ERR_JOURNAL_DAMAGED, path, at,
                    "a record of the journal is damaged, and more follow it: what was measured "
                    "cannot be trusted, so measure again");
}

int dlb_journal_parse(const char *text, size_t n_bytes, const char *path,
                      struct dlb_journal_text *out, struct dlb_err *err)
{
    *out = (struct dlb_journal_text){.records = dlb_json_made(json_array())};
    while (out->n_bytes < n_bytes) {
        const char *line = text + out->n_bytes;
        size_t left = n_bytes - out->n_bytes, n_line = 0;
        json_t *record = take_record(line, left, &out->hash, &n_line);
        if (!record && (out->n_bytes == 0 || !is_torn(line, left))) {
            json_decref(out->records);
            return refuse(line, left, path, out->n_bytes, err);
        }
        if (!record)
            return DLB_OK;
        dlb_json_append(out->records, record);
        out->n_bytes += n_line;
    }
    if (out->n_bytes > 0)
        return DLB_OK;
    json_decref(out->records);
    return refuse(text, 0, path, 0, err);
}

bool dlb_journal_looks(int fd, bool *one)
{
    char text[PREFIX_CAP];
    struct prefix prefix;
    struct stat st;
    ssize_t n = TEMP_FAILURE_RETRY(pread(fd, text, sizeof(text), 0));
    *one = true;
    if (n <= 0 || fstat(fd, &st) != 0 || version_of(text, (size_t)n) == 0)
        return false;
    if (take_prefix(text, (size_t)n, &prefix))
        *one = (uint64_t)st.st_size <= prefix.n_bytes + prefix.n_record + N_END;
    else
        *one = false; /* of another version */
    return true;
}

char *dlb_journal_line(const json_t *record, uint64_t *hash, size_t *n_bytes)
{
    char prefix[PREFIX_CAP];
    char *text = dlb_mem_check(json_dumps(record, JSON_COMPACT));
    size_t n_record = strlen(text);
    *hash = dlb_hash64(text, n_record, *hash);
    size_t n_prefix = put_prefix(prefix, n_record, *hash);
    char *line = dlb_mem_array(n_prefix + n_record + N_END, 1);
    memcpy(line, prefix, n_prefix);
    memcpy(line + n_prefix, text, n_record + 1);
    memcpy(line + n_prefix + n_record, "}\n", N_END);
    free(text);
    *n_bytes = n_prefix + n_record + N_END;
    return line;
}

static int begin(struct dlb_journal *out, const char *path, struct dlb_err *err)
{
    *out = (struct dlb_journal){.fd = -1};
    int n = snprintf(out->path, sizeof(out->path), "%s", path);
    if (n < 0 || (size_t)n >= sizeof(out->path))
        return dlb_fail(err, DLB_ERR_RESULT_PATH, path, DLB_NO_OFFSET, "the path is too long");
    return DLB_OK;
}

static int open_file(struct dlb_journal *out, struct dlb_err *err)
{
    out->fd = (int)TEMP_FAILURE_RETRY(
        open(out->path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    return out->fd < 0 ? dlb_fail_errno(err, out->path, DLB_NO_OFFSET, "cannot write the journal")
                       : DLB_OK;
}

int dlb_journal_create(struct dlb_journal *out, const char *path, const json_t *first,
                       struct dlb_err *err)
{
    size_t n_bytes;
    uint64_t hash = 0;
    int rc = begin(out, path, err);
    if (rc)
        return rc;
    char *line = dlb_journal_line(first, &hash, &n_bytes);
    rc = dlb_write_file_atomic(path, line, n_bytes, err);
    free(line);
    if (rc)
        return rc;
    out->n_bytes = n_bytes;
    out->hash = hash;
    return open_file(out, err);
}

/* Where there are more bytes than those of whole records. */
static int cut(const struct dlb_journal *journal, uint64_t n_bytes, struct dlb_err *err)
{
    if (n_bytes > journal->n_bytes &&
        (TEMP_FAILURE_RETRY(ftruncate(journal->fd, (off_t)journal->n_bytes)) != 0 ||
         TEMP_FAILURE_RETRY(fsync(journal->fd)) != 0))
        return dlb_fail_errno(err, journal->path, journal->n_bytes, "cutting off a torn record");
    return DLB_OK;
}

int dlb_journal_open(struct dlb_journal *out, const char *path, json_t **records,
                     struct dlb_err *err)
{
    struct dlb_journal_text parsed;
    char *text = NULL;
    size_t n_bytes = 0;
    int rc = begin(out, path, err);
    if (!rc)
        rc = dlb_read_file(path, DLB_JOURNAL_MAX_BYTES, &text, &n_bytes, err);
    if (rc)
        return rc;
    rc = dlb_journal_parse(text, n_bytes, path, &parsed, err);
    free(text);
    if (rc)
        return rc;
    out->n_bytes = parsed.n_bytes;
    out->hash = parsed.hash;
    rc = open_file(out, err);
    if (!rc)
        rc = cut(out, n_bytes, err);
    if (rc)
        json_decref(parsed.records);
    else
        *records = parsed.records;
    return rc;
}

static int sync_file(const struct dlb_journal *journal, struct dlb_err *err)
{
    struct stat st, there;
    if (TEMP_FAILURE_RETRY(fdatasync(journal->fd)) != 0)
        return dlb_fail_errno(err, journal->path, journal->n_bytes, "writing the journal to disk");
    bool is_there = fstat(journal->fd, &st) == 0 && stat(journal->path, &there) == 0 &&
                    st.st_dev == there.st_dev && st.st_ino == there.st_ino;
    if (!is_there)
        return dlb_fail(err, DLB_ERR_JOURNAL_LOST, journal->path, DLB_NO_OFFSET,
                        "the journal was removed or moved while dlbench wrote it");
    return DLB_OK;
}

int dlb_journal_append(struct dlb_journal *journal, const json_t *record, struct dlb_err *err)
{
    struct dlb_err late;
    size_t n_bytes;
    uint64_t hash = journal->hash;
    char *line = dlb_journal_line(record, &hash, &n_bytes);
    int rc = dlb_write_all(journal->fd, journal->path, line, n_bytes, err);
    free(line);
    if (!rc)
        rc = sync_file(journal, err);
    if (rc) {
        (void)cut(journal, UINT64_MAX, &late); /* else it is torn, and cut off by the next run */
        return rc;
    }
    journal->n_bytes += n_bytes;
    journal->hash = hash;
    return DLB_OK;
}

void dlb_journal_close(struct dlb_journal *journal)
{
    if (journal->fd >= 0)
        (void)close(journal->fd);
    journal->fd = -1;
}
