/* Looking at an HDF5 file without trusting it. libhdf5 does so in a child process, which reports
 * what it found and ends. A file that crashes or hangs libhdf5 gives an error then, and no handle
 * stays open in this process.
 *
 * Floor 2. Control thread, with no other thread running. */
#ifndef DLB_FORMATS_HDF5_LOOK_H
#define DLB_FORMATS_HDF5_LOOK_H

#include "core/base/err.h"
#include "formats/hdf5/about.h"

#include <stdbool.h>

/* As dlb_hdf5_library_about. *facts is consistent in itself, but not checked against the file. */
int dlb_hdf5_look(const char *path, const struct dlb_hdf5_opts *opts, bool chunks,
                  struct dlb_hdf5_facts *facts, struct dlb_err *err);

#endif
