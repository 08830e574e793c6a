/* HDF5: a data set whose first dimension counts samples, as h5py and others write them.
 *
 * dataset.access "chunks" is the fastest and the default: workers read chunks from the file and
 * undo deflate, shuffle, lzf and fletcher32. What this cannot read goes through libhdf5, and
 * `dlbench inspect` says so. "library" calls H5Dread, as h5py does, under one lock for all threads.
 * libhdf5 looks at a file in a process of its own, so that no handle is open when workers are
 * forked. */
#include "formats/format.h"

#include "formats/hdf5/about.h"

static const char *const filter_names[] = {"none", "deflate",     "shuffle+deflate",
                                           "lzf",  "shuffle+lzf", NULL};

static const struct dlb_opt opts[] = {
    {.key = "dataset",
     .reads_only = true,
     .type = DLB_OPT_STRING,
     .offset = offsetof(struct dlb_hdf5_opts, dataset),
     .def = "",
     .help = "path of the data set inside the file, such as /train/images; empty: the largest one"},
    {.key = "label",
     .reads_only = true,
     .type = DLB_OPT_STRING,
     .offset = offsetof(struct dlb_hdf5_opts, label),
     .def = "",
     .help =
         "path of a data set with a whole number for each sample; empty: label or labels beside "
         "the data, if it fits; none: no labels"},
    {.key = "allow_external",
     .reads_only = true,
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_BOOL,
     .offset = offsetof(struct dlb_hdf5_opts, allow_external),
     .def = "false",
     .help = "follow links to other files, read virtual data sets and external storage, and load "
             "filters from HDF5_PLUGIN_PATH"},
    {.key = "chunk_samples",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_INT,
     .offset = offsetof(struct dlb_hdf5_opts, chunk_samples),
     .min = 0,
     .max = 1000000000,
     .def = "1",
     .unit = "samples",
     .help = "gen, convert: samples in a chunk; 0: contiguous, without chunks"},
    {.key = "filter",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_CHOICE,
     .offset = offsetof(struct dlb_hdf5_opts, filter),
     .def = "none",
     .choices = filter_names,
     .help = "gen, convert: the filters that compress a chunk"},
    DLB_OPT_END,
};
static const struct dlb_opt_group group = {"hdf5", "HDF5 files", opts,
                                           sizeof(struct dlb_hdf5_opts)};

/* The best first. */
static const int accesses[] = {DLB_ACCESS_CHUNKS, DLB_ACCESS_LIBRARY, DLB_ACCESS_AUTO};

#ifndef DLB_HAVE_HDF5

const struct dlb_format dlb_fmt_hdf5 = {
    .name = "hdf5",
    .summary = "a data set of an HDF5 file, chunked or not",
    .missing = "built without HDF5",
    .opts = &group,
    .access = accesses,
};

#else

#include "core/base/hash.h"
#include "formats/codec.h"
#include "formats/generate/mark.h"
#include "formats/hdf5/btree.h"
#include "formats/hdf5/hdf5.h"
#include "formats/left_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct reader {
    struct dlb_hdf5_reader rows;
    uint8_t *sample; /* used when the caller gives no place for the sample; made when needed */
};

static bool is_hdf5_name(const char *name)
{
    static const char *const endings[] = {".h5", ".hdf5", ".hdf", ".he5"};
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t n_ending = strlen(endings[i]);
        if (name[0] != '.' && n > n_ending && strcasecmp(name + n - n_ending, endings[i]) == 0)
            return true;
    }
    return false;
}

struct listing {
    struct dlb_left_out left_out;
    char *name; /* of the first in the folder; owned */
    uint32_t n;
};

static int visit(void *ctx, const struct dlb_io_entry *entry, struct dlb_err *err)
{
    struct listing *listing = ctx;
    enum dlb_entry_role role;
    int rc = dlb_left_out_see(&listing->left_out, entry, &role, err);

    if (rc != DLB_OK || role != DLB_ENTRY_SHARD)
        return rc;
    if (listing->n++ == 0 && !(listing->name = strdup(entry->name)))
        return dlb_fail_memory(err, entry->name, strlen(entry->name) + 1);
    return DLB_OK;
}

/* The file at `path`, or the only HDF5 file in the folder at `path`. Malloced. Adds what is left
 * out of the folder to *shape. NULL: a probe asks. */
