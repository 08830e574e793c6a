#include "scenarios/cell/choose.h"

#include <stdio.h>

extern const struct dlb_loader dlb_ld_resident;

const struct dlb_loader *dlb_cell_loader(const struct dlb_spec *spec, enum dlb_cell_mode mode,
                                         struct dlb_err *err)
{
    if (mode == DLB_MODE_CEILING && !dlb_spec_is_torch(spec))
        return &dlb_ld_resident;
    return dlb_loader_choose(&spec->loader, err);
}

const struct dlb_device *dlb_cell_device(const struct dlb_spec *spec,
                                         const struct dlb_loader *loader, const char *memo,
                                         char why[160], struct dlb_err *err)
{
    const struct dlb_device_opts *opts = &spec->device;
    const struct dlb_device *const *device = dlb_devices;

    if (!loader->elsewhere)
        return dlb_device_choose(opts, memo, why, err);
    while (*device && !(*device)->emulated)
        device++;
    if (*device && (opts->kind == 0 || dlb_devices[opts->kind - 1] == *device)) {
        (void)snprintf(why, 160, "batches of loader.kind = \"%s\" stay in the interpreter",
                       loader->name);
        return *device;
    }
    (void)dlb_fail(err, DLB_ERR_PYTHON_NO_GPU, NULL, DLB_NO_OFFSET,
                   "loader.kind = \"%s\" needs device.kind = \"emulated\": its batches stay in the "
                   "interpreter",
                   loader->name);
    return NULL;
}

void dlb_cell_device_name(const struct dlb_device *device, const struct dlb_device_opts *opts,
                          char *text, size_t n_text)
{
    if (device->emulated)
        (void)snprintf(text, n_text, "emulated %s", dlb_device_profiles[opts->profile].title);
    else
        (void)snprintf(text, n_text, "%s", device->summary);
}
