#include "formats/webdataset/scan.h"

#include "core/base/escape.h"

#ifdef DLB_HAVE_LIBARCHIVE

#include "formats/keys.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A block holds the small members between two images and the next header. There are enough threads
 * to hide a disk's latency. */
enum { SCAN_BLOCK_BYTES = 4096, SCAN_THREADS = 8 };

static bool is_meta(const char *name)
{
    size_t first_len = strcspn(name, "/");

    return first_len >= 4 && strncmp(name, "__", 2) == 0 &&
           strncmp(name + first_len - 2, "__", 2) == 0;
}

size_t dlb_wds_key(const char *name, const char **field)
{
    const char *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name;
    const char *dot = strchr(base, '.');

    if (!dot || dot == base || is_meta(name))
        return 0;
    *field = dot + 1;
    return (size_t)(dot - name);
}

void dlb_wds_group_reset(struct dlb_wds_group *group)
{
    group->n_fields = 0;
}

void dlb_wds_group_free(struct dlb_wds_group *group)
{
    dlb_bytes_free(&group->key);
}

bool dlb_wds_group_starts(const struct dlb_wds_group *group, const struct dlb_tar_member *member)
{
    const char *field;
    size_t len = dlb_wds_key(member->name, &field);

    return group->n_fields == 0 || len != group->key.len_bytes ||
           memcmp(member->name, group->key.data, len) != 0;
}

/* FNV-1a, 64 bits (Fowler, Noll, Vo). */
#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

int dlb_wds_group_add(struct dlb_wds_group *group, const struct dlb_tar_member *member,
                      const char *path, struct dlb_err *err)
{
    const char *field = "";
    char *field_name = group->field_name[group->n_fields];
    size_t len = dlb_wds_key(member->name, &field), n = 0;
    uint64_t hash = FNV_BASIS;

    if (group->n_fields == 0) {
        group->key.len_bytes = 0;
        int rc = dlb_bytes_append(&group->key, member->name, len, err);
        if (rc != DLB_OK)
            return rc;
    }
    for (const char *p = field; *p; p++, n++) {
        char c = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
        hash =
            (hash ^ (uint8_t)c) * FNV_PRIME; /* dlb_hash64 for each letter took 0.2 us a sample */
        if (n < DLB_FIELD_NAME_BYTES - 1)
            field_name[n] = c;
    }
    field_name[n < DLB_FIELD_NAME_BYTES ? n : DLB_FIELD_NAME_BYTES - 1] = '\0';
    for (uint32_t i = 0; i < group->n_fields; i++)
        if (group->field_hash[i] == hash)
            return dlb_fail(err, DLB_ERR_TAR_FIELD_TWICE, path, member->header_at,
                            "the field \"%s\" is twice in sample %.*s", field_name,
                            DLB_CUT(member->name, 64));
    if (group->n_fields == DLB_MAX_FIELDS)
        return dlb_fail(err, DLB_ERR_TAR_TOO_MANY_FIELDS, path, member->header_at,
                        "sample %.*s has more than %d fields, the most that are read: a sample's "
                        "key ends at the first dot of the name, so rename members whose keys "
                        "contain dots",
                        DLB_CUT_KEY(member->name, len, 64), DLB_MAX_FIELDS);
    group->field_hash[group->n_fields++] = hash;
    return DLB_OK;
}

static void note_left_out(struct dlb_wds_left_out *left_out, const struct dlb_tar_member *member)
{
    left_out->n_special += !member->regular && !member->folder;
    if (!member->regular)
        return;
    if (is_meta(member->name)) {
        if (left_out->n_meta++ == 0)
            dlb_cut_text(left_out->meta, sizeof left_out->meta, member->name);
    } else if (left_out->n_nameless++ == 0) {
        dlb_cut_text(left_out->nameless, sizeof left_out->nameless, member->name);
    }
}

int dlb_wds_next_member(struct dlb_tar *tar, struct dlb_tar_member *member,
                        struct dlb_wds_left_out *left_out, struct dlb_err *err)
{
    const char *field;
    int rc;

    while ((rc = dlb_tar_next(tar, member, err)) == DLB_OK) {
        if (member->regular && dlb_wds_key(member->name, &field) != 0)
            break;
        if (left_out)
            note_left_out(left_out, member);
    }
    return rc;
}

static void count_sample(struct dlb_wds_shard *shard, uint64_t n_bytes)
{
    shard->n_samples++;
    shard->n_bytes += n_bytes;
    if (n_bytes > shard->max_sample_bytes)
        shard->max_sample_bytes = n_bytes;
}

static int note_key(struct dlb_keys *keys, const struct dlb_wds_group *group,
                    struct dlb_wds_shard *shard, struct dlb_err *err)
{
    struct dlb_key *known =
        dlb_keys_at(keys, (const char *)group->key.data, group->key.len_bytes, shard->path, err);