static int find_file(const char *path, const struct dlb_io *io, char **file,
                     struct dlb_shape *shape, struct dlb_err *err)
{
    struct listing listing = {
        .left_out = {.io = io, .folder = path, .is_shard = is_hdf5_name, .probes = !shape}};
    enum dlb_io_kind kind;
    uint64_t n_bytes;

    int rc = io->stat(path, &kind, &n_bytes, err);
    if (rc == DLB_OK && kind == DLB_IO_DIR) {
        rc = io->list(path, visit, &listing, err);
        if (rc == DLB_OK && listing.n == 0)
            rc = dlb_fail(err, DLB_ERR_DATASET_EMPTY, path, DLB_NO_OFFSET,
                          "holds no HDF5 file (.h5, .hdf5)");
        else if (rc == DLB_OK && listing.n > 1)
            rc = dlb_fail(err, DLB_ERR_HDF5_SEVERAL_FILES, path, DLB_NO_OFFSET,
                          "holds %u HDF5 files: name one of them with dataset.path", listing.n);
        if (rc == DLB_OK)
            *file = dlb_path_join(path, listing.name);
        if (rc == DLB_OK && shape)
            dlb_left_out_tell(&listing.left_out, shape);
        dlb_left_out_free(&listing.left_out);
        free(listing.name);
    } else if (rc == DLB_OK) {
        *file = strdup(path);
    }
    if (rc == DLB_OK && !*file)
        rc = dlb_fail_memory(err, path, strlen(path) + 1);
    return rc;
}

static void fill_shape(const struct dlb_hdf5 *ds, struct dlb_shape *shape)
{
    const struct dlb_hdf5_about *about = &ds->facts.about;
    const char *name = strrchr(ds->path, '/');
    uint64_t numbers[] = {ds->file_bytes, about->rank, about->element_bytes};

    name = name ? name + 1 : ds->path;
    uint64_t id = dlb_hash64(name, strlen(name), dlb_hash64(numbers, sizeof numbers, 0));
    id = dlb_hash64(about->dataset, strlen(about->dataset), id);
    shape->id = dlb_hash64(about->dims, about->rank * sizeof *about->dims, id);
    shape->n_samples = ds->n_samples;
    shape->max_sample_bytes = ds->max_sample_bytes;
    shape->total_bytes = ds->total_bytes;
    shape->reader_bytes = dlb_hdf5_reader_bytes(ds);
    shape->element = (uint32_t)about->element;
    if (ds->way == DLB_HDF5_LIBRARY || ds->way == DLB_HDF5_LIBRARY_CHUNKS)
        (void)snprintf(shape->library, sizeof shape->library, "libhdf5");
    if (about->n_offsets) /* bytes of any kind: images, documents */
        shape->element = DLB_ELEMENT_NONE;
    for (uint64_t i = 0; i < about->n_labels; i++)
        if (ds->facts.label[i] >= shape->n_classes)
            shape->n_classes = (uint64_t)ds->facts.label[i] + 1;
}

static int hdf5_open(void *state, const struct dlb_open *how, struct dlb_shape *shape,
                     struct dlb_err *err)
{
    static const struct dlb_hdf5_opts none = {.chunk_samples = 1};
    struct dlb_hdf5 *ds = state;
    char *file = NULL;

    *shape = (struct dlb_shape){.n_samples = 0};
    int rc = dlb_gen_mark_refuse(how->path, err);
    if (rc == DLB_OK)
        rc = find_file(how->path, how->io, &file, shape, err);
    if (rc == DLB_OK)
        rc = dlb_hdf5_open(ds, file, how->io, how->opts ? how->opts : &none,
                           how->access == DLB_ACCESS_LIBRARY, shape, err);
    if (rc == DLB_OK)
        fill_shape(ds, shape);
    /* Elements of one byte are rather pixels than tokens. */
    if (rc == DLB_OK && how->codec && how->codec->numbers &&
        (ds->facts.about.rank != 2 || ds->facts.about.element_bytes < 2))
        rc =
            dlb_fail(err, DLB_ERR_CODEC_UNFIT, ds->path, DLB_NO_OFFSET,
                     "codec %s takes rows of whole numbers of 2 bytes or more: use dataset.codec = "
                     "\"raw\"",
                     how->codec->name);
    free(file);
    return rc;
}

static void hdf5_close(void *state)
{
    dlb_hdf5_close(state);
}

static int hdf5_reader_open(void *rd, const void *ds, struct dlb_err *err)
{
    return dlb_hdf5_reader_open(&((struct reader *)rd)->rows, ds, err);
}

