/* Finding the data set that holds the samples: the one that hdf5.dataset names, or the largest.
 * Runs in a process of its own (formats/hdf5/look.c). */
#include "formats/hdf5/library.h"

#include "core/base/escape.h"

#ifdef DLB_HAVE_HDF5

#include <hdf5.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_NAMED = 5,          /* in an error */
    NAMED_OF = 1000,      /* objects that are looked at for them */
    SEEN_SLOTS = 1 << 18, /* a power of two, more than twice as many as objects */
};

/* An object to be looked at. Links are followed by address, because libhdf5 walks the whole path
 * to each object that it opens by name. */
struct node {
    haddr_t at;
    char *name;      /* of the link to it; owned */
    uint32_t parent; /* in `node`; the root is its own */
    uint32_t depth;
};

struct search {
    const char *path; /* of the file */
    const struct dlb_hdf5_opts *opts;
    struct dlb_hdf5_about *about;
    struct node *node; /* [cap], of which n are used */
    uint32_t n, cap;
    uint32_t *todo; /* [cap]: a stack, so that objects come in the order of a walk in depth */
    uint32_t n_todo;
    uint64_t *seen;   /* [SEEN_SLOTS]: addresses plus 1, because links may make rings */
    uint64_t n_bytes; /* of the largest so far */
    char named[400];  /* the first few candidates */
    bool ended;       /* a limit was reached */
    bool short_of_memory;
    uint32_t within;        /* of a group's children: the parent */
    struct dlb_err problem; /* of the last one that does not open */
};

/* Whether it is a data set about another one, by its name. */
static bool is_beside(const char *name)
{
    size_t n = strlen(name), n_offsets = strlen("_offsets");

    return strcmp(name, "label") == 0 || strcmp(name, "labels") == 0 ||
           (n > n_offsets && strcmp(name + n - n_offsets, "_offsets") == 0);
}

bool dlb_hdf5_fixed_size(int64_t type)
{
    return H5Tget_class(type) != H5T_REFERENCE && H5Tdetect_class(type, H5T_VLEN) == 0 &&
           H5Tdetect_class(type, H5T_REFERENCE) == 0 && H5Tis_variable_str(type) == 0 &&
           H5Tget_size(type) > 0;
}

/* The data set's bytes; 0 when it cannot be samples. */
static uint64_t bytes_of(hid_t set)
{
    hsize_t dims[DLB_HDF5_MAX_RANK];
    hid_t space = H5Dget_space(set), type = H5Dget_type(set);
    uint64_t n_bytes = 0;
    int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);

    if (type >= 0 && rank >= 1 && rank <= DLB_HDF5_MAX_RANK && dlb_hdf5_fixed_size(type) &&
        H5Sget_simple_extent_dims(space, dims, NULL) == rank) {
        n_bytes = H5Tget_size(type);
        for (int i = 0; i < rank; i++)
            if (__builtin_mul_overflow(n_bytes, dims[i], &n_bytes))
                n_bytes = UINT64_MAX;
    }
    if (type >= 0)
        (void)H5Tclose(type);
    if (space >= 0)
        (void)H5Sclose(space);
    return n_bytes;
}

/* Whether the address is a new one. */
static bool is_new(struct search *s, haddr_t at)
{
    uint64_t mark = (uint64_t)at + 1;
    uint64_t slot = mark * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    for (slot %= SEEN_SLOTS; s->seen[slot]; slot = (slot + 1) % SEEN_SLOTS)
        if (s->seen[slot] == mark)
            return false;
    s->seen[slot] = mark;
    return true;
}

static bool grow(struct search *s)
{
    uint32_t cap = s->cap ? 2 * s->cap : 256;
    struct node *node = realloc(s->node, cap * sizeof *node);
    if (node)
        s->node = node;
    uint32_t *todo = node ? realloc(s->todo, cap * sizeof *todo) : NULL;
    if (todo)
        s->todo = todo;
    if (todo)
        s->cap = cap;
    return todo;
}

static bool add_node(struct search *s, haddr_t at, const char *name, uint32_t parent)
{
    char *own = s->n < s->cap || grow(s) ? strdup(name) : NULL;
    if (!own) {
        s->short_of_memory = true;
        return false;
    }
    uint32_t depth = s->n > 0 ? s->node[parent].depth + 1 : 0;
    s->node[s->n] = (struct node){at, own, parent, depth};
    s->todo[s->n_todo++] = s->n++;
    return true;
}

