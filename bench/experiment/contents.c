#include "bench/experiment/contents.h"

#include "bench/experiment/replace.h"
#include "core/base/io.h"
#include "core/base/remove.h"
#include "reports/load.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRATCH ".cells-"       /* followed by the process's number */
#define HEAD_OF_TEXT "dlbench " /* how summary.txt begins */

void dlb_scratch_name(char *name, size_t n_name)
{
    (void)snprintf(name, n_name, SCRATCH "%ld", (long)getpid());
}

/* A process's number to the end of the text; 0: it is none. */
static long process_number(const char *text)
{
    size_t n_digits = strspn(text, "0123456789");
    return n_digits > 0 && n_digits < 10 && text[n_digits] == '\0' ? strtol(text, NULL, 10) : 0;
}

bool dlb_scratch_name_of(const char *number, char *name, size_t n_name)
{
    long pid = process_number(number);
    (void)snprintf(name, n_name, SCRATCH "%ld", pid);
    return pid > 0;
}

/* The process of a scratch folder; 0: the entry is none. */
static long scratch_of(int folder, const char *name)
{
    struct stat st;
    if (strncmp(name, SCRATCH, strlen(SCRATCH)) != 0 ||
        fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode))
        return 0;
    return process_number(name + strlen(SCRATCH));
}

static bool is_summary(const char *text, size_t n_bytes)
{
    json_t *doc = json_loadb(text, n_bytes, 0, NULL);
    bool is = json_is_integer(json_object_get(doc, "schema_version")) &&
              json_is_string(json_object_get(doc, "run_name")) &&
              json_is_object(json_object_get(doc, "dlbench"));
    json_decref(doc);
    return is;
}

static bool is_environment(const char *text, size_t n_bytes)
{
    json_t *doc = json_loadb(text, n_bytes, 0, NULL);
    const json_t *versions = json_object_get(doc, "versions");
    bool is = json_is_string(json_object_get(doc, "kernel")) &&
              json_is_string(json_object_get(versions, "libc")) &&
              json_is_string(json_object_get(versions, "jansson"));
    json_decref(doc);
    return is;
}

static bool is_report(const char *text, size_t n_bytes)
{
    return n_bytes >= strlen(HEAD_OF_TEXT) && memcmp(text, HEAD_OF_TEXT, strlen(HEAD_OF_TEXT)) == 0;
}

/* The files of a result, and how one that dlbench wrote is told from another of that name. */
static const struct own {
    const char *name;
    bool (*is_ours)(const char *text, size_t n_bytes);
} own[] = {
    {"summary.json", is_summary}, {"environment.json", is_environment}, {"summary.txt", is_report}};

/* NAME.<process>.tmp (dlb_write_file_atomic), left by a kill. */
static bool is_temporary(const char *name)
{
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        size_t len = strlen(own[i].name), n_digits;
        if (strncmp(name, own[i].name, len) != 0 || name[len] != '.')
            continue;
        n_digits = strspn(name + len + 1, "0123456789");
        if (n_digits > 0 && strcmp(name + len + 1 + n_digits, ".tmp") == 0)
            return true;
    }
    return false;
}

static const struct own *own_of(const char *name)
{
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strcmp(name, own[i].name) == 0)
            return &own[i];
    return NULL;
}

bool dlb_is_result_file(const char *name)
{
    return own_of(name) || is_temporary(name);
}

/* A file with other content belongs to the user. A file that cannot be read now is an error. */
static int is_ours(const char *folder, const struct own *file, bool *ours, struct dlb_err *err)
{
    char path[PATH_MAX], *text = NULL;
    size_t n_bytes = 0;
    int n = snprintf(path, sizeof(path), "%s/%s", folder, file->name);
    *ours = false;
    if (n < 0 || (size_t)n >= sizeof(path))
        return DLB_OK;
    int rc = dlb_read_file(path, DLB_SUMMARY_MAX_BYTES, &text, &n_bytes, err);
    if (rc)
        return err->code == DLB_ERR_IO || err->status == DLB_E_NOMEM ? rc : DLB_OK;
    *ours = file->is_ours(text, n_bytes);
    free(text);
    return DLB_OK;
}

static void note_other(struct dlb_contents *out, bool *kind, const char *name)
{
    if (!out->unfit)
        (void)snprintf(out->other, sizeof(out->other), "%s", name);
    *kind = true;
}

static int look_at(const char *folder, int fd, const char *name, struct dlb_contents *out,
                   struct dlb_err *err)
{
    const struct own *file = own_of(name);
    long pid = scratch_of(fd, name);
    bool ours = true;
    int rc = file ? is_ours(folder, file, &ours, err) : DLB_OK;
    if (pid)
        out->pid = pid;
    if (!ours)
        note_other(out, &out->unfit, name);
    else if (file && file == &own[0])
        out->summary = true;
    else if (file || pid || is_temporary(name))
        out->leftover = true;
    else
        note_other(out, &out->foreign, name);
    return rc;
}

static bool is_entry(const char *name)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

int dlb_contents_of(const char *folder, struct dlb_contents *out, struct dlb_err *err)
{
    *out = (struct dlb_contents){.pid = 0};
    DIR *dir = opendir(folder);
    if (!dir)
        return dlb_fail_errno(err, folder, DLB_NO_OFFSET, "cannot look into the result's folder");
    int rc = DLB_OK;
    while (rc == DLB_OK) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry && errno != 0)
            rc = dlb_fail_errno(err, folder, DLB_NO_OFFSET, "listing the result's folder");
        if (!entry)
            break;
        if (is_entry(entry->d_name))
            rc = look_at(folder, dirfd(dir), entry->d_name, out, err);
    }
    (void)closedir(dir);
    return rc;
}

void dlb_remove_scratch(const char *folder)
{
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        if (scratch_of(dirfd(dir), entry->d_name))
            dlb_remove_tree(dirfd(dir), entry->d_name);
        else if (is_temporary(entry->d_name))
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        (void)closedir(dir);
}

static bool has_scratch(const char *folder)
{
    bool has = false;
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir && !has && (entry = readdir(dir));)
        has = scratch_of(dirfd(dir), entry->d_name) != 0;
    if (dir)
        (void)closedir(dir);
    return has;
}

/* Of a folder that a killed run left, and that no process writes to now. */
static void clean_up(const char *folder)
{
    struct dlb_contents there;
    struct dlb_err ignored;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && dlb_replace_is_same(fd, folder) &&
        dlb_contents_of(folder, &there, &ignored) == DLB_OK && !there.foreign && !there.unfit) {
        dlb_remove_scratch(folder);
        (void)rmdir(folder); /* fails if it holds anything */
    }
    if (fd >= 0)
        (void)close(fd);
}

void dlb_remove_all_scratch(const char *results)
{
    char path[PATH_MAX];
    DIR *dir = opendir(results);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        int n = snprintf(path, sizeof(path), "%s/%s", results, entry->d_name);
        if (is_entry(entry->d_name) && n > 0 && (size_t)n < sizeof(path) && has_scratch(path))
            clean_up(path);
    }
    if (dir)
        (void)closedir(dir);
}
