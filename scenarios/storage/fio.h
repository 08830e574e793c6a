/* fio as a baseline: it reads the same folder in the same way as the pipeline.
 *
 * Floor 4. dlb_fio_run starts a process and waits for it; the rest is pure. */
#ifndef DLB_SCENARIOS_STORAGE_FIO_H
#define DLB_SCENARIOS_STORAGE_FIO_H

#include "core/base/err.h"
#include "formats/dataset.h"
#include "scenarios/cell/cell.h"
#include "scenarios/spec/spec.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* How the pipeline reads, in fio's terms. */
struct dlb_fio_job {
    const char *folder; /* all files below it; or NULL, then ... */
    const char *files;  /* ... these, as fio wants them: ":" between, "\\:" for one in a name */
    bool keeps_cache;   /* reads may be served from the page cache, as those of the pipeline */
    uint32_t n_open;    /* files at a time, of each job */
    bool direct;
    bool random; /* within a file; else from its start to its end */
    uint64_t block_bytes;
    uint64_t blocks_per_file; /* before the next one is chosen, at random */
    uint64_t bytes_per_job;   /* all jobs together read as much as there is, so that the page cache
                                 serves none; ignored with direct */
    uint32_t n_jobs, depth;
    uint32_t seconds;
    uint64_t seed;
};

/* folder or files and n_open are left to the caller. */
void dlb_fio_job_of(const struct dlb_spec *spec, const struct dlb_shape *shape,
                    struct dlb_fio_job *job);

#define DLB_FIO_MAX_FILES_BYTES 100000 /* of one argument; the kernel takes 128 KiB */
/* *files: NULL where dataset.path is a folder, else the data set's files, malloced. DLB_E_CONFIG
 * where there are too many to be named. */
int dlb_fio_files(const struct dlb_spec *spec, const struct dlb_dataset *dataset, char **files,
                  struct dlb_err *err);

#define DLB_FIO_MAX_ARGS 24
struct dlb_fio_args {
    char *argv[DLB_FIO_MAX_ARGS + 1]; /* "fio" first, NULL last; owned */
};
/* dlb_fio_args_free in any case. */
void dlb_fio_args_fill(const struct dlb_fio_job *job, struct dlb_fio_args *args);
void dlb_fio_args_free(struct dlb_fio_args *args);

/* Parses fio's --output-format=json to bytes_per_s, iops, p50_ns, p99_ns and p999_ns in `out`.
 * DLB_E_FORMAT if the text is not fio's, DLB_E_IO for fio's own errors. */
int dlb_fio_parse(const char *text, size_t n_bytes, struct dlb_baseline_result *out,
                  struct dlb_err *err);

/* DLB_E_MISSING, with what to do, where no fio is found in PATH. */
int dlb_fio_check(struct dlb_err *err);

/* Fills *out as dlb_cell_run does: status, reason and code, and the baseline. */
void dlb_fio_run(const struct dlb_spec *spec, const struct dlb_cell_watch *watch,
                 struct dlb_cell_result *out);

#endif
