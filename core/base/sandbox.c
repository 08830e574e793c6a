#include "core/base/sandbox.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* Sanitizers map far more than they use, and start programs to name the functions of a trace. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

enum { MOST_FILES = 256 };

static void lower(int what, rlim_t most)
{
    struct rlimit limit;
    if (getrlimit(what, &limit) != 0 || limit.rlim_cur <= most)
        return;
    limit.rlim_cur = most;
    limit.rlim_max = limit.rlim_max < most ? limit.rlim_max : most;
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

#ifdef DLB_HAVE_SECCOMP

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stddef.h>

const char *const dlb_sandbox_missing = NULL;

/* What changes names or files, starts programs or processes, reaches other processes, other
 * machines or the kernel's own state. Calls that this libseccomp does not know are left out. */
static const char *const refused[] = {
    /* files and their names */
    "creat", "link", "linkat", "symlink", "symlinkat", "unlink", "unlinkat", "rename", "renameat",
    "renameat2", "mkdir", "mkdirat", "rmdir", "mknod", "mknodat", "truncate", "ftruncate",
    "fallocate", "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown",
    "fchownat", "utime", "utimes", "utimensat", "futimesat", "setxattr", "lsetxattr", "fsetxattr",
    "removexattr", "lremovexattr", "fremovexattr", "copy_file_range", "sendfile", "splice", "tee",
    "vmsplice", "open_by_handle_at", "memfd_create", "memfd_secret",
    /* programs and processes */
    "execve", "execveat", "fork", "vfork", "clone", "ptrace", "process_vm_readv",
    "process_vm_writev", "process_madvise", "pidfd_open", "pidfd_getfd", "pidfd_send_signal",
    "kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "kcmp", "setns", "unshare",
    "userfaultfd", "prlimit64", "sched_setaffinity", "sched_setscheduler", "setpriority",
    "migrate_pages", "move_pages",
    /* other machines */
    "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendto", "sendmsg",
    "sendmmsg",
    /* the kernel */
    "io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "perf_event_open", "mount",
    "umount2", "move_mount", "fsopen", "fsmount", "open_tree", "pivot_root", "chroot", "swapon",
    "swapoff", "reboot", "kexec_load", "kexec_file_load", "init_module", "finit_module",
    "delete_module", "keyctl", "add_key", "request_key", "ioperm", "iopl", "quotactl", "acct",
    "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "sethostname", "setdomainname",
    "syslog", "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups",
    "setfsuid", "setfsgid", "capset", "personality", "shmget", "shmat", "msgget", "semget",
    "mq_open", "mq_unlink"};

static void refuse(scmp_filter_ctx filter, const char *name, unsigned n_conditions,
                   struct scmp_arg_cmp condition)
{
    int number = seccomp_syscall_resolve_name(name);
    if (number != __NR_SCMP_ERROR)
        (void)seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), number, n_conditions,
                                     &condition);
}

static void refuse_writing(scmp_filter_ctx filter, const char *name, unsigned flags_at)
{
    static const int writes[] = {O_WRONLY, O_RDWR};
    static const int changes[] = {O_CREAT, O_TRUNC};
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++)
        refuse(filter, name, 1,
               SCMP_CMP(flags_at, SCMP_CMP_MASKED_EQ, O_ACCMODE, (scmp_datum_t)writes[i]));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        refuse(filter, name, 1,
               SCMP_CMP(flags_at, SCMP_CMP_MASKED_EQ, (scmp_datum_t)changes[i],
                        (scmp_datum_t)changes[i]));
}

static void filter_calls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    const struct scmp_arg_cmp none = {0};

    if (!filter)
        return;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        refuse(filter, refused[i], 0, none);
    refuse_writing(filter, "open", 1);
    refuse_writing(filter, "openat", 2);
    /* Their arguments lie in memory, where a filter cannot look: the C library falls back. */
    (void)seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2), 0);
    (void)seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    (void)seccomp_load(filter);
    seccomp_release(filter);
}

#else

const char *const dlb_sandbox_missing = "built without libseccomp";

static void filter_calls(void)
{
}

#endif

void dlb_sandbox_reader(void)
{
    limit_resources();
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!SANITIZED)
        filter_calls();
}
