#include "formats/hdf5_look.h"

#include "formats/element.h"
#include "formats/hdf5_library.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

void dlb_hdf5_told_free(struct dlb_hdf5_told *told)
{
    free(told->label);
    free(told->offset);
    free(told->listed);
    *told = (struct dlb_hdf5_told){.label = NULL};
}

#ifdef DLB_HAVE_HDF5

/* Longer than the library takes to walk the index of 20,000 chunks 20,000 times (3 s) from storage
 * that is a hundred times slower. */
enum { PATIENCE_MS = 300000 };

/* What the child says first; the arrays follow. */
struct word {
    int rc;
    struct dlb_err err;
    struct dlb_hdf5_about about;
};

static bool say(int fd, const void *data, size_t n_bytes)
{
    for (size_t done = 0; done < n_bytes;) {
        ssize_t n = write(fd, (const char *)data + done, n_bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static _Noreturn void child(int fd, const char *path, const struct dlb_hdf5_opts *opts, bool chunks)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGINT, SIGTERM};
    static struct word word;
    struct dlb_hdf5_told told;

    (void)prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL);
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        (void)signal(fatal[i], SIG_DFL);
    word.rc = dlb_hdf5_library_about(path, opts, chunks, &told, &word.err);
    word.about = told.about;
    bool said = say(fd, &word, sizeof word);
    if (said && word.rc == DLB_OK)
        said = say(fd, told.label, told.about.n_labels * sizeof *told.label) &&
               say(fd, told.offset, told.about.n_offsets * sizeof *told.offset) &&
               say(fd, told.listed, told.about.n_listed * sizeof *told.listed);
    _exit(said ? 0 : 1);
}

/* Whether all of it came. */
static bool hear(int fd, void *data, size_t n_bytes, bool *late)
{
    for (size_t done = 0; done < n_bytes;) {
        int ready = poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, PATIENCE_MS);
        if (ready < 0 && errno == EINTR)
            continue;
        *late = ready == 0;
        if (ready <= 0)
            return false;
        ssize_t n = read(fd, (char *)data + done, n_bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* A library that a file has led astray may say anything. */
static bool makes_sense(const struct dlb_hdf5_about *about)
{
    bool sense = about->rank >= 1 && about->rank <= DLB_HDF5_MAX_RANK &&
                 about->layout >= DLB_HDF5_CONTIGUOUS && about->layout <= DLB_HDF5_ELSEWHERE &&
                 about->element >= DLB_ELEMENT_NONE && about->element <= DLB_ELEMENT_F64 &&
                 about->element_bytes > 0 && about->n_filters <= DLB_HDF5_MAX_FILTERS &&
                 about->n_sampled <= DLB_HDF5_MAX_SAMPLED && about->n_labels < UINT32_MAX &&
                 about->n_offsets < UINT32_MAX && about->n_listed <= DLB_HDF5_MAX_LISTED &&
                 memchr(about->dataset, 0, sizeof about->dataset);

    for (uint32_t i = 0; sense && about->layout == DLB_HDF5_CHUNKED && i < about->rank; i++)
        sense = about->chunk[i] > 0;
    return sense;
}

/* False: not all came. */
static bool hear_array(int fd, void **array, size_t n, size_t each, bool *late)
{
    if (n == 0)
        return true;
    *array = malloc(n * each);
    return *array && hear(fd, *array, n * each, late);
}

static int reap(pid_t pid, const char *path, bool heard, bool late, struct dlb_err *err)
{
    int status = 0;
    pid_t got;

    if (late)
        (void)kill(pid, SIGKILL);
    do
        got = waitpid(pid, &status, 0);
    while (got < 0 && errno == EINTR);
    if (heard)
        return DLB_OK;
    if (late)
        return dlb_fail(err, DLB_E_FORMAT, path, DLB_NO_OFFSET,
                        "libhdf5 was silent for %d s while opening it: the file is damaged, or its "
                        "storage hangs",
                        PATIENCE_MS / 1000);
    if (got != pid || !WIFSIGNALED(status))
        return dlb_fail(err, DLB_E_FORMAT, path, DLB_NO_OFFSET,
                        "libhdf5 gave up on opening it: the file is damaged");
    if (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM)
        return dlb_fail(err, DLB_E_CANCELLED, path, DLB_NO_OFFSET, "interrupted");
    return dlb_fail(err, DLB_E_FORMAT, path, DLB_NO_OFFSET,
                    "libhdf5 crashed (%s) while opening it: the file is damaged, or hostile",
                    strsignal(WTERMSIG(status)));
}

static bool listen_to(int fd, struct word *word, struct dlb_hdf5_told *told, bool *late)
{
    if (!hear(fd, word, sizeof *word, late))
        return false;
    word->err.what[sizeof word->err.what - 1] = word->err.path[sizeof word->err.path - 1] = 0;
    if (word->rc != DLB_OK)
        return word->rc == (int)word->err.status;
    told->about = word->about;
    if (!makes_sense(&told->about))
        return false;
    return hear_array(fd, (void **)&told->label, told->about.n_labels, sizeof *told->label, late) &&
           hear_array(fd, (void **)&told->offset, told->about.n_offsets, sizeof *told->offset,
                      late) &&
           hear_array(fd, (void **)&told->listed, told->about.n_listed, sizeof *told->listed, late);
}

int dlb_hdf5_look(const char *path, const struct dlb_hdf5_opts *opts, bool chunks,
                  struct dlb_hdf5_told *told, struct dlb_err *err)
{
    int ends[2];
    bool late = false;

    *told = (struct dlb_hdf5_told){.label = NULL};
    struct word *word = calloc(1, sizeof *word);
    if (!word)
        return dlb_fail(err, DLB_E_NOMEM, path, DLB_NO_OFFSET, "no memory to look at it");
    if (pipe2(ends, O_CLOEXEC) != 0) {
        free(word);
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "a pipe to look at it through");
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        child(ends[1], path, opts, chunks);
    }
    (void)close(ends[1]);
    bool heard = pid > 0 && listen_to(ends[0], word, told, &late);
    (void)close(ends[0]); /* a child that still talks is not waited for */
    int rc = pid > 0 ? reap(pid, path, heard, late, err)
                     : dlb_fail_errno(err, path, DLB_NO_OFFSET, "a process to look at it in");
    if (rc == DLB_OK && word->rc != DLB_OK) {
        *err = word->err;
        rc = word->rc;
    }
    free(word);
    return rc;
}

#endif
