/* Faults in the system calls of a program, by LD_PRELOAD. tests/faults/matrix.py is the driver.
 *
 * DLB_FAULT holds words KEY=VALUE, separated by commas:
 *
 *   at      which call: open, list, read, mmap, write, fsync, rename, fork (and pthread_create),
 *           malloc; or a point that dlbench reaches by a library: decode (libzstd), collate (the
 * hash of a sample), copy (the hash of a batch) path    only calls on a path that contains this in
 * look: the program and its children before they are a cell; cell: a cell and its children;
 * default: both phase   open: before this process has hashed its first sample; run: after it after
 * so many such calls pass first times   so many calls fail, in each process; 0: all from then on
 *   effect  the name of an errno; storm (EINTR five times before each call that passes); short
 * (half of the bytes); hang; a signal, raised in the caller; arm (the calls that `next` names fail
 *           with ENOMEM from then on)
 *   next    of effect arm: malloc, mmap or fork
 *   until   hang ends when this file does not exist; default: never
 *   log     "PID TID" is appended to this file when the first fault of a process happens
 *
 * What goes past libc is not reached: io_uring, and pages of a map. Only system calls are made in
 * here, so that no hook calls another. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <dlfcn.h>

enum at {
    ON_OPEN,
    ON_LIST,
    ON_READ,
    ON_MMAP,
    ON_WRITE,
    ON_FSYNC,
    ON_RENAME,
    ON_FORK,
    ON_MALLOC,
    ON_DECODE,
    ON_COLLATE,
    ON_COPY,
    ON_NONE
};

static const char *const at_names[] = {"open",   "list", "read",   "mmap",   "write",   "fsync",
                                       "rename", "fork", "malloc", "decode", "collate", "copy"};

static const struct {
    const char *name;
    int number;
} errnos[] = {{"EIO", EIO},       {"EINTR", EINTR},   {"ENOSPC", ENOSPC}, {"EMFILE", EMFILE},
              {"ENOMEM", ENOMEM}, {"EAGAIN", EAGAIN}, {"EACCES", EACCES}},
  signals[] = {{"SIGKILL", SIGKILL}, {"SIGSTOP", SIGSTOP}, {"SIGSEGV", SIGSEGV}};

enum { STORM = 5, SAMPLE_BYTES = 1000, BATCH_BYTES = 8000 };

static struct {
    enum at at, next;
    char path[256], until[256], log[256];
    bool in_look, in_cell, phase_open, phase_run;
    long after, times;
    int error, signal;
    bool storm, shortens, hangs, arms;
} fault = {.at = ON_NONE, .next = ON_NONE};

static _Atomic long n_seen, n_fired;
static _Atomic bool is_running, is_armed;
static bool is_cell;
static _Thread_local int streak;

static enum at at_of(const char *word)
{
    for (size_t i = 0; i < ON_NONE; i++)
        if (strcmp(word, at_names[i]) == 0)
            return (enum at)i;
    return ON_NONE;
}

static void effect_of(const char *word)
{
    fault.storm = strcmp(word, "storm") == 0;
    fault.shortens = strcmp(word, "short") == 0;
    fault.hangs = strcmp(word, "hang") == 0;
    fault.arms = strcmp(word, "arm") == 0;
    for (size_t i = 0; i < sizeof errnos / sizeof *errnos; i++)
        if (strcmp(word, errnos[i].name) == 0)
            fault.error = errnos[i].number;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (strcmp(word, signals[i].name) == 0)
            fault.signal = signals[i].number;
}

static void take_word(const char *key, const char *value)
{
    if (strcmp(key, "at") == 0)
        fault.at = at_of(value);
    else if (strcmp(key, "next") == 0)
        fault.next = at_of(value);
    else if (strcmp(key, "path") == 0)
        (void)snprintf(fault.path, sizeof fault.path, "%s", value);
    else if (strcmp(key, "until") == 0)
        (void)snprintf(fault.until, sizeof fault.until, "%s", value);
    else if (strcmp(key, "log") == 0)
        (void)snprintf(fault.log, sizeof fault.log, "%s", value);
    else if (strcmp(key, "in") == 0)
        *(strcmp(value, "cell") == 0 ? &fault.in_cell : &fault.in_look) = true;
    else if (strcmp(key, "phase") == 0)
        *(strcmp(value, "run") == 0 ? &fault.phase_run : &fault.phase_open) = true;
    else if (strcmp(key, "after") == 0)
        fault.after = strtol(value, NULL, 10);
    else if (strcmp(key, "times") == 0)
        fault.times = strtol(value, NULL, 10);
    else if (strcmp(key, "effect") == 0)
        effect_of(value);
}

/* A cell is `dlbench cell ...` (scenarios/run/child.c). */
static bool find_cell(void)
{
    char words[64] = "";
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    long n = syscall(SYS_read, fd, words, sizeof words - 1);
    (void)syscall(SYS_close, fd);
    return n > 0 && strcmp(words + strlen(words) + 1, "cell") == 0;
}

