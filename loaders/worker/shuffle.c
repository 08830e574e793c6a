#include "loaders/worker/shuffle.h"

#include <stdlib.h>
#include <string.h>

/* A sample, its bytes, its names and its path in one piece of memory. */
struct held {
    struct dlb_sample sample; /* its fields and its path point into data; it has no key */
    size_t n_bytes;           /* of all of this */
    uint8_t data[];
};

struct dlb_shuffle {
    struct held **held; /* [cap], the first n of them */
    struct held *drawn; /* the last one that was; NULL: none */
    uint32_t cap, initial, n;
    uint64_t cap_bytes, held_bytes; /* held_bytes: with the drawn one */
    uint32_t n_since_draw;
    struct dlb_rng rng;
};

int dlb_shuffle_open(struct dlb_shuffle **out, uint32_t cap, uint64_t cap_bytes,
                     struct dlb_err *err)
{
    struct dlb_shuffle *shuffle = calloc(1, sizeof *shuffle);

    *out = NULL;
    if (!shuffle)
        return dlb_fail_memory(err, NULL, sizeof *shuffle);
    *shuffle =
        (struct dlb_shuffle){.cap = cap,
                             .cap_bytes = cap_bytes,
                             .initial = cap < DLB_SHUFFLE_INITIAL ? cap : DLB_SHUFFLE_INITIAL};
    shuffle->held = calloc(cap, sizeof *shuffle->held);
    if (!shuffle->held) {
        dlb_shuffle_close(shuffle);
        return dlb_fail_memory(err, NULL, cap * sizeof *shuffle->held);
    }
    *out = shuffle;
    return DLB_OK;
}

static void drop_drawn(struct dlb_shuffle *shuffle)
{
    if (shuffle->drawn)
        shuffle->held_bytes -= shuffle->drawn->n_bytes;
    free(shuffle->drawn);
    shuffle->drawn = NULL;
}

static void drop_all(struct dlb_shuffle *shuffle)
{
    drop_drawn(shuffle);
    while (shuffle->n > 0)
        free(shuffle->held[--shuffle->n]);
    shuffle->held_bytes = 0;
}

void dlb_shuffle_close(struct dlb_shuffle *shuffle)
{
    if (!shuffle)
        return;
    drop_all(shuffle);
    free(shuffle->held);
    free(shuffle);
}

void dlb_shuffle_reset(struct dlb_shuffle *shuffle, struct dlb_rng rng)
{
    drop_all(shuffle);
    shuffle->n_since_draw = 0;
    shuffle->rng = rng;
}

bool dlb_shuffle_wants(const struct dlb_shuffle *shuffle)
{
    bool room =
        shuffle->n < shuffle->cap && (shuffle->n == 0 || shuffle->held_bytes < shuffle->cap_bytes);
    return room && (shuffle->n < shuffle->initial || shuffle->n_since_draw < 2);
}

/* Copies to *at, which moves behind the copy. */
static const void *append(uint8_t **at, const void *bytes, size_t n_bytes)
{
    uint8_t *copy = *at;

    if (n_bytes > 0)
        memcpy(copy, bytes, n_bytes);
    *at += n_bytes;
    return copy;
}

int dlb_shuffle_put(struct dlb_shuffle *shuffle, const struct dlb_sample *sample,
                    struct dlb_err *err)
{
    size_t path_len = sample->path ? strlen(sample->path) + 1 : 0, name_len[DLB_MAX_FIELDS];
    size_t n_bytes = sizeof(struct held) + path_len;

    if (shuffle->n == shuffle->cap)
        DLB_BUG("shuffle buffer is full");
    for (uint32_t i = 0; i < sample->n_fields; i++) {
        name_len[i] = strlen(sample->field[i].name) + 1;
        n_bytes += sample->field[i].len_bytes + name_len[i];
    }
    struct held *held = malloc(n_bytes);
    if (!held)
        return dlb_fail_memory(err, sample->path, n_bytes);
    held->sample = *sample;
    held->sample.key = NULL;
    held->sample.n_key_bytes = 0;
    held->n_bytes = n_bytes;
    uint8_t *at = held->data;
    for (uint32_t i = 0; i < sample->n_fields; i++)
        held->sample.field[i].data = append(&at, sample->field[i].data, sample->field[i].len_bytes);
    for (uint32_t i = 0; i < sample->n_fields; i++)
        held->sample.field[i].name = append(&at, sample->field[i].name, name_len[i]);
    if (path_len)
        held->sample.path = append(&at, sample->path, path_len);
    shuffle->held[shuffle->n++] = held;
    shuffle->held_bytes += n_bytes;
    shuffle->n_since_draw++;
    return DLB_OK;
}

int dlb_shuffle_draw(struct dlb_shuffle *shuffle, struct dlb_sample *out)
{
    drop_drawn(shuffle);
    if (shuffle->n == 0)
        return DLB_END;
    uint32_t at = (uint32_t)dlb_rng_below(&shuffle->rng, shuffle->n);
    shuffle->drawn = shuffle->held[at];
    shuffle->held[at] = shuffle->held[--shuffle->n];
    shuffle->n_since_draw = 0;
    *out = shuffle->drawn->sample;
    return DLB_OK;
}