static void hdf5_reader_close(void *rd)
{
    struct reader *reader = rd;

    dlb_hdf5_reader_close(&reader->rows);
    free(reader->sample);
    reader->sample = NULL;
}

static int hdf5_read(void *rd, uint64_t index, struct dlb_dest dest, struct dlb_sample *out,
                     struct dlb_err *err)
{
    struct reader *reader = rd;
    const struct dlb_hdf5 *ds = reader->rows.ds;
    const struct dlb_hdf5_facts *facts = &ds->facts;
    uint64_t first = index, count = 1;

    if (index >= ds->n_samples)
        DLB_BUG("sample beyond the data set");
    if (facts->about.n_offsets) {
        first = facts->offset[index];
        count = facts->offset[index + 1] - first;
    }
    size_t n_bytes = count * ds->row_bytes;
    uint8_t *dst = dest.data;
    if (!dst || dest.cap_bytes < n_bytes) {
        if (!reader->sample && !(reader->sample = malloc(ds->max_sample_bytes + 1)))
            return dlb_fail_memory(err, ds->path, ds->max_sample_bytes + 1);
        dst = reader->sample;
    }
    reader->rows.io_bytes = 0;
    reader->rows.at_bytes = DLB_NO_OFFSET;
    int rc = dlb_hdf5_read_rows(&reader->rows, first, count, dst, err);
    out->field[0].data = dst;
    out->field[0].len_bytes = n_bytes;
    out->field[0].name = "";
    out->n_fields = 1;
    out->labelled = facts->about.n_labels > 0;
    out->label = out->labelled ? facts->label[index] : 0;
    out->element = facts->about.n_offsets ? DLB_ELEMENT_NONE : (uint32_t)facts->about.element;
    out->index = index;
    out->io_bytes = reader->rows.io_bytes;
    out->path = ds->path;
    out->offset_bytes = reader->rows.at_bytes;
    return rc;
}

static void hdf5_whereabouts(const void *state, uint64_t number, char *path, size_t n_path)
{
    (void)number;
    (void)snprintf(path, n_path, "%s", ((const struct dlb_hdf5 *)state)->path);
}

static uint64_t hdf5_files(const void *state, uint64_t number, char *path, size_t n_path)
{
    if (number == 0)
        hdf5_whereabouts(state, 0, path, n_path);
    return 1;
}

static int hdf5_probe(const char *path, const struct dlb_io *io)
{
    struct dlb_hdf5_bytes file = {.io = io, .path = path};
    struct dlb_err ignored;
    char *name = NULL;
    int likely = 0;

    if (find_file(path, io, &name, NULL, &ignored) != DLB_OK ||
        io->open(name, &file.handle, &ignored)) {
        free(name);
        return 0;
    }
    if (io->size(file.handle, &file.file_bytes, name, &ignored) == DLB_OK &&
        dlb_hdf5_superblock(&file, &ignored) == DLB_OK)
        likely = 100;
    io->close(file.handle);
    free(name);
    return likely;
}

static const struct dlb_reader hdf5_reader = {
    .dataset_bytes = sizeof(struct dlb_hdf5),
    .state_bytes = sizeof(struct reader),
    .dataset_open = hdf5_open,
    .dataset_close = hdf5_close,
    .open = hdf5_reader_open,
    .close = hdf5_reader_close,
    .read = hdf5_read,
    .whereabouts = hdf5_whereabouts,
    .files = hdf5_files,
};

static const struct dlb_generator hdf5_generator = {
    .units = dlb_hdf5_gen_units,
    .compresses = dlb_hdf5_gen_compresses,
    .prepare = dlb_hdf5_gen_prepare,
    .unit = dlb_hdf5_gen_unit,
    .number = dlb_gen_number_by_index,
    .stored = dlb_hdf5_gen_stored,
};

static const struct dlb_writer hdf5_writer = {
    .state_bytes = sizeof(struct dlb_hdf5_writer),
    .open = dlb_hdf5_writer_open,
    .add = dlb_hdf5_writer_add,
    .finish = dlb_hdf5_writer_finish,
    .close = dlb_hdf5_writer_close,
};

const struct dlb_format dlb_fmt_hdf5 = {
    .name = "hdf5",
    .summary = "a data set of an HDF5 file, chunked or not",
    .opts = &group,
    .access = accesses,
    .numbers = true,
    .made = "data.h5",
    .probe = hdf5_probe,
    .reader = &hdf5_reader,
    .generator = &hdf5_generator,
    .writer = &hdf5_writer,
};

#endif
