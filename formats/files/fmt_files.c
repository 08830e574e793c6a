/* A file per sample, a folder per class: torchvision's ImageFolder, or any folder of images. */
#include "formats/format.h"

#include "core/base/hash.h"
#include "formats/codec.h"
#include "formats/undecoded.h"
#include "formats/files/list.h"
#include "formats/files/write.h"
#include "formats/generate/manifest.h"
#include "formats/generate/mark.h"
#include "formats/headroom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Up to this many folders are kept open, so that opening a file resolves one name only. */
enum { MAX_OPEN_FOLDERS = 256 };

struct files {
    const struct dlb_io *io;
    struct dlb_files_list list;
    int64_t *handles; /* of folders, or NULL: too many */
    uint64_t n_handles, max_bytes;
    size_t align_bytes; /* past the page cache; else 0 */
};

struct files_reader {
    const struct files *ds;
    char *path; /* of the last sample */
    size_t folder_len;
    uint32_t folder;                       /* whose path it starts with; UINT32_MAX: none yet */
    char field_name[DLB_FIELD_NAME_BYTES]; /* of the last sample */
    uint8_t *buffer;        /* for samples without a destination; allocated at first use */
    uint64_t granted_bytes; /* of the buffer: the largest sample that memory was checked for */
};

static void describe_manifest(const struct dlb_files_list *list, const char *path,
                              struct dlb_shape *shape)
{
    char text[sizeof(struct dlb_err)];
    json_t *manifest = NULL;
    struct dlb_err why;

    if (dlb_manifest_load(path, &manifest, &why) != DLB_OK)
        dlb_shape_odd(shape, "the manifest is ignored: %s", dlb_err_text(&why, text, sizeof text));
    if (!manifest)
        return;
    const json_t *said = json_object_get(manifest, "samples");
    json_int_t wrote = json_is_integer(said) ? json_integer_value(said) : -1;
    if (wrote < 0)
        dlb_shape_odd(shape, "the manifest's number of samples is ignored: it is none");
    else if ((uint64_t)wrote != list->n_files)
        dlb_shape_odd(shape, "the manifest says that gen wrote %lld samples, and %llu are here",
                      (long long)wrote, (unsigned long long)list->n_files);
    json_decref(manifest);
}

static void describe_odd(const struct dlb_files_list *list, const char *path,
                         struct dlb_shape *shape)
{
    if (list->n_other_extension)
        dlb_shape_odd(shape,
                      list->n_other_extension == 1 ? "%llu file of another kind is left out (%s)"
                                                   : "%llu files of another kind are left out (%s)",
                      (unsigned long long)list->n_other_extension, list->other_name);
    if (list->n_hidden)
        dlb_shape_odd(shape,
                      list->n_hidden == 1 ? "%llu hidden file or folder is left out"
                                          : "%llu hidden files and folders are left out",
                      (unsigned long long)list->n_hidden);
    if (list->n_special)
        dlb_shape_odd(shape,
                      list->n_special == 1
                          ? "%llu link to nowhere, pipe or device is left out (%s)"
                          : "%llu links to nowhere, pipes or devices are left out (%s)",
                      (unsigned long long)list->n_special, list->special_name);
    if (list->n_loose)
        dlb_shape_odd(shape,
                      list->n_loose == 1 ? "%llu file lies beside the class folders and is left out"
                                         : "%llu files lie beside the class folders and are left "
                                           "out",
                      (unsigned long long)list->n_loose);
    if (list->n_beside)
        dlb_shape_odd(shape,
                      list->n_beside == 1
                          ? "%llu file has the name of another with another extension: each is a "
                            "sample of its own"
                          : "%llu files have the name of another with another extension: each is a "
                            "sample of its own",
                      (unsigned long long)list->n_beside);
    if (list->n_empty_classes)
        dlb_shape_odd(shape,
                      list->n_empty_classes == 1 ? "%llu class folder holds no samples"
                                                 : "%llu class folders hold no samples",
                      (unsigned long long)list->n_empty_classes);
    if (list->n_empty_files)
        dlb_shape_odd(shape,
                      list->n_empty_files == 1 ? "%llu file is empty" : "%llu files are empty",
                      (unsigned long long)list->n_empty_files);
    describe_manifest(list, path, shape);
}

