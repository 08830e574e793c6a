/* Records of one size in a file: the example of a format, which CONTRIBUTING.md walks through.
 *
 *     "DLBSKEL1"  n_records  record_bytes      the head; numbers are little-endian
 *     label  payload                           for each record
 *
 * dataset.path is the file, or the folder in which it is data.skel. */
#include "formats/format.h"

#include "core/base/hash.h"
#include "core/base/little.h"
#include "formats/codec.h"
#include "formats/generate/file.h"
#include "formats/generate/mark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD_BYTES = 24, LABEL_BYTES = 4, START_BYTES = 16 };
static const char magic[] = "DLBSKEL1";

/* Options. Another skeleton.field delivers other bytes. So the row leaves `work` at its default,
 * other work: no sweep takes the smaller field for the faster way. gen writes the same for both
 * fields, which reads_only says. */

enum { FIELD_PAYLOAD, FIELD_START };
static const char *const field_names[] = {"payload", "start", NULL};

struct skeleton_opts {
    int field;
};

static const struct dlb_opt opts[] = {
    {.key = "field",
     .reads_only = true,
     .type = DLB_OPT_CHOICE,
     .offset = offsetof(struct skeleton_opts, field),
     .def = "payload",
     .choices = field_names,
     .help = "what is read of a record: the payload, or only its first 16 bytes"},
    DLB_OPT_END,
};
static const struct dlb_opt_group group = {"skeleton", "records of one size", opts,
                                           sizeof(struct skeleton_opts)};

static size_t field_bytes(const struct skeleton_opts *asked, size_t record_bytes)
{
    bool start = asked && asked->field == FIELD_START;
    return start && record_bytes > START_BYTES ? START_BYTES : record_bytes;
}

/* Records are bytes of one size, which no codec but an identity makes or decodes. */
static int check_codec(const struct dlb_codec *codec, struct dlb_err *err)
{
    if (!codec || codec->identity)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_CODEC_UNFIT, NULL, DLB_NO_OFFSET,
                    "codec %s does not fit records of one size: use dataset.codec = \"raw\"",
                    codec->name);
}

/* Reading: the data set, which all workers share, and a worker's reader. */

struct skeleton {
    const struct dlb_io *io;
    char *path; /* of the file; NULL: it is not open */
    int64_t handle;
    uint64_t n_records;
    size_t record_bytes, field_bytes;
};

struct skeleton_reader {
    const struct skeleton *ds;
    uint8_t *record; /* the label and the field */
};

static void skeleton_close(void *state)
{
    struct skeleton *ds = state;
    if (ds->path)
        ds->io->close(ds->handle);
    free(ds->path);
    ds->path = NULL;
}

/* Nothing that the file says is used before it is checked: its length must be what the head says.
 */
static int open_file(struct skeleton *ds, const char *path, struct dlb_err *err)
{
    uint8_t head[HEAD_BYTES];
    enum dlb_io_kind kind;
    uint64_t n_bytes, promised;
    size_t n_read;
    int rc = ds->io->stat(path, &kind, &n_bytes, err);

    if (rc != DLB_OK)
        return rc;
    char *file = kind == DLB_IO_DIR ? dlb_path_join(path, "data.skel") : strdup(path);
    rc = file ? ds->io->open(file, &ds->handle, err) : dlb_fail_memory(err, path, strlen(path));
    if (rc != DLB_OK) {
        free(file);
        return rc;
    }
    ds->path = file;
    rc = ds->io->pread(ds->handle, head, sizeof head, 0, &n_read, file, err);
    if (rc == DLB_OK)
        rc = ds->io->size(ds->handle, &n_bytes, file, err);
    if (rc != DLB_OK)
        return rc;
    if (n_read < sizeof head || memcmp(head, magic, 8) != 0)
        return dlb_fail(err, DLB_ERR_FILE_NOT_OF_FORMAT, file, 0, "does not begin with %s", magic);
    ds->n_records = dlb_little_get(head + 8, 8);
    ds->record_bytes = dlb_little_get(head + 16, 8);
    if (ds->record_bytes == 0 || ds->record_bytes > SIZE_MAX / 2 ||
        __builtin_mul_overflow(ds->n_records, LABEL_BYTES + ds->record_bytes, &promised) ||
        n_bytes - HEAD_BYTES != promised)
        return dlb_fail(err, DLB_ERR_FILE_CUT_SHORT, file, 8,
                        "has %llu bytes, which are not the %llu records of %zu that it promises",
                        (unsigned long long)n_bytes, (unsigned long long)ds->n_records,
                        ds->record_bytes);
    return DLB_OK;
}

