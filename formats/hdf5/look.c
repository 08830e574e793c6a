#include "formats/hdf5/look.h"

#include "core/base/apart.h"
#include "formats/hdf5/library.h"
#include "formats/headroom.h"

#include <stdlib.h>

void dlb_hdf5_facts_free(struct dlb_hdf5_facts *facts)
{
    free(facts->label);
    free(facts->offset);
    free(facts->listed);
    *facts = (struct dlb_hdf5_facts){.label = NULL};
}

#ifdef DLB_HAVE_HDF5

/* libhdf5 walks the index of 20,000 chunks 20,000 times in 3 s. This allows for storage that is a
 * hundred times slower. */
enum { PATIENCE_S = 300 };

struct look {
    const char *path;
    const struct dlb_hdf5_opts *opts;
    bool chunks;
    struct dlb_hdf5_facts *facts;
    struct dlb_err full; /* why the parent has no memory for them */
};

static int work(void *ctx, struct dlb_err *err)
{
    struct look *look = ctx;
    return dlb_hdf5_library_about(look->path, look->opts, look->chunks, look->facts, err);
}

static int check_memory(const struct dlb_hdf5_about *about, const char *path, struct dlb_err *err)
{
    uint64_t n_bytes =
        about->n_labels * sizeof(uint32_t) + about->n_offsets * sizeof(uint64_t); /* each 32 bits */
    return dlb_headroom_check(n_bytes, path, "the list of its labels and offsets",
                              "read it where there is more", err);
}

static bool pass(void *ctx, struct dlb_pipe *pipe)
{
    struct look *look = ctx;
    struct dlb_hdf5_facts *facts = look->facts;
    struct dlb_hdf5_about *about = &facts->about;

    return dlb_pass(pipe, about, sizeof *about) && dlb_hdf5_about_makes_sense(about) &&
           (pipe->tells || check_memory(about, look->path, &look->full) == DLB_OK) &&
           dlb_pass_array(pipe, (void **)&facts->label, about->n_labels, sizeof *facts->label) &&
           dlb_pass_array(pipe, (void **)&facts->offset, about->n_offsets, sizeof *facts->offset) &&
           dlb_pass_array(pipe, (void **)&facts->listed, about->n_listed, sizeof *facts->listed);
}

int dlb_hdf5_look(const char *path, const struct dlb_hdf5_opts *opts, bool chunks,
                  struct dlb_hdf5_facts *facts, struct dlb_err *err)
{
    struct look look = {.path = path, .opts = opts, .chunks = chunks, .facts = facts};
    struct dlb_apart how = {.path = path,
                            .who = "libhdf5",
                            .work = work,
                            .pass = pass,
                            .ctx = &look,
                            .sandboxed = true,
                            .patience_s = PATIENCE_S};

    *facts = (struct dlb_hdf5_facts){.label = NULL};
    int rc = dlb_apart(&how, err);
    if (rc != DLB_OK && look.full.status != DLB_OK) {
        *err = look.full;
        rc = (int)err->status;
    }
    return rc;
}

#endif
