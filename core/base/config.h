/* A configuration: what a file and --set say, key by key, checked against option groups.
 *
 * Floor 0. One thread. Keys are flat and dotted ("loader.num_workers"). Each value remembers where
 * it came from, so that an error names file and line. Later settings win over earlier ones. When
 * memory is short the process ends (core/base/mem.h). Codes of what is refused: DLB_ERR_CONFIG_*,
 * all of status DLB_E_CONFIG.
 *
 * A sweep axis is the same key under "sweep.": sweep.loader.num_workers = [0, 2, 4] (in TOML also
 * as a table [sweep] with dotted keys). Each element is checked as the key itself is. A section
 * "sweep" may have options of its own, which take one value: sweep.max_minutes. */
#ifndef DLB_CORE_BASE_CONFIG_H
#define DLB_CORE_BASE_CONFIG_H

#include "core/base/err.h"
#include "core/base/opt.h"

#include <jansson.h>
#include <stdbool.h>

struct dlb_config; /* owned by the caller of dlb_config_new */

/* `groups` ends with NULL, is borrowed for the config's life, and says which keys exist. */
struct dlb_config *dlb_config_new(const struct dlb_opt_group *const *groups);
void dlb_config_free(struct dlb_config *cfg);

/* Reads a TOML file on top of what is set. An error has "file:line" for a path and, for an unknown
 * key, names the nearest known one. A file over 1 MiB, nested deeper than 32 or with more than
 * 2,000 values is refused before it is parsed. On an error the config keeps what it had. */
int dlb_config_load(struct dlb_config *cfg, const char *path, struct dlb_err *err);

/* As dlb_config_load, from a text in memory; `name` stands for the path. */
int dlb_config_load_text(struct dlb_config *cfg, const char *text, size_t n_bytes, const char *name,
                         struct dlb_err *err);

/* "loader.num_workers=4", "sweep.loader.num_workers=[0, 2, 4]", as typed after --set. A plain
 * value replaces any earlier list for that key. "sweep.KEY" keeps its origin, so that callers
 * can tell that it was set. */
int dlb_config_set(struct dlb_config *cfg, const char *assignment, struct dlb_err *err);

/* Sets one key from a JSON value (a cell's override, or a spec file), checked like any other;
 * `origin` names its source. */
int dlb_config_set_json(struct dlb_config *cfg, const char *key, const json_t *value,
                        const char *origin, struct dlb_err *err);

/* Sets each key of a flat object {"section.key": value} as dlb_config_set_json does; null: none. */
int dlb_config_set_flat(struct dlb_config *cfg, const json_t *flat, const char *origin,
                        struct dlb_err *err);

/* Whether a file or --set set the key; false when it has its default. */
bool dlb_config_has(const struct dlb_config *cfg, const char *key);

/* "imagenet.toml:12" or "--set"; "default" when it was not set. Borrowed. */
const char *dlb_config_origin(const struct dlb_config *cfg, const char *key);

/* Whether a file or --set set anything. */
bool dlb_config_is_set(const struct dlb_config *cfg);

/* Every setting of a file or --set: array of {"key", "value", "origin"}, the axes last.
 * dlb_config_restore sets them on top of what is set, so that a new configuration becomes the same.
 * New reference. */
json_t *dlb_config_said(const struct dlb_config *cfg);
int dlb_config_restore(struct dlb_config *cfg, const json_t *said, struct dlb_err *err);

/* Fills the group's struct (group->n_bytes at `out`) with what was set, and defaults. */
void dlb_config_fill(const struct dlb_config *cfg, const struct dlb_opt_group *group, void *out);

/* Every key of every group, resolved, as one flat JSON object in table order; sweep axes are left
 * out. New reference, never NULL. Choices appear as their names. */
json_t *dlb_config_resolved(const struct dlb_config *cfg);

/* The axes in the order they were set: {"loader.num_workers": [0, 2, 4], ...}. Borrowed. */
const json_t *dlb_config_axes(const struct dlb_config *cfg);

/* 64-bit hash, as 16 hex digits, of the resolved values and the axes: equal configurations have
 * equal hashes. */
void dlb_config_hash(const struct dlb_config *cfg, char hex[17]);

/* The table row of a dotted key, or NULL; *group is set when not NULL. */
const struct dlb_opt *dlb_config_find(const struct dlb_config *cfg, const char *key,
                                      const struct dlb_opt_group **group);

#endif
