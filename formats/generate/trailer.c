#include "formats/generate/trailer.h"

#include "core/base/io.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRAILER_BYTES = 64 };

/* `n_bytes`: of the file before it. */
static void text_of(uint64_t n_bytes, char text[TRAILER_BYTES + 1])
{
    (void)snprintf(text, TRAILER_BYTES + 1, "\ndlbench convert %llu bytes before this\n",
                   (unsigned long long)n_bytes);
    size_t len = strlen(text);
    memset(text + len, '\n', TRAILER_BYTES - len);
}

int dlb_trailer_add(const char *path, struct dlb_err *err)
{
    char text[TRAILER_BYTES + 1] = "";
    struct stat st;

    int fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        int rc = dlb_fail_errno(err, path, DLB_NO_OFFSET, "marking its end");
        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    text_of((uint64_t)st.st_size, text);
    int rc = dlb_write_all(fd, path, text, TRAILER_BYTES, err);
    if (close(fd) != 0 && rc == DLB_OK)
        rc = dlb_fail_errno(err, path, DLB_NO_OFFSET, "marking its end");
    return rc;
}

bool dlb_trailer_fits(const char *path)
{
    char text[TRAILER_BYTES + 1] = "", there[TRAILER_BYTES];
    struct stat st;
    bool fits = false;

    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= TRAILER_BYTES) {
        text_of((uint64_t)st.st_size - TRAILER_BYTES, text);
        fits = pread(fd, there, sizeof there, st.st_size - TRAILER_BYTES) == TRAILER_BYTES &&
               memcmp(there, text, TRAILER_BYTES) == 0;
    }
    if (fd >= 0)
        (void)close(fd);
    return fits;
}
