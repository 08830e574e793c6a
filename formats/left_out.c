#include "formats/left_out.h"

#include "core/base/escape.h"
#include "core/base/same.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 4, MAX_LOOKED = 1024, NUMBER_DIGITS = 5, SHOWN_BYTES = 240 };

static int note(struct dlb_left_out *left_out, enum dlb_left_out_kind kind, const char *folder,
                const char *name, struct dlb_err *err)
{
    char *path = name ? dlb_path_join(folder, name) : strdup(folder);

    if (!path)
        return dlb_fail_memory(err, folder, strlen(folder) + (name ? strlen(name) : 0) + 2);
    char *first = left_out->first[kind];
    bool sooner = left_out->n[kind]++ == 0 || strcmp(path, first) < 0;
    left_out->first[kind] = sooner ? path : first;
    free(sooner ? first : path);
    return DLB_OK;
}

/* Length of the name without its last ".ending" of 1 byte or more; 0: it has none, or nothing else.
 */
static size_t without_ending(const char *name, size_t n)
{
    size_t at = n;
    while (at > 0 && name[at - 1] != '.')
        at--;
    return at > 1 && at < n ? at - 1 : 0;
}

static bool is_shard_cut(const struct dlb_left_out *left_out, const char *name, size_t n)
{
    char *cut = n ? strndup(name, n) : NULL;
    bool is = cut && left_out->is_shard(cut);

    free(cut);
    return is;
}

/* As downloads and copies name what they have not finished: "a.tar.part", "a.tar.123.tmp". */
static bool is_unfinished(const struct dlb_left_out *left_out, const char *name)
{
    static const char *const endings[] = {"part",       "partial",    "tmp",      "temp",
                                          "incomplete", "crdownload", "download", NULL};
    size_t n = without_ending(name, strlen(name));
    bool known = false;

    for (size_t i = 0; n && endings[i]; i++)
        known = known || strcasecmp(name + n + 1, endings[i]) == 0;
    return known && (is_shard_cut(left_out, name, n) ||
                     is_shard_cut(left_out, name, without_ending(name, n)));
}

/* Also ".a.tar.x1Y2z3", as rsync names its copy until it is whole. */
static bool is_hidden_shard(const struct dlb_left_out *left_out, const char *name)
{
    const char *shown = name + 1;
    return left_out->is_shard(shown) || is_unfinished(left_out, shown) ||
           is_shard_cut(left_out, shown, without_ending(shown, strlen(shown)));
}

struct below {
    struct dlb_left_out *left_out;
    const char *folder;
    unsigned depth;
};

static int look_below(struct dlb_left_out *left_out, const char *above, const char *name,
                      unsigned depth, struct dlb_err *err);

static int visit_below(void *ctx, const struct dlb_io_entry *entry, struct dlb_err *err)
{
    const struct below *below = ctx;
    struct dlb_left_out *left_out = below->left_out;

    if (left_out->n_looked++ >= MAX_LOOKED)
        return DLB_END;
    if (entry->name[0] == '.')
        return DLB_OK;
    if (entry->kind == DLB_IO_DIR)
        return look_below(left_out, below->folder, entry->name, below->depth + 1, err);
    return left_out->is_shard(entry->name) && !is_unfinished(left_out, entry->name)
               ? note(left_out, DLB_LEFT_OUT_BELOW, below->folder, entry->name, err)
               : DLB_OK;
}

/* Links and other file systems are not entered: what lies there may have no end, or not answer. */
static bool may_enter(const struct dlb_left_out *left_out, const char *path, bool *is_link)
{
    struct stat folder, below;
    bool known = lstat(path, &below) == 0;

    *is_link = known && S_ISLNK(below.st_mode);
    if (*is_link)
        return false;
    return !known || stat(left_out->folder, &folder) != 0 || folder.st_dev == below.st_dev;
}

