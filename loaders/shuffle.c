#include "loaders/shuffle.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    struct dlb_sample sample; /* its fields point into data */
    uint8_t *data;
    size_t len_bytes, cap_bytes;
    char path[256];
};

struct dlb_shuffle {
    struct entry *
        *entry; /* [cap + 1]: n live ones, then spare ones; entry[cap] is the one drawn last */
    uint32_t cap, initial, n;
    uint64_t cap_bytes, held_bytes;
    uint32_t n_since_draw;
    struct dlb_rng rng;
};

int dlb_shuffle_open(struct dlb_shuffle **out, uint32_t cap, uint64_t cap_bytes,
                     struct dlb_err *err)
{
    struct dlb_shuffle *shuffle = calloc(1, sizeof *shuffle);

    *out = NULL;
    if (!shuffle)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "shuffle buffer");
    *shuffle =
        (struct dlb_shuffle){.cap = cap,
                             .cap_bytes = cap_bytes,
                             .initial = cap < DLB_SHUFFLE_INITIAL ? cap : DLB_SHUFFLE_INITIAL};
    shuffle->entry = calloc((size_t)cap + 1, sizeof *shuffle->entry);
    for (uint32_t i = 0; shuffle->entry && i <= cap; i++) {
        shuffle->entry[i] = calloc(1, sizeof **shuffle->entry);
        if (!shuffle->entry[i]) {
            dlb_shuffle_close(shuffle);
            return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "shuffle buffer");
        }
    }
    if (!shuffle->entry) {
        dlb_shuffle_close(shuffle);
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "shuffle buffer");
    }
    *out = shuffle;
    return DLB_OK;
}

void dlb_shuffle_close(struct dlb_shuffle *shuffle)
{
    if (!shuffle)
        return;
    for (uint32_t i = 0; shuffle->entry && i <= shuffle->cap; i++) {
        if (shuffle->entry[i])
            free(shuffle->entry[i]->data);
        free(shuffle->entry[i]);
    }
    free(shuffle->entry);
    free(shuffle);
}

void dlb_shuffle_reset(struct dlb_shuffle *shuffle, struct dlb_rng rng)
{
    shuffle->n = 0;
    shuffle->held_bytes = 0;
    shuffle->n_since_draw = 0;
    shuffle->rng = rng;
}

bool dlb_shuffle_wants(const struct dlb_shuffle *shuffle)
{
    bool room =
        shuffle->n < shuffle->cap && (shuffle->n == 0 || shuffle->held_bytes < shuffle->cap_bytes);
    return room && (shuffle->n < shuffle->initial || shuffle->n_since_draw < 2);
}

static int entry_fill(struct entry *entry, const struct dlb_sample *sample, struct dlb_err *err)
{
    size_t len = 0;

    for (uint32_t i = 0; i < sample->n_fields; i++)
        len += sample->field[i].len_bytes;
    if (len > entry->cap_bytes) {
        uint8_t *grown = realloc(entry->data, len);
        if (!grown)
            return dlb_fail_errno(err, sample->path, sample->offset_bytes, "shuffle buffer");
        entry->data = grown;
        entry->cap_bytes = len;
    }
    entry->sample = *sample;
    entry->len_bytes = len;
    uint8_t *at = entry->data;
    for (uint32_t i = 0; i < sample->n_fields; i++) {
        size_t n = sample->field[i].len_bytes;
        if (n > 0)
            memcpy(at, sample->field[i].data, n);
        entry->sample.field[i].data = at;
        at += n;
    }
    size_t path_len = sample->path ? strlen(sample->path) : 0;
    if (path_len >= sizeof entry->path)
        path_len = sizeof entry->path - 1;
    memcpy(entry->path, sample->path ? sample->path : "", path_len);
    entry->path[path_len] = '\0';
    entry->sample.path = sample->path ? entry->path : NULL;
    return DLB_OK;
}

int dlb_shuffle_put(struct dlb_shuffle *shuffle, const struct dlb_sample *sample,
                    struct dlb_err *err)
{
    if (shuffle->n == shuffle->cap)
        DLB_BUG("shuffle buffer is full");
    int rc = entry_fill(shuffle->entry[shuffle->n], sample, err);
    if (rc != DLB_OK)
        return rc;
    shuffle->held_bytes += shuffle->entry[shuffle->n]->len_bytes;
    shuffle->n++;
    shuffle->n_since_draw++;
    return DLB_OK;
}

int dlb_shuffle_draw(struct dlb_shuffle *shuffle, struct dlb_sample *out)
{
    if (shuffle->n == 0)
        return DLB_END;
    uint32_t at = (uint32_t)dlb_rng_below(&shuffle->rng, shuffle->n);
    struct entry *drawn = shuffle->entry[at];

    shuffle->n--;
    shuffle->entry[at] = shuffle->entry[shuffle->n];
    shuffle->entry[shuffle->n] =
        shuffle->entry[shuffle->cap]; /* spare again: its borrower has come back */
    shuffle->entry[shuffle->cap] = drawn;
    shuffle->held_bytes -= drawn->len_bytes;
    shuffle->n_since_draw = 0;
    *out = drawn->sample;
    return DLB_OK;
}
