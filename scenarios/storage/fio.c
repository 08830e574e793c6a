#include "scenarios/storage/fio.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BLOCK_ALIGN UINT64_C(4096)
#define MAX_BLOCK_BYTES (UINT64_C(1) << 20)    /* larger reads are cut up below the file system */
#define STREAM_BLOCK_BYTES (UINT64_C(1) << 18) /* what tar and TFRecord shards are read in */
enum { MIN_SECONDS = 2, MAX_SECONDS = 30 };

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* As long as a repetition's window would be with every batch in time. */
static uint32_t seconds_of(const struct dlb_spec *spec)
{
    double s = ceil((double)spec->run.max_batches * spec->device.step_ms / 1e3);
    return (uint32_t)fmin(fmax(s, MIN_SECONDS), MAX_SECONDS);
}

/* A block is what the pipeline requests at a time. fio ignores files smaller than a block, so if
 * sizes vary, it is half of the mean. The rest at a file's end is left out. */
static uint64_t block_of(const struct dlb_shape *shape, bool files, bool direct)
{
    uint64_t mean = shape->n_samples ? shape->total_bytes / shape->n_samples : 1;
    uint64_t block = files && shape->max_sample_bytes > mean ? mean / 2 : mean;

    if (shape->iterable)
        return STREAM_BLOCK_BYTES;
    if (direct)
        block = (block + (files ? 0 : BLOCK_ALIGN - 1)) / BLOCK_ALIGN * BLOCK_ALIGN;
    return clamp(block, direct ? BLOCK_ALIGN : 1, MAX_BLOCK_BYTES);
}

void dlb_fio_job_of(const struct dlb_spec *spec, const struct dlb_shape *shape,
                    struct dlb_fio_job *job)
{
    bool files = strcmp(dlb_formats[spec->dataset.format]->name, "files") == 0;
    uint64_t mean = shape->n_samples ? shape->total_bytes / shape->n_samples : 1;
    bool direct = spec->loader.direct || spec->dataset.access == DLB_ACCESS_DIRECT;
    uint64_t workers = (uint64_t)spec->loader.num_workers;

    if (!spec->accelerators.shared_workers)
        workers *= (uint64_t)spec->accelerators.count;
    *job = (struct dlb_fio_job){
        .keeps_cache = spec->run.cache != DLB_RUN_COLD,
        .direct = direct,
        .random = !files && !shape->iterable && spec->loader.shuffle,
        .block_bytes = block_of(shape, files, direct),
        .n_jobs = (uint32_t)clamp(workers, 1, 4096),
        .depth = spec->loader.io != DLB_READ_SYNC ? (uint32_t)spec->loader.io_depth : 1,
        .seconds = seconds_of(spec),
        .seed = (uint64_t)spec->run.seed,
    };
    uint64_t file = shape->iterable && shape->n_shards ? shape->total_bytes / shape->n_shards
                    : files                            ? mean
                                                       : job->block_bytes;
    job->blocks_per_file = (file + job->block_bytes - 1) / job->block_bytes;
    if (job->blocks_per_file == 0)
        job->blocks_per_file = 1;
    job->bytes_per_job = clamp(shape->total_bytes / job->n_jobs / job->block_bytes, 1, UINT64_MAX) *
                         job->block_bytes;
}

static int append_escaped(struct dlb_bytes *out, const char *path, struct dlb_err *err)
{
    int rc = out->len_bytes > 0 ? dlb_bytes_append(out, ":", 1, err) : DLB_OK;
    for (; *path && rc == DLB_OK; path++) {
        if (*path == ':')
            rc = dlb_bytes_append(out, "\\", 1, err);
        if (rc == DLB_OK)
            rc = dlb_bytes_append(out, path, 1, err);
    }
    return rc;
}

int dlb_fio_files(const struct dlb_spec *spec, const struct dlb_dataset *dataset, char **files,
                  struct dlb_err *err)
{
    struct dlb_bytes out = {0};
    struct stat st;
    char path[PATH_MAX];
    int rc = DLB_OK;

    *files = NULL;
    if (stat(spec->dataset.path, &st) == 0 && S_ISDIR(st.st_mode))
        return DLB_OK;
    uint64_t n =
        dataset->format->reader->files
            ? dataset->format->reader->files(dataset->state, UINT64_MAX, path, sizeof(path))
            : 0;
    if (n == 0)
        return dlb_fail(err, DLB_ERR_FIO_NO_FILES, spec->dataset.path, DLB_NO_OFFSET,
                        "--baseline fio: there are no files that fio could read; leave it out");
    for (uint64_t i = 0; i < n && rc == DLB_OK; i++) {
        (void)dataset->format->reader->files(dataset->state, i, path, sizeof(path));
        rc = append_escaped(&out, path, err);
        if (rc == DLB_OK && out.len_bytes > DLB_FIO_MAX_FILES_BYTES)
            rc = dlb_fail(err, DLB_ERR_FIO_TOO_MANY_FILES, spec->dataset.path, DLB_NO_OFFSET,
                          "--baseline fio: the names of %llu files are too long for it: give the "
                          "folder that they lie in, or leave it out",
                          (unsigned long long)n);
    }
    if (rc == DLB_OK)
        rc = dlb_bytes_append(&out, "", 1, err);
    if (rc == DLB_OK)
        *files = (char *)out.data;
    else
        dlb_bytes_free(&out);
    return rc;
}

