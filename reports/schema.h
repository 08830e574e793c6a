/* Checks a JSON document against a JSON Schema: the part of it that summary.schema.json uses.
 *
 * Floor 4. Any thread.
 *
 * Keywords: type, enum, pattern (a POSIX extended expression), minimum, maximum, properties,
 * additionalProperties, required, items, and $ref to "#/$defs/NAME". An integer is any number
 * without a fractional part, as JSON Schema has it. One keyword is added: `needed`, an array of
 * keys like `required`. */
#ifndef DLB_REPORTS_SCHEMA_H
#define DLB_REPORTS_SCHEMA_H

#include "core/base/err.h"

#include <jansson.h>

enum dlb_schema_strictness {
    /* The document is exactly what the schema says. */
    DLB_SCHEMA_EXACT,
    /* The document can be read: what it has is of the schema's types, and `needed` keys are
     * there. Another version of the program may have written it, so other required keys may be
     * absent, keys that the schema does not name are ignored, and values are not held to enum,
     * pattern, minimum and maximum. */
    DLB_SCHEMA_READABLE,
};

/* DLB_E_FORMAT names the first value that does not fit, as in "cells[3].samples_per_s.median".
 * `path` is for messages. A keyword that is not one of those above is an offence, too. */
int dlb_schema_check(const json_t *schema, const json_t *value,
                     enum dlb_schema_strictness strictness, const char *path, struct dlb_err *err);

#endif
