/* The files of a data set in the order that `files` numbers them, for baselines that open them
 * without dlbench. */
#ifndef DLB_TESTS_PERF_FILES_H
#define DLB_TESTS_PERF_FILES_H

#include <stddef.h>
#include <stdint.h>

struct perf_file {
    int dir_fd; /* of its class folder */
    char *name;
};

struct perf_files {
    struct perf_file *file;
    size_t n;
    int dir_fd[1024];
    uint32_t n_dirs;
};

/* Class folders, then files, each sorted by name; files that begin with a dot are left out. Exits
 * on failure. */
void perf_files_open(struct perf_files *files, const char *path);
void perf_files_close(struct perf_files *files);

/* Open, one read, close: what a bare program would do. Returns the file's bytes; exits when it
 * fills cap_bytes or fails. */
size_t perf_file_read(const struct perf_file *file, uint8_t *dst, size_t cap_bytes);

#endif
