/* A result's folder: summary.json, environment.json, summary.txt and report.html, which anybody may
 * have written, and a folder with any name. Form feeds divide the input into the five. What dlbench
 * did not write is never removed. */
#include "bench/experiment/contents.h"
#include "core/base/err.h"
#include "tests/support/memory_files.h"

#include <fcntl.h>
#include <limits.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* Makes a folder of that name beside the files; empty: the name is none, or is taken. */
static void make_folder(char path[PATH_MAX], const uint8_t *name, size_t n_name)
{
    (void)snprintf(path, PATH_MAX, "%s/%.*s", memory_files_folder(), (int)n_name,
                   (const char *)name);
    if (n_name == 0 || memchr(name, '/', n_name) || mkdir(path, 0755) != 0)
        path[0] = '\0';
}

static void look(const char *made)
{
    struct dlb_contents out;
    struct dlb_err err;
    int fd = open(memory_files_folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || dlb_contents_of(fd, memory_files_folder(), &out, &err) != DLB_OK)
        DLB_BUG("a folder that cannot be read");
    if (!memchr(out.other, '\0', sizeof out.other) || (out.other[0] && !out.unfit && !out.foreign))
        DLB_BUG("another's file that is none");
    if (out.pid < 0 || (!made[0] && (out.foreign || out.pid)))
        DLB_BUG("an entry that is not there");
    (void)dlb_contents_remove_leftovers(fd);
    (void)close(fd);
    if (made[0] && out.foreign && !is_there(made))
        DLB_BUG("removed what is another's");
    if (made[0] && out.pid && is_there(made))
        DLB_BUG("a scratch folder that stays");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const char *const names[] = {"summary.json", "environment.json", "summary.txt",
                                        "report.html"};
    enum { N = sizeof names / sizeof *names };
    static int fd[N];
    char made[PATH_MAX], path[PATH_MAX];
    const uint8_t *part;

    for (size_t i = 0; i < N; i++) {
        if (fd[i] == 0)
            fd[i] = memory_files_new(names[i]);
        size_t n_part = memory_files_part(&data, &n_bytes, &part);
        memory_files_set(fd[i], part, n_part);
    }
    size_t n_part = memory_files_part(&data, &n_bytes, &part);
    make_folder(made, part, n_part < NAME_MAX ? n_part : NAME_MAX);
    look(made);
    if (made[0])
        (void)rmdir(made);
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", memory_files_folder(), names[i]);
        if (!is_there(path))
            DLB_BUG("removed a result");
    }
    return 0;
}