static void fill_shape(struct files *ds, struct dlb_shape *shape)
{
    const struct dlb_files_list *list = &ds->list;
    uint64_t id = 0;

    *shape = (struct dlb_shape){.n_samples = list->n_files, .n_classes = list->n_classes};
    for (uint64_t i = 0; i < list->n_files; i++) {
        const struct dlb_file *file = &list->files[i];
        const char *name = dlb_file_name(list, file);
        shape->total_bytes += file->n_bytes;
        if (file->n_bytes > shape->max_sample_bytes)
            shape->max_sample_bytes = file->n_bytes;
        uint64_t numbers[] = {file->n_bytes, list->folders[dlb_file_folder(file)].label};
        id = dlb_hash64(name, strlen(name), dlb_hash64(numbers, sizeof numbers, id));
    }
    shape->id = id;
    ds->max_bytes = shape->max_sample_bytes;
}

/* A quarter of the descriptors that the process may have: a conversion has two data sets open. */
static uint64_t max_open_folders(void)
{
    struct rlimit limit = {.rlim_cur = 0};

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur / 4 < MAX_OPEN_FOLDERS ? limit.rlim_cur / 4 : MAX_OPEN_FOLDERS;
}

static int open_folders(struct files *ds, struct dlb_err *err)
{
    const struct dlb_files_list *list = &ds->list;

    if (list->n_folders > max_open_folders())
        return DLB_OK;
    ds->handles = malloc(list->n_folders * sizeof *ds->handles);
    if (!ds->handles)
        return dlb_fail_memory(err, NULL, list->n_folders * sizeof *ds->handles);
    for (; ds->n_handles < list->n_folders; ds->n_handles++) {
        int rc =
            ds->io->open_dir(list->folders[ds->n_handles].path, &ds->handles[ds->n_handles], err);
        if (rc != DLB_OK)
            return rc;
    }
    return DLB_OK;
}

/* Opens the first file to learn whether the file system supports O_DIRECT. */
static int try_direct(struct files *ds, struct dlb_err *err)
{
    const struct dlb_files_list *list = &ds->list;
    int64_t handle;

    if (!ds->io->open_direct)
        return dlb_fail(err, DLB_ERR_DATASET_ACCESS_UNFIT, list->folders[0].path, DLB_NO_OFFSET,
                        "dataset.access = \"direct\": byte source %s cannot bypass a page cache",
                        ds->io->name);
    if (list->n_files == 0)
        return DLB_OK;
    char *path = dlb_path_join(list->folders[dlb_file_folder(list->files)].path,
                               dlb_file_name(list, list->files));
    if (!path)
        return dlb_fail_memory(err, NULL, list->max_path_bytes);
    int rc = ds->io->open_direct(path, &handle, &ds->align_bytes, err);
    free(path);
    if (rc == DLB_OK)
        ds->io->close(handle);
    return rc;
}

/* The codec of this build that is made for files of this name, or NULL. */
static const struct dlb_codec *codec_of(const char *name)
{
    const char *dot = strrchr(name, '.');

    for (const struct dlb_codec *const *codec = dlb_codecs; dot && *codec; codec++)
        if (!(*codec)->missing && (*codec)->extensions && dlb_codec_takes(*codec, dot + 1))
            return *codec;
    return NULL;
}

/* There are files, but none that the codec takes. */
static int fail_other(const struct dlb_files_list *list, const struct dlb_open *how,
                      struct dlb_err *err)
{
    const struct dlb_codec *fits = codec_of(list->other_name);
    const char *kind = fits ? NULL : dlb_undecoded_name(list->other_name);