__attribute__((format(printf, 2, 3))) static void add(struct dlb_fio_args *args, const char *fmt,
                                                      ...)
{
    size_t n = 0;
    va_list list;
    while (args->argv[n])
        n++;
    if (n == DLB_FIO_MAX_ARGS)
        DLB_BUG("more arguments for fio than there is room for");
    va_start(list, fmt);
    if (vasprintf(&args->argv[n], fmt, list) < 0)
        args->argv[n] = NULL;
    va_end(list);
    (void)dlb_mem_check(args->argv[n]);
}

void dlb_fio_args_fill(const struct dlb_fio_job *job, struct dlb_fio_args *args)
{
    *args = (struct dlb_fio_args){.argv = {NULL}};
    add(args, "fio");
    add(args, "--name=dlbench");
    add(args, "--readonly");
    if (job->files)
        add(args, "--filename=%s", job->files);
    else
        add(args, "--opendir=%s", job->folder);
    add(args, "--openfiles=%u", job->n_open > 0 ? job->n_open : 1);
    add(args, "--invalidate=%d", !job->keeps_cache);
    add(args, "--rw=%s", job->random ? "randread" : "read");
    add(args, "--bs=%llu", (unsigned long long)job->block_bytes);
    add(args, "--blocksize_unaligned=%d", !job->direct);
    add(args, "--direct=%d", job->direct);
    add(args, "--ioengine=%s", job->depth > 1 ? "io_uring" : "psync");
    add(args, "--iodepth=%u", job->depth);
    add(args, "--numjobs=%u", job->n_jobs);
    add(args, "--thread");
    add(args, "--group_reporting");
    add(args, "--norandommap");
    add(args, "--file_service_type=random:%llu", (unsigned long long)job->blocks_per_file);
    add(args, "--randseed=%llu", (unsigned long long)job->seed + 1);
    add(args, "--runtime=%u", job->seconds);
    if (job->direct)
        add(args, "--time_based");
    else
        add(args, "--io_size=%llu", (unsigned long long)job->bytes_per_job);
    add(args, "--output-format=json");
}

void dlb_fio_args_free(struct dlb_fio_args *args)
{
    for (size_t i = 0; i < DLB_FIO_MAX_ARGS; i++)
        free(args->argv[i]);
    *args = (struct dlb_fio_args){.argv = {NULL}};
}

/* A finite number that is not negative, else NaN: the document is not trusted. */
static double figure(const json_t *object, const char *key)
{
    double value = dlb_json_number(object, key);
    return isfinite(value) && value >= 0 ? value : (double)NAN;
}

int dlb_fio_parse(const char *text, size_t n_bytes, struct dlb_baseline_result *out,
                  struct dlb_err *err)
{
    /* Warnings may stand before the document. */
    const char *start = n_bytes > 0 ? memchr(text, '{', n_bytes) : NULL;
    json_t *all =
        start ? json_loadb(start, n_bytes - (size_t)(start - text), JSON_DISABLE_EOF_CHECK, NULL)
              : NULL;
    const json_t *job = json_array_get(json_object_get(all, "jobs"), 0);
    const json_t *read = json_object_get(job, "read");
    const json_t *latency = json_object_get(json_object_get(read, "clat_ns"), "percentile");
    int rc = DLB_OK;

    if (dlb_json_u64(job, "error", 0) != 0) {
        rc = dlb_fail(err, DLB_ERR_FIO_FAILED, "fio", DLB_NO_OFFSET, "it failed: %.100s",
                      strerror((int)(dlb_json_u64(job, "error", 0) & 0xfff)));
    } else if (!(dlb_json_number(read, "bw_bytes") > 0)) {
        rc = dlb_fail(err, DLB_ERR_FIO_OUTPUT, "fio", DLB_NO_OFFSET,
                      "its output has no rate of reads: %.*s",
                      DLB_CUT_KEY(n_bytes ? text : "", n_bytes, 100));
    } else {
        out->bytes_per_s = figure(read, "bw_bytes");
        out->iops = figure(read, "iops");
        out->p50_ns = figure(latency, "50.000000");
        out->p99_ns = figure(latency, "99.000000");
        out->p999_ns = figure(latency, "99.900000");
    }
    json_decref(all);
    return rc;
}