static int skeleton_open(void *state, const struct dlb_open *how, struct dlb_shape *shape,
                         struct dlb_err *err)
{
    struct skeleton *ds = state;
    ds->io = how->io;
    int rc = check_codec(how->codec, err);
    if (rc == DLB_OK)
        rc = dlb_gen_mark_refuse(how->path, err);
    if (rc == DLB_OK)
        rc = open_file(ds, how->path, err);
    if (rc != DLB_OK)
        return rc;
    ds->field_bytes = field_bytes(how->opts, ds->record_bytes);
    uint64_t numbers[] = {ds->n_records, ds->record_bytes, ds->field_bytes};
    *shape = (struct dlb_shape){.n_samples = ds->n_records,
                                .max_sample_bytes = ds->field_bytes,
                                .total_bytes = ds->n_records * ds->field_bytes,
                                .element = DLB_ELEMENT_U8,
                                .id = dlb_hash64(numbers, sizeof numbers, 0)};
    return DLB_OK;
}

static int skeleton_reader_open(void *rd, const void *state, struct dlb_err *err)
{
    struct skeleton_reader *reader = rd;
    reader->ds = state;
    reader->record = malloc(LABEL_BYTES + reader->ds->field_bytes);
    return reader->record ? DLB_OK : dlb_fail_memory(err, NULL, reader->ds->field_bytes);
}

static void skeleton_reader_close(void *rd)
{
    free(((struct skeleton_reader *)rd)->record);
}

/* The label comes with the payload in one read. So the payload cannot be read directly to `dest`,
 * and the loader copies it. A payload without a label beside it should be (fmt_npz.c). */
static int skeleton_read(void *rd, uint64_t index, struct dlb_dest dest, struct dlb_sample *out,
                         struct dlb_err *err)
{
    const struct skeleton_reader *reader = rd;
    const struct skeleton *ds = reader->ds;
    uint64_t at = HEAD_BYTES + index * (LABEL_BYTES + ds->record_bytes);
    size_t n_bytes = LABEL_BYTES + ds->field_bytes, n_read = 0;
    (void)dest;

    int rc = ds->io->pread(ds->handle, reader->record, n_bytes, at, &n_read, ds->path, err);
    if (rc == DLB_OK && n_read < n_bytes)
        rc = dlb_fail(err, DLB_ERR_FILE_CHANGED, ds->path, at + n_read,
                      "the file was cut short since it was opened");
    if (rc != DLB_OK)
        return rc;
    *out = (struct dlb_sample){
        .field = {{.data = reader->record + LABEL_BYTES, .len_bytes = ds->field_bytes, .name = ""}},
        .n_fields = 1,
        .label = (uint32_t)dlb_little_get(reader->record, LABEL_BYTES),
        .labelled = true,
        .element = DLB_ELEMENT_U8,
        .index = index,
        .io_bytes = n_read,
        .path = ds->path,
        .offset_bytes = at};
    return DLB_OK;
}

static uint64_t skeleton_files(const void *state, uint64_t number, char *path, size_t n_path)
{
    if (number == 0)
        (void)snprintf(path, n_path, "%s", ((const struct skeleton *)state)->path);
    return 1;
}

static int skeleton_probe(const char *path, const struct dlb_io *io)
{
    struct skeleton ds = {.io = io};
    struct dlb_err err;
    bool ours = open_file(&ds, path, &err) == DLB_OK || err.code == DLB_ERR_FILE_CUT_SHORT;
    skeleton_close(&ds);
    return ours ? 95 : 0;
}

/* Writing, by gen and by convert. A dlb_gen_file is written whole or not at all. */

struct skeleton_writer {
    struct dlb_gen_file file;
    bool is_open;
    uint64_t n_records;
    size_t record_bytes;
};

static int writer_create(struct skeleton_writer *writer, const char *path, struct dlb_err *err)
{
    int rc = dlb_gen_file_open(&writer->file, path, err);
    writer->is_open = rc == DLB_OK;
    return rc == DLB_OK
               ? dlb_gen_file_write(&writer->file, (uint8_t[HEAD_BYTES]){0}, HEAD_BYTES, err)
               : rc;
}

static int writer_put(struct skeleton_writer *writer, uint32_t label, const uint8_t *payload,
                      size_t n_bytes, struct dlb_err *err)
{
    uint8_t stored[LABEL_BYTES];

    writer->n_records++;
    writer->record_bytes = n_bytes; /* of all of them */
    dlb_little_put(stored, label, sizeof stored);
    int rc = dlb_gen_file_write(&writer->file, stored, sizeof stored, err);
    return rc == DLB_OK ? dlb_gen_file_write(&writer->file, payload, n_bytes, err) : rc;
}

static int skeleton_writer_open(void *wr, const struct dlb_write *how, struct dlb_err *err)
{
    if (field_bytes(how->opts, SIZE_MAX) != SIZE_MAX)
        return dlb_fail(err, DLB_ERR_CONVERT_FORMAT_UNFIT, how->path, DLB_NO_OFFSET,
                        "convert reads back what it writes: use skeleton.field = \"payload\"");
    return writer_create(wr, how->path, err);
}

