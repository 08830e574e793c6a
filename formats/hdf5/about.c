#include "formats/hdf5/about.h"

#include "core/base/told.h"
#include "formats/element.h"

/* Readers take a label, or two offsets, for each sample, and ragged samples byte by byte. */
static bool lists_make_sense(const struct dlb_hdf5_about *about)
{
    bool ragged = about->n_offsets > 0;
    uint64_t n_samples = ragged ? about->n_offsets - 1 : about->dims[0];

    return about->n_offsets <= DLB_HDF5_MAX_LIST && about->n_labels <= DLB_HDF5_MAX_LIST &&
           about->n_listed <= DLB_HDF5_MAX_LISTED && about->n_sampled <= DLB_HDF5_MAX_SAMPLED &&
           (!ragged || (about->rank == 1 && about->element_bytes == 1)) &&
           (about->n_labels == 0 || about->n_labels == n_samples);
}

static bool flags_make_sense(const struct dlb_hdf5_about *about)
{
    return dlb_told_bool(&about->search_ended) && dlb_told_bool(&about->fills) &&
           dlb_told_bool(&about->fill_too_large) && dlb_told_bool(&about->plain_edges) &&
           dlb_told_bool(&about->label_refused) && dlb_told_bool(&about->more_labels) &&
           dlb_told_bool(&about->offsets_unused) && dlb_told_bool(&about->other_numbers);
}

static bool elements_make_sense(const struct dlb_hdf5_about *about)
{
    return about->element >= DLB_ELEMENT_NONE && about->element <= DLB_ELEMENT_F64 &&
           about->element_bytes > 0 &&
           (about->element == DLB_ELEMENT_NONE ||
            about->element_bytes == dlb_element_bytes((enum dlb_element)about->element));
}

bool dlb_hdf5_about_makes_sense(const struct dlb_hdf5_about *about)
{
    bool sense = about->rank >= 1 && about->rank <= DLB_HDF5_MAX_RANK &&
                 about->layout >= DLB_HDF5_CONTIGUOUS && about->layout <= DLB_HDF5_ELSEWHERE &&
                 about->index >= DLB_HDF5_BTREE_1 && about->index <= DLB_HDF5_BTREE_2 &&
                 about->n_filters <= DLB_HDF5_MAX_FILTERS && flags_make_sense(about) &&
                 elements_make_sense(about) && lists_make_sense(about) &&
                 dlb_told_text(about->dataset, sizeof about->dataset);

    for (uint32_t i = 0; sense && about->layout == DLB_HDF5_CHUNKED && i < about->rank; i++)
        sense = about->chunk[i] > 0;
    return sense;
}