/* A link back to the data set's folder has nothing that is not read. */
static int look_below(struct dlb_left_out *left_out, const char *above, const char *name,
                      unsigned depth, struct dlb_err *err)
{
    char *path = dlb_path_join(above, name);
    struct below below = {left_out, path, depth};
    struct dlb_err why = {.status = DLB_OK};
    int rc = DLB_OK;

    if (!path)
        return dlb_fail_memory(err, above, strlen(above) + strlen(name) + 2);
    bool is_link, enter = may_enter(left_out, path, &is_link) && depth <= MAX_DEPTH;
    if (!is_link || !dlb_same_file(path, left_out->folder)) {
        rc = enter ? left_out->io->list(path, visit_below, &below, &why) : DLB_END;
        if (rc == DLB_E_NOMEM)
            *err = why;
        else if (rc != DLB_OK)
            rc = note(left_out, DLB_LEFT_OUT_UNSEEN, path, NULL, err);
    }
    free(path);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Keeps the names that sort first, as many as can be looked into. The others count as unseen. */
static int drop_below(struct dlb_left_out *left_out, struct dlb_err *err)
{
    int rc = DLB_OK;

    qsort(left_out->below, left_out->n_below, sizeof *left_out->below, by_name);
    while (rc == DLB_OK && left_out->n_below > MAX_LOOKED) {
        char *name = left_out->below[--left_out->n_below];
        rc = note(left_out, DLB_LEFT_OUT_UNSEEN, left_out->folder, name, err);
        free(name);
    }
    return rc;
}

static int note_below(struct dlb_left_out *left_out, const char *name, struct dlb_err *err)
{
    int rc = left_out->n_below == (size_t)2 * MAX_LOOKED ? drop_below(left_out, err) : DLB_OK;

    if (rc != DLB_OK)
        return rc;
    if (left_out->n_below == left_out->cap_below) {
        size_t cap = left_out->cap_below ? left_out->cap_below * 2 : 16;
        char **grown = realloc(left_out->below, cap * sizeof *grown);
        if (!grown)
            return dlb_fail_memory(err, left_out->folder, cap * sizeof *grown);
        left_out->below = grown;
        left_out->cap_below = cap;
    }
    char *copy = strdup(name);
    if (!copy)
        return dlb_fail_memory(err, left_out->folder, strlen(name) + 1);
    left_out->below[left_out->n_below++] = copy;
    return DLB_OK;
}

/* NUMBER_DIGITS digits, and none behind them; -1: no such number. */
static int64_t number_at(const char *text)
{
    int64_t n = 0;

    for (int i = 0; i < NUMBER_DIGITS; i++) {
        if (!isdigit((unsigned char)text[i]))
            return -1;
        n = n * 10 + (text[i] - '0');
    }
    return isdigit((unsigned char)text[NUMBER_DIGITS]) ? -1 : n;
}

/* Notes a name of the form NAME-DDDDD-of-DDDDD[.ending]. */
static int note_number(struct dlb_left_out *left_out, const char *name, struct dlb_err *err)
{
    const char *of = strstr(name, "-of-");
    size_t n_before = of ? (size_t)(of - name) : 0;

    if (n_before < NUMBER_DIGITS + 1 || name[n_before - NUMBER_DIGITS - 1] != '-')
        return DLB_OK;
    char digits[NUMBER_DIGITS + 1] = "";
    memcpy(digits, of - NUMBER_DIGITS, NUMBER_DIGITS);
    int64_t number = number_at(digits), all = number_at(of + strlen("-of-"));
    if (number < 0 || number >= all)
        return DLB_OK;
    if (left_out->n_numbered == left_out->cap_numbered) {
        size_t cap = left_out->cap_numbered ? left_out->cap_numbered * 2 : 64;
        void *grown = realloc(left_out->numbered, cap * sizeof *left_out->numbered);
        if (!grown)
            return dlb_fail_memory(err, name, cap * sizeof *left_out->numbered);
        left_out->numbered = grown;
        left_out->cap_numbered = cap;
    }
    struct dlb_left_out_numbered *numbered = &left_out->numbered[left_out->n_numbered];
    *numbered = (struct dlb_left_out_numbered){.number = (uint32_t)number, .of = (uint32_t)all};
    if (asprintf(&numbered->set, "%.*s*%s", (int)(n_before - NUMBER_DIGITS), name, of) < 0)
        return dlb_fail_memory(err, name, strlen(name) + 1);
    left_out->n_numbered++;
    return DLB_OK;
}

int dlb_left_out_see(struct dlb_left_out *left_out, const struct dlb_io_entry *entry,
                     enum dlb_entry_role *role, struct dlb_err *err)
{
    const char *name = entry->name, *folder = left_out->folder;

    *role = DLB_ENTRY_NOTED;
    if (entry->kind == DLB_IO_DIR && name[0] == '.')
        return DLB_OK;
    if (entry->kind == DLB_IO_DIR) {
        int rc = left_out->is_shard(name) ? note(left_out, DLB_LEFT_OUT_FOLDER, folder, name, err)
                                          : DLB_OK;
        return rc == DLB_OK ? note_below(left_out, name, err) : rc;
    }
    if (name[0] == '.')
        return is_hidden_shard(left_out, name)
                   ? note(left_out, DLB_LEFT_OUT_HIDDEN, folder, name, err)
                   : DLB_OK;
    if (is_unfinished(left_out, name)) /* "a.tfrecord.tmp" has a shard's name, too */
        return note(left_out, DLB_LEFT_OUT_UNFINISHED, folder, name, err);
    if (left_out->is_shard(name) && (entry->kind == DLB_IO_FILE || !left_out->probes)) {
        *role = DLB_ENTRY_SHARD;
        return note_number(left_out, name, err);
    }
    *role = DLB_ENTRY_OTHER;
    return DLB_OK;
}

static int by_set(const void *a, const void *b)
{
    const struct dlb_left_out_numbered *x = a, *y = b;
    int order = strcmp(x->set, y->set);

    return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* The numbers that a set of n sorted files lacks, as "00003, 00007-00009", the first few of them.
 * Returns how many there are. */
static uint32_t missing_of(const struct dlb_left_out_numbered *file, size_t n, char *text,
                           size_t n_text)
{
    enum { MOST_RANGES = 8 };
    uint32_t n_missing = 0, n_ranges = 0, due = 0;

    *text = '\0';
    for (size_t i = 0; i <= n; i++) {
        uint32_t at = i < n ? file[i].number : file->of;
        if (at > due) {
            size_t len = strlen(text);
            n_missing += at - due;
            if (n_ranges++ == MOST_RANGES)
                (void)snprintf(text + len, n_text - len, ", ...");
            else if (n_ranges <= MOST_RANGES)
                (void)snprintf(text + len, n_text - len, at - due > 1 ? "%s%05u-%05u" : "%s%05u",
                               len ? ", " : "", due, at - 1);
        }
        due = at + 1;
    }
    return n_missing;
}

static void tell_missing(const struct dlb_left_out *left_out, struct dlb_shape *shape)
{
    struct dlb_left_out_numbered *file = left_out->numbered;
    const struct dlb_left_out_numbered *first = NULL;
    char text[160], numbers[160];
    uint32_t n_missing = 0, n_sets = 0;
    size_t n = left_out->n_numbered;

    if (n > 1)
        qsort(file, n, sizeof *file, by_set);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && strcmp(file[to].set, file[from].set) == 0;)
            to++;
        uint32_t lacks = missing_of(file + from, to - from, text, sizeof text);
        if (lacks == 0 || n_sets++ > 0)
            continue;
        first = &file[from];
        n_missing = lacks;
        memcpy(numbers, text, sizeof numbers);
    }
    if (!first)
        return;
    dlb_shape_odd(shape,
                  n_missing == 1 ? "%u of the %u shards %.*s is missing in %.*s: %s%s"
                                 : "%u of the %u shards %.*s are missing in %.*s: %s%s",
                  n_missing, first->of, DLB_CUT(first->set, 100), DLB_CUT(left_out->folder, 200),
                  numbers, n_sets > 1 ? ". Other numbered sets have gaps, too" : "");
}

