#include "formats/dataset.h"

#include "core/base/mem.h"
#include "formats/look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const on_error_names[] = {"fail", "skip", NULL};
static const char *const crop_names[] = {"random-resized", "center", "none", "random", NULL};
static const char *const pixel_names[] = {"u8", "f32", NULL};
static const char *const where_names[] = {"cpu", "gpu", NULL};

static const struct dlb_opt dataset_opts[] = {
    {.key = "format",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_CHOICE,
     .offset = offsetof(struct dlb_dataset_opts, format),
     .def = "files",
     .choices = dlb_format_names,
     .help = "how the samples lie on disk"},
    {.key = "codec",
     .needs = DLB_NEEDS_STORED_BYTES,
     .type = DLB_OPT_CHOICE,
     .offset = offsetof(struct dlb_dataset_opts, codec),
     .def = "jpeg",
     .choices = dlb_codec_names,
     .help = "what turns a sample's bytes into what the batch holds"},
    {.key = "path",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_STRING,
     .offset = offsetof(struct dlb_dataset_opts, path),
     .def = "",
     .help = "folder (or single shard) that holds the data set"},
    {.key = "access",
     .work = DLB_WORK_SAME,
     .needs = DLB_NEEDS_STORED_BYTES,
     .type = DLB_OPT_CHOICE,
     .offset = offsetof(struct dlb_dataset_opts, access),
     .def = "auto",
     .choices = dlb_access_names,
     .help = "how the bytes are fetched: from a memory map, by pread, or by pread past the page "
             "cache (O_DIRECT); each format offers some of them"},
    {.key = "on_error",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_CHOICE,
     .offset = offsetof(struct dlb_dataset_opts, on_error),
     .def = "fail",
     .choices = on_error_names,
     .help = "a sample that cannot be read or decoded ends the run, or is skipped and counted"},
    DLB_OPT_END,
};
const struct dlb_opt_group dlb_dataset_group = {"dataset", "what is loaded", dataset_opts,
                                                sizeof(struct dlb_dataset_opts)};

static const struct dlb_opt transform_opts[] = {
    {.key = "crop",
     .type = DLB_OPT_CHOICE,
     .offset = offsetof(struct dlb_transform_opts, crop),
     .def = "random-resized",
     .choices = crop_names,
     .help = "which part of an image is kept: torchvision's RandomResizedCrop, its Resize and "
             "CenterCrop, all of it (ragged batches), or Resize and RandomCrop; of audio "
             "transform.num_frames from a random start, from the middle, or all"},
    {.key = "size",
     .type = DLB_OPT_INT,
     .offset = offsetof(struct dlb_transform_opts, size),
     .min = 1,
     .max = 4096,
     .def = "224",
     .unit = "pixels",
     .help = "width and height of what a crop becomes"},
    {.key = "flip",
     .type = DLB_OPT_BOOL,
     .offset = offsetof(struct dlb_transform_opts, flip),
     .def = "true",
     .help = "mirror every other image, at random; with crop = random-resized or random"},
    {.key = "pixels",
     .type = DLB_OPT_CHOICE,
     .offset = offsetof(struct dlb_transform_opts, pixels),
     .def = "u8",
     .choices = pixel_names,
     .help = "bytes, height x width x 3; or normalised floats, 3 x height x width, as ToTensor and "
             "Normalize give"},
    {.key = "where",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_CHOICE,
     .offset = offsetof(struct dlb_transform_opts, where),
     .def = "cpu",
     .choices = where_names,
     .help = "where the work after decoding and resizing is done: crop of the resized image, flip "
             "and normalise (codecs jpeg and image with pixels = f32), widening (codec tokens); "
             "gpu: by the "
             "device, as part of each step"},
    {.key = "scaled_decode",
     .native = true,
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_BOOL,
     .offset = offsetof(struct dlb_transform_opts, scaled_decode),
     .def = "true",
     .help = "decode a JPEG at 1/2, 1/4 or 1/8 where that still has the pixels asked for"},
    {.key = "whole_decode",
     .native = true,
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_BOOL,
     .offset = offsetof(struct dlb_transform_opts, whole_decode),
     .def = "false",
     .help = "decode all of an image at full size, as PIL and torchvision's decode_jpeg do; false: "
             "only the pixels that the crop needs"},
    {.key = "max_decoded_bytes",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_BYTES,
     .offset = offsetof(struct dlb_transform_opts, max_decoded_bytes),
     .min = 0,
     .max = INT64_C(1) << 40,
     .def = "0",
     .unit = "bytes",
     .help =
         "the largest sample that codec zstd unpacks, or image and audio with crop = none, which "
         "sets the size of slots; 0: estimated from some samples"},
    {.key = "num_frames",
     .type = DLB_OPT_INT,
     .offset = offsetof(struct dlb_transform_opts, num_frames),
     .min = 1,
     .max = INT64_C(1) << 28,
     .def = "16000",
     .unit = "frames",
     .help = "how much of a clip of audio a crop keeps (codec audio); zeros follow a shorter clip"},
    {.key = "num_channels",
     .type = DLB_OPT_INT,
     .offset = offsetof(struct dlb_transform_opts, num_channels),
     .min = 1,
     .max = 1024,
     .def = "1",
     .unit = "channels",
     .help = "1: the mean of a clip's channels (codec audio); more: as many as every clip has"},
    DLB_OPT_END,
};
const struct dlb_opt_group dlb_transform_group = {
    "transform", "what an image or a clip of audio becomes", transform_opts,
    sizeof(struct dlb_transform_opts)};

