/* What an interpreter says of a data set before anything is planned.
 *
 * Floor 3. Control thread, before threads exist. */
#ifndef DLB_LOADERS_TORCH_ASK_H
#define DLB_LOADERS_TORCH_ASK_H

#include "core/base/err.h"
#include "loaders/python.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdint.h>

/* Builds the loader that the settings (dotted keys) ask for, takes a batch of it, and ends it.
 * n_samples: of data that a twin makes up; 0: not known.
 * *about (new reference): torch, python, interpreter, samples or null, sample_bytes, iterable, ...
 */
int dlb_torch_ask(const struct dlb_python_opts *python, const json_t *settings, uint64_t seed,
                  uint64_t n_samples, const char *scratch, const atomic_bool *cancel,
                  json_t **about, struct dlb_err *err);

#endif