/* A folder counts as an entry; beyond the limit it is only named. */
static int look_into(struct dlb_left_out *left_out, const char *name, struct dlb_err *err)
{
    if (left_out->n_looked >= MAX_LOOKED)
        return note(left_out, DLB_LEFT_OUT_UNSEEN, left_out->folder, name, err);
    left_out->n_looked++;
    return look_below(left_out, left_out->folder, name, 1, err);
}

void dlb_left_out_tell(struct dlb_left_out *left_out, struct dlb_shape *shape)
{
    static const struct {
        const char *one, *many, *remedy;
    } words[] = {
        [DLB_LEFT_OUT_HIDDEN] = {"hidden file is named as a shard and is not read",
                                 "hidden files are named as shards and are not read",
                                 ". Rename those that belong to the data"},
        [DLB_LEFT_OUT_UNFINISHED] = {"file is named as an unfinished shard and is not read",
                                     "files are named as unfinished shards and are not read",
                                     ". Finish the download or copy"},
        [DLB_LEFT_OUT_FOLDER] = {"folder is named as a shard and is not read",
                                 "folders are named as shards and are not read", ""},
        [DLB_LEFT_OUT_BELOW] = {"shard in a folder below is not read",
                                "shards in folders below are not read",
                                ". Move them up, or name their folder by dataset.path"},
        [DLB_LEFT_OUT_UNSEEN] = {"folder below was not looked through to its end for shards",
                                 "folders below were not looked through to their end for shards",
                                 ". What lies there is not read"},
    };

    struct dlb_err ignored; /* of memory for a path: the path stays unsaid */

    if (left_out->n_below > 1)
        qsort(left_out->below, left_out->n_below, sizeof *left_out->below, by_name);
    for (size_t i = 0; i < left_out->n_below; i++)
        (void)look_into(left_out, left_out->below[i], &ignored);
    for (int i = 0; i < DLB_LEFT_OUT_KINDS; i++)
        if (left_out->n[i])
            dlb_shape_odd(shape, "%llu %s: the first is %.*s%s", (unsigned long long)left_out->n[i],
                          left_out->n[i] == 1 ? words[i].one : words[i].many,
                          DLB_CUT(left_out->first[i], SHOWN_BYTES), words[i].remedy);
    tell_missing(left_out, shape);
}

void dlb_left_out_free(struct dlb_left_out *left_out)
{
    for (int i = 0; i < DLB_LEFT_OUT_KINDS; i++)
        free(left_out->first[i]);
    for (size_t i = 0; i < left_out->n_numbered; i++)
        free(left_out->numbered[i].set);
    free(left_out->numbered);
    for (size_t i = 0; i < left_out->n_below; i++)
        free(left_out->below[i]);
    free(left_out->below);
    *left_out = (struct dlb_left_out){.n_looked = 0};
}
