#include "formats/webdataset/sample.h"

#include "formats/codec.h"
#include "formats/headroom.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 1 << 16, NEAR_BYTES = 4096 };

struct dlb_wds_place dlb_wds_place(struct dlb_dest dest, struct dlb_bytes *buffer)
{
    return (struct dlb_wds_place){.dest = dest, .buffer = buffer, .moved = !dest.data};
}

uint8_t *dlb_wds_place_data(const struct dlb_wds_place *place)
{
    return place->moved ? place->buffer->data : place->dest.data;
}

static size_t place_cap(const struct dlb_wds_place *place)
{
    return place->moved ? place->buffer->cap_bytes : place->dest.cap_bytes;
}

int dlb_wds_place_room(struct dlb_wds_place *place, uint64_t n_bytes, const char *path,
                       struct dlb_err *err)
{
    struct dlb_bytes *buffer = place->buffer;

    if (n_bytes <= place_cap(place) - place->len_bytes && dlb_wds_place_data(place))
        return DLB_OK;
    int rc = dlb_headroom_check(n_bytes, path, "a member", "it may be sparse", err);
    if (rc != DLB_OK)
        return rc;
    size_t cap = buffer->cap_bytes ? buffer->cap_bytes : FIRST_BYTES;
    while (cap - place->len_bytes < n_bytes && cap < SIZE_MAX / 2)
        cap *= 2;
    if (cap > buffer->cap_bytes) {
        uint8_t *grown = realloc(buffer->data, cap);
        if (!grown)
            return dlb_fail_memory(err, path, cap);
        buffer->data = grown;
        buffer->cap_bytes = cap;
    }
    if (!place->moved && place->dest.data && place->len_bytes)
        memcpy(buffer->data, place->dest.data, place->len_bytes);
    place->moved = true;
    return DLB_OK;
}

static uint32_t parse_label(const uint8_t *text, size_t len)
{
    uint64_t label = 0;
    size_t i = 0;

    while (i < len && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t'))
        i++;
    for (; i < len && text[i] >= '0' && text[i] <= '9' && label <= UINT32_MAX; i++)
        label = label * 10 + (uint64_t)(text[i] - '0');
    return label <= UINT32_MAX ? (uint32_t)label : 0;
}

/* Which field the codec decodes: one whose name is one of the codec's extensions ("jpg") or ends in
 * one ("left.jpg"), else the first that is neither label nor description. */
static uint32_t primary(const struct dlb_sample *sample, const struct dlb_codec *codec)
{
    for (uint32_t i = 0; i < sample->n_fields; i++)
        if (dlb_codec_takes(codec, sample->field[i].name))
            return i;
    for (uint32_t i = 0; i < sample->n_fields; i++) {
        const char *dot = strrchr(sample->field[i].name, '.');
        if (dot && dlb_codec_takes(codec, dot + 1))
            return i;
    }
    for (uint32_t i = 0; i < sample->n_fields; i++)
        if (strcmp(sample->field[i].name, "cls") != 0 && strcmp(sample->field[i].name, "json") != 0)
            return i;
    return 0;
}

void dlb_wds_sample_finish(struct dlb_sample *sample, const struct dlb_codec *codec)
{
    sample->label = 0;
    sample->labelled = false;
    for (uint32_t i = 0; i < sample->n_fields; i++)
        if (strcmp(sample->field[i].name, "cls") == 0) {
            sample->label = parse_label(sample->field[i].data, sample->field[i].len_bytes);
            sample->labelled = dlb_field_is_label(sample, i);
        }
    uint32_t first = codec && !codec->identity ? primary(sample, codec) : 0;
    if (first != 0) {
        struct dlb_field swapped = sample->field[0];
        sample->field[0] = sample->field[first];
        sample->field[first] = swapped;
    }
}

static int read_piece(const struct dlb_io *io, int64_t handle, uint8_t *dst, size_t n_bytes,
                      uint64_t at_bytes, struct dlb_sample *out, struct dlb_err *err)
{
    size_t n_read = 0;

    int rc = io->pread(handle, dst, n_bytes, at_bytes, &n_read, out->path, err);
    out->io_bytes += n_read;
    if (rc == DLB_OK && n_read < n_bytes)
        return dlb_fail(err, DLB_ERR_TAR_CUT_SHORT, out->path, at_bytes + n_read,
                        "the archive ends here: it was cut short since the data set was opened");
    return rc;
}

uint32_t dlb_wds_run(const struct dlb_wds_where *where, uint32_t n, uint32_t i, uint64_t room,
                     uint64_t *end_bytes)
{
    uint32_t next = i + 1;

    *end_bytes = where[i].at_bytes + where[i].n_bytes;
    for (; next < n; next++) {
        uint64_t further = where[next].at_bytes + where[next].n_bytes;
        if (where[next].n_bytes > NEAR_BYTES || where[next].at_bytes - *end_bytes > NEAR_BYTES ||
            further - where[i].at_bytes > room)
            break;
        *end_bytes = further;
    }
    return next;
}

int dlb_wds_read_fields(const struct dlb_io *io, int64_t handle, const struct dlb_wds_where *where,
                        struct dlb_wds_place *place, struct dlb_sample *out, struct dlb_err *err)
{
    uint8_t *data = dlb_wds_place_data(place);
    int rc = DLB_OK;

    for (uint32_t i = 0, next; rc == DLB_OK && i < out->n_fields; i = next) {
        uint8_t *dst = data + place->len_bytes;
        uint64_t end;
        next = dlb_wds_run(where, out->n_fields, i, place_cap(place) - place->len_bytes, &end);
        rc = read_piece(io, handle, dst, (size_t)(end - where[i].at_bytes), where[i].at_bytes, out,
                        err);
        for (uint32_t k = i; rc == DLB_OK && k < next; k++) {
            out->field[k].data = data + place->len_bytes;
            out->field[k].len_bytes = (size_t)where[k].n_bytes;
            out->field[k].name = where[k].name;
            if (k > i)
                memmove(data + place->len_bytes, dst + (where[k].at_bytes - where[i].at_bytes),
                        out->field[k].len_bytes);
            place->len_bytes += out->field[k].len_bytes;
        }
    }
    return rc;
}
