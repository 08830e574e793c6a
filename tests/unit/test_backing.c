/* Devices and their counters: the kernel's text, kinds of file systems, and this machine's. */
#include "core/host/backing.h"
#include "core/host/diskstats.h"
#include "core/host/osacct.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

static const char diskstats[] =
    "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0\n"
    " 259       0 nvme0n1 3704268 67744 89196106 38704575 1150122 4278826 295761640 10488970 0 1\n"
    " 259       1 nvme0n1p1 12 0 1000 4 0 0 0 0 0 0 0\n"
    "   8       1 sda1 5 10 6 12\n" /* 2.6.0 to 2.6.24 had four fields for partitions */
    " 253       3 dm-3 1 2 3\n"
    "garbage\n"
    " 8 2 sda2 x y z\n"
    " 8 3 sda3 1 1 9999999999999999999 1\n"
    " 253       7 a-name-that-is-longer-than-any-that-the-kernel-would-give-to-a-device 1 1 2 3\n"
    " 254       0 vda 1 0 77";

static void the_text(void **state)
{
    (void)state;
    static const struct {
        unsigned major, minor;
        bool found;
        uint64_t read_bytes;
        const char *name;
    } cases[] = {
        {7, 0, true, 0, "loop0"},
        {259, 0, true, UINT64_C(89196106) * 512, "nvme0n1"},
        {259, 1, true, 512000, "nvme0n1p1"},
        {8, 1, true, 6 * 512, "sda1"},
        {253, 3, true, 3 * 512, "dm-3"},
        {254, 0, true, 77 * 512, "vda"}, /* no newline at the end */
        {8, 2, false, 0, ""},
        {8, 3, false, 0, ""}, /* more bytes than 64 bits count */
        {253, 7, false, 0, ""},
        {259, 2, false, 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dlb_diskstats out = {.read_bytes = 1};
        bool found = dlb_diskstats_find(diskstats, cases[i].major, cases[i].minor, &out);
        if (found != cases[i].found)
            fail_msg("%u:%u %s", cases[i].major, cases[i].minor, found ? "found" : "not found");
        if (!found)
            continue;
        assert_int_equal(out.read_bytes, cases[i].read_bytes);
        assert_string_equal(out.name, cases[i].name);
    }
    struct dlb_diskstats out;
    assert_false(dlb_diskstats_find("", 8, 0, &out));
    assert_false(dlb_diskstats_find("\n\n", 8, 0, &out));
}

static void kinds(void **state)
{
    (void)state;
    assert_true(dlb_fs_traits_of("tmpfs", false).in_memory);
    assert_true(dlb_fs_traits_of("overlay", false).layered);
    assert_true(dlb_fs_traits_of("nfs4", false).remote && dlb_fs_traits_of("nfs4", false).counted);
    assert_true(dlb_fs_traits_of("fuse.sshfs", false).by_process);
    assert_false(dlb_fs_traits_of("fuse.sshfs", false).counted);
    assert_true(dlb_fs_traits_of("fuseblk", true).by_process);
    assert_true(dlb_fs_traits_of("zfs", false).elsewhere);
    assert_true(dlb_fs_traits_of("btrfs", false).compresses);
    assert_true(dlb_fs_traits_of("ext4", true).counted);
    assert_true(dlb_fs_traits_of("something-new", true).counted);
    assert_false(dlb_fs_traits_of("something-new", false).counted);
    assert_false(dlb_fs_traits_of("fusefs", true).by_process);
    assert_false(dlb_fs_traits_of("", false).counted);
}

static bool says(const struct dlb_backing *backing, const char *words)
{
    char text[DLB_BACKING_LIMITS][DLB_BACKING_LIMIT_BYTES];
    uint32_t n = dlb_backing_limits(backing, text);
    assert_true(n <= DLB_BACKING_LIMITS);
    for (uint32_t i = 0; i < n; i++)
        if (strstr(text[i], words))
            return true;
    return false;
}

static struct dlb_backing made(const char *type, const char *device)
{
    struct dlb_backing out = {.traits = dlb_fs_traits_of(type, device[0] != '\0')};
    (void)snprintf(out.type, sizeof out.type, "%s", type);
    (void)snprintf(out.device, sizeof out.device, "%s", device);
    return out;
}

static void limits(void **state)
{
    (void)state;
    struct dlb_backing disk = made("ext4", "nvme0n1p1"), memory = made("tmpfs", "");
    struct dlb_backing mapped = made("xfs", "dm-3"), loop = made("ext4", "loop1");
    struct dlb_backing remote = made("nfs4", ""), layered = made("overlay", "");
    struct dlb_backing btrfs = made("btrfs", ""), fuse = made("fuse.sshfs", "");
    struct dlb_backing zfs = made("zfs", "");
    assert_true(says(&disk, "nvme0n1p1: the disk's"));
    assert_false(says(&disk, "devices"));
    assert_true(says(&memory, "tmpfs: "));
    assert_false(says(&memory, "hypervisor"));
    assert_true(says(&mapped, "dm-3: is made"));
    assert_true(says(&loop, "loop1: is a"));
    assert_true(says(&remote, "nfs4: the server's"));
    assert_true(says(&layered, "overlay: "));
    assert_true(says(&btrfs, "devices") && says(&btrfs, "compresses"));
    assert_true(says(&fuse, "fuse.sshfs: "));
    assert_true(says(&zfs, "its own"));
}

/* Not in a chroot whose root is a folder of some mount: there the kernel lists only what lies
 * below. */
static bool root_is_listed(void)
{
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    char line[4096], at[4096];
    bool found = false;

    while (mounts && !found && fgets(line, sizeof line, mounts))
        found = sscanf(line, "%*s %*s %*s %*s %4095s", at) == 1 && strcmp(at, "/") == 0;
    if (mounts)
        (void)fclose(mounts);
    return found;
}

static void this_machine(void **state)
{
    (void)state;
    struct dlb_backing backing;
    struct stat st;
    dlb_backing_of("/nowhere/at/all", &backing);
    assert_string_equal(backing.type, "");
    assert_string_equal(backing.device, "");
    assert_true(dlb_backing_read_bytes(&backing) == DLB_NOT_MEASURED);

    dlb_backing_of("/proc/self/exe", &backing);
    assert_int_equal(stat("/proc/self/exe", &st), 0);
    if (root_is_listed())
        assert_string_not_equal(backing.type, "");
    if (backing.device[0]) {
        uint64_t before = dlb_backing_read_bytes(&backing);
        assert_true(before != DLB_NOT_MEASURED);
        assert_true(dlb_backing_read_bytes(&backing) >= before);
    }
    if (backing.type[0] && major(st.st_dev) != 0) {
        assert_int_equal(backing.major, major(st.st_dev));
        assert_int_equal(backing.minor, minor(st.st_dev));
    }
    dlb_backing_of("/dev/shm", &backing);
    if (strcmp(backing.type, "tmpfs") == 0) {
        assert_true(backing.traits.in_memory);
        assert_string_equal(backing.device, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text),
        cmocka_unit_test(kinds),
        cmocka_unit_test(limits),
        cmocka_unit_test(this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
