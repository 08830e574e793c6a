/* A journal: a file of JSON records that only grows. Each record is on disk before the caller goes
 * on, so that it survives a kill and a power loss.
 *
 * A record R is one line: {"journal":1,"bytes":N,"xxh64":"H","record":R}. N is the length of R. H
 * is the hash of R, with the hash of the record before as its seed (0 for the first). So a record
 * that is damaged, lost from the middle, there twice or from another journal is found.
 *
 * A record that was being written when the process was killed is torn: cut at any byte, or with a
 * hole. It is the last one, and is dropped. Anything else that is wrong is refused.
 *
 * Floor 0. One thread at a time; the caller keeps other processes from writing the same file. */
#ifndef DLB_CORE_BASE_JOURNAL_H
#define DLB_CORE_BASE_JOURNAL_H

#include "core/base/err.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DLB_JOURNAL_VERSION 1
#define DLB_JOURNAL_MAX_BYTES ((size_t)4 << 30)

struct dlb_journal {
    int fd; /* -1: closed */
    char path[PATH_MAX];
    uint64_t n_bytes, hash; /* of the whole records in it, and of the last one */
};

/* A record's line, of *n_bytes, behind a record with this hash; *hash becomes its own. Owned by the
 * caller. */
char *dlb_journal_line(const json_t *record, uint64_t *hash, size_t *n_bytes);

/* What a journal's text holds. */
struct dlb_journal_text {
    json_t *records; /* array of objects; owned by the caller */
    uint64_t n_bytes,
        hash; /* as in struct dlb_journal; more bytes than n_bytes are a torn record */
};

/* Pure. DLB_ERR_JOURNAL_VERSION for another version, DLB_ERR_JOURNAL_DAMAGED, with the offset, for
 * what is neither whole nor torn, and for a journal without a whole record. Then *out has nothing
 * to free. `path` is for messages. */
int dlb_journal_parse(const char *text, size_t n_bytes, const char *path,
                      struct dlb_journal_text *out, struct dlb_err *err);

/* Whether a file begins as a journal does, of any version; *one: with one record or less. Reads its
 * first line alone. */
bool dlb_journal_looks(int fd, bool *one);

/* Makes the file, with its first record, at once: it is there whole or not at all. Replaces a file
 * of that name. Close it after an error, too. */
int dlb_journal_create(struct dlb_journal *out, const char *path, const json_t *first,
                       struct dlb_err *err);

/* Reads all records and opens the file to add more; a torn one is cut off. *records: array; owned
 * by the caller after success. Close it after an error, too. */
int dlb_journal_open(struct dlb_journal *out, const char *path, json_t **records,
                     struct dlb_err *err);

/* Adds a record and waits until it is on disk. After an error the file has what it had, as far as
 * the file system allows, and nothing more is to be added. DLB_ERR_JOURNAL_LOST where its
 * path no longer leads to the file: what was measured since may have failed by that. */
int dlb_journal_append(struct dlb_journal *journal, const json_t *record, struct dlb_err *err);

void dlb_journal_close(struct dlb_journal *journal);

#endif
