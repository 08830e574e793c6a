/* On-disk formats: one const table of functions, one file, one line in formats.def.
 *
 * Floor 2. A data set is immutable and shared by all workers; a reader is private to one worker, in
 * its own thread or process. open, close, gen_*: control thread, before workers exist (gen_unit:
 * any thread). Afterwards only memory, read-only maps and descriptors of the data set stay live (no
 * library handles, no threads), because workers may be forked next. reader_*, read, shard_open,
 * next: one worker. shard_samples: any thread. Formats never read the clock and never print. They
 * get bytes through core/base/io.h alone. */
#ifndef DLB_FORMATS_FORMAT_H
#define DLB_FORMATS_FORMAT_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "core/base/opt.h"
#include "formats/element.h"
#include "formats/generator.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DLB_MAX_FIELDS 8

struct dlb_field {
    const uint8_t *data;
    size_t len_bytes;
    char name[16]; /* "jpg", "cls", "json"; cut when longer */
};

struct dlb_sample {
    struct dlb_field field[DLB_MAX_FIELDS]; /* field 0 is what the codec decodes; borrowed until the
                                               reader's next call */
    uint32_t n_fields;
    uint32_t label;    /* class number; 0 where the format has none */
    uint32_t element;  /* enum dlb_element: the numbers that field 0 holds, or DLB_ELEMENT_NONE */
    uint64_t index;    /* in [0, shape.n_samples): the sample's number in the data set, whatever the
                          order */
    uint64_t io_bytes; /* asked of the byte source for it; sequential formats count a shard's
                          framing to its samples */
    const char *path;  /* for messages: the file or shard; borrowed as the fields are */
    uint64_t offset_bytes; /* of the sample in path, or DLB_NO_OFFSET */
};

/* Where the payload may be put at once, so that identity codecs need no copy: a format that can,
 * reads field 0 (and the fields after it, back to back) to `data` when it fits in cap_bytes, and
 * then field[0].data == data. data may be NULL. */
struct dlb_dest {
    uint8_t *data;
    size_t cap_bytes;
};

/* A piece of a sample on storage, for loaders that read many at once. Strings are borrowed for the
 * life of the data set. */
struct dlb_extent {
    int fd;     /* open as long as the data set, or -1: a file that is opened for this and closed */
    int dir_fd; /* of such a file: where name is looked up; DLB_IO_NO_DIR: folder/name */
    const char *folder; /* for messages and DLB_IO_NO_DIR; NULL: name is the path */
    const char *name;
    uint64_t offset_bytes, n_bytes;
    uint32_t align_bytes; /* past the page cache (O_DIRECT): offset, length and memory of each read
                             are multiples of it; 0: through the page cache */
};

/* Where a sample lies. */
struct dlb_located {
    struct dlb_extent *extent; /* the caller's; the format fills in the first cap of them */
    uint32_t cap, n;           /* n: how many there are; above cap, the caller asks once more */
    bool plain; /* one after the other they are the sample's fields, so that they may be read to
                   where the batch wants these */
};

struct dlb_shape {
    uint64_t n_samples, total_bytes; /* payload bytes of all fields */
    uint64_t max_sample_bytes;       /* of one sample's fields together */
    uint64_t max_decoded_bytes; /* of one sample, decoded; set by formats/look.h, 0 elsewhere */
    uint64_t
        id; /* hash of what identifies the data set: names, sizes, or the generator's parameters */
    uint32_t n_shards, n_classes; /* n_shards: iterable only */
    uint32_t element;             /* enum dlb_element of all samples, or DLB_ELEMENT_NONE */
    bool iterable;                /* shard_open and next; else read */
    uint32_t n_odd;               /* things that inspect should mention */
    char odd[4][288];             /* the first of them, as sentences that hold a dlb_err's `what` */
    char library[16]; /* samples are read through it, and what crashes it crashes their reader;
                         empty: none */
    char about[96];   /* which kind the format found, for inspect; empty: none to tell */
};

