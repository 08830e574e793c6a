/* The sorted list of a folder's files, as torchvision's ImageFolder sees it.
 *
 * Floor 2. Made on the control thread, read-only afterwards. Folders of the root are classes,
 * numbered in the order of their names; files in deeper folders belong to the class above them.
 * Without such folders the root's own files are the samples. Order: class, then folder, then name,
 * each byte by byte. For a codec with extensions hidden files count, as in ImageFolder; for a codec
 * that takes any file they are left out. Links count as what they point to. A file takes 16 bytes
 * and its name, so that lists of millions of files fit into memory. */
#ifndef DLB_FORMATS_FILES_LIST_H
#define DLB_FORMATS_FILES_LIST_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "formats/codec.h"

#include <stddef.h>
#include <stdint.h>

struct dlb_file {
    uint64_t place; /* folder number << 40 | where its name starts in names */
    uint64_t n_bytes;
};

struct dlb_files_folder {
    char *path; /* with the root's; owned */
    uint32_t label;
    uint64_t first, n_files; /* before sorting: its run of files */
};

struct dlb_files_list {
    struct dlb_file *files;
    uint64_t n_files, cap_files;
    char *names; /* each ended by zero */
    uint64_t names_bytes, names_cap;
    struct dlb_files_folder *folders; /* [0] is the root */
    uint64_t n_folders, cap_folders;
    uint32_t n_classes;
    uint64_t max_path_bytes; /* of folder path, slash, name and terminating zero */
    /* Left out, or odd. */
    uint64_t n_beside; /* named as the one before but for the extension */
    uint64_t n_empty_classes, n_empty_files, n_loose, n_other_extension, n_hidden, n_special;
    char special_name[64]; /* the first link to nowhere, pipe, socket or device */
    char other_name[64];   /* the first of those with another extension */
};

int dlb_files_list_make(struct dlb_files_list *list, const char *root, const struct dlb_io *io,
                        const struct dlb_codec *codec, struct dlb_err *err);
void dlb_files_list_free(struct dlb_files_list *list);

static inline uint32_t dlb_file_folder(const struct dlb_file *file)
{
    return (uint32_t)(file->place >> 40);
}

static inline const char *dlb_file_name(const struct dlb_files_list *list,
                                        const struct dlb_file *file)
{
    return list->names + (file->place & ((UINT64_C(1) << 40) - 1));
}

/* How likely the path is such a data set, 0 to 100: see dlb_format.probe. */
int dlb_files_probe(const char *path, const struct dlb_io *io);

#endif
