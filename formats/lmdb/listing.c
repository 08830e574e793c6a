#include "formats/lmdb/listing.h"

#ifdef DLB_HAVE_LMDB

#include "core/base/escape.h"
#include "core/base/pulse.h"
#include "formats/headroom.h"
#include "formats/lmdb/write.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest silence. A database of millions of keys may take longer to list, so that the child
 * says after so many steps that it goes on: a hundred pages of a slow storage. */
enum { PATIENCE_S = 300, STEPS_PER_SIGN = 256 };

struct listing {
    const struct dlb_lmdb_asked *asked;
    struct dlb_lmdb_answer *answer;
    struct dlb_lmdb_limits limits;
    uint64_t cap_keys, cap_key_bytes;
    uint64_t n_steps;
    bool labelled;       /* there is a value with labels */
    bool typed;          /* and one that says what they are */
    struct dlb_err full; /* why the parent has no memory for the answer */
};

static void step(struct listing *listing)
{
    dlb_pulse_sign(dlb_pulse_opening);
    if (++listing->n_steps % STEPS_PER_SIGN == 0)
        dlb_apart_sign();
}

static int grow(void **array, uint64_t *cap, uint64_t each_bytes, const char *path,
                struct dlb_err *err)
{
    uint64_t wanted = *cap ? *cap * 2 : 4096;
    int rc = dlb_headroom_check(wanted * each_bytes, path, "the list of its keys",
                                "read it in parts, with lmdb.prefix", err);
    void *grown = rc == DLB_OK ? realloc(*array, wanted * each_bytes) : NULL;
    if (rc == DLB_OK && !grown)
        rc = dlb_fail_memory(err, path, wanted * each_bytes);
    if (rc == DLB_OK) {
        *array = grown;
        *cap = wanted;
    }
    return rc;
}

static int add_key(struct listing *listing, const uint8_t *key, size_t n_key, struct dlb_err *err)
{
    struct dlb_lmdb_answer *answer = listing->answer;
    struct dlb_lmdb_facts *facts = &answer->facts;
    const char *path = listing->asked->path;
    int rc = DLB_OK;

    if (facts->n_keys == listing->cap_keys)
        rc = grow((void **)&answer->end, &listing->cap_keys, sizeof *answer->end, path, err);
    if (rc == DLB_OK && listing->cap_key_bytes - facts->n_key_bytes < n_key)
        rc = grow((void **)&answer->keys, &listing->cap_key_bytes, 1, path, err);
    if (rc != DLB_OK)
        return rc;
    memcpy(answer->keys + facts->n_key_bytes, key, n_key);
    facts->n_key_bytes += n_key;
    answer->end[facts->n_keys++] = facts->n_key_bytes;
    return DLB_OK;
}

/* Whether it is a key such as "__len__" or "__keys__", which says something about the samples. */
static bool is_about(const uint8_t *key, size_t n)
{
    return n > 4 && key[0] == '_' && key[1] == '_' && key[n - 1] == '_' && key[n - 2] == '_';
}

static bool is_key(const uint8_t *key, size_t n, const char *wanted)
{
    return n == strlen(wanted) && memcmp(key, wanted, n) == 0;
}

/* Whether it is one of the keys that belong to labels, which are there then. */
static bool is_of_labels(struct listing *listing, const struct dlb_lmdb_entry *entry)
{
    bool labels = is_key(entry->key, entry->n_key, DLB_LMDB_LABELS_KEY);
    bool type = is_key(entry->key, entry->n_key, DLB_LMDB_LABELS_TYPE_KEY);

    listing->labelled |= labels;
    listing->typed |= type;
    return labels || type;
}

static int visit(void *ctx, const struct dlb_lmdb_entry *entry, struct dlb_err *err)
{
    struct listing *listing = ctx;
    struct dlb_lmdb_facts *facts = &listing->answer->facts;
    const uint8_t *key = entry->key;
    size_t n_key = entry->n_key, n_value = entry->n_value;

    step(listing);
    if (entry->database) {
        if (facts->n_databases++ == 0)
            (void)snprintf(facts->database, sizeof facts->database, "%.*s",
                           DLB_CUT_KEY((const char *)key, n_key, 60));
        return DLB_OK;
    }
    if (!listing->asked->prefix[0] && is_about(key, n_key)) {
        facts->n_about += !is_of_labels(listing, entry);
        return DLB_OK;
    }
    facts->n_empty += n_value == 0;
    facts->total_bytes += n_value;
    if (n_value > facts->most_bytes)
        facts->most_bytes = n_value;
    return add_key(listing, key, n_key, err);
}

/* Keys that begin with the prefix are samples, whatever their name. */
static int visit_labels(void *ctx, const struct dlb_lmdb_entry *entry, struct dlb_err *err)
{
    struct listing *listing = ctx;
    const char *prefix = listing->asked->prefix;
    size_t n_prefix = strlen(prefix);
    (void)err;

    step(listing);
    if (!entry->database && (entry->n_key < n_prefix || memcmp(entry->key, prefix, n_prefix) != 0))
        (void)is_of_labels(listing, entry);
    return DLB_OK;
}

/* A walk over the keys of a prefix does not come by the labels. Both of their keys begin with this.
 */
static int find_labels(struct listing *listing, struct dlb_lmdb_txn *txn, struct dlb_err *err)
{
    static const char stem[] = "__labels_";
    int rc = dlb_lmdb_walk(txn, stem, strlen(stem), visit_labels, listing, err);

    listing->typed &= listing->labelled;
    return rc;
}

