#include "formats/convert/check.h"

#include "core/base/escape.h"

#include <stdio.h>
#include <string.h>

static int check_names(const struct dlb_sample *sample, struct dlb_err *err)
{
    for (uint32_t f = 0; f < sample->n_fields; f++)
        if (strlen(sample->field[f].name) == DLB_FIELD_NAME_BYTES - 1)
            return dlb_fail(err, DLB_ERR_SAMPLE_FIELD_NAME_LONG, sample->path, sample->offset_bytes,
                            "the name of the field \"%s\" and what may follow is longer than the "
                            "%d letters that are kept: rename it",
                            sample->field[f].name, DLB_FIELD_NAME_BYTES - 2);
    return DLB_OK;
}

/* Bits of struct dlb_key's `fields`; names have those from FIRST_NAME on. */
enum { LABEL = 1, DESCRIPTION = 2, OTHER_NAMES = 4, FIRST_NAME = 8 };

static uint32_t bit_of(struct dlb_convert_check *check, const char *name)
{
    uint32_t i = 0;

    if (strcmp(name, "cls") == 0)
        return LABEL;
    if (strcmp(name, "json") == 0)
        return DESCRIPTION;
    while (i < check->n_names && strcmp(check->name[i], name) != 0)
        i++;
    if (i == DLB_CONVERT_NAMES)
        return OTHER_NAMES;
    if (i == check->n_names)
        memcpy(check->name[check->n_names++], name, strlen(name) + 1);
    return (uint32_t)FIRST_NAME << i;
}

/* Samples of one key in two shards: other fields, and one lacks a payload or the other's label.
 * OTHER_NAMES may be any. */
static bool are_halves(uint32_t a, uint32_t b)
{
    const uint32_t no_payload = LABEL | DESCRIPTION;

    if (a & b & ~(uint32_t)OTHER_NAMES)
        return false;
    return !(a & ~no_payload) || !(b & ~no_payload) || (a & LABEL) != (b & LABEL);
}

static int fail_halves(const struct dlb_sample *sample, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_SAMPLE_KEY_TWICE, sample->path, sample->offset_bytes,
                    "the key \"%.*s\" is in another shard too, with other fields, and one of the "
                    "two lacks a payload or a label: are they halves of a sample? Write them to "
                    "one shard, one after the other",
                    DLB_CUT_KEY(sample->key, sample->n_key_bytes, 128));
}

static int fail_twice(const struct dlb_sample *sample, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_SAMPLE_KEY_TWICE, sample->path, sample->offset_bytes,
                    "the key \"%.*s\" is there twice, in places that are not adjacent: half of a "
                    "sample, or another sample? Write the shard again, sorted by key",
                    DLB_CUT_KEY(sample->key, sample->n_key_bytes, 128));
}

static void forget_keys(struct dlb_convert_check *check, uint32_t shard)
{
    if (shard != check->shard && dlb_keys_bytes(&check->keys) > check->most_key_bytes) {
        check->n_forgotten += check->keys.n;
        dlb_keys_clear(&check->keys);
    }
    check->shard = shard;
}

enum verdict { FINE, TWICE, HALVES };

/* A key is a sample's own within a shard. Shards may use the same keys for other samples. */
static enum verdict judge_key(const struct dlb_key *known, uint32_t shard, uint32_t fields)
{
    if (known->fields && known->place == shard)
        return TWICE;
    return known->fields && are_halves(known->fields, fields) ? HALVES : FINE;
}

static void take_key(struct dlb_key *known, uint32_t shard, uint32_t fields)
{
    known->place = shard;
    known->fields |= fields;
}

static int log_key(struct dlb_convert_check *check, const struct dlb_convert_seen *seen,
                   struct dlb_err *err)
{
    if (!check->log)
        return DLB_OK;
    check->n_logged++;
    return fwrite(seen, sizeof *seen, 1, check->log) == 1
               ? DLB_OK
               : dlb_fail_errno(err, "the list of keys", DLB_NO_OFFSET, "writing");
}

static int check_key(struct dlb_convert_check *check, const struct dlb_sample *sample,
                     uint32_t shard, struct dlb_err *err)
{
    uint32_t fields = 0;

    if (!sample->key)
        return DLB_OK;
    forget_keys(check, shard);
    for (uint32_t f = 0; f < sample->n_fields; f++)
        fields |= bit_of(check, sample->field[f].name);
    struct dlb_key *known =
        dlb_keys_at(&check->keys, sample->key, sample->n_key_bytes, sample->path, err);
    if (!known)
        return (int)err->status;
    enum verdict verdict = judge_key(known, shard, fields);
    if (verdict == HALVES && !check->log)
        return fail_halves(sample, err);
    if (verdict == TWICE)
        return fail_twice(sample, err);
    take_key(known, shard, fields);
    const struct dlb_convert_seen seen = {known->hash, sample->index, shard, fields};
    return log_key(check, &seen, err);
}

/* In the order in which `check` knows the names. */
static uint32_t translated(struct dlb_convert_check *check, const struct dlb_convert_check *theirs,
                           uint32_t fields)
{
    uint32_t out = fields & (LABEL | DESCRIPTION | OTHER_NAMES);

    for (uint32_t i = 0; i < theirs->n_names; i++)
        if (fields & (uint32_t)FIRST_NAME << i)
            out |= bit_of(check, theirs->name[i]);
    return out;
}