struct dlb_codec;

/* How a format gets its bytes (`dataset.access`). AUTO: the first that it has. */
enum dlb_access {
    DLB_ACCESS_AUTO,
    DLB_ACCESS_MMAP,    /* from a map of the file */
    DLB_ACCESS_PREAD,   /* a system call for each piece */
    DLB_ACCESS_DIRECT,  /* the same, past the page cache */
    DLB_ACCESS_STREAM,  /* shards from start to end */
    DLB_ACCESS_INDEXED, /* shards at random, by an index of their members */
    DLB_ACCESS_LIBRARY, /* the format's own library reads */
    DLB_ACCESS_CHUNKS,  /* chunks by pread, decompressed by the worker */
};
extern const char *const dlb_access_names[]; /* ends with NULL */

/* Whether locate and assemble go with it; AUTO: with a format that has no other. */
bool dlb_access_locates(int access);

struct dlb_open {
    const char *path;
    const struct dlb_io *io;
    const void *opts; /* the format's own, opts_bytes, or NULL */
    const struct dlb_generate_opts
        *gen; /* what gen would have written: the synthetic format needs nothing else */
    const struct dlb_codec
        *codec; /* whose samples are looked for (extensions, field 0); NULL: any bytes */
    int access; /* enum dlb_access: one of the format's; AUTO where it names none */
};

/* What a writer is told; borrowed until writer_close. */
struct dlb_write {
    const char *path;             /* of what it makes: a file or a folder */
    const void *opts;             /* the format's own, opts_bytes, or NULL */
    const struct dlb_shape *from; /* of the data set that is converted */
};

struct dlb_format {
    const char *name, *summary;
    const char *missing; /* NULL, or why this build has it not: every function is NULL then */
    const struct dlb_opt_group *opts; /* or NULL */
    const int *access; /* enum dlb_access of each way that it can be asked for, the best first, AUTO
                          ends them; NULL: its own alone */
    const char *made;  /* names of the files that gen and convert make below their folder: patterns
                          of fnmatch with a space between; NULL: none */
    bool numbers;      /* says in shape and samples which numbers they are made of */
    bool file_per_field; /* a file is what it reads as a sample: which files are some, the codec's
                            extensions say, and several fields of one lie in files of one stem */
    bool synthetic; /* makes its samples up: needs no path, and its bytes mean nothing, so that only
                       an identity codec fits */
    size_t dataset_bytes, reader_bytes; /* the core allocates them, zeroed, 64-byte aligned */

    /* Whether `path` looks like this format (0 no, 100 certainly), for inspect; reads little.
     * Optional. */
    int (*probe)(const char *path, const struct dlb_io *io);

    /* Fills *shape. On failure the core calls close all the same. A folder that gen has not
     * finished is DLB_E_FORMAT. */
    int (*open)(void *ds, const struct dlb_open *how, struct dlb_shape *shape, struct dlb_err *err);
    void (*close)(void *ds);
    int (*reader_open)(void *rd, const void *ds, struct dlb_err *err);
    void (*reader_close)(void *rd); /* called after a failed reader_open too */

    /* Map-style. */
    int (*read)(void *rd, uint64_t index, struct dlb_dest dest, struct dlb_sample *out,
                struct dlb_err *err);

    /* Map-style, optional, for loaders that read many samples at once: where the sample lies, and
     * how its pieces (one for each extent, as long as was said) become it. Any number may be
     * located before the first is assembled. assemble fills all of *out but io_bytes; its fields
     * may be the pieces themselves, or lie at dest. Not asked of a data set that is read from a
     * map, as a stream, in chunks, or by its library (dlb_access_locates). */
    int (*locate)(void *rd, uint64_t index, struct dlb_located *out, struct dlb_err *err);
    int (*assemble)(void *rd, uint64_t index, const struct dlb_field *pieces, uint32_t n,
                    struct dlb_dest dest, struct dlb_sample *out, struct dlb_err *err);

