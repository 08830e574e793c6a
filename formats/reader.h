/* How samples are read: the functions that a format gives to loaders, and the structs that both
 * use.
 *
 * Floor 2. There are two states. The data set's is immutable once open, and shared by all workers.
 * A reader's is private to one worker, in its own thread or process.
 *
 * Threads: dataset_open and dataset_close run on the control thread, before and after workers.
 * Workers may be forked in between, so only memory, read-only maps and file descriptors stay live
 * after dataset_open: no library handles, no threads. One worker calls open, close, read, locate,
 * assemble, shard_open and next of its reader. shard_samples, whereabouts and files may be called
 * by any thread. */
#ifndef DLB_FORMATS_READER_H
#define DLB_FORMATS_READER_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "formats/element.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct dlb_codec;
struct dlb_generate_opts;

#define DLB_MAX_FIELDS 8
#define DLB_FIELD_NAME_BYTES 64 /* "camera_front_left.jpg", and the zero that ends it */
#define DLB_NOT_COUNTED UINT64_MAX
#define DLB_ODD_BYTES 640 /* the text of a struct dlb_err, and what stands before it */

struct dlb_field {
    const uint8_t *data;
    size_t len_bytes;
    const char *name; /* "jpg", "cls", "json"; cut to DLB_FIELD_NAME_BYTES; "": none. Borrowed as
                         the data are */
};

struct dlb_sample {
    struct dlb_field field[DLB_MAX_FIELDS]; /* field 0 is what the codec decodes; borrowed until the
                                               reader's next call */
    uint32_t n_fields;
    uint32_t label;   /* class number; 0 where the source has none */
    bool labelled;    /* the source gives this sample a class number. Only convert needs it */
    uint32_t element; /* enum dlb_element: the numbers that field 0 holds, or DLB_ELEMENT_NONE */
    uint64_t index; /* in [0, shape.n_samples): the sample's number in the data set, independent of
                       the shuffled order */
    uint64_t io_bytes; /* requested from the byte source for this sample; sequential formats add the
                          shard's framing to its samples */
    const char *path;  /* for messages: the file or shard; borrowed as the fields are */
    uint64_t offset_bytes; /* of the sample in path, or DLB_NO_OFFSET */
    const char *key;       /* what the source calls the sample, n_key_bytes long, for convert; NULL:
                              the format does not tell. Borrowed as the fields are */
    size_t n_key_bytes;
    const char *unread; /* what the source stores of the sample and neither its fields nor its label
                           have, for convert; NULL: nothing is known. A constant */
};

/* Before a reader fills it. Fields behind the first are left as they are, because a reader sets all
 * of those that it counts: a sample is read within some tens of nanoseconds. */
static inline void dlb_sample_clear(struct dlb_sample *sample)
{
    const size_t from = offsetof(struct dlb_sample, n_fields);

    sample->field[0] = (struct dlb_field){.name = ""};
    memset((uint8_t *)sample + from, 0, sizeof *sample - from);
    sample->offset_bytes = DLB_NO_OFFSET;
}

/* Where the payload may be put directly, so that identity codecs need no copy. A format that can do
 * it reads field 0 (and the fields after it, back to back) to `data` when they fit in cap_bytes,
 * and then field[0].data == data. data may be NULL. */
struct dlb_dest {
    uint8_t *data;
    size_t cap_bytes;
};

/* A piece of a sample on storage, for loaders that read many at once. Strings are borrowed for the
 * life of the data set. */
struct dlb_extent {
    int fd;     /* open as long as the data set; -1: the loader opens the file for this read */
    int dir_fd; /* with fd -1: where name is looked up; DLB_IO_NO_DIR: folder/name */
    const char *folder; /* for messages and DLB_IO_NO_DIR; NULL: name is the path */
    const char *name;
    uint64_t offset_bytes, n_bytes;
    uint32_t align_bytes; /* past the page cache (O_DIRECT): offset, length and memory of each read
                             are multiples of it; 0: through the page cache */
};

/* Where a sample lies. */
struct dlb_located {
    struct dlb_extent *extent; /* the caller's; the format fills in the first cap of them */
    uint32_t cap, n;           /* n: how many there are; when above cap, the caller asks again */
    bool plain; /* the extents, one after the other, are the sample's fields, so they may be read
                   directly to their place in the batch */
};