    if (!known)
        return (int)err->status;
    if (known->fields && shard->n_again++ == 0)
        (void)snprintf(shard->again, sizeof shard->again, "%.*s",
                       DLB_CUT_KEY((const char *)group->key.data, group->key.len_bytes, 63));
    known->fields = 1;
    return DLB_OK;
}

static int scan_end(struct dlb_tar *tar, struct dlb_wds_shard *shard, struct dlb_wds_index *index,
                    struct dlb_err *err)
{
    shard->lacks_end = dlb_tar_lacks_end(tar);
    int rc = dlb_tar_behind_end(tar, &shard->behind_at, err);
    uint64_t n_tail = dlb_tar_tail_bytes(tar);
    shard->padding_bytes = !shard->behind_at && n_tail > DLB_TAR_MOST_PADDING_BYTES ? n_tail : 0;
    return rc == DLB_OK && index ? dlb_wds_index_finish(index, shard->path, err) : rc;
}

static int scan_members(struct dlb_tar *tar, struct dlb_wds_group *group, struct dlb_keys *keys,
                        struct dlb_wds_shard *shard, struct dlb_wds_index *index,
                        struct dlb_err *err)
{
    struct dlb_tar_member member;
    uint64_t n_bytes = 0;
    int rc;

    dlb_wds_group_reset(group);
    dlb_keys_clear(keys);
    while ((rc = dlb_wds_next_member(tar, &member, &shard->left_out, err)) == DLB_OK) {
        if (group->n_fields && dlb_wds_group_starts(group, &member)) {
            count_sample(shard, n_bytes);
            dlb_wds_group_reset(group);
            n_bytes = 0;
        }
        rc = dlb_wds_group_add(group, &member, shard->path, err);
        if (rc == DLB_OK && group->n_fields == 1)
            rc = note_key(keys, group, shard, err);
        if (rc == DLB_OK)
            rc = dlb_tar_check(tar, &member, err);
        if (rc == DLB_OK && index)
            rc = dlb_wds_index_add(index, &member, group->field_name[group->n_fields - 1],
                                   group->n_fields == 1, shard->path, err);
        if (rc != DLB_OK)
            return rc;
        n_bytes += member.n_bytes;
    }
    if (rc == DLB_END && group->n_fields)
        count_sample(shard, n_bytes);
    return rc == DLB_END ? scan_end(tar, shard, index, err) : rc;
}

struct scan {
    const struct dlb_io *io;
    struct dlb_wds_shard *shards;
    struct dlb_wds_index *indexes;
    uint32_t n_shards;
    _Atomic uint32_t next;
};

static void *scan_main(void *arg)
{
    struct scan *scan = arg;
    struct dlb_tar tar = {.in.handle = -1};
    struct dlb_wds_group group = {0};
    struct dlb_keys keys = {.slot = NULL};

    for (uint32_t i; (i = atomic_fetch_add(&scan->next, 1)) < scan->n_shards;) {
        struct dlb_wds_shard *shard = &scan->shards[i];
        if (shard->known)
            continue;
        shard->n_samples = shard->n_bytes = shard->max_sample_bytes = shard->n_again = 0;
        shard->left_out = (struct dlb_wds_left_out){.n_special = 0};
        int rc = dlb_tar_open(&tar, scan->io, shard->path, SCAN_BLOCK_BYTES, true, &shard->problem);
        shard->pack = tar.in.pack;
        if (rc == DLB_OK && !(scan->indexes && tar.in.pack != DLB_TAR_PLAIN))
            (void)scan_members(&tar, &group, &keys, shard, scan->indexes ? &scan->indexes[i] : NULL,
                               &shard->problem);
        shard->file_bytes = tar.in.file_bytes;
        shard->known = true;
        dlb_tar_close(&tar);
    }
    dlb_tar_free(&tar);
    dlb_wds_group_free(&group);
    dlb_keys_free(&keys);
    return NULL;
}

int dlb_wds_scan(const struct dlb_io *io, struct dlb_wds_shard *shards, uint32_t n_shards,
                 struct dlb_wds_index *indexes, struct dlb_err *err)
{
    struct scan scan = {.io = io, .shards = shards, .indexes = indexes, .n_shards = n_shards};
    pthread_t threads[SCAN_THREADS];
    uint32_t n_started = 0, n_unknown = 0;

    for (uint32_t i = 0; i < n_shards; i++)
        n_unknown += !shards[i].known;
    /* The calling thread is one of them. When threads cannot start, the others do their work. */
    while (n_started + 1 < SCAN_THREADS && n_started + 1 < n_unknown &&
           pthread_create(&threads[n_started], NULL, scan_main, &scan) == 0)
        n_started++;
    if (n_unknown)
        (void)scan_main(&scan);
    for (uint32_t i = 0; i < n_started; i++)
        (void)pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < n_shards; i++)
        if (shards[i].problem.status == DLB_E_NOMEM) {
            *err = shards[i].problem;
            return DLB_E_NOMEM;
        }
    return DLB_OK;
}

#endif
