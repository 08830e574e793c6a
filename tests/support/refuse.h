/* System calls that the kernel refuses, as a container's filter would. For a process of its own: it
 * cannot be undone. Header-only. */
#ifndef DLB_TESTS_REFUSE_H
#define DLB_TESTS_REFUSE_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* From now on this system call fails with that errno, here and in whatever is started. 0, or -1. */
static inline int refuse_syscall(unsigned number, unsigned code)
{
    struct sock_filter rule[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (code & SECCOMP_RET_DATA)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {.len = sizeof rule / sizeof *rule, .filter = rule};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0)
        return -1;
    return prctl(PR_SET_SECCOMP, (unsigned long)SECCOMP_MODE_FILTER, &program);
}

#endif
