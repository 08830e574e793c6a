/* Options that are tables (DLB_OPT_TABLE): names that the user chooses, each with a text, a number,
 * true or false, or a list of these.
 *
 * Floor 0. Any thread. The key of a name is dotted: "python.args.root". */
#ifndef DLB_CORE_BASE_OPT_TABLE_H
#define DLB_CORE_BASE_OPT_TABLE_H

#include "core/base/err.h"
#include "core/base/opt.h"

#include <jansson.h>
#include <stdbool.h>

#define DLB_OPT_LARGEST_FLOAT "1.8e308, the largest that a fraction can be"
#define DLB_OPT_NAME_CAP 48 /* of a name, its end included */

/* "root" of "args.root", where `opt` is the table "args". Borrowed. NULL: the key is none of this
 * table, or the name is no identifier. */
const char *dlb_opt_name_in(const struct dlb_opt *opt, const char *key);

/* The value of one name, as dlb_opt_from_json and dlb_opt_from_text check those of other options.
 * Text is read as in TOML; what is no number, no list, and neither true nor false is text. What
 * begins with a quote is a string of TOML. */
int dlb_opt_named_from_json(const char *key, const json_t *value, const char *origin, json_t **out,
                            struct dlb_err *err);
int dlb_opt_named_from_text(const char *key, const char *text, const char *origin, json_t **out,
                            struct dlb_err *err);

/* Refuses a text that begins with a quote and is no string; `what`: of dlb_unquote. */
int dlb_opt_not_a_string(const char *key, const char *text, const char *what, const char *origin,
                         struct dlb_err *err);

/* Whether a field has room for the whole table. */
bool dlb_opt_table_fits(const json_t *table);
void dlb_opt_table_store(const json_t *table, char field[DLB_OPT_TABLE_CAP]);
json_t *dlb_opt_table_load(const char field[DLB_OPT_TABLE_CAP]); /* new reference, never NULL */

/* Puts the value of a whole option (taken over) into an object of dotted keys: a table as its
 * names. */
void dlb_opt_put_flat(json_t *out, const char *key, const struct dlb_opt *opt, json_t *value);

/* Cuts "0, "a,b", 4" at its commas, but not within quotes; *list moves to the rest, and is NULL
 * after the last. Destroys the text. dlb_list_trimmed: without blanks around it. */
char *dlb_list_next(char **list);
char *dlb_list_trimmed(char *text);

#endif