static int skeleton_writer_add(void *wr, const struct dlb_sample *sample, struct dlb_err *err)
{
    struct skeleton_writer *writer = wr;
    const struct dlb_field *value = dlb_sample_value(sample, "skeleton", err);

    if (!value)
        return (int)err->status;
    if (!sample->labelled)
        return dlb_fail(err, DLB_ERR_SAMPLE_NO_LABEL, sample->path, sample->offset_bytes,
                        "the sample has no label, and skeleton stores one for each");
    if (value->len_bytes == 0 || (writer->n_records && value->len_bytes != writer->record_bytes))
        return dlb_fail(err, DLB_ERR_CONVERT_FORMAT_UNFIT, sample->path, sample->offset_bytes,
                        "the sample has %zu bytes, and skeleton stores samples of one size, here "
                        "%zu",
                        value->len_bytes, writer->record_bytes);
    return writer_put(writer, sample->label, value->data, value->len_bytes, err);
}

static int skeleton_writer_finish(void *wr, struct dlb_err *err)
{
    struct skeleton_writer *writer = wr;
    uint8_t head[HEAD_BYTES];

    memcpy(head, magic, 8);
    dlb_little_put(head + 8, writer->n_records, 8);
    dlb_little_put(head + 16, writer->record_bytes, 8);
    int rc = dlb_gen_file_patch(&writer->file, 0, head, sizeof head, err);
    writer->is_open = false;
    return dlb_gen_file_finish(&writer->file, rc, err);
}

static void skeleton_writer_close(void *wr)
{
    struct skeleton_writer *writer = wr;
    struct dlb_err ignored;
    if (writer->is_open) /* something failed: the file is removed */
        (void)dlb_gen_file_finish(&writer->file, DLB_E_IO, &ignored);
    writer->is_open = false;
}

/* Generating. The file is the only unit. */

static uint64_t skeleton_gen_units(const struct dlb_gen *gen)
{
    (void)gen;
    return 1;
}

static int skeleton_gen_prepare(const struct dlb_gen *gen, struct dlb_err *err)
{
    return check_codec(gen->codec, err);
}

static int skeleton_gen_unit(const struct dlb_gen *gen, uint64_t unit,
                             struct dlb_gen_worker *worker, struct dlb_err *err)
{
    uint64_t n = (uint64_t)gen->opts->samples;
    char *path = dlb_path_join(gen->path, "data.skel");
    struct skeleton_writer writer = {.is_open = false};
    struct dlb_bytes *made = &worker->sample;
    (void)unit;

    if (!path)
        return dlb_fail_memory(err, gen->path, strlen(gen->path));
    bool there = !gen->rewrite && access(path, F_OK) == 0;
    int rc = there ? DLB_OK : writer_create(&writer, path, err);
    for (uint64_t i = 0; rc == DLB_OK && !there && i < n; i++) {
        if (atomic_load_explicit(worker->stop, memory_order_relaxed)) {
            rc = dlb_fail(err, DLB_ERR_CANCELLED, path, DLB_NO_OFFSET, "interrupted");
            break;
        }
        made->len_bytes = 0;
        rc = gen->codec->make(gen->opts, i, made, err);
        if (rc == DLB_OK)
            rc = writer_put(&writer, dlb_gen_label(gen->opts, i), made->data, made->len_bytes, err);
        atomic_fetch_add(&worker->n_samples, 1);
        atomic_fetch_add(&worker->n_written, 1);
        atomic_fetch_add(&worker->n_bytes, LABEL_BYTES + made->len_bytes);
    }
    if (rc == DLB_OK && !there)
        rc = skeleton_writer_finish(&writer, err);
    skeleton_writer_close(&writer);
    if (there)
        atomic_fetch_add(&worker->n_samples, n);
    free(path);
    return rc;
}

/* gen reads samples back and compares them with what the codec made: as much as is delivered. */
static void skeleton_gen_stored(const struct dlb_gen *gen, struct dlb_bytes *made)
{
    made->len_bytes = field_bytes(gen->format_opts, made->len_bytes);
}

/* The tables. */

static const struct dlb_reader skeleton_reader = {.dataset_bytes = sizeof(struct skeleton),
                                                  .state_bytes = sizeof(struct skeleton_reader),
                                                  .dataset_open = skeleton_open,
                                                  .dataset_close = skeleton_close,
                                                  .open = skeleton_reader_open,
                                                  .close = skeleton_reader_close,
                                                  .read = skeleton_read,
                                                  .files = skeleton_files};

static const struct dlb_generator skeleton_generator = {.units = skeleton_gen_units,
                                                        .prepare = skeleton_gen_prepare,
                                                        .unit = skeleton_gen_unit,
                                                        .number = dlb_gen_number_by_index,
                                                        .stored = skeleton_gen_stored};

static const struct dlb_writer skeleton_writer = {.state_bytes = sizeof(struct skeleton_writer),
                                                  .open = skeleton_writer_open,
                                                  .add = skeleton_writer_add,
                                                  .finish = skeleton_writer_finish,
                                                  .close = skeleton_writer_close};

const struct dlb_format dlb_fmt_skeleton = {
    .name = "skeleton",
    .summary = "records of one size in a file: the example of a format",
    .opts = &group,
    .made = "data.skel",
    .numbers = true, /* of type uint8 */
    .probe = skeleton_probe,
    .reader = &skeleton_reader,
    .generator = &skeleton_generator,
    .writer = &skeleton_writer,
};