static size_t count(const char *const *names)
{
    size_t n = 0;
    while (names[n])
        n++;
    return n;
}

const char *const dlb_access_names[] = {"auto",    "mmap",    "pread",  "direct", "stream",
                                        "indexed", "library", "chunks", NULL};

bool dlb_access_locates(int access)
{
    return access == DLB_ACCESS_AUTO || access == DLB_ACCESS_PREAD || access == DLB_ACCESS_DIRECT ||
           access == DLB_ACCESS_INDEXED;
}

/* What "auto" stands for. A format that streams by default keeps streaming, also for a loader that
 * would locate samples. */
static int resolve_access(const struct dlb_dataset_opts *opts, const struct dlb_format *format)
{
    const int *own = format->access;

    if (opts->access != DLB_ACCESS_AUTO || format->synthetic)
        return opts->access;
    if (opts->direct)
        return DLB_ACCESS_DIRECT;
    if (!own)
        return DLB_ACCESS_AUTO;
    for (const int *way = own; opts->located && own[0] != DLB_ACCESS_STREAM && *way; way++)
        if (dlb_access_locates(*way))
            return *way;
    return own[0];
}

static int check_access(int access, bool direct, const struct dlb_format *format,
                        struct dlb_err *err)
{
    char has[128] = "";

    if (direct && access != DLB_ACCESS_DIRECT && !format->synthetic)
        return dlb_fail(err, DLB_ERR_DATASET_ACCESS_UNFIT, NULL, DLB_NO_OFFSET,
                        "loader.direct = true and dataset.access = \"%s\" contradict each other: "
                        "leave one of them out",
                        dlb_access_names[access]);
    if (access == DLB_ACCESS_AUTO || format->synthetic)
        return DLB_OK;
    for (const int *own = format->access; own && *own != DLB_ACCESS_AUTO; own++) {
        size_t len = strlen(has);
        if (*own == access)
            return DLB_OK;
        (void)snprintf(has + len, sizeof has - len, ", \"%s\"", dlb_access_names[*own]);
    }
    if (direct)
        return dlb_fail(err, DLB_ERR_DATASET_ACCESS_UNFIT, NULL, DLB_NO_OFFSET,
                        "loader.direct = true: format %s does not read past the page cache",
                        format->name);
    return dlb_fail(err, DLB_ERR_DATASET_ACCESS_UNFIT, NULL, DLB_NO_OFFSET,
                    "dataset.access = \"%s\": format %s does not offer it; it offers \"auto\"%s",
                    dlb_access_names[access], format->name, has);
}

int dlb_dataset_check_access(const struct dlb_dataset_opts *opts, const struct dlb_format *format,
                             struct dlb_err *err)
{
    return check_access(resolve_access(opts, format), opts->direct, format, err);
}

int dlb_dataset_check_local(const char *path, struct dlb_err *err)
{
    static const struct {
        const char *scheme, *mount;
    } remote[] = {{"s3://", "mount-s3 or s3fs"},
                  {"gs://", "gcsfuse"},
                  {"az://", "blobfuse2"},
                  {"hf://", "huggingface-cli download"},
                  {"http://", "httpdirfs or rclone mount"},
                  {"https://", "httpdirfs or rclone mount"},
                  {"hdfs://", "hadoop-fuse"}};

    for (size_t i = 0; i < sizeof remote / sizeof *remote; i++)
        if (strncmp(path, remote[i].scheme, strlen(remote[i].scheme)) == 0 &&
            access(path, F_OK) != 0)
            return dlb_fail(err, DLB_ERR_REMOTE_PATH, path, DLB_NO_OFFSET,
                            "reading from %s is not built in: copy the data to a local folder, or "
                            "mount them as your training does (%s) and give that folder; or "
                            "measure your own Python code with dataset.format = \"python\"",
                            remote[i].scheme, remote[i].mount);
    return DLB_OK;
}

