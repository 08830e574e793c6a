#include "formats/files/write.h"

#include "formats/codec.h"
#include "formats/generate/file.h"
#include "formats/generate/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { UNIT_NAME = 64 };

static uint64_t n_classes(const struct dlb_gen *gen)
{
    int64_t classes = gen->opts->classes, samples = gen->opts->samples;
    return (uint64_t)(classes < samples ? classes : samples);
}

static int class_digits(const struct dlb_gen *gen)
{
    return dlb_names_digits(n_classes(gen), 4);
}

/* Below the folder. */
static void name_unit(const struct dlb_gen *gen, uint64_t index, char name[UNIT_NAME])
{
    (void)snprintf(name, UNIT_NAME, "class_%0*u/%08llu.%s", class_digits(gen),
                   dlb_gen_label(gen->opts, index), (unsigned long long)index,
                   dlb_codec_extension(gen->codec, gen->opts, index));
}

static int unit_path(const struct dlb_gen *gen, uint64_t index, char **path, struct dlb_err *err)
{
    char name[UNIT_NAME];

    name_unit(gen, index, name);
    *path = dlb_path_join(gen->path, name);
    return *path ? DLB_OK : dlb_fail_memory(err, gen->path, strlen(gen->path) + UNIT_NAME);
}

bool dlb_files_gen_makes(const struct dlb_gen *gen, const char *name)
{
    const char *slash = strchr(name, '/');
    uint64_t index = slash ? strtoull(slash + 1, NULL, 10) : UINT64_MAX;
    char unit[UNIT_NAME];

    if (index >= dlb_files_gen_units(gen))
        return false;
    name_unit(gen, index, unit);
    return strcmp(unit, name) == 0;
}

uint64_t dlb_files_gen_units(const struct dlb_gen *gen)
{
    return (uint64_t)gen->opts->samples;
}

int dlb_files_gen_prepare(const struct dlb_gen *gen, struct dlb_err *err)
{
    uint64_t n = n_classes(gen);
    int rc = DLB_OK;

    for (uint64_t i = 0; rc == DLB_OK && i < n; i++) {
        char *path = NULL;
        if (asprintf(&path, "%s/class_%0*u", gen->path, class_digits(gen), (unsigned)i) < 0)
            return dlb_fail_memory(err, gen->path, strlen(gen->path) + 32);
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            rc = dlb_gen_fail_write(err, path, DLB_NO_OFFSET, "making the class folder");
        free(path);
    }
    return rc;
}