    /* Iterable: a shard from its start to DLB_END. After an error the rest of the shard is lost;
     * shard_open starts the next. */
    int (*shard_open)(void *rd, uint32_t shard, struct dlb_err *err);
    int (*next)(void *rd, struct dlb_dest dest, struct dlb_sample *out, struct dlb_err *err);
    uint64_t (*shard_samples)(const void *ds, uint32_t shard);

    /* Writes the path in which sample `number` lies, or for iterable data shard `number`: for
     * messages about a reader that does not answer. Any thread or process, beside readers; cut when
     * longer. Optional. */
    void (*whereabouts)(const void *ds, uint64_t number, char *path, size_t n_path);

    /* The files that samples are read from: returns how many, and writes the path of file `number`
     * if there is such a one (cut when longer). What is read when the data set opens, and never
     * again, is not among them. Any thread. NULL: there are none. */
    uint64_t (*files)(const void *ds, uint64_t number, char *path, size_t n_path);

    /* Generation, unit by unit (a class folder's slice, a shard), in parallel and resumable. NULL:
     * gen has nothing to write. gen_prepare makes folders. gen_unit writes unit `unit` whole or not
     * at all and skips it when it is there (unless gen->rewrite). gen_describe adds what open wants
     * to know to the manifest (optional; all units are there by then). The driver in generate.c
     * runs the threads, marks the data set complete, and reports progress. */
    uint64_t (*gen_units)(const struct dlb_gen *gen);
    int (*gen_prepare)(const struct dlb_gen *gen, struct dlb_err *err);
    int (*gen_unit)(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                    struct dlb_err *err);
    uint64_t (*gen_bytes)(
        const struct dlb_gen *gen); /* of all its files, about; NULL: samples x sample_bytes */
    /* Whether what is stored will be smaller, by as much as the data allow. NULL: never. */
    bool (*gen_compresses)(const struct dlb_gen *gen);
    int (*gen_describe)(const struct dlb_gen *gen, json_t *manifest, struct dlb_err *err);
    /* Which of gen's samples one is that was read: its field 0 is then what the codec made for that
     * number. NULL: gen's samples are not the codec's, or cannot be told. */
    uint64_t (*gen_number)(const struct dlb_sample *sample);
    /* What is stored in place of the bytes that the codec made. NULL: these. */
    void (*gen_stored)(const struct dlb_gen *gen, struct dlb_bytes *made);

    /* Writing samples that another format holds, one after the other, into how->path, which is not
     * there yet. writer_finish closes what was written (the caller syncs, checks and renames it);
     * writer_close frees, and comes after a failure too. One thread. NULL: nothing can be converted
     * to this format. */
    size_t writer_bytes; /* the core allocates it, zeroed, 64-byte aligned */
    int (*writer_open)(void *wr, const struct dlb_write *how, struct dlb_err *err);
    int (*writer_add)(void *wr, const struct dlb_sample *sample, struct dlb_err *err);
    int (*writer_finish)(void *wr, struct dlb_err *err);
    void (*writer_close)(void *wr);
};

extern const struct dlb_format
    *const dlb_formats[];                    /* ends with NULL; in the order of formats.def */
extern const char *const dlb_format_names[]; /* the same, as choices for the option table */

const struct dlb_format *dlb_format_by_name(const char *name); /* or NULL */

/* gen_number of formats that keep gen's order. */
uint64_t dlb_gen_number_by_index(const struct dlb_sample *sample);

/* Adds a sentence to shape->odd, or only counts it when four are there. */
void dlb_shape_odd(struct dlb_shape *shape, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
uint32_t dlb_shape_n_named(const struct dlb_shape *shape); /* how many are there */

/* Puts a path in front of an error that a lower layer could only half name; returns the error's
 * status. */
int dlb_fail_at_path(struct dlb_err *err, const char *path);

#endif