    if (kind)
        return dlb_undecoded_fail(err, how->path, kind);
    return dlb_fail(err, fits ? DLB_ERR_DATASET_OTHER_CODEC : DLB_ERR_DATASET_EMPTY, how->path,
                    DLB_NO_OFFSET,
                    "holds no samples for codec %s, only other files such as %s: %s%s%s",
                    how->codec ? how->codec->name : "raw", list->other_name,
                    fits ? "set dataset.codec = \"" : "check dataset.codec and dataset.format",
                    fits ? fits->name : "", fits ? "\"" : "");
}

static int files_open(void *state, const struct dlb_open *how, struct dlb_shape *shape,
                      struct dlb_err *err)
{
    struct files *ds = state;
    enum dlb_io_kind kind;
    uint64_t n_bytes;

    ds->io = how->io;
    int rc = how->io->stat(how->path, &kind, &n_bytes, err);
    if (rc == DLB_OK && kind != DLB_IO_DIR)
        rc =
            dlb_fail(err, DLB_ERR_DATASET_NOT_A_FOLDER, how->path, DLB_NO_OFFSET,
                     "is not a folder: dataset.path names the folder that holds the class folders");
    if (rc == DLB_OK)
        rc = dlb_gen_mark_refuse(how->path, err);
    if (rc == DLB_OK)
        rc = dlb_files_list_make(&ds->list, how->path, how->io, how->codec, err);
    if (rc != DLB_OK)
        return rc;
    fill_shape(ds, shape);
    if (shape->n_samples == 0 && ds->list.n_other_extension)
        return fail_other(&ds->list, how, err);
    describe_odd(&ds->list, how->path, shape);
    rc = how->access == DLB_ACCESS_DIRECT ? try_direct(ds, err) : DLB_OK;
    return rc == DLB_OK ? open_folders(ds, err) : rc;
}

static void files_close(void *state)
{
    struct files *ds = state;
    for (uint64_t i = 0; i < ds->n_handles; i++)
        ds->io->close(ds->handles[i]);
    free(ds->handles);
    dlb_files_list_free(&ds->list);
    ds->handles = NULL;
    ds->n_handles = 0;
}

static int files_reader_open(void *rd, const void *ds, struct dlb_err *err)
{
    struct files_reader *reader = rd;

    reader->ds = ds;
    reader->folder = UINT32_MAX;
    reader->path = malloc(reader->ds->list.max_path_bytes + 1);
    return reader->path ? DLB_OK : dlb_fail_memory(err, NULL, reader->ds->list.max_path_bytes + 1);
}

static void files_reader_close(void *rd)
{
    struct files_reader *reader = rd;
    free(reader->path);
    free(reader->buffer);
    reader->path = NULL;
    reader->buffer = NULL;
}

static const char *set_path(struct files_reader *reader, const struct dlb_file *file)
{
    const struct dlb_files_list *list = &reader->ds->list;
    uint32_t folder = dlb_file_folder(file);

    if (folder != reader->folder) {
        reader->folder_len = strlen(list->folders[folder].path);
        memcpy(reader->path, list->folders[folder].path, reader->folder_len);
        reader->path[reader->folder_len++] = '/';
        reader->folder = folder;
    }
    const char *name = dlb_file_name(list, file);
    memcpy(reader->path + reader->folder_len, name, strlen(name) + 1);
    return name;
}

/* The field's name is the file's extension in lower case, as in tar shards. */
static void name_field(char field_name[DLB_FIELD_NAME_BYTES], const char *name)
{
    const char *dot = strrchr(name, '.');
    size_t n = 0;

    for (const char *c = dot ? dot + 1 : ""; *c && n < DLB_FIELD_NAME_BYTES - 1; c++)
        field_name[n++] = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    field_name[n] = '\0';
}

/* The buffer is sized by the largest of all files, so the message names that one. */
static void fail_room(struct files_reader *reader, struct dlb_err *err)
{
    const struct dlb_files_list *list = &reader->ds->list;
    uint64_t largest = 0;

    for (uint64_t i = 1; i < list->n_files; i++)
        if (list->files[i].n_bytes > list->files[largest].n_bytes)
            largest = i;
    (void)set_path(reader, &list->files[largest]);
    (void)dlb_fail_memory(err, reader->path, list->files[largest].n_bytes);
}

