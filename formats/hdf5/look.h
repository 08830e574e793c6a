/* Looking at an HDF5 file without trusting it: the library does so in a child process that tells
 * what it saw and ends, so that a file that crashes or hangs it costs an error, and so that no
 * library handle is left in this process.
 *
 * Floor 2. Control thread, with no other thread running. */
#ifndef DLB_FORMATS_HDF5_LOOK_H
#define DLB_FORMATS_HDF5_LOOK_H

#include "core/base/err.h"
#include "formats/hdf5/about.h"

#include <stdbool.h>

/* As dlb_hdf5_library_about; what is told is consistent in itself, but nothing in it has been
 * checked against the file. */
int dlb_hdf5_look(const char *path, const struct dlb_hdf5_opts *opts, bool chunks,
                  struct dlb_hdf5_told *told, struct dlb_err *err);

#endif