int dlb_convert_check_seen(struct dlb_convert_check *check, const struct dlb_convert_check *theirs,
                           const struct dlb_convert_seen *seen, const char *path,
                           struct dlb_err *err)
{
    forget_keys(check, seen->shard);
    struct dlb_key *known = dlb_keys_at_hash(&check->keys, seen->key, path, err);

    if (!known)
        return (int)err->status;
    uint32_t fields = translated(check, theirs, seen->fields);
    if (judge_key(known, seen->shard, fields) != FINE)
        return DLB_END;
    take_key(known, seen->shard, fields);
    return DLB_OK;
}

/* The first sample without, or with, what others have. */
static int compare(struct dlb_convert_facet *facet, bool has, const struct dlb_err *lacks,
                   bool *alone, struct dlb_err *err)
{
    bool mixed = has ? facet->without.status != DLB_OK : facet->some;

    if (!has && !facet->some && facet->without.status == DLB_OK)
        facet->without = *lacks;
    facet->some |= has;
    if (!mixed)
        return DLB_OK;
    *alone = !has;
    *err = has ? facet->without : *lacks;
    return (int)err->status;
}

enum { NAMED = 160 };

/* "sample KEY", or its number where the format has no keys. Returns `text`. */
static const char *named(const struct dlb_sample *sample, char text[NAMED])
{
    if (sample->key && sample->n_key_bytes > 0)
        (void)snprintf(text, NAMED, "sample %.*s",
                       DLB_CUT_KEY(sample->key, sample->n_key_bytes, 128));
    else
        (void)snprintf(text, NAMED, "sample number %llu (the first is 0)",
                       (unsigned long long)sample->index);
    return text;
}

static int check_payload(struct dlb_convert_check *check, const struct dlb_sample *sample,
                         bool *alone, struct dlb_err *err)
{
    uint32_t n_labels = 0, n_other = 0;
    struct dlb_err lacks = {.status = DLB_OK};
    char text[NAMED];

    for (uint32_t f = 0; f < sample->n_fields; f++) {
        bool label = strcmp(sample->field[f].name, "cls") == 0;
        n_labels += label;
        n_other += !label && strcmp(sample->field[f].name, "json") != 0;
    }
    if (n_other == 0)
        (void)dlb_fail(&lacks, DLB_ERR_SAMPLE_NO_PAYLOAD, sample->path, sample->offset_bytes,
                       "%s has %s%s%s: complete it, or leave it out by dataset.on_error = \"skip\"",
                       named(sample, text), sample->n_fields ? "only \"" : "no bytes",
                       sample->n_fields ? sample->field[0].name : "",
                       sample->n_fields ? "\", which describes what is missing" : "");
    *alone = true;
    if (n_labels == sample->n_fields) {
        *err = lacks;
        return (int)err->status;
    }
    return compare(&check->payload, n_other > 0, &lacks, alone, err);
}

static bool has_words(const struct dlb_sample *sample)
{
    for (uint32_t f = 0; f < sample->n_fields; f++)
        if (strcmp(sample->field[f].name, "cls") == 0)
            return true;
    return false;
}

static int check_label(struct dlb_convert_check *check, const struct dlb_sample *sample,
                       bool *alone, struct dlb_err *err)
{
    struct dlb_err lacks = {.status = DLB_OK};
    bool words = !sample->labelled && has_words(sample);
    char text[NAMED];

    if (check->label_each)
        return DLB_OK;
    if (!sample->labelled)
        (void)dlb_fail(&lacks, words ? DLB_ERR_SAMPLE_LABEL_UNFIT : DLB_ERR_SAMPLE_NO_LABEL,
                       sample->path, sample->offset_bytes,
                       "%s has no %s, and others have one: the target keeps one for each "
                       "sample or none; webdataset keeps those that there are",
                       named(sample, text), words ? "class number in its \"cls\"" : "label");
    return compare(&check->label, sample->labelled, &lacks, alone, err);
}

static int check_whole(const struct dlb_sample *sample, bool *alone, struct dlb_err *err)
{
    *alone = true;
    return sample->unread
               ? dlb_fail(err, DLB_ERR_SAMPLE_PARTLY_READ, sample->path, sample->offset_bytes,
                          "the sample has %s, which would be lost: convert whole records "
                          "(tfrecord.feature = \"\"), or leave it out by "
                          "dataset.on_error = \"skip\"",
                          sample->unread)
               : DLB_OK;
}

int dlb_convert_check(struct dlb_convert_check *check, const struct dlb_sample *sample,
                      uint32_t shard, bool *alone, struct dlb_err *err)
{
    int rc = check_names(sample, err);

    *alone = false;
    if (rc == DLB_OK)
        rc = check_key(check, sample, shard, err);
    if (rc == DLB_OK)
        rc = check_whole(sample, alone, err);
    if (rc == DLB_OK)
        rc = check_payload(check, sample, alone, err);
    return rc == DLB_OK ? check_label(check, sample, alone, err) : rc;
}

void dlb_convert_check_free(struct dlb_convert_check *check)
{
    dlb_keys_free(&check->keys);
}

int dlb_convert_facet_join(struct dlb_convert_facet *facet, const struct dlb_convert_facet *theirs,
                           struct dlb_err *err)
{
    if (facet->without.status == DLB_OK)
        facet->without = theirs->without;
    facet->some |= theirs->some;
    if (!facet->some || facet->without.status == DLB_OK)
        return DLB_OK;
    *err = facet->without;
    return (int)err->status;
}