/* The buffer is as large as the largest file, and takes memory as far as samples have filled it. */
static bool grant(struct files_reader *reader, const struct dlb_file *file, struct dlb_err *err)
{
    if (file->n_bytes <= reader->granted_bytes)
        return true;
    if (dlb_headroom_check(file->n_bytes, NULL, "it", "it may be sparse", err) != DLB_OK) {
        (void)set_path(reader, file);
        (void)dlb_fail_memory(err, reader->path, file->n_bytes);
        return false;
    }
    reader->granted_bytes = file->n_bytes;
    return true;
}

/* Where the bytes go: to dest, or to the reader's own buffer. O_DIRECT needs aligned memory. */
static uint8_t *place(struct files_reader *reader, const struct dlb_file *file,
                      struct dlb_dest dest, struct dlb_err *err)
{
    const struct files *ds = reader->ds;
    size_t align = ds->align_bytes;

    bool fits = dest.data && file->n_bytes <= dest.cap_bytes;
    if (fits && (!align || (file->n_bytes % align == 0 && (uintptr_t)dest.data % align == 0)))
        return dest.data;
    if (!grant(reader, file, err))
        return NULL;
    if (!reader->buffer && align)
        reader->buffer = aligned_alloc(align, (ds->max_bytes + align) / align * align);
    else if (!reader->buffer)
        reader->buffer = malloc(ds->max_bytes ? ds->max_bytes : 1);
    if (!reader->buffer)
        fail_room(reader, err);
    return reader->buffer;
}

static int open_sample(struct files_reader *reader, const char *name, int64_t *handle,
                       struct dlb_err *err)
{
    const struct files *ds = reader->ds;

    if (ds->align_bytes)
        return ds->handles ? ds->io->open_at_direct(ds->handles[reader->folder], name, handle, err)
                           : ds->io->open_at_direct(DLB_IO_NO_DIR, reader->path, handle, err);
    return ds->handles ? ds->io->open_at(ds->handles[reader->folder], name, handle, err)
                       : ds->io->open_at(DLB_IO_NO_DIR, reader->path, handle, err);
}

static void describe(struct files_reader *reader, uint64_t index, const uint8_t *data,
                     size_t n_bytes, struct dlb_sample *out)
{
    out->field[0].data = data;
    out->field[0].len_bytes = n_bytes;
    name_field(reader->field_name, reader->path + reader->folder_len);
    out->field[0].name = reader->field_name;
    out->n_fields = 1;
    out->label = reader->ds->list.folders[reader->folder].label;
    out->labelled = reader->folder != 0; /* in the root there are no classes */
    out->index = index;
    out->path = reader->path;
    out->offset_bytes = DLB_NO_OFFSET;
}

/* Three system calls: open, one pread of the listed size, close. A file that grew since then is
 * read up to its listed size. */
static int files_read(void *rd, uint64_t index, struct dlb_dest dest, struct dlb_sample *out,
                      struct dlb_err *err)
{
    struct files_reader *reader = rd;
    const struct files *ds = reader->ds;
    if (index >= ds->list.n_files)
        DLB_BUG("sample beyond the data set");
    const struct dlb_file *file = &ds->list.files[index];
    size_t n_read = 0, n_asked = file->n_bytes;
    int64_t handle;

    uint8_t *data = place(reader, file, dest, err);
    if (!data)
        return DLB_E_NOMEM;
    if (ds->align_bytes)
        n_asked = (n_asked + ds->align_bytes - 1) / ds->align_bytes * ds->align_bytes;
    const char *name = set_path(reader, file);
    int rc = open_sample(reader, name, &handle, err);
    if (rc != DLB_OK)
        return dlb_fail_at_path(err, reader->path);
    rc = ds->io->pread(handle, data, n_asked, 0, &n_read, reader->path, err);
    ds->io->close(handle);
    if (rc != DLB_OK)
        return rc;
    if (n_read < file->n_bytes)
        return dlb_fail(err, DLB_ERR_FILE_CHANGED, reader->path, n_read,
                        "ends early: it had %llu bytes when the folder was listed",
                        (unsigned long long)file->n_bytes);
    describe(reader, index, data, file->n_bytes, out);
    out->io_bytes = n_read;
    return DLB_OK;
}

