/* The mark in a folder that gen has not finished.
 *
 * Floor 2. Control thread. It names the parameters of the data and the boot of the machine, so that
 * the same gen can resume, and knows whether the machine was restarted since. Its id tells a rank
 * of the same gen whether it sees the same folder. */
#ifndef DLB_FORMATS_GENERATE_MARK_H
#define DLB_FORMATS_GENERATE_MARK_H

#include "core/base/err.h"

#include <jansson.h>
#include <stdbool.h>

#define DLB_INCOMPLETE_MARK ".dlbench-incomplete"

enum { DLB_MARK_ID = 40 }; /* a UUID of the kernel's and a zero byte */

struct dlb_gen_mark {
    json_t *params;       /* what is being generated; a new reference */
    char id[DLB_MARK_ID]; /* drawn when the mark was written; "": an older program wrote it */
    bool restarted;       /* the machine was, since the mark was written */
};

/* A UUID of the kernel's: "boot_id" differs after every restart of the machine, "uuid" each time.
 * Empty where the kernel does not say. */
void dlb_gen_mark_uuid(const char *name, char text[DLB_MARK_ID]);

/* Writes a mark to `path` whole or not at all, synced, with an id that it draws. `params` is
 * borrowed. */
int dlb_gen_mark_write(const char *path, json_t *params, char id[DLB_MARK_ID], struct dlb_err *err);

/* DLB_E_CONFIG for a mark that cannot be read: what it belongs to is unknown. */
int dlb_gen_mark_read(const char *path, struct dlb_gen_mark *out, struct dlb_err *err);

/* DLB_E_FORMAT, with advice, when `folder` has the mark. Formats call it when they open a data set.
 */
int dlb_gen_mark_refuse(const char *folder, struct dlb_err *err);

#endif
