#include "formats/webdataset/index.h"

#include "formats/format.h"

#include <stdlib.h>
#include <string.h>

/* POSIX.1-1988: headers and data begin at multiples of this. */
enum { TAR_BLOCK_BYTES = 512, FIRST_CAP = 256, FIRST_NAMES = 4, MOST_NAMES = 1024 };

struct dlb_wds_entry {
    uint32_t at_block;
    uint32_t low_bytes;
    uint16_t high_bytes;
    uint16_t name;
};

/* Makes room for one more element. NULL when memory is short; the array is unchanged then. */
static void *grow(void *array, size_t each, uint32_t n, uint32_t *cap, uint32_t first)
{
    if (n < *cap)
        return array;
    uint32_t larger = *cap ? *cap * 2 : first;
    void *grown = larger > *cap ? realloc(array, (size_t)larger * each) : NULL;
    if (grown)
        *cap = larger;
    return grown;
}

/* The place of a field's name; MOST_NAMES: there are as many others. The search is short: all
 * samples have the same few names. */
static int place_name(struct dlb_wds_index *index, const char *name, uint32_t *place)
{
    for (*place = 0; *place < index->n_names; ++*place)
        if (strcmp(index->names[*place], name) == 0)
            return DLB_OK;
    if (index->n_names == MOST_NAMES)
        return DLB_OK;
    void *grown =
        grow(index->names, sizeof *index->names, index->n_names, &index->cap_names, FIRST_NAMES);
    if (!grown)
        return DLB_E_NOMEM;
    index->names = grown;
    (void)strncpy(index->names[*place], name, sizeof *index->names - 1);
    index->names[*place][sizeof *index->names - 1] = '\0';
    index->n_names++;
    return DLB_OK;
}

int dlb_wds_index_add(struct dlb_wds_index *index, const struct dlb_tar_member *member,
                      const char *field_name, bool starts, const char *path, struct dlb_err *err)
{
    uint32_t place;
    void *grown;

    if (place_name(index, field_name, &place) != DLB_OK)
        return dlb_fail_memory(err, path,
                               2 * ((uint64_t)index->cap_names + 1) * sizeof *index->names);
    if (place == MOST_NAMES || member->n_bytes >> 48 || member->data_at % TAR_BLOCK_BYTES ||
        member->data_at / TAR_BLOCK_BYTES > UINT32_MAX)
        return dlb_fail(err, DLB_ERR_SHARD_NOT_INDEXABLE, path, member->header_at,
                        "cannot be indexed (too large, or too many field names): use "
                        "dataset.access = \"stream\"");
    if (starts) {
        grown = grow(index->first, sizeof *index->first, index->n_samples, &index->cap_samples,
                     FIRST_CAP);
        if (!grown)
            return dlb_fail_memory(err, path,
                                   2 * ((uint64_t)index->cap_samples + 1) * sizeof *index->first);
        index->first = grown;
        index->first[index->n_samples++] = index->n_entries;
    }
    grown = grow(index->entries, sizeof *index->entries, index->n_entries, &index->cap_entries,
                 FIRST_CAP);
    if (!grown)
        return dlb_fail_memory(err, path,
                               2 * ((uint64_t)index->cap_entries + 1) * sizeof *index->entries);
    index->entries = grown;
    index->entries[index->n_entries++] =
        (struct dlb_wds_entry){.at_block = (uint32_t)(member->data_at / TAR_BLOCK_BYTES),
                               .low_bytes = (uint32_t)member->n_bytes,
                               .high_bytes = (uint16_t)(member->n_bytes >> 32),
                               .name = (uint16_t)place};
    return DLB_OK;
}

int dlb_wds_index_finish(struct dlb_wds_index *index, const char *path, struct dlb_err *err)
{
    uint32_t *first = realloc(index->first, ((size_t)index->n_samples + 1) * sizeof *first);

    if (!first)
        return dlb_fail_memory(err, path, ((uint64_t)index->n_samples + 1) * sizeof *first);
    index->first = first;
    index->first[index->n_samples] = index->n_entries;
    index->cap_samples = index->n_samples + 1;
    if (index->n_entries) {
        struct dlb_wds_entry *entries =
            realloc(index->entries, (size_t)index->n_entries * sizeof *entries);
        if (entries) {
            index->entries = entries;
            index->cap_entries = index->n_entries;
        }
    }
    return DLB_OK;
}

void dlb_wds_index_free(struct dlb_wds_index *index)
{
    free(index->entries);
    free(index->first);
    free(index->names);
    *index = (struct dlb_wds_index){.n_samples = 0};
}

uint32_t dlb_wds_index_fields(const struct dlb_wds_index *index, uint32_t sample,
                              struct dlb_wds_where *fields)
{
    uint32_t first = index->first[sample], n = index->first[sample + 1] - first;

    if (n > DLB_MAX_FIELDS)
        DLB_BUG("a sample with more fields than the scan accepts");
    for (uint32_t i = 0; i < n; i++) {
        const struct dlb_wds_entry *entry = &index->entries[first + i];
        fields[i] =
            (struct dlb_wds_where){.at_bytes = (uint64_t)entry->at_block * TAR_BLOCK_BYTES,
                                   .n_bytes = (uint64_t)entry->high_bytes << 32 | entry->low_bytes,
                                   .name = index->names[entry->name]};
    }
    return n;
}