static herr_t take_link(hid_t group, const char *name, const H5L_info_t *info, void *ctx)
{
    struct search *s = ctx;
    (void)group;

    if (info->type !=
        H5L_TYPE_HARD) /* the others lead to what has a hard one, or out of the file */
        return 0;
    if (s->n >= DLB_HDF5_MAX_OBJECTS) {
        s->ended = true;
        return 1;
    }
    return add_node(s, info->u.address, name, s->within) ? 0 : 1;
}

/* Adds what the group holds, so that the first comes next. */
static int take_group(struct search *s, hid_t group, uint32_t number, struct dlb_err *err)
{
    uint32_t from = s->n_todo;

    if (s->node[number].depth > DLB_HDF5_MAX_DEPTH) {
        s->ended = true;
        return DLB_OK;
    }
    s->within = number;
    if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, take_link, s) < 0)
        return dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, s->path, "listing a group");
    for (uint32_t to = s->n_todo; from + 1 < to; from++) {
        uint32_t kept = s->todo[from];
        s->todo[from] = s->todo[--to];
        s->todo[to] = kept;
    }
    return DLB_OK;
}

/* Writes the object's path from the end of `out` forward; where it begins, or NULL: too long. */
static const char *path_of(const struct search *s, uint32_t number, char *out, size_t n_out)
{
    char *at = out + n_out - 1;

    for (*at = '\0'; s->node[number].depth > 0; number = s->node[number].parent) {
        size_t n = strlen(s->node[number].name);
        if ((size_t)(at - out) < n + 1)
            return NULL;
        at -= n;
        memcpy(at, s->node[number].name, n);
        *--at = '/';
    }
    return at;
}

/* Samples back to back, which may all be empty. */
static bool has_offsets(hid_t set, const char *path)
{
    char beside[DLB_HDF5_PATH_CAP + 16];
    hid_t file = H5Iget_file_id(set);

    (void)snprintf(beside, sizeof beside, "%s_offsets", path);
    bool has = file >= 0 && H5Lexists(file, beside, H5P_DEFAULT) > 0;
    if (file >= 0)
        (void)H5Fclose(file);
    return has;
}

static void take_set(struct search *s, hid_t set, uint32_t number)
{
    static char text[DLB_HDF5_PATH_CAP];
    if (is_beside(s->node[number].name))
        return;
    uint64_t n_bytes = bytes_of(set);
    const char *path = path_of(s, number, text, sizeof text);

    if (n_bytes > 0 && !path)
        s->ended = true;
    if (!path || strcmp(path + (s->opts->label[0] != '/'), s->opts->label) == 0 ||
        (n_bytes == 0 && !has_offsets(set, path)))
        return;
    size_t n_named = strlen(s->named);
    if (s->about->n_candidates++ < N_NAMED)
        (void)snprintf(s->named + n_named, sizeof s->named - n_named, "%s%.*s", n_named ? ", " : "",
                       DLB_CUT(path, 70));
    if (n_bytes > s->n_bytes || !s->about->dataset[0]) {
        s->n_bytes = n_bytes;
        (void)snprintf(s->about->dataset, sizeof s->about->dataset, "%s", path);
    }
}

static int take_object(struct search *s, hid_t file, uint32_t number, struct dlb_err *err)
{
    int rc = DLB_OK;
    hid_t object = H5Oopen_by_addr(file, s->node[number].at);

    if (object < 0) {
        (void)dlb_hdf5_fail(&s->problem, DLB_ERR_HDF5_READ_FAILED, s->path, "opening an object");
        return DLB_OK;
    }
    H5I_type_t type = H5Iget_type(object);
    if (type == H5I_GROUP)
        rc = take_group(s, object, number, err);
    else if (type == H5I_DATASET)
        take_set(s, object, number);
    (void)H5Oclose(object);
    return rc;
}

/* Looks at up to `most` objects. */
static int search(struct search *s, hid_t file, uint32_t most, struct dlb_err *err)
{
    H5O_info_t root = {0};
    int rc = DLB_OK;

    s->seen = calloc(SEEN_SLOTS, sizeof *s->seen);
    if (!s->seen)
        return dlb_fail_memory(err, s->path, SEEN_SLOTS * sizeof *s->seen);
    if (H5Oget_info2(file, &root, H5O_INFO_BASIC) < 0)
        return dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, s->path, "opening the root group");
    (void)add_node(s, root.addr, "", 0);
    for (uint32_t n = 0; rc == DLB_OK && s->n_todo > 0 && !s->short_of_memory; n++) {
        uint32_t number = s->todo[--s->n_todo];
        if (n >= most)
            break;
        if (is_new(s, s->node[number].at))
            rc = take_object(s, file, number, err);
    }
    if (rc == DLB_OK && s->short_of_memory)
        rc = dlb_fail_memory(err, s->path, s->cap * sizeof *s->node);
    (void)H5Eclear2(H5E_DEFAULT);
    return rc;
}

