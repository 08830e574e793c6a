#include "formats/hdf5/look.h"

#include "core/base/apart.h"
#include "formats/element.h"
#include "formats/hdf5/library.h"

#include <stdlib.h>
#include <string.h>

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
};

static int work(void *ctx, struct dlb_err *err)
{
    struct look *look = ctx;
    return dlb_hdf5_library_about(look->path, look->opts, look->chunks, look->facts, err);
}

/* A damaged file can make libhdf5 report anything. */
static bool makes_sense(const struct dlb_hdf5_about *about)
{
    bool sense = about->rank >= 1 && about->rank <= DLB_HDF5_MAX_RANK &&
                 about->layout >= DLB_HDF5_CONTIGUOUS && about->layout <= DLB_HDF5_ELSEWHERE &&
                 about->index >= DLB_HDF5_BTREE_1 && about->index <= DLB_HDF5_BTREE_2 &&
                 about->element >= DLB_ELEMENT_NONE && about->element <= DLB_ELEMENT_F64 &&
                 about->element_bytes > 0 && about->n_filters <= DLB_HDF5_MAX_FILTERS &&
                 about->n_sampled <= DLB_HDF5_MAX_SAMPLED && about->n_labels < UINT32_MAX &&
                 about->n_offsets < UINT32_MAX && about->n_listed <= DLB_HDF5_MAX_LISTED &&
                 memchr(about->dataset, 0, sizeof about->dataset);

    for (uint32_t i = 0; sense && about->layout == DLB_HDF5_CHUNKED && i < about->rank; i++)
        sense = about->chunk[i] > 0;
    return sense;
}

static bool pass(void *ctx, struct dlb_pipe *pipe)
{
    struct dlb_hdf5_facts *facts = ((struct look *)ctx)->facts;
    struct dlb_hdf5_about *about = &facts->about;

    return dlb_pass(pipe, about, sizeof *about) && makes_sense(about) &&
           dlb_pass_array(pipe, (void **)&facts->label, about->n_labels, sizeof *facts->label) &&
           dlb_pass_array(pipe, (void **)&facts->offset, about->n_offsets, sizeof *facts->offset) &&
           dlb_pass_array(pipe, (void **)&facts->listed, about->n_listed, sizeof *facts->listed);
}

int dlb_hdf5_look(const char *path, const struct dlb_hdf5_opts *opts, bool chunks,
                  struct dlb_hdf5_facts *facts, struct dlb_err *err)
{
    struct look look = {path, opts, chunks, facts};
    struct dlb_apart how = {.path = path,
                            .who = "libhdf5",
                            .work = work,
                            .pass = pass,
                            .ctx = &look,
                            .sandboxed = true,
                            .patience_s = PATIENCE_S};

    *facts = (struct dlb_hdf5_facts){.label = NULL};
    return dlb_apart(&how, err);
}

#endif
