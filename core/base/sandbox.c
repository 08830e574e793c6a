#include "core/base/sandbox.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* Sanitizers map far more than they use, and start programs to name the functions of a trace. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__clang__)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { MOST_FILES = 256 };

/* The hard limit too, or the process could raise it again. */
static void lower(int what, rlim_t most)
{
    struct rlimit limit;
    if (getrlimit(what, &limit) != 0 || limit.rlim_max <= most)
        return;
    limit.rlim_cur = limit.rlim_cur < most ? limit.rlim_cur : most;
    limit.rlim_max = most;
    (void)setrlimit(what, &limit);
}

static void limit_resources(void)
{
    long n_pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

    lower(RLIMIT_NOFILE, MOST_FILES);
    lower(RLIMIT_CORE, 0);
    if (!SANITIZED && n_pages > 0 && page_bytes > 0)
        lower(RLIMIT_DATA, (rlim_t)n_pages / 2 * (rlim_t)page_bytes);
}

#if defined(DLB_HAVE_SECCOMP) && !SANITIZED

#include <fcntl.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>

const char *const dlb_sandbox_missing = NULL;

/* What reading needs, and what the C library calls for it: each reads, or changes nothing but the
 * process itself. Any other call fails as on a kernel that lacks it, where libraries use an older
 * call. A call that this libseccomp does not know stays out. */
static const char *const allowed[] = {
    /* files that are open */
    "read", "readv", "pread64", "preadv", "preadv2", "lseek", "close", "getdents", "getdents64",
    "fadvise64", "readahead", "fstat", "fstatfs",
    /* the pipe to the parent, and messages: no call can open or redirect what is written to */
    "write", "writev",
    /* files by their names */
    "stat", "lstat", "newfstatat", "statx", "statfs", "access", "faccessat", "faccessat2",
    "readlink", "readlinkat", "getcwd",
    /* its memory */
    "brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "mincore",
    /* waiting and locks */
    "futex", "set_robust_list", "get_robust_list", "rseq", "membarrier", "poll", "ppoll", "select",
    "pselect6", "pause", "nanosleep", "clock_nanosleep", "sched_yield", "restart_syscall",
    /* its own signals, and its end */
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "sigaltstack", "exit",
    "exit_group",
    /* what it is, and where it runs */
    "getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "uname", "sysinfo",
    "getcpu", "sched_getaffinity", "getrlimit", "getrusage", "times", "time", "gettimeofday",
    "clock_gettime", "clock_getres", "getrandom"};

/* Calls that are allowed if the bits `mask` of an argument have this value. */
#define ALL_BITS (~(scmp_datum_t)0)
#define OPENS_TO_CHANGE (O_ACCMODE | O_CREAT | O_TRUNC)
static const struct rule {
    const char *name;
    unsigned arg;
    scmp_datum_t mask, value;
} conditional[] = {
    {"open", 1, OPENS_TO_CHANGE, O_RDONLY}, {"openat", 2, OPENS_TO_CHANGE, O_RDONLY},
    {"fcntl", 1, ALL_BITS, F_GETFD},        {"fcntl", 1, ALL_BITS, F_SETFD},
    {"fcntl", 1, ALL_BITS, F_GETFL},        {"ioctl", 1, ALL_BITS, TCGETS}, /* isatty(3) */
    {"prlimit64", 2, ALL_BITS, 0}};                                         /* asks, sets nothing */

/* Returns 0, or a negative errno. Calls of other machines (EDOM) need no rule. */
static int allow(scmp_filter_ctx filter, const char *name, unsigned n_conditions,
                 struct scmp_arg_cmp condition)
{
    int number = seccomp_syscall_resolve_name(name);
    int rc = number == __NR_SCMP_ERROR
                 ? 0
                 : seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, n_conditions, &condition);
    return rc == -EDOM ? 0 : rc;
}

static int allow_all(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp none = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof allowed / sizeof *allowed; i++)
        rc = allow(filter, allowed[i], 0, none);
    for (size_t i = 0; rc == 0 && i < sizeof conditional / sizeof *conditional; i++) {
        const struct rule *rule = &conditional[i];
        rc = allow(filter, rule->name, 1,
                   SCMP_CMP(rule->arg, SCMP_CMP_MASKED_EQ, rule->mask, rule->value));
    }
    if (rc == 0) /* raise(3) and abort(3) */
        rc = allow(filter, "tgkill", 1, SCMP_CMP(0, SCMP_CMP_EQ, (scmp_datum_t)getpid()));
    return rc;
}

static int filter_calls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    int rc = filter ? allow_all(filter) : -ENOMEM;

    errno = 0;
    if (rc == 0 && seccomp_load(filter) != 0)
        rc = errno ? -errno : -ECANCELED; /* libseccomp returns a code of its own */
    seccomp_release(filter);
    return -rc;
}

#else

const char *const dlb_sandbox_missing =
    SANITIZED ? "built with a sanitizer" : "built without libseccomp";

static int filter_calls(void)
{
    return ENOSYS;
}

#endif

int dlb_sandbox_reader(void)
{
    limit_resources();
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return filter_calls();
}
