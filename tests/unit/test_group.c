/* core/host/group: what a process group has read, where the kernel does not tell it. */
#include "core/base/json.h"
#include "core/host/group.h"
#include "core/host/procfs.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char *hidden; /* a key that cannot be read */

bool __real_dlb_procfs_field(const char *path, const char *key, uint64_t *out);
bool __wrap_dlb_procfs_field(const char *path, const char *key, uint64_t *out);

bool __wrap_dlb_procfs_field(const char *path, const char *key, uint64_t *out)
{
    return !(hidden && strcmp(key, hidden) == 0) && __real_dlb_procfs_field(path, key, out);
}

static void test_what_was_not_told_is_not_measured(void **state)
{
    (void)state;
    struct dlb_os_process use;
    uint64_t pss_bytes;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL);
        (void)pause();
        _exit(0);
    }
    assert_int_equal(setpgid(pid, pid), 0);
    dlb_os_group(pid, &use, &pss_bytes);
    if (use.read_chars != DLB_NOT_MEASURED) /* this kernel tells both */
        assert_true(use.read_device_bytes != DLB_NOT_MEASURED);
    for (int i = 0; i < 2; i++) {
        hidden = i ? "rchar:" : "read_bytes:";
        dlb_os_group(pid, &use, &pss_bytes);
        assert_true(use.read_device_bytes == DLB_NOT_MEASURED);
        assert_true(i == 0 || use.read_chars == DLB_NOT_MEASURED);
        assert_true(use.utime_ns != DLB_NOT_MEASURED);
    }
    hidden = NULL;
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    dlb_os_group(pid, &use, &pss_bytes); /* nobody, who has read nothing */
    assert_int_equal(use.read_chars, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_not_told_is_not_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
