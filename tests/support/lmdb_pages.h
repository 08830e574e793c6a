/* An LMDB file of pages that a test writes by hand: what no program that uses liblmdb would write.
 * Header-only; include after support/folder.h. */
#ifndef DLB_TESTS_LMDB_PAGES_H
#define DLB_TESTS_LMDB_PAGES_H

#include "tests/support/folder.h"

#include <stdint.h>
#include <string.h>

enum {
    LMDB_PAGE = 4096,
    LMDB_HEAD = 16, /* of a page */
    LMDB_MOST_PAGES = 64,
    LMDB_FIRST = 2, /* the first page behind the two meta pages */
    LMDB_BRANCH = 1,
    LMDB_LEAF = 2,
    LMDB_OVERFLOW = 4,
    LMDB_META = 8,
    LMDB_ELSEWHERE = 1, /* flag of an entry: its value has pages of its own */
};

struct lmdb_pages {
    uint32_t n; /* pages, with the two meta pages */
    uint8_t page[LMDB_MOST_PAGES][LMDB_PAGE];
};

static inline void lmdb_put(uint8_t *at, uint64_t value, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t lmdb_get(const uint8_t *at, size_t n_bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n_bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* Returns its number. */
static inline uint32_t lmdb_page(struct lmdb_pages *db, unsigned flags)
{
    if (db->n == 0)
        db->n = LMDB_FIRST;
    assert_true(db->n < LMDB_MOST_PAGES);
    uint8_t *page = db->page[db->n];
    memset(page, 0, LMDB_PAGE);
    lmdb_put(page, db->n, 8);
    lmdb_put(page + 10, flags, 2);
    lmdb_put(page + 12, LMDB_HEAD, 2);
    lmdb_put(page + 14, LMDB_PAGE, 2);
    return db->n++;
}

/* Room for an entry at the end of those that the page has; returns where it begins. */
static inline uint8_t *lmdb_node(struct lmdb_pages *db, uint32_t number, size_t n_bytes)
{
    uint8_t *page = db->page[number];
    size_t lower = lmdb_get(page + 12, 2), upper = lmdb_get(page + 14, 2);
    n_bytes += n_bytes & 1;
    assert_true(lower + 2 + n_bytes <= upper);
    upper -= n_bytes;
    lmdb_put(page + lower, upper, 2);
    lmdb_put(page + 12, lower + 2, 2);
    lmdb_put(page + 14, upper, 2);
    return page + upper;
}

static inline void lmdb_entry(struct lmdb_pages *db, uint32_t leaf, const char *key,
                              const char *value)
{
    size_t n_key = strlen(key), n_value = strlen(value);
    uint8_t *node = lmdb_node(db, leaf, 8 + n_key + n_value);
    lmdb_put(node, n_value, 4);
    lmdb_put(node + 6, n_key, 2);
    memcpy(node + 8, key, n_key);
    memcpy(node + 8 + n_key, value, n_value);
}

/* An entry whose value lies on a page of its own. */
static inline void lmdb_large_entry(struct lmdb_pages *db, uint32_t leaf, const char *key,
                                    size_t n_value, uint32_t on)
{
    size_t n_key = strlen(key);
    uint8_t *node = lmdb_node(db, leaf, 8 + n_key + 8);
    lmdb_put(node, n_value, 4);
    lmdb_put(node + 4, LMDB_ELSEWHERE, 2);
    lmdb_put(node + 6, n_key, 2);
    memcpy(node + 8, key, n_key);
    lmdb_put(node + 8 + n_key, on, 8);
}

/* "" is the key of a branch's first child. */
static inline void lmdb_child(struct lmdb_pages *db, uint32_t branch, const char *key,
                              uint32_t child)
{
    size_t n_key = strlen(key);
    uint8_t *node = lmdb_node(db, branch, 8 + n_key);
    lmdb_put(node, child, 4);
    lmdb_put(node + 6, n_key, 2);
    memcpy(node + 8, key, n_key);
}

/* Both meta pages give n_entries and this root, `depth` levels above the values. */
static inline void lmdb_write(struct lmdb_pages *db, const char *name, uint32_t root,
                              uint32_t depth, uint64_t n_entries)
{
    for (uint32_t i = 0; i < LMDB_FIRST; i++) {
        uint8_t *page = db->page[i], *meta = page + LMDB_HEAD, *free_db = meta + 24,
                *main_db = free_db + 48;
        memset(page, 0, LMDB_PAGE);
        lmdb_put(page, i, 8);
        lmdb_put(page + 10, LMDB_META, 2);
        lmdb_put(meta, 0xBEEFC0DE, 4);
        lmdb_put(meta + 4, 1, 4);
        lmdb_put(meta + 16, LMDB_MOST_PAGES * LMDB_PAGE, 8);
        lmdb_put(free_db, LMDB_PAGE, 4);
        lmdb_put(free_db + 40, UINT64_MAX, 8); /* no tree */
        lmdb_put(main_db + 6, depth, 2);
        lmdb_put(main_db + 32, n_entries, 8);
        lmdb_put(main_db + 40, root, 8);
        lmdb_put(meta + 120, db->n - 1, 8);
        lmdb_put(meta + 128, i + 1, 8);
    }
    folder_write(name, db->page, (size_t)db->n * LMDB_PAGE);
}

#endif