static int log_fd = -1;

/* Before the first fault, because a process that only reads cannot open a file for writing. */
static void open_log(void)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, fault.log,
                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    log_fd = fd < 0 ? -1 : (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 200);
    (void)syscall(SYS_close, fd);
}

__attribute__((constructor)) static void configure(void)
{
    char text[1024], *rest = NULL;
    const char *asked = getenv("DLB_FAULT");

    is_cell = find_cell();
    (void)snprintf(text, sizeof text, "%s", asked ? asked : "");
    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');
        if (value) {
            *value = '\0';
            take_word(word, value + 1);
        }
    }
    if (fault.log[0])
        open_log();
}

static void note(void)
{
    char line[64];
    int n = snprintf(line, sizeof line, "%d %ld\n", (int)getpid(), syscall(SYS_gettid));
    if (syscall(SYS_write, log_fd, line, (size_t)n) < 0) { /* the process has closed it */
        open_log();
        (void)syscall(SYS_write, log_fd, line, (size_t)n);
    }
}

static void hang(void)
{
    while (fault.until[0] == '\0' || syscall(SYS_faccessat, AT_FDCWD, fault.until, F_OK) == 0)
        (void)syscall(SYS_nanosleep, &(struct timespec){0, 10000000}, NULL);
}

/* Whether this call is one that the fault is about; counts those that are. */
static bool is_due(enum at at)
{
    if (at != fault.at || (fault.in_look && is_cell) || (fault.in_cell && !is_cell))
        return false;
    bool running = atomic_load(&is_running);
    if ((fault.phase_open && running) || (fault.phase_run && !running))
        return false;
    if (atomic_fetch_add(&n_seen, 1) < fault.after)
        return false;
    long nth = atomic_fetch_add(&n_fired, 1);
    if (fault.times > 0 && nth >= fault.times)
        return false;
    if (nth == 0)
        note();
    return true;
}

/* What happens at a call that is due: an errno to fail with, or 0. */
static int suffer(void)
{
    if (fault.hangs)
        hang();
    if (fault.signal)
        (void)syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), fault.signal);
    if (fault.arms)
        atomic_store(&is_armed, true);
    if (fault.storm && streak++ < STORM)
        return EINTR;
    streak = 0;
    return fault.error;
}

/* An errno for this call to fail with, or 0. *due: it is one that the fault is about. */
static int strike(enum at at, bool on_path, bool *due)
{
    *due = false;
    if (at == fault.next && atomic_load(&is_armed))
        return at == ON_FORK ? EAGAIN : ENOMEM;
    *due = on_path && is_due(at);
    return *due ? suffer() : 0;
}

static bool on_name(const char *name)
{
    return fault.path[0] == '\0' || (name && strstr(name, fault.path));
}

static bool on_fd(int fd)
{
    char link[48], name[4096];

    if (fault.path[0] == '\0')
        return true;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long n = syscall(SYS_readlinkat, AT_FDCWD, link, name, sizeof name - 1);
    if (n < 0)
        return false;
    name[n] = '\0';
    return on_name(name);
}

static size_t cut(size_t n_bytes, bool due)
{
    return due && fault.shortens && n_bytes > 1 ? (n_bytes + 1) / 2 : n_bytes;
}

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

/* A call that fails, or is passed on: `fails` is what it then returns. */
#define HOOK(point, on_path, fails, ...)                                                           \
    bool due;                                                                                      \
    int error = strike(point, fault.at == (point) && (on_path), &due);                             \
    if (error) {                                                                                   \
        errno = error;                                                                             \
        return fails;                                                                              \
    }                                                                                              \
    return __VA_ARGS__

static int do_open(int dir, const char *name, int flags, mode_t mode)
{
    HOOK(ON_OPEN, on_name(name) || (dir != AT_FDCWD && on_fd(dir)), -1,
         (int)syscall(SYS_openat, dir, name, flags, mode));
}

static mode_t mode_of(int flags, va_list args)
{
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = mode_of(flags, args);                                                        \
        va_end(args);                                                                              \
        return do_open(AT_FDCWD, path, flags, mode);                                               \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                               \
    int name(int dir, const char *path, int flags, ...)                                            \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = mode_of(flags, args);                                                        \
        va_end(args);                                                                              \
        return do_open(dir, path, flags, mode);                                                    \
    }