/* Whether the labels are such as this program writes. */
static int read_type(struct listing *listing, struct dlb_lmdb_txn *txn, struct dlb_err *err)
{
    struct dlb_lmdb_facts *facts = &listing->answer->facts;
    uint8_t type[sizeof(DLB_LMDB_LABELS_TYPE) - 1];
    struct dlb_lmdb_value value;
    int rc =
        dlb_lmdb_find(txn, DLB_LMDB_LABELS_TYPE_KEY, strlen(DLB_LMDB_LABELS_TYPE_KEY), &value, err);

    if (rc == DLB_OK && facts->labelled && value.n_bytes == sizeof(type)) {
        rc = dlb_lmdb_copy(txn, &value, type, err);
        facts->described = rc == DLB_OK && memcmp(type, DLB_LMDB_LABELS_TYPE, sizeof(type)) == 0;
    }
    facts->n_about += !facts->described;
    return rc;
}

/* A value that does not hold a number for each sample was written by another program, and is
 * ignored. */
static int read_labels(struct listing *listing, struct dlb_lmdb_txn *txn, struct dlb_err *err)
{
    struct dlb_lmdb_answer *answer = listing->answer;
    struct dlb_lmdb_facts *facts = &answer->facts;
    struct dlb_lmdb_value value;
    int rc = dlb_lmdb_find(txn, DLB_LMDB_LABELS_KEY, strlen(DLB_LMDB_LABELS_KEY), &value, err);

    if (rc != DLB_OK || facts->n_keys == 0 ||
        value.n_bytes != facts->n_keys * sizeof *answer->label) {
        facts->n_about++;
        return rc;
    }
    answer->label = malloc(value.n_bytes);
    if (!answer->label)
        return dlb_fail_memory(err, listing->asked->path, value.n_bytes);
    facts->labelled = true;
    rc = dlb_lmdb_copy(txn, &value, (uint8_t *)answer->label, err);
    for (uint64_t i = 0; rc == DLB_OK && i < facts->n_keys; i++)
        answer->label[i] = le32toh(answer->label[i]);
    return rc;
}

/* Looks up every key once, as readers will. */
static int find_all(struct listing *listing, struct dlb_lmdb_txn *txn, struct dlb_err *err)
{
    const struct dlb_lmdb_answer *answer = listing->answer;
    struct dlb_lmdb_value ignored;
    int rc = DLB_OK;

    for (uint64_t i = 0, start = 0; rc == DLB_OK && i < answer->facts.n_keys;
         start = answer->end[i++]) {
        step(listing);
        rc = dlb_lmdb_find(txn, answer->keys + start, (size_t)(answer->end[i] - start), &ignored,
                           err);
    }
    return rc;
}

static int work(void *ctx, struct dlb_err *err)
{
    struct listing *listing = ctx;
    const struct dlb_lmdb_asked *asked = listing->asked;
    struct dlb_lmdb *env = NULL;
    struct dlb_lmdb_txn *txn = NULL;
    int rc = dlb_lmdb_open(&env, asked->path, asked->io, asked->readahead, err);

    if (rc == DLB_OK)
        rc = dlb_lmdb_begin(env, &txn, err);
    if (rc == DLB_OK)
        rc = dlb_lmdb_walk(txn, asked->prefix, strlen(asked->prefix), visit, listing, err);
    if (rc == DLB_OK && asked->prefix[0])
        rc = find_labels(listing, txn, err);
    if (rc == DLB_OK && listing->labelled)
        rc = read_labels(listing, txn, err);
    if (rc == DLB_OK && listing->typed)
        rc = read_type(listing, txn, err);
    if (rc == DLB_OK)
        rc = find_all(listing, txn, err);
    dlb_lmdb_end(txn);
    dlb_lmdb_close(env);
    return rc;
}

static bool pass(void *ctx, struct dlb_pipe *pipe)
{
    struct listing *listing = ctx;
    return dlb_lmdb_pass(listing->answer, &listing->limits, pipe, &listing->full);
}

/* A root that counts more entries than the file can have is a limit for nothing. */
static int find_limits(struct listing *listing, const struct dlb_lmdb_head *head,
                       struct dlb_err *err)
{
    const struct dlb_lmdb_asked *asked = listing->asked;
    uint64_t file_bytes = 0;
    enum dlb_io_kind kind;
    int rc = asked->io->stat(asked->path, &kind, &file_bytes, err);

    listing->limits = (struct dlb_lmdb_limits){asked->path, head->n_entries, file_bytes};
    if (rc == DLB_OK && head->n_entries > file_bytes / DLB_LMDB_ENTRY_BYTES)
        rc = dlb_fail(err, DLB_ERR_LMDB_DAMAGED, asked->path, DLB_NO_OFFSET,
                      "damaged or cut short: it gives %" PRIu64 " entries, for which a file of "
                      "%" PRIu64 " bytes has no room",
                      head->n_entries, file_bytes);
    return rc;
}

int dlb_lmdb_list(const struct dlb_lmdb_asked *asked, const struct dlb_lmdb_head *head,
                  struct dlb_lmdb_answer *out, struct dlb_err *err)
{
    struct listing listing = {.asked = asked, .answer = out};
    struct dlb_apart how = {.path = asked->path,
                            .who = "liblmdb",
                            .work = work,
                            .pass = pass,
                            .ctx = &listing,
                            .sandboxed = true,
                            .patience_s = PATIENCE_S};
    int rc = find_limits(&listing, head, err);

    if (rc != DLB_OK)
        return rc;
    how.most_signs = 2 * listing.limits.n_entries / STEPS_PER_SIGN + 1; /* listed and looked up */
    rc = dlb_apart(&how, err);
    if (rc != DLB_OK && listing.full.status != DLB_OK) {
        *err = listing.full;
        rc = (int)err->status;
    }
    return rc;
}

#endif