static int files_locate(void *rd, uint64_t index, struct dlb_located *out, struct dlb_err *err)
{
    const struct files *ds = ((struct files_reader *)rd)->ds;
    (void)err;

    if (index >= ds->list.n_files)
        DLB_BUG("sample beyond the data set");
    const struct dlb_file *file = &ds->list.files[index];
    uint32_t folder = dlb_file_folder(file);
    out->n = 1;
    out->plain = true;
    if (out->cap >= 1)
        out->extent[0] = (struct dlb_extent){.fd = -1,
                                             .dir_fd = ds->handles ? ds->io->fd(ds->handles[folder])
                                                                   : DLB_IO_NO_DIR,
                                             .folder = ds->list.folders[folder].path,
                                             .name = dlb_file_name(&ds->list, file),
                                             .n_bytes = file->n_bytes,
                                             .align_bytes = (uint32_t)ds->align_bytes};
    return DLB_OK;
}

static int files_assemble(void *rd, uint64_t index, const struct dlb_field *pieces, uint32_t n,
                          struct dlb_dest dest, struct dlb_sample *out, struct dlb_err *err)
{
    struct files_reader *reader = rd;
    (void)n, (void)dest, (void)err;

    (void)set_path(reader, &reader->ds->list.files[index]);
    describe(reader, index, pieces[0].data, pieces[0].len_bytes, out);
    return DLB_OK;
}

static void files_whereabouts(const void *state, uint64_t number, char *path, size_t n_path)
{
    const struct files *ds = state;
    if (number >= ds->list.n_files)
        return;
    const struct dlb_file *file = &ds->list.files[number];
    (void)snprintf(path, n_path, "%s/%s", ds->list.folders[dlb_file_folder(file)].path,
                   dlb_file_name(&ds->list, file));
}

/* A sample is a file. */
static uint64_t files_files(const void *state, uint64_t number, char *path, size_t n_path)
{
    files_whereabouts(state, number, path, n_path);
    return ((const struct files *)state)->list.n_files;
}

static const int accesses[] = {DLB_ACCESS_PREAD, DLB_ACCESS_DIRECT, DLB_ACCESS_AUTO};

static const struct dlb_reader files_reader = {
    .dataset_bytes = sizeof(struct files),
    .state_bytes = sizeof(struct files_reader),
    .dataset_open = files_open,
    .dataset_close = files_close,
    .open = files_reader_open,
    .close = files_reader_close,
    .read = files_read,
    .locate = files_locate,
    .assemble = files_assemble,
    .whereabouts = files_whereabouts,
    .files = files_files,
};

static const struct dlb_generator files_generator = {
    .units = dlb_files_gen_units,
    .makes = dlb_files_gen_makes,
    .prepare = dlb_files_gen_prepare,
    .unit = dlb_files_gen_unit,
    .number = dlb_files_gen_number,
};

static const struct dlb_writer files_writer = {
    .state_bytes = sizeof(struct dlb_files_writer),
    .open = dlb_files_writer_open,
    .add = dlb_files_writer_add,
    .finish = dlb_files_writer_finish,
    .close = dlb_files_writer_close,
    .unit_samples = dlb_files_writer_unit_samples,
};

const struct dlb_format dlb_fmt_files = {
    .name = "files",
    .summary = "a file per sample, a folder per class (as ImageFolder) or flat",
    .access = accesses,
    .file_per_field = true,
    .made = "class_####/########.* sample_########.*",
    .probe = dlb_files_probe,
    .reader = &files_reader,
    .generator = &files_generator,
    .writer = &files_writer,
};
