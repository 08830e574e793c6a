/* On-disk formats. A format is a folder with one const table (struct dlb_format) and one line in
 * formats.def. A build may name further folders of formats, by DLB_EXTRA_FORMATS. The table says
 * what the format is and points to up to three tables of functions: how samples are read
 * (reader.h), how `gen` makes them (generator.h), how `convert` writes them (writer.h).
 *
 * Floor 2. The tables are constants: any thread. Formats never read the clock and never print. They
 * read files through core/base/io.h alone. */
#ifndef DLB_FORMATS_FORMAT_H
#define DLB_FORMATS_FORMAT_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "core/base/opt.h"
#include "formats/generator.h"
#include "formats/reader.h"
#include "formats/writer.h"

#include <stdbool.h>

struct dlb_format {
    const char *name, *summary;
    const char *missing; /* NULL, or why this build lacks the format: then there is no reader, no
                            generator and no writer */
    const struct dlb_opt_group *opts; /* the format's own section of the configuration, or NULL */
    const int *access; /* enum dlb_access values that dataset.access may name, the best first, ended
                          by AUTO; NULL: there is only one way */
    const char *made;  /* names of the files that gen and convert make below their folder: patterns
                          (formats/generate/names.h), separated by spaces; NULL: none */
    bool numbers;      /* shape and samples say which numbers they hold (enum dlb_element) */
    bool file_per_field; /* each file is a field of a sample: the codec's extensions decide which
                            files count, and the fields of a sample share a stem */
    bool synthetic; /* samples are made up when they are read: needs no path, and only an identity
                       codec fits, because the bytes have no meaning */

    bool elsewhere; /* only another program reads the samples (loader.kind = "torch") */

    /* Whether `path` looks like this format, for inspect: 0 no, 100 certainly. Reads little. NULL:
     * never looks like it. */
    int (*probe)(const char *path, const struct dlb_io *io);

    const struct dlb_reader *reader;       /* NULL only where `missing` is set */
    const struct dlb_generator *generator; /* NULL: gen has nothing to write */
    const struct dlb_writer *writer;       /* NULL: nothing can be converted to this format */
};

extern const struct dlb_format
    *const dlb_formats[]; /* ends with NULL; in the order of formats.def, then of extra formats */
extern const char *const dlb_format_names[]; /* the same, as choices for the option table */

const struct dlb_format *dlb_format_by_name(const char *name); /* or NULL */

/* Puts a path in front of an error that lacks the path; returns the error's status. */
int dlb_fail_at_path(struct dlb_err *err, const char *path);

#endif