OPENAT(openat)
OPENAT(openat64)

DIR *opendir(const char *name)
{
    HOOK(ON_LIST, on_name(name), NULL, NEXT(opendir)(name));
}

struct dirent *readdir(DIR *dir)
{
    HOOK(ON_LIST, on_fd(dirfd(dir)), NULL, NEXT(readdir)(dir));
}

struct dirent64 *readdir64(DIR *dir)
{
    HOOK(ON_LIST, on_fd(dirfd(dir)), NULL, NEXT(readdir64)(dir));
}

ssize_t read(int fd, void *data, size_t n)
{
    HOOK(ON_READ, on_fd(fd), -1, syscall(SYS_read, fd, data, cut(n, due)));
}

ssize_t pread(int fd, void *data, size_t n, off_t at)
{
    HOOK(ON_READ, on_fd(fd), -1, syscall(SYS_pread64, fd, data, cut(n, due), at));
}

ssize_t pread64(int fd, void *data, size_t n, off_t at)
{
    return pread(fd, data, n, at);
}

ssize_t write(int fd, const void *data, size_t n)
{
    HOOK(ON_WRITE, on_fd(fd), -1, syscall(SYS_write, fd, data, cut(n, due)));
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    HOOK(ON_WRITE, on_fd(fd), -1, syscall(SYS_pwrite64, fd, data, cut(n, due), at));
}

int fsync(int fd)
{
    HOOK(ON_FSYNC, on_fd(fd), -1, (int)syscall(SYS_fsync, fd));
}

int fdatasync(int fd)
{
    HOOK(ON_FSYNC, on_fd(fd), -1, (int)syscall(SYS_fdatasync, fd));
}

int rename(const char *from, const char *to)
{
    HOOK(ON_RENAME, on_name(to), -1, (int)syscall(SYS_rename, from, to));
}

int renameat2(int dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    HOOK(ON_RENAME, on_name(to), -1, (int)syscall(SYS_renameat2, dir, from, to_dir, to, flags));
}

void *mmap(void *where, size_t n, int prot, int flags, int fd, off_t at)
{
    HOOK(ON_MMAP, fault.path[0] == '\0' || (fd >= 0 && on_fd(fd)), MAP_FAILED,
         (void *)syscall(SYS_mmap, where, n, prot, flags, fd, at));
}

void *mmap64(void *where, size_t n, int prot, int flags, int fd, off_t at)
{
    return mmap(where, n, prot, flags, fd, at);
}

pid_t fork(void)
{
    HOOK(ON_FORK, true, -1, NEXT(fork)());
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *ctx)
{
    bool due;
    int error = strike(ON_FORK, true, &due);
    return error ? error : NEXT(pthread_create)(thread, attr, run, ctx);
}

/* glibc's own, which need no dlsym: that calls malloc. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t each);
void *__libc_realloc(void *old, size_t n);
void *__libc_memalign(size_t align, size_t n);

void *malloc(size_t n)
{
    HOOK(ON_MALLOC, true, NULL, __libc_malloc(n));
}

void *calloc(size_t n, size_t each)
{
    HOOK(ON_MALLOC, true, NULL, __libc_calloc(n, each));
}

void *realloc(void *old, size_t n)
{
    HOOK(ON_MALLOC, true, NULL, __libc_realloc(old, n));
}

void *aligned_alloc(size_t align, size_t n)
{
    HOOK(ON_MALLOC, true, NULL, __libc_memalign(align, n));
}

int posix_memalign(void **out, size_t align, size_t n)
{
    bool due;
    int error = strike(ON_MALLOC, true, &due);
    *out = error ? NULL : __libc_memalign(align, n);
    return *out ? 0 : ENOMEM;
}

/* Points in libraries. These are in memory before the program starts. */
unsigned long long XXH64(const void *data, size_t n, unsigned long long seed);
size_t ZSTD_decompressDCtx(void *context, void *dst, size_t cap, const void *src, size_t n);

unsigned long long XXH64(const void *data, size_t n, unsigned long long seed)
{
    bool due;
    if (n >= SAMPLE_BYTES)
        (void)strike(n < BATCH_BYTES ? ON_COLLATE : ON_COPY, true, &due);
    if (n >= SAMPLE_BYTES)
        atomic_store(&is_running, true);
    return NEXT(XXH64)(data, n, seed);
}

size_t ZSTD_decompressDCtx(void *context, void *dst, size_t cap, const void *src, size_t n)
{
    bool due;
    (void)strike(ON_DECODE, true, &due);
    return NEXT(ZSTD_decompressDCtx)(context, dst, cap, src, n);
}