/* A file under its final name is whole, because the rename is atomic. */
static bool is_there(const struct dlb_gen *gen, const char *path)
{
    struct stat st;
    if (gen->rewrite || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    return gen->codec->identity ? st.st_size == gen->opts->sample_bytes : st.st_size > 0;
}

int dlb_files_gen_unit(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                       struct dlb_err *err)
{
    char *path = NULL;
    int rc = unit_path(gen, unit, &path, err);

    if (rc == DLB_OK && !is_there(gen, path)) {
        worker->sample.len_bytes = 0;
        rc = gen->codec->make(gen->opts, unit, &worker->sample, err);
        if (rc == DLB_OK)
            rc = dlb_gen_write_file(gen->path, path, worker->sample.data, worker->sample.len_bytes,
                                    err);
        if (rc == DLB_OK) {
            atomic_fetch_add(&worker->n_written, 1);
            atomic_fetch_add(&worker->n_bytes, worker->sample.len_bytes);
        }
    }
    if (rc == DLB_OK)
        atomic_fetch_add(&worker->n_samples, 1);
    free(path);
    return rc;
}

/* Files are sorted by class, but their names are gen's numbers. */
uint64_t dlb_files_gen_number(const struct dlb_sample *sample)
{
    const char *slash = strrchr(sample->path, '/');
    return strtoull(slash ? slash + 1 : sample->path, NULL, 10);
}

/* File systems cope badly with more folders, and a larger label is hardly a class number. */
enum { MAX_CLASSES = 1000000, MIN_DIGITS = 8 };
enum { NAME_BYTES = DLB_FIELD_NAME_BYTES + 48 }; /* "/class_000000/N." and a field's name */

uint64_t dlb_files_writer_unit_samples(const void *opts)
{
    (void)opts;
    return 1;
}

static int make_folder(const struct dlb_files_writer *writer, const char *path, const char *doing,
                       struct dlb_err *err)
{
    return mkdir(path, 0777) == 0 || (writer->shared && errno == EEXIST)
               ? DLB_OK
               : dlb_fail_errno(err, path, DLB_NO_OFFSET, doing);
}

int dlb_files_writer_open(void *wr, const struct dlb_write *how, struct dlb_err *err)
{
    struct dlb_files_writer *writer = wr;

    writer->root = how->path;
    writer->shared = how->aside;
    writer->path_cap = strlen(how->path) + NAME_BYTES;
    writer->path = malloc(writer->path_cap);
    if (!writer->path)
        return dlb_fail_memory(err, how->path, writer->path_cap);
    writer->n_digits = dlb_names_digits(how->from->n_samples, MIN_DIGITS);
    return make_folder(writer, how->path, "making the folder", err);
}

static int make_classes(struct dlb_files_writer *writer, const struct dlb_sample *sample,
                        struct dlb_err *err)
{
    uint32_t label = sample->label;

    if (label >= MAX_CLASSES)
        return dlb_fail(err, DLB_ERR_SAMPLE_LABEL_UNFIT, sample->path, sample->offset_bytes,
                        "label %u: format files has a folder for each class, %d at most; convert "
                        "to webdataset, which stores labels as numbers",
                        label, MAX_CLASSES);
    for (; writer->n_classes <= label; writer->n_classes++) {
        (void)snprintf(writer->path, writer->path_cap, "%s/class_%06llu", writer->root,
                       (unsigned long long)writer->n_classes);
        int rc = make_folder(writer, writer->path, "making the class folder", err);
        if (rc != DLB_OK)
            return rc;
    }
    return DLB_OK;
}

static const char *name_of(const struct dlb_field *field)
{
    return field->name[0] ? field->name : "bin"; /* as gen names bytes without a codec */
}

/* Refuses names that no file should have, or that two fields share. */
static int check_names(const struct dlb_sample *sample, struct dlb_err *err)
{
    for (uint32_t f = 0; f < sample->n_fields; f++) {
        const char *name = name_of(&sample->field[f]);
        for (const char *c = name; *c; c++)
            if (*c == '/' || (unsigned char)*c < ' ' || *c == 0x7f)
                return dlb_fail(err, DLB_ERR_SAMPLE_FIELD_NAMES, sample->path, sample->offset_bytes,
                                "the field \"%s\" cannot name a file: it contains a / or a control "
                                "character",
                                name);
        for (uint32_t k = 0; k < f; k++)
            if (strcasecmp(name_of(&sample->field[k]), name) == 0)
                return dlb_fail(err, DLB_ERR_SAMPLE_FIELD_NAMES, sample->path, sample->offset_bytes,
                                "two fields are called \"%s\"", name);
    }
    return DLB_OK;
}

static int write_file(const char *path, const struct dlb_field *field, struct dlb_err *err)
{
    int rc, fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

    if (fd < 0)
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "creating it");
    rc = dlb_write_all(fd, path, field->data, field->len_bytes, err);
    if (close(fd) != 0 && rc == DLB_OK)
        rc = dlb_fail_errno(err, path, DLB_NO_OFFSET, "writing");
    return rc;
}

int dlb_files_writer_add(void *wr, const struct dlb_sample *sample, struct dlb_err *err)
{
    struct dlb_files_writer *writer = wr;
    char class[32] = "sample_";
    int rc = check_names(sample, err);

    if (rc == DLB_OK && sample->labelled) {
        (void)snprintf(class, sizeof class, "class_%06u/", sample->label);
        rc = make_classes(writer, sample, err);
    }
    for (uint32_t f = 0; rc == DLB_OK && f < sample->n_fields; f++) {
        if (dlb_field_is_label(sample, f))
            continue;
        (void)snprintf(writer->path, writer->path_cap, "%s/%s%0*llu.%s", writer->root, class,
                       writer->n_digits, (unsigned long long)sample->index,
                       name_of(&sample->field[f]));
        rc = write_file(writer->path, &sample->field[f], err);
    }
    return rc;
}

int dlb_files_writer_finish(void *wr, struct dlb_err *err)
{
    (void)wr, (void)err; /* every file is closed */
    return DLB_OK;
}

void dlb_files_writer_close(void *wr)
{
    struct dlb_files_writer *writer = wr;
    free(writer->path);
    writer->path = NULL;
}
