#include "formats/convert/cursor.h"

#include "core/base/mem.h"

#include <stdlib.h>

static uint64_t shard_end(const struct dlb_convert_cursor *cursor)
{
    const struct dlb_dataset *ds = cursor->ds;
    return cursor->shard_begin + ds->format->reader->shard_samples(ds->state, cursor->shard);
}

static void leave_shard(struct dlb_convert_cursor *cursor)
{
    cursor->at = cursor->shard_begin = shard_end(cursor);
    cursor->shard++;
    cursor->in_shard = false;
}

int dlb_convert_cursor_open(struct dlb_convert_cursor *cursor, const struct dlb_dataset *ds,
                            uint64_t first, uint64_t end, struct dlb_err *err)
{
    *cursor = (struct dlb_convert_cursor){
        .ds = ds,
        .reader = dlb_mem_state(ds->format->reader->state_bytes),
        .first = first,
        .end = end,
        .at = ds->shape.iterable ? 0 : first,
    };
    if (!cursor->reader)
        return dlb_fail_memory(err, NULL, ds->format->reader->state_bytes);
    while (ds->shape.iterable && cursor->shard < ds->shape.n_shards && first > 0 &&
           shard_end(cursor) <= first)
        leave_shard(cursor);
    return ds->format->reader->open(cursor->reader, ds->state, err);
}

void dlb_convert_cursor_close(struct dlb_convert_cursor *cursor)
{
    if (cursor->reader)
        cursor->ds->format->reader->close(cursor->reader);
    free(cursor->reader);
    cursor->reader = NULL;
}

/* The rest of the shard, or the shard, is another range's. */
static bool is_done(const struct dlb_convert_cursor *cursor)
{
    return cursor->first == cursor->end || cursor->shard == cursor->ds->shape.n_shards ||
           (cursor->at >= cursor->end && shard_end(cursor) > cursor->end);
}

static int next_of_shards(struct dlb_convert_cursor *cursor, struct dlb_sample *sample,
                          struct dlb_err *err)
{
    const struct dlb_reader *reader = cursor->ds->format->reader;
    const struct dlb_dest none = {0};

    while (!is_done(cursor)) {
        int rc = DLB_OK;
        if (!cursor->in_shard)
            rc = reader->shard_open(cursor->reader, cursor->shard, err);
        cursor->in_shard = true;
        if (rc == DLB_OK)
            rc = reader->next(cursor->reader, none, sample, err);
        cursor->before = cursor->at < cursor->first;
        if (rc == DLB_OK) {
            cursor->at++;
            return rc;
        }
        leave_shard(cursor);
        if (rc != DLB_END)
            return rc;
    }
    return DLB_END;
}

int dlb_convert_cursor_next(struct dlb_convert_cursor *cursor, struct dlb_sample *sample,
                            struct dlb_err *err)
{
    const struct dlb_dest none = {0};

    *sample = (struct dlb_sample){.offset_bytes = DLB_NO_OFFSET};
    if (cursor->ds->shape.iterable)
        return next_of_shards(cursor, sample, err);
    if (cursor->at == cursor->end)
        return DLB_END;
    return cursor->ds->format->reader->read(cursor->reader, cursor->at++, none, sample, err);
}
