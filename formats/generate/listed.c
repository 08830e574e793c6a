#include "formats/generate/listed.h"

#include "core/base/io.h"
#include "core/base/mem.h"
#include "formats/format.h"
#include "formats/generate/names.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_BYTES ((size_t)UINT32_MAX) /* a hundred million files */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct dlb_listed_file *)a)->name,
                  ((const struct dlb_listed_file *)b)->name);
}

/* Takes the text apart in place. */
static void parse(struct dlb_listed *list)
{
    size_t n_lines = 0;

    for (const char *c = list->text; *c; c++)
        n_lines += *c == '\n';
    list->file = dlb_mem_array(n_lines + 1, sizeof *list->file);
    for (char *line = list->text + strlen(DLB_FILES_HEAD), *next; *line; line = next) {
        size_t len = strcspn(line, "\n"), n_digits = strspn(line, "0123456789");
        next = line + len + (line[len] == '\n');
        line[len] = '\0';
        const char *name = line + n_digits + 1;
        if (n_digits == 0 || n_digits > 19 || line[n_digits] != ' ' || !dlb_names_made(name))
            continue;
        list->file[list->n++] = (struct dlb_listed_file){name, strtoull(line, NULL, 10)};
    }
    qsort(list->file, list->n, sizeof *list->file, by_name);
}

int dlb_listed_load(const char *folder, struct dlb_listed *out, struct dlb_err *err)
{
    char *path = dlb_mem_check(dlb_path_join(folder, DLB_FILES_NAME));
    size_t n_bytes = 0;

    *out = (struct dlb_listed){.there = false};
    int rc = dlb_read_file(path, MAX_BYTES, &out->text, &n_bytes, err);
    if (rc != DLB_OK && (err->sys_errno == ENOENT || err->sys_errno == ENOTDIR))
        rc = DLB_OK;
    free(path);
    out->there = out->text && strncmp(out->text, DLB_FILES_HEAD, strlen(DLB_FILES_HEAD)) == 0;
    if (out->there)
        parse(out);
    return rc;
}

void dlb_listed_free(struct dlb_listed *list)
{
    free(list->file);
    free(list->text);
    *list = (struct dlb_listed){.there = false};
}

const struct dlb_listed_file *dlb_listed_find(const struct dlb_listed *list, const char *name)
{
    const struct dlb_listed_file wanted = {.name = name};
    return list->n ? bsearch(&wanted, list->file, list->n, sizeof wanted, by_name) : NULL;
}

static int by_entry(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int append(struct dlb_bytes *text, uint64_t n_bytes, const char *name, struct dlb_err *err)
{
    char length[24];
    int n = snprintf(length, sizeof length, "%llu ", (unsigned long long)n_bytes);
    int rc = dlb_bytes_append(text, length, (size_t)n, err);

    if (rc == DLB_OK)
        rc = dlb_bytes_append(text, name, strlen(name), err);
    return rc == DLB_OK ? dlb_bytes_append(text, "\n", 1, err) : rc;
}

int dlb_listed_save(const char *folder, const struct dlb_format *format, const struct dlb_gen *gen,
                    struct dlb_err *err)
{
    char *path = dlb_mem_check(dlb_path_join(folder, DLB_FILES_NAME));
    char *roots[] = {(char *)(uintptr_t)folder, NULL}; /* fts does not change them */
    size_t n_root = strlen(folder) + (folder[strlen(folder) - 1] != '/');
    struct dlb_bytes text = {0};

    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_entry);
    int rc = tree ? dlb_bytes_append(&text, DLB_FILES_HEAD, strlen(DLB_FILES_HEAD), err)
                  : dlb_fail_errno(err, folder, DLB_NO_OFFSET, "reading the folder");
    for (FTSENT *entry; rc == DLB_OK && (entry = fts_read(tree));) {
        const char *name = entry->fts_path + n_root;
        if (entry->fts_info == FTS_F && entry->fts_level > 0 &&
            (gen ? dlb_names_of_gen(gen, name) : dlb_names_fit(format->made, name)))
            rc = append(&text, (uint64_t)entry->fts_statp->st_size, name, err);
    }
    if (rc == DLB_OK)
        rc = dlb_write_file_atomic(path, text.data, text.len_bytes, err);
    if (tree)
        (void)fts_close(tree);
    dlb_bytes_free(&text);
    free(path);
    return rc;
}
