/* A mutator for harnesses that take a JSON document: libFuzzer calls it for each new input. It
 * changes values, keys and structure of a document that stays JSON, which chance would hardly do;
 * one time in four, and where there is no document, bytes are changed as usual. Header-only,
 * included by the harness. */
#ifndef DLB_TESTS_JSON_MUTATOR_H
#define DLB_TESTS_JSON_MUTATOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* libFuzzer's; absent where a corpus is replayed. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t n_bytes, size_t max_bytes);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n_bytes, size_t max_bytes, unsigned seed);

/* The mutator's own documents lie in an arena, which the next call reuses: the sanitizer's
 * allocator would take most of its time. The harness's documents do not. */
static struct {
    _Alignas(16) uint8_t bytes[8 << 20];
    size_t n_used;
} json_arena;

static inline void *json_arena_malloc(size_t n_bytes)
{
    size_t rounded = (n_bytes + 15) & ~(size_t)15;
    if (rounded < n_bytes || rounded > sizeof json_arena.bytes - json_arena.n_used)
        return NULL;
    void *at = json_arena.bytes + json_arena.n_used;
    json_arena.n_used += rounded;
    return at;
}

static inline void json_arena_free(void *at)
{
    (void)at;
}

/* Where a value stands. */
struct json_site {
    json_t *parent;
    const char *key; /* NULL: in an array */
    size_t at;
};

struct json_sites {
    struct json_site site[512];
    size_t n;
};

static inline void json_sites_add(struct json_sites *sites, json_t *parent, const char *key,
                                  size_t at)
{
    if (sites->n < sizeof sites->site / sizeof *sites->site)
        sites->site[sites->n++] = (struct json_site){parent, key, at};
}

static inline void json_sites_find(struct json_sites *sites, json_t *node)
{
    const char *key;
    json_t *value;
    size_t i;

    json_object_foreach(node, key, value)
        json_sites_add(sites, node, key, 0);
    json_array_foreach(node, i, value)
        json_sites_add(sites, node, NULL, i);
    json_object_foreach(node, key, value)
        json_sites_find(sites, value);
    json_array_foreach(node, i, value)
        json_sites_find(sites, value);
}

static inline json_t *json_site_value(const struct json_site *site)
{
    return site->key ? json_object_get(site->parent, site->key)
                     : json_array_get(site->parent, site->at);
}

/* Steals `value`; NULL removes. */
static inline void json_site_set(const struct json_site *site, json_t *value)
{
    if (site->key && value)
        (void)json_object_set_new(site->parent, site->key, value);
    else if (site->key)
        (void)json_object_del(site->parent, site->key);
    else if (value)
        (void)json_array_set_new(site->parent, site->at, value);
    else
        (void)json_array_remove(site->parent, site->at);
}

static inline json_t *json_any_value(unsigned *seed)
{
    static const char long_text[] = /* of characters that take two bytes */
        "\"\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9"
        "\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\"";
    /* clang-format off */
    static const char *const values[] = {
        "null", "true", "false", "0", "-1", "1", "2", "0.5", "-0.0", "1e308", "1e-308",
        "4294967295", "4294967296", "9223372036854775807", "-9223372036854775808", "[]", "{}",
        "[null]", "[[]]", "{\"a\": {}}", "\"\"", "\"ok\"", "\"failed\"", "\"cold\"", "\"a b\"",
        long_text, "\"\\u001b[2J\"", "\"0123456789abcdef\"", "\"E_NOMEM\"", "\"\\n\""};
    /* clang-format on */
    size_t n = sizeof values / sizeof *values;
    return json_loads(values[(size_t)rand_r(seed) % n], JSON_DECODE_ANY, NULL);
}

static inline void json_mutate_once(json_t *doc, unsigned *seed)
{
    static struct json_sites sites;
    sites.n = 0;
    json_sites_find(&sites, doc);
    if (sites.n == 0)
        return;
    const struct json_site *to = &sites.site[(size_t)rand_r(seed) % sites.n];
    const struct json_site *from = &sites.site[(size_t)rand_r(seed) % sites.n];
    switch (rand_r(seed) % 6) {
    case 0:
        json_site_set(to, NULL);
        break;
    case 1: /* what stands elsewhere */
        json_site_set(to, json_deep_copy(json_site_value(from)));
        break;
    case 2: /* under another's key */
        if (to->key && from->key && to->parent != from->parent)
            (void)json_object_set_new(to->parent, from->key, json_deep_copy(json_site_value(to)));
        break;
    case 3: /* once more */
        if (!to->key)
            (void)json_array_append_new(to->parent, json_deep_copy(json_site_value(to)));
        break;
    default:
        json_site_set(to, json_any_value(seed));
        break;
    }
}

/* False: it is no document. One that would become too long stays as it is. */
static inline bool json_mutate(uint8_t *data, size_t *n_bytes, size_t max_bytes, unsigned *seed)
{
    json_t *doc = json_loadb((const char *)data, *n_bytes, JSON_DECODE_ANY, NULL);
    if (!doc)
        return false;
    for (int n = 1 + rand_r(seed) % 4; n; n--)
        json_mutate_once(doc, seed);
    char *text = json_arena_malloc(max_bytes);
    size_t n_text = text ? json_dumpb(doc, text, max_bytes, JSON_COMPACT | JSON_ENCODE_ANY) : 0;
    if (n_text > 0 && n_text <= max_bytes) {
        memcpy(data, text, n_text);
        *n_bytes = n_text;
    }
    return true;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n_bytes, size_t max_bytes, unsigned seed)
{
    json_malloc_t usual_malloc;
    json_free_t usual_free;
    bool done = false;

    if (rand_r(&seed) % 4) {
        json_get_alloc_funcs(&usual_malloc, &usual_free);
        json_set_alloc_funcs(json_arena_malloc, json_arena_free);
        json_arena.n_used = 0;
        done = json_mutate(data, &n_bytes, max_bytes, &seed);
        json_set_alloc_funcs(usual_malloc, usual_free);
    }
    return done || !LLVMFuzzerMutate ? n_bytes : LLVMFuzzerMutate(data, n_bytes, max_bytes);
}

#endif
