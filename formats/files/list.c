#include "formats/files/list.h"

#include "core/base/escape.h"
#include "core/base/same.h"
#include "formats/generate/owned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_DEPTH = 16 };

struct visit {
    struct dlb_files_list *list;
    const struct dlb_codec *codec;
    uint32_t folder;
};

static int grow(void *array, uint64_t *cap, uint64_t need, size_t each, struct dlb_err *err)
{
    void **at = array;
    if (need <= *cap)
        return DLB_OK;
    uint64_t more = *cap ? *cap * 2 : 64;
    while (more < need)
        more *= 2;
    void *grown = realloc(*at, more * each);
    if (!grown)
        return dlb_fail_memory(err, NULL, more * each);
    *at = grown;
    *cap = more;
    return DLB_OK;
}

static int add_folder(struct dlb_files_list *list, const char *above, const char *name,
                      uint32_t label, struct dlb_err *err)
{
    char *path = NULL;

    if (list->n_folders >= (UINT64_C(1) << 24))
        return dlb_fail(err, DLB_ERR_DATASET_FOLDERS_TOO_MANY, above, DLB_NO_OFFSET,
                        "more than 16,777,216 folders");
    int rc =
        grow(&list->folders, &list->cap_folders, list->n_folders + 1, sizeof *list->folders, err);
    if (rc != DLB_OK)
        return rc;
    if ((name ? asprintf(&path, "%s/%s", above, name) : asprintf(&path, "%s", above)) < 0)
        return dlb_fail_memory(err, above, strlen(above) + 1 + (name ? strlen(name) + 1 : 0));
    list->folders[list->n_folders++] = (struct dlb_files_folder){.path = path, .label = label};
    return DLB_OK;
}

static int add_file(struct dlb_files_list *list, uint32_t folder, const struct dlb_io_entry *entry,
                    struct dlb_err *err)
{
    size_t len = strlen(entry->name) + 1;
    int rc = grow(&list->files, &list->cap_files, list->n_files + 1, sizeof *list->files, err);

    if (rc == DLB_OK)
        rc = grow(&list->names, &list->names_cap, list->names_bytes + len, 1, err);
    if (rc != DLB_OK)
        return rc;
    memcpy(list->names + list->names_bytes, entry->name, len);
    list->files[list->n_files++] =
        (struct dlb_file){(uint64_t)folder << 40 | list->names_bytes, entry->n_bytes};
    list->names_bytes += len;
    list->n_empty_files += entry->n_bytes == 0;
    uint64_t path_bytes = strlen(list->folders[folder].path) + 1 + len;
    if (path_bytes > list->max_path_bytes)
        list->max_path_bytes = path_bytes;
    return DLB_OK;
}

/* Whether a name in the folder is a link to the folder itself or to one above it, up to the root:
 * its folders would never end. */
static bool leads_up(const struct visit *v, const char *folder, const char *name)
{
    const char *root = v->list->folders[0].path;
    char *target = dlb_path_join(folder, name), *above = strdup(folder);
    bool up = false, link = target && dlb_is_link(target);

    for (char *end; link && above && !up; *end = '\0') {
        up = dlb_same_file(above, target);
        end = strrchr(above, '/');
        if (!end || (size_t)(end - above) < strlen(root))
            break;
    }
    free(above);
    free(target);
    return up;
}

static int enter(const struct visit *v, const struct dlb_io_entry *entry, struct dlb_err *err)
{
    const struct dlb_files_folder *folder = &v->list->folders[v->folder];

    if (leads_up(v, folder->path, entry->name))
        return dlb_fail(err, DLB_ERR_DATASET_FOLDERS_TOO_MANY, folder->path, DLB_NO_OFFSET,
                        "its link \"%.*s\" leads to a folder above", DLB_CUT(entry->name, 100));
    return add_folder(v->list, folder->path, entry->name, folder->label, err);
}

/* Manifest, list, marks. They lie in the root. */
static bool is_own(const struct visit *v, const struct dlb_io_entry *entry)
{
    return v->folder == 0 && entry->kind == DLB_IO_FILE && dlb_owned_beside(entry->name);
}

static int visit(void *ctx, const struct dlb_io_entry *entry, struct dlb_err *err)
{
    const struct visit *v = ctx;
    struct dlb_files_list *list = v->list;

    if (is_own(v, entry))
        return DLB_OK;
    if (entry->kind == DLB_IO_OTHER) {
        if (list->n_special++ == 0)
            (void)snprintf(list->special_name, sizeof list->special_name, "%s", entry->name);
        return DLB_OK;
    }
    if (entry->name[0] == '.' && !(v->codec && v->codec->extensions)) {
        list->n_hidden++;
        return DLB_OK;
    }
    if (entry->kind == DLB_IO_DIR)
        return enter(v, entry, err);
    const char *dot = strrchr(entry->name, '.');
    if (dlb_codec_takes(v->codec, dot ? dot + 1 : ""))
        return add_file(list, v->folder, entry, err);
    if (list->n_other_extension++ == 0)
        (void)snprintf(list->other_name, sizeof list->other_name, "%s", entry->name);
    return DLB_OK;
}