/* What a data set holds, known once it is open. */
struct dlb_shape {
    uint64_t n_samples, total_bytes; /* payload bytes of all fields */
    uint64_t max_sample_bytes;       /* of one sample's fields together */
    uint64_t max_decoded_bytes; /* of one sample, decoded; set by formats/look.h, 0 elsewhere */
    uint64_t reader_bytes; /* that each open reader takes for itself at most, where that is much:
                              what it unpacks for many samples at once */
    uint64_t
        id; /* hash of what identifies the data set: names, sizes, or the generator's parameters */
    uint64_t n_classes;     /* the largest label plus 1; 0: not known */
    uint32_t n_shards;      /* iterable only */
    uint32_t element;       /* enum dlb_element of all samples, or DLB_ELEMENT_NONE */
    bool iterable;          /* shard_open and next; else read */
    uint64_t n_left_tokens; /* in no sample, because they do not fill one; DLB_NOT_COUNTED: samples
                               are drawn */
    uint32_t n_odd;         /* unusual facts about the data set, which inspect reports */
    char odd[16][DLB_ODD_BYTES]; /* the first of them, as sentences, each long enough for a
                                   dlb_err.what */
    char library[16];   /* the library that reads the samples: a damaged file may crash it, and the
                           process that reads; empty: none */
    char undecoded[32]; /* what its samples are that no codec decodes here; set by
                           formats/undecoded.h; empty: nothing is known */
    char about[96];     /* which variant of the format was found, for inspect; empty: no variants */
};

/* How a format gets its bytes (`dataset.access`). AUTO: the first that it offers. */
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

/* Whether locate and assemble work with this access. AUTO: the format has a single way of
 * access. */
bool dlb_access_locates(int access);

struct dlb_open {
    const char *path;
    const struct dlb_io *io;
    const void *opts; /* the format's own options, opts->n_bytes of them, or NULL */
    const struct dlb_generate_opts *gen; /* the `generate` section: all that a synthetic format
                                            needs to know */
    const struct dlb_codec *codec; /* selects the files and fields that are samples (extensions,
                                      field 0); NULL: any bytes */
    int access;    /* enum dlb_access: one that the format names; AUTO where it names none */
    bool in_order; /* unless options say otherwise, samples are what is stored, each part once and
                      in its order; not what a training would draw from it */
};

struct dlb_reader {
    size_t dataset_bytes, state_bytes; /* of the data set's state, and of a reader's; the core
                                          allocates both, zeroed, 64-byte aligned */

    /* Fills *shape. After a failure the core still calls dataset_close. A folder that gen has not
     * finished is DLB_E_FORMAT. */
    int (*dataset_open)(void *ds, const struct dlb_open *how, struct dlb_shape *shape,
                        struct dlb_err *err);
    void (*dataset_close)(void *ds);

    int (*open)(void *rd, const void *ds, struct dlb_err *err);
    void (*close)(void *rd); /* called after a failed open too */

    /* Map-style: sample `index`, in any order. */
    int (*read)(void *rd, uint64_t index, struct dlb_dest dest, struct dlb_sample *out,
                struct dlb_err *err);

    /* Map-style, optional, of samples in memory or in a map of a file, which are so short that a
     * call and a time stamp for each would take a share of their time: the bytes of n samples, back
     * to back, to dst, and their labels, as so many calls of read. Returns for how many of them,
     * from the first on, this was done: 0 where it is not possible or a sample cannot be had. Then
     * they are read one by one, and read says what is wrong. Called only where all samples are of
     * one size, so that total_bytes is n_samples times max_sample_bytes. Unless the format is
     * synthetic, all bytes count as read from storage. */
    uint32_t (*read_many)(void *rd, const uint64_t *index, uint32_t n, uint8_t *dst,
                          uint32_t *label);

    /* Map-style, optional, for loaders that read many samples at once. locate says where the sample
     * lies; assemble makes the sample of its pieces, one for each extent and as long. Any number of
     * samples may be located before the first is assembled. assemble fills all of *out but
     * io_bytes; its fields may be the pieces themselves, or lie at dest. Loaders call both only
     * where dlb_access_locates says so. */
    int (*locate)(void *rd, uint64_t index, struct dlb_located *out, struct dlb_err *err);
    int (*assemble)(void *rd, uint64_t index, const struct dlb_field *pieces, uint32_t n,
                    struct dlb_dest dest, struct dlb_sample *out, struct dlb_err *err);

    /* Iterable: a shard from its start to DLB_END. After an error the rest of the shard is lost;
     * shard_open starts the next. */
    int (*shard_open)(void *rd, uint32_t shard, struct dlb_err *err);
    int (*next)(void *rd, struct dlb_dest dest, struct dlb_sample *out, struct dlb_err *err);
    uint64_t (*shard_samples)(const void *ds, uint32_t shard);

    /* Writes the path in which sample `number` lies (iterable data: shard `number`), cut when
     * longer. For messages about a reader that hangs, so it may be called concurrently with
     * readers. Optional. */
    void (*whereabouts)(const void *ds, uint64_t number, char *path, size_t n_path);

    /* The files that samples are read from. Returns the number of files. If `number` is below
     * it, writes that path (cut when longer). Files that are read only while the data set opens
     * do not count. NULL: no files. */
    uint64_t (*files)(const void *ds, uint64_t number, char *path, size_t n_path);
};

/* Adds a sentence to shape->odd, or only counts it when that is full. What can occur many times, as
 * shards that cannot be read, is one sentence with the number and the first. */
void dlb_shape_odd(struct dlb_shape *shape, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
uint32_t dlb_shape_n_named(const struct dlb_shape *shape); /* how many sentences are there */

#endif
