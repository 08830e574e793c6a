/* The manifest: what gen wrote into a folder, as JSON beside the data.
 *
 * Floor 2. Control thread. A manifest is an object: "dlbench_manifest" (its version), "params"
 * (flat: the requested options), "samples", and what the format adds (webdataset: "shards"). */
#ifndef DLB_FORMATS_GENERATE_MANIFEST_H
#define DLB_FORMATS_GENERATE_MANIFEST_H

#include "core/base/err.h"
#include "formats/generator.h"

#include <jansson.h>

#define DLB_MANIFEST_NAME ".dlbench-manifest.json"

/* Raised when the same parameters give other bytes, so that data of an older generator do not count
 * as complete. */
#define DLB_GENERATOR_VERSION 1

/* Everything that decides the bytes, with dotted keys. New reference, never NULL. */
json_t *dlb_manifest_params(const struct dlb_gen *gen);

/* The manifest of `folder`, a new reference, or NULL in *out when it has none. DLB_E_FORMAT for one
 * that cannot be read. */
int dlb_manifest_load(const char *folder, json_t **out, struct dlb_err *err);

/* Writes it whole or not at all, synced. */
int dlb_manifest_save(const char *folder, const json_t *manifest, struct dlb_err *err);

/* DLB_E_CONFIG with the first parameter of `want` that differs in `have`. Others in `have` do not
 * count: older manifests hold options that only reading uses. */
int dlb_manifest_same(const json_t *have, const json_t *want, const char *folder,
                      struct dlb_err *err);

#endif