static int by_path(const void *a, const void *b)
{
    const struct dlb_files_folder *x = a, *y = b;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return strcmp(x->path, y->path);
}

static int by_name(const void *a, const void *b, void *list)
{
    return strcmp(dlb_file_name(list, a), dlb_file_name(list, b));
}

static unsigned depth_below(const char *root, const char *path)
{
    unsigned depth = 0;
    for (const char *p = path + strlen(root); *p; p++)
        depth += *p == '/';
    return depth;
}

static int list_folders(struct dlb_files_list *list, const char *root, const struct dlb_io *io,
                        const struct dlb_codec *codec, struct dlb_err *err)
{
    for (uint64_t i = 0; i < list->n_folders; i++) {
        struct visit v = {list, codec, (uint32_t)i};
        const char *path = list->folders[i].path;
        if (depth_below(root, path) > MAX_DEPTH)
            return dlb_fail(err, DLB_ERR_DATASET_FOLDERS_TOO_MANY, path, DLB_NO_OFFSET,
                            "more than %d folders deep: look for a link to a folder above",
                            MAX_DEPTH);
        list->folders[i].first = list->n_files;
        int rc = io->list(path, visit, &v, err);
        if (rc != DLB_OK)
            return rc;
        list->folders[i].n_files = list->n_files - list->folders[i].first;
        if (i != 0)
            continue;
        /* The root's folders are the classes. */
        qsort(list->folders + 1, list->n_folders - 1, sizeof *list->folders, by_path);
        list->n_classes = (uint32_t)(list->n_folders - 1);
        for (uint64_t k = 1; k < list->n_folders; k++)
            list->folders[k].label = (uint32_t)(k - 1);
    }
    return DLB_OK;
}

/* Whether convert and WebDataset would take both for fields of one sample: "a.seg.png", "a.jpg". */
static bool is_beside(const char *name, const char *before)
{
    size_t n = strcspn(name, ".");
    const char *last = strrchr(name, '.'), *last_before = strrchr(before, '.');

    return n > 0 && last && last_before && strncmp(name, before, n + 1) == 0 &&
           strcasecmp(last, last_before) != 0;
}

/* Sorts the folders, and the files within each. With `classes` the root's own files are left out.
 */
static int sort(struct dlb_files_list *list, bool classes, struct dlb_err *err)
{
    uint64_t n = 0;
    struct dlb_file *sorted = malloc((list->n_files ? list->n_files : 1) * sizeof *sorted);

    if (!sorted)
        return dlb_fail_memory(err, NULL, list->n_files * sizeof *sorted);
    qsort(list->folders + 1, list->n_folders - 1, sizeof *list->folders, by_path);
    for (uint64_t i = classes ? 1 : 0; i < (classes ? list->n_folders : 1); i++) {
        const struct dlb_files_folder *folder = &list->folders[i];
        struct dlb_file *run = list->files + folder->first;
        if (folder->n_files > 0) /* else the list may be NULL */
            qsort_r(run, folder->n_files, sizeof *run, by_name, list);
        for (uint64_t k = 0; k < folder->n_files; k++) {
            sorted[n] = run[k];
            list->n_beside +=
                k > 0 && is_beside(dlb_file_name(list, &run[k]), dlb_file_name(list, &run[k - 1]));
            sorted[n].place = i << 40 | (run[k].place & ((UINT64_C(1) << 40) - 1));
            n++;
        }
    }
    free(list->files);
    list->files = sorted;
    list->n_files = list->cap_files = n;
    return DLB_OK;
}

int dlb_files_list_make(struct dlb_files_list *list, const char *root, const struct dlb_io *io,
                        const struct dlb_codec *codec, struct dlb_err *err)
{
    int rc = add_folder(list, root, NULL, 0, err);

    if (rc == DLB_OK)
        rc = list_folders(list, root, io, codec, err);
    if (rc != DLB_OK)
        return rc;
    uint64_t n_root = list->folders[0].n_files;
    bool classes = list->n_files > n_root;
    if (classes) {
        list->n_loose = n_root;
        bool *seen = calloc(list->n_classes, sizeof *seen);
        if (!seen)
            return dlb_fail_memory(err, root, list->n_classes * sizeof *seen);
        for (uint64_t i = 1; i < list->n_folders; i++)
            seen[list->folders[i].label] |= list->folders[i].n_files > 0;
        for (uint32_t i = 0; i < list->n_classes; i++)
            list->n_empty_classes += !seen[i];
        free(seen);
    } else {
        list->n_classes = 1;
    }
    return sort(list, classes, err);
}

void dlb_files_list_free(struct dlb_files_list *list)
{
    for (uint64_t i = 0; i < list->n_folders; i++)
        free(list->folders[i].path);
    free(list->folders);
    free(list->files);
    free(list->names);
    *list = (struct dlb_files_list){0};
}
