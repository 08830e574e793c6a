#include "tests/perf/files.h"

#include "tests/perf/perf.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* In byte order, as Python's sorted() and `files` have it. */
static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_class(struct perf_files *files, int dir_fd)
{
    struct dirent **entry;
    int n = scandirat(dir_fd, ".", &entry, visible, by_bytes);

    if (n < 0)
        perf_die("class folder", NULL);
    files->file = realloc(files->file, (files->n + (size_t)n + 1) * sizeof *files->file);
    if (!files->file)
        perf_die("file list", NULL);
    for (int i = 0; i < n; i++) {
        files->file[files->n++] = (struct perf_file){dir_fd, strdup(entry[i]->d_name)};
        free(entry[i]);
    }
    free(entry);
}

void perf_files_open(struct perf_files *files, const char *path)
{
    struct dirent **entry;
    int n = scandir(path, &entry, visible, by_bytes);

    *files = (struct perf_files){.n = 0};
    if (n <= 0 || (size_t)n > sizeof files->dir_fd / sizeof files->dir_fd[0])
        perf_die("class folders", NULL);
    for (int i = 0; i < n; i++) {
        char folder[2048];
        (void)snprintf(folder, sizeof folder, "%s/%s", path, entry[i]->d_name);
        int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        free(entry[i]);
        if (fd < 0)
            continue; /* a file beside the class folders */
        files->dir_fd[files->n_dirs++] = fd;
        add_class(files, fd);
    }
    free(entry);
}

void perf_files_close(struct perf_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->file[i].name);
    free(files->file);
    for (uint32_t i = 0; i < files->n_dirs; i++)
        (void)close(files->dir_fd[i]);
}

size_t perf_file_read(const struct perf_file *file, uint8_t *dst, size_t cap_bytes)
{
    int fd = openat(file->dir_fd, file->name, O_RDONLY | O_CLOEXEC);
    ssize_t n_read = fd < 0 ? -1 : read(fd, dst, cap_bytes);

    if (n_read < 0 || (size_t)n_read == cap_bytes) {
        perror(file->name);
        exit(1);
    }
    (void)close(fd);
    return (size_t)n_read;
}
