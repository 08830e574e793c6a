/* What a process leaves of its share, for the process that joins them: files in a folder of its
 * own. The same program reads them.
 *
 * Floor 2. One thread. */
#ifndef DLB_FORMATS_CONVERT_KEPT_H
#define DLB_FORMATS_CONVERT_KEPT_H

#include "formats/convert/state.h"

enum dlb_convert_kind {
    DLB_CONVERT_LEFT_OUT,
    DLB_CONVERT_CUT,
    DLB_CONVERT_DAMAGED,
    DLB_CONVERT_N_KINDS
};

#define DLB_CONVERT_NOTES 16 /* of a kind that are kept of a share; all are counted */

struct dlb_convert_note {
    enum dlb_convert_kind kind;
    struct dlb_err why;
};

struct dlb_convert_kept {
    struct dlb_converted out;
    struct dlb_convert_check check; /* its facets and names */
    struct dlb_convert_cut cut;
    uint64_t n_keys; /* in the list */
    bool fields;
    uint32_t n_notes, n_of[DLB_CONVERT_N_KINDS];
    struct dlb_convert_note note[DLB_CONVERT_N_KINDS * DLB_CONVERT_NOTES];
};

/* The list of keys in the folder (check.h). NULL, with the error. The caller closes it. */
FILE *dlb_convert_kept_keys(const char *folder, bool writes, struct dlb_err *err);

int dlb_convert_kept_save(const char *folder, const struct dlb_convert_kept *kept,
                          struct dlb_err *err);
int dlb_convert_kept_load(const char *folder, struct dlb_convert_kept *kept, struct dlb_err *err);

/* Whether all that was read is what its type allows: counts, kinds, errors and texts. Another
 * machine may have written it. */
bool dlb_convert_kept_is_whole(const struct dlb_convert_kept *kept);

/* `what`: which sums. Loading adds those of the folder. */
enum dlb_convert_side { DLB_CONVERT_HAVE, DLB_CONVERT_GOT };
int dlb_convert_kept_save_sums(const char *folder, enum dlb_convert_side side,
                               const struct dlb_convert_sums *sums, struct dlb_err *err);
int dlb_convert_kept_load_sums(const char *folder, enum dlb_convert_side side,
                               struct dlb_convert_sums *sums, struct dlb_err *err);

#endif
