/* What gen was asked for, read back from its manifest.
 *
 * Floor 2. Control thread. */
#ifndef DLB_FORMATS_GENERATE_REMADE_H
#define DLB_FORMATS_GENERATE_REMADE_H

#include "formats/generator.h"

#include <jansson.h>
#include <stdbool.h>

struct dlb_remade {
    struct dlb_gen gen; /* without a path */
    struct dlb_generate_opts opts;
    void *format_opts; /* owned */
};

/* From a manifest; NULL: none. False: gen did not write it, or this build lacks what it names. Free
 * it in any case. */
bool dlb_remade_from(const json_t *manifest, struct dlb_remade *out);
void dlb_remade_free(struct dlb_remade *remade);

#endif
