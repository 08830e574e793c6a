#include "formats/webdataset/odd.h"

#ifdef DLB_HAVE_LIBARCHIVE

/* What the shards hold beside their samples, each with the first place. */
static void describe_unread(const struct dlb_wds_list *list, struct dlb_shape *shape)
{
    const struct dlb_wds_shard *behind = NULL, *nameless = NULL, *again = NULL, *meta = NULL;
    const struct dlb_wds_shard *padded = NULL;
    uint64_t n_special = 0, n_nameless = 0, n_again = 0, n_meta = 0;
    uint32_t n_behind = 0, n_padded = 0;

    for (uint32_t i = list->n_shards; i-- > 0;) {
        const struct dlb_wds_shard *shard = &list->shards[i];
        behind = shard->behind_at ? shard : behind;
        nameless = shard->left_out.n_nameless ? shard : nameless;
        again = shard->n_again ? shard : again;
        n_behind += shard->behind_at != 0;
        padded = shard->padding_bytes ? shard : padded;
        n_padded += shard->padding_bytes != 0;
        n_special += shard->left_out.n_special;
        n_nameless += shard->left_out.n_nameless;
        meta = shard->left_out.n_meta ? shard : meta;
        n_meta += shard->left_out.n_meta;
        n_again += shard->n_again;
    }
    if (behind)
        dlb_shape_odd(shape,
                      "%u shards have data behind their end-of-archive mark, which are not read: "
                      "archives joined by cat? The first: %s @ %llu",
                      n_behind, behind->path, (unsigned long long)behind->behind_at);
    if (padded)
        dlb_shape_odd(shape,
                      n_padded == 1
                          ? "%u shard goes on behind its end-of-archive mark for longer than tar "
                            "pads: was its download cut short? It is %s, with %llu bytes there, "
                            "which are not read"
                          : "%u shards go on behind their end-of-archive mark for longer than tar "
                            "pads: was their download cut short? The first is %s, with %llu bytes "
                            "there, which are not read",
                      n_padded, padded->path, (unsigned long long)padded->padding_bytes);
    if (again)
        dlb_shape_odd(shape,
                      "%llu samples have the key of an earlier one in their shard: are the members "
                      "of samples not adjacent? The first: \"%s\" in %s",
                      (unsigned long long)n_again, again->again, again->path);
    if (nameless)
        dlb_shape_odd(shape,
                      "%llu members belong to no sample, because their names have no dot behind a "
                      "key, and are left out: the first is \"%s\" in %s",
                      (unsigned long long)n_nameless, nameless->left_out.nameless, nameless->path);
    if (meta)
        dlb_shape_odd(shape,
                      n_meta == 1 ? "%llu member is left out, because its name begins with a "
                                    "__name__, as webdataset does: it is \"%s\" in %s"
                                  : "%llu members are left out, because their names begin with a "
                                    "__name__, as webdataset does: the first is \"%s\" in %s",
                      (unsigned long long)n_meta, meta->left_out.meta, meta->path);
    if (n_special)
        dlb_shape_odd(shape,
                      n_special == 1 ? "%llu member that is a link, a pipe or a device is left out"
                                     : "%llu members that are links, pipes or devices are left out",
                      (unsigned long long)n_special);
}

void dlb_wds_describe_odd(const struct dlb_wds_list *list, struct dlb_shape *shape)
{
    char text[sizeof(struct dlb_err)];
    uint32_t n_uncut = 0, n_packed = 0, n_bad = 0;
    const struct dlb_wds_shard *first = NULL, *bad = NULL;

    if (list->n_left_out)
        dlb_shape_odd(shape, "%u archives are left out: only .tar, .tar.gz and .tar.zst are read",
                      list->n_left_out);
    for (uint32_t i = 0; i < list->n_shards; i++) {
        const struct dlb_wds_shard *shard = &list->shards[i];
        if (shard->problem.status != DLB_OK && n_bad++ == 0)
            bad = shard;
        if (shard->lacks_end && !first)
            first = shard;
        n_uncut += shard->lacks_end;
        n_packed += shard->pack != DLB_TAR_PLAIN;
    }
    if (bad)
        dlb_shape_odd(shape,
                      n_bad == 1 ? "%u shard cannot be read to its end: %s"
                                 : "%u shards cannot be read to their end; the first: %s",
                      n_bad, dlb_err_text(&bad->problem, text, sizeof text));
    describe_unread(list, shape);
    if (first)
        dlb_shape_odd(shape, "%u shards have no end-of-archive mark: cut between two members? (%s)",
                      n_uncut, first->path);
    if (n_packed)
        dlb_shape_odd(shape,
                      "%u of %u shards are compressed: they can only be read from start to end, "
                      "not by an index",
                      n_packed, list->n_shards);
}

#endif
