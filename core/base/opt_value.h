/* One option's value: text or JSON in, canonical JSON out, and from there into a struct.
 *
 * Floor 0. Any thread. Canonical: BOOL true/false, INT and BYTES integers, FLOAT reals, CHOICE
 * and STRING strings, all checked against the table. What is read of a TABLE is the value of one of
 * its names; what is stored and loaded is the whole object. Messages name `origin`
 * ("imagenet.toml:12"), the key, the value and the allowed values. */
#ifndef DLB_CORE_BASE_OPT_VALUE_H
#define DLB_CORE_BASE_OPT_VALUE_H

#include "core/base/err.h"
#include "core/base/opt.h"

#include <jansson.h>
#include <stdbool.h>

/* Checks a JSON value. *out: new reference. `key` is the dotted one, for messages. */
int dlb_opt_from_json(const struct dlb_opt *opt, const char *key, const json_t *value,
                      const char *origin, json_t **out, struct dlb_err *err);

/* Checks a value as typed on a command line: the option's type says how the text is read; a
 * string is as it stands, or in quotes as in TOML (core/base/quoted.h). */
int dlb_opt_from_text(const struct dlb_opt *opt, const char *key, const char *text,
                      const char *origin, json_t **out, struct dlb_err *err);

/* Writes a canonical value to its field in the group's struct at `base`. */
void dlb_opt_store(const struct dlb_opt *opt, const json_t *value, void *base);

/* The place of `name` among a CHOICE's names, as fields of that type hold it; -1 when it is none of
 * them. */
int dlb_opt_place(const char *const *choices, const char *name);

/* The other way round: the field's canonical value. New reference, never NULL. */
json_t *dlb_opt_load(const struct dlb_opt *opt, const void *base);

/* Whether the field has the same value in both structs. */
bool dlb_opt_equal(const struct dlb_opt *opt, const void *a, const void *b);

/* The allowed values in words: "0 to 1024 workers", "at least 4096 bytes", "files, webdataset or
 * synthetic", "true or false". */
const char *dlb_opt_range_text(const struct dlb_opt *opt, char *text, size_t n_text);

#endif
