#include "formats/convert/check.h"

#include "core/base/escape.h"

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

static uint32_t bit_of(struct dlb_convert_check *check, const char *name)
{
    uint32_t i = 0;

    while (i < check->n_names && strcmp(check->name[i], name) != 0)
        i++;
    if (i == check->n_names && i < DLB_CONVERT_NAMES)
        memcpy(check->name[check->n_names++], name, strlen(name) + 1);
    return UINT32_C(1) << (i < DLB_CONVERT_NAMES ? i : DLB_CONVERT_NAMES - 1);
}

/* A key is a sample's own within a shard. Shards may use the same keys for other samples, unless
 * these look like the missing half: they have other fields. */
static int check_key(struct dlb_convert_check *check, const struct dlb_sample *sample,
                     uint32_t shard, struct dlb_err *err)
{
    uint32_t fields = 0;

    if (!sample->key)
        return DLB_OK;
    for (uint32_t f = 0; f < sample->n_fields; f++)
        fields |= bit_of(check, sample->field[f].name);
    struct dlb_key *known = dlb_keys_at(&check->keys, sample->key, sample->n_key_bytes);
    if (!known)
        return dlb_fail_memory(err, sample->path, 2 * check->keys.cap * sizeof *known);
    bool again = known->fields && (known->place == shard || !(known->fields & fields));
    known->place = shard;
    known->fields |= fields;
    if (!again)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_SAMPLE_KEY_TWICE, sample->path, sample->offset_bytes,
                    "the key \"%.*s\" is there twice, in places that are not adjacent: half of a "
                    "sample, or another sample? Write the shards again, sorted by key",
                    DLB_CUT_KEY(sample->key, sample->n_key_bytes, 128));
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

static int check_payload(struct dlb_convert_check *check, const struct dlb_sample *sample,
                         bool *alone, struct dlb_err *err)
{
    uint32_t n_labels = 0, n_other = 0;
    struct dlb_err lacks = {.status = DLB_OK};

    for (uint32_t f = 0; f < sample->n_fields; f++) {
        bool label = strcmp(sample->field[f].name, "cls") == 0;
        n_labels += label;
        n_other += !label && strcmp(sample->field[f].name, "json") != 0;
    }
    if (n_other == 0)
        (void)dlb_fail(&lacks, DLB_ERR_SAMPLE_NO_PAYLOAD, sample->path, sample->offset_bytes,
                       "sample %.*s has only \"%s\", which describes what is missing: complete it, "
                       "or leave it out by dataset.on_error = \"skip\"",
                       DLB_CUT_KEY(sample->key ? sample->key : "", sample->n_key_bytes, 128),
                       sample->n_fields ? sample->field[0].name : "");
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

    if (check->label_each)
        return DLB_OK;
    if (!sample->labelled)
        (void)dlb_fail(&lacks, words ? DLB_ERR_SAMPLE_LABEL_UNFIT : DLB_ERR_SAMPLE_NO_LABEL,
                       sample->path, sample->offset_bytes,
                       "sample %.*s has no %s, and others have one: the target keeps one for each "
                       "sample or none; webdataset keeps those that there are",
                       DLB_CUT_KEY(sample->key ? sample->key : "", sample->n_key_bytes, 128),
                       words ? "class number in its \"cls\"" : "label");
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
