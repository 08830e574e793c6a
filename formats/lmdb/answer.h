/* What listing a database's keys finds out, and how it comes from the child process that lists
 * them. A hostile file may have taken the child over: whatever it tells is checked, against the
 * file too, before anything is done with it.
 *
 * Floor 2. Control thread. */
#ifndef DLB_FORMATS_LMDB_ANSWER_H
#define DLB_FORMATS_LMDB_ANSWER_H

#include "core/base/apart.h"
#include "core/base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct dlb_lmdb_facts {
    uint64_t n_keys, n_key_bytes;     /* of samples; all of their keys together */
    uint64_t total_bytes, most_bytes; /* of samples; of the largest one */
    uint64_t n_about;                 /* keys about the database, ignored */
    uint64_t n_empty;                 /* samples without a byte */
    uint64_t n_databases;             /* named ones */
    char database[64];                /* the first one's name */
    bool labelled;                    /* there is a label for each sample */
    bool described;                   /* and beside them what they are */
};

struct dlb_lmdb_answer {
    struct dlb_lmdb_facts facts;
    uint8_t *keys;   /* [n_key_bytes] back to back */
    uint64_t *end;   /* [n_keys] where each ends in keys */
    uint32_t *label; /* [n_keys], or NULL */
};
void dlb_lmdb_answer_free(struct dlb_lmdb_answer *answer);

/* Against which it is checked. */
struct dlb_lmdb_limits {
    const char *path;
    uint64_t n_entries; /* by the root */
    uint64_t file_bytes;
};

/* dlb_apart's `pass`: in the child tells *answer, in the parent fills it. False: it could not be
 * passed, or it makes no sense, or, with DLB_E_NOMEM in *err, there is no memory for it. */
bool dlb_lmdb_pass(struct dlb_lmdb_answer *answer, const struct dlb_lmdb_limits *limits,
                   struct dlb_pipe *pipe, struct dlb_err *err);

#endif
