#include "scenarios/cell/rings.h"

int dlb_cell_trace_open(struct dlb_trace *trace, const struct dlb_spec *spec, uint32_t n_loaders,
                        struct dlb_err *err)
{
    const struct dlb_loader_opts *opts = &spec->loader;
    uint32_t n_workers = (uint32_t)opts->num_workers * n_loaders;
    uint32_t n_accelerators = (uint32_t)spec->accelerators.count;
    bool torch = dlb_spec_is_torch(spec), pins = opts->pin_memory;
    struct dlb_trace_layout layout = {.n_loaders = n_loaders};

    if (!trace)
        return DLB_OK;
    /* Without workers PyTorch loads in its own loop; a loader of ours has a track for what it does
     * within the training loop. */
    layout.n[DLB_TRACK_WORKER] = n_workers > 0 || torch ? n_workers : n_loaders;
    layout.n[DLB_TRACK_SENDER] = torch ? n_workers : 0;
    layout.n[DLB_TRACK_INTERPRETER] = torch ? n_loaders : 0;
    if (pins && n_workers > 0 && (torch || opts->pin_mode == DLB_PIN_THREAD))
        layout.n[DLB_TRACK_PIN] = n_loaders;
    layout.n[DLB_TRACK_LOOP] = layout.n[DLB_TRACK_COPY] = layout.n[DLB_TRACK_COMPUTE] =
        n_accelerators;
    return dlb_trace_open(trace, &layout, err);
}
