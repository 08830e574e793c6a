/* A folder of a test's own below the system's temporary one, and files in it. Header-only. */
#ifndef DLB_TESTS_FOLDER_H
#define DLB_TESTS_FOLDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64]; /* of the running test */

static inline int folder_make(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/dlb-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int folder_remove_one(const char *path, const struct stat *st, int flag,
                                    struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static inline int folder_remove(void **state)
{
    (void)state;
    return nftw(folder, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* "folder/name" in one of a few buffers that take turns. */
static inline const char *folder_path(const char *name)
{
    static char paths[8][512];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static inline void folder_sub(const char *name)
{
    assert_int_equal(mkdir(folder_path(name), 0755), 0);
}

static inline void folder_write(const char *name, const void *data, size_t n_bytes)
{
    FILE *f = fopen(folder_path(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n_bytes, f), n_bytes);
    assert_int_equal(fclose(f), 0);
}

/* The whole file, malloced. */
static inline uint8_t *folder_read(const char *name, size_t *n_bytes)
{
    FILE *f = fopen(folder_path(name), "rb");
    struct stat st;
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    uint8_t *data = malloc((size_t)st.st_size + 1);
    assert_non_null(data);
    *n_bytes = fread(data, 1, (size_t)st.st_size, f);
    assert_int_equal(*n_bytes, (size_t)st.st_size);
    (void)fclose(f);
    return data;
}

static inline void folder_cut(const char *name, size_t n_bytes)
{
    assert_int_equal(truncate(folder_path(name), (off_t)n_bytes), 0);
}

static inline bool folder_has(const char *name)
{
    struct stat st;
    return stat(folder_path(name), &st) == 0;
}

#endif
