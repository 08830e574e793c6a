/* Lists the keys of a database, in a child process: what liblmdb trusts in the file may crash it,
 * lead it in circles, or take it over.
 *
 * Floor 2. Control thread, with no other thread running. */
#ifndef DLB_FORMATS_LMDB_LISTING_H
#define DLB_FORMATS_LMDB_LISTING_H

#include "core/base/io.h"
#include "formats/lmdb/answer.h"
#include "formats/lmdb/lmdb.h"

struct dlb_lmdb_asked {
    const char *path; /* the data file */
    const struct dlb_io *io;
    bool readahead;
    const char *prefix; /* "": all keys but those about the database */
};

/* Lists the keys, looks up each as readers will, and reads the labels, if there is one for each of
 * these keys. `head`: of the same file.
 * The caller frees *out, also after a failure. */
int dlb_lmdb_list(const struct dlb_lmdb_asked *asked, const struct dlb_lmdb_head *head,
                  struct dlb_lmdb_answer *out, struct dlb_err *err);

#endif