static int check(const struct dlb_dataset_opts *opts, const struct dlb_format *format,
                 const struct dlb_codec *codec, struct dlb_err *err)
{
    if (format->missing)
        return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, "dataset.format = \"%s\": %s",
                        format->name, format->missing);
    if (codec->missing)
        return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, "dataset.codec = \"%s\": %s",
                        codec->name, codec->missing);
    if (!format->synthetic && opts->path[0] == '\0')
        return dlb_fail(
            err, DLB_ERR_DATASET_PATH_NOT_SET, NULL, DLB_NO_OFFSET,
            "dataset.path is not set: it names the folder that holds the data; `dlbench PATH` "
            "finds settings for data of your own, and `dlbench init PATH --write "
            "my.toml` writes them down");
    if (!format->synthetic) {
        int rc = dlb_dataset_check_local(opts->path, err);
        if (rc != DLB_OK)
            return rc;
    }
    return dlb_codec_check(codec, format, err);
}

/* A null source stores nothing that could be decoded: its samples go to the batch as they are. */
static const struct dlb_codec *codec_for(const struct dlb_format *format,
                                         const struct dlb_codec *asked)
{
    for (size_t i = 0; format->synthetic && dlb_codecs[i]; i++)
        if (dlb_codecs[i]->identity)
            return dlb_codecs[i];
    return asked;
}

int dlb_dataset_open(struct dlb_dataset *ds, const struct dlb_dataset_opts *opts,
                     const struct dlb_transform_opts *transform,
                     const struct dlb_generate_opts *gen, const void *format_opts,
                     struct dlb_err *err)
{
    if (opts->format < 0 || (size_t)opts->format >= count(dlb_format_names) || opts->codec < 0 ||
        (size_t)opts->codec >= count(dlb_codec_names))
        DLB_BUG("format or codec beyond its list");
    *ds =
        (struct dlb_dataset){.format = dlb_formats[opts->format],
                             .codec = codec_for(dlb_formats[opts->format], dlb_codecs[opts->codec]),
                             .transform = *transform,
                             .on_error = opts->on_error};
    ds->access = resolve_access(opts, ds->format);
    int rc = check(opts, ds->format, ds->codec, err);
    if (rc == DLB_OK)
        rc = dlb_codec_check_where(ds->codec, ds->format, transform, err);
    if (rc == DLB_OK)
        rc = dlb_dataset_check_access(opts, ds->format, err);
    if (rc != DLB_OK)
        return rc;
    ds->state = dlb_mem_state(ds->format->reader->dataset_bytes);
    if (!ds->state)
        return dlb_fail_memory(err, NULL, ds->format->reader->dataset_bytes);
    struct dlb_open how = {.path = opts->path,
                           .io = &dlb_io_posix,
                           .opts = format_opts,
                           .gen = gen,
                           .codec = ds->codec,
                           .access = ds->access,
                           .in_order = opts->in_order};
    rc = ds->format->reader->dataset_open(ds->state, &how, &ds->shape, err);
    if (rc == DLB_E_IO && err->sys_errno == ENOENT && !ds->format->synthetic &&
        access(opts->path, F_OK) != 0) {
        (void)dlb_fail(err, DLB_ERR_NOT_FOUND, opts->path, DLB_NO_OFFSET,
                       "No such file or folder: check dataset.path, or write the data "
                       "with `dlbench gen`");
        err->sys_errno = ENOENT;
    }
    if (rc == DLB_OK && ds->shape.n_samples == 0)
        rc = dlb_fail(err, DLB_ERR_DATASET_EMPTY, opts->path, DLB_NO_OFFSET,
                      "holds no samples: check dataset.path, or write them with `dlbench gen`");
    if (rc == DLB_OK && ds->codec->decoded_bytes && transform->max_decoded_bytes == 0 &&
        (!ds->codec->estimates || ds->codec->estimates(transform)))
        rc = dlb_look_decoded(ds, opts->path, err);
    if (rc == DLB_OK && transform->where == DLB_WHERE_GPU)
        rc = ds->codec->augment(transform, &ds->shape, &ds->augment, err);
    if (rc == DLB_OK)
        ds->max_payload_bytes = ds->codec->max_output_bytes(transform, &ds->shape);
    else
        dlb_dataset_close(ds);
    return rc;
}

void dlb_dataset_close(struct dlb_dataset *ds)
{
    if (ds->state)
        ds->format->reader->dataset_close(ds->state);
    free(ds->state);
    ds->state = NULL;
}