static void free_search(struct search *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        free(s->node[i].name);
    free(s->node);
    free(s->todo);
    free(s->seen);
}

/* The largest data set, the first of several. */
static int find_largest(struct search *s, hid_t file, struct dlb_err *err)
{
    int rc = search(s, file, DLB_HDF5_MAX_OBJECTS, err);

    if (rc != DLB_OK || s->about->dataset[0]) {
        s->about->search_ended = s->ended;
        return rc;
    }
    if (s->ended)
        return dlb_fail(err, DLB_ERR_HDF5_SEARCH_ENDED, s->path, DLB_NO_OFFSET,
                        "no data set among the first %u objects, down to %u groups in groups: name "
                        "it by hdf5.dataset, or write it nearer to the root",
                        DLB_HDF5_MAX_OBJECTS, DLB_HDF5_MAX_DEPTH);
    if (s->problem.status != DLB_OK) {
        *err = s->problem;
        return (int)err->status;
    }
    return dlb_fail(err, DLB_ERR_HDF5_NO_DATASET, s->path, DLB_NO_OFFSET,
                    "holds no data set of at least one dimension whose elements have one size");
}

int dlb_hdf5_find(int64_t file, const char *path, const struct dlb_hdf5_opts *opts,
                  struct dlb_hdf5_about *about, struct dlb_err *err)
{
    struct search s = {.path = path, .opts = opts, .about = about};

    if (opts->dataset[0]) {
        (void)snprintf(about->dataset, sizeof about->dataset, "%s%s",
                       opts->dataset[0] == '/' ? "" : "/", opts->dataset);
        about->n_candidates = 1;
        return DLB_OK;
    }
    int rc = find_largest(&s, file, err);
    free_search(&s);
    return rc;
}

bool dlb_hdf5_is_there(int64_t file, const char *name)
{
    char *part = strdup(name);
    bool there = part && H5Oexists_by_name(file, "/", H5P_DEFAULT) > 0;

    /* Each group must be there before libhdf5 can be asked for what is in it. */
    for (char *end = part; there && end;) {
        end = strchr(end + 1, '/');
        if (end)
            *end = '\0';
        there = H5Lexists(file, part, H5P_DEFAULT) > 0 &&
                H5Oexists_by_name(file, part, H5P_DEFAULT) > 0;
        if (end)
            *end = '/';
    }
    free(part);
    (void)H5Eclear2(H5E_DEFAULT);
    return there;
}

/* Whether the path names a group or a named type, which cannot be read as a data set. */
static bool is_other(hid_t file, const char *name)
{
    hid_t object = H5Oopen(file, name, H5P_DEFAULT);
    bool other = object >= 0 && H5Iget_type(object) != H5I_DATASET;

    if (object >= 0)
        (void)H5Oclose(object);
    (void)H5Eclear2(H5E_DEFAULT);
    return other;
}

int dlb_hdf5_explain_missing(int64_t file, const char *path, const struct dlb_hdf5_opts *opts,
                             const char *name, struct dlb_err *err)
{
    struct dlb_hdf5_about *scratch = calloc(1, sizeof *scratch);
    struct search s = {.path = path, .opts = opts, .about = scratch};
    struct dlb_err ignored;
    bool there = dlb_hdf5_is_there(file, name);

    if (!scratch || (there && !is_other(file, name))) {
        free(scratch);
        return (int)err->status;
    }
    (void)search(&s, file, NAMED_OF, &ignored);
    (void)dlb_fail(err, DLB_ERR_HDF5_NO_SUCH_DATASET, path, DLB_NO_OFFSET,
                   "hdf5.dataset = \"%.*s\" %s%s%s", DLB_CUT(name, 200),
                   there ? "is not a data set but another kind of object"
                         : "does not exist in the file",
                   s.named[0] ? "; the file has these data sets: " : "", s.named);
    free_search(&s);
    free(scratch);
    return (int)err->status;
}

#endif
