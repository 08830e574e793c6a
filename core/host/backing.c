#include "core/host/backing.h"

#include "core/host/diskstats.h"
#include "core/host/mounts.h"
#include "core/host/osacct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define MOUNTINFO "/proc/self/mountinfo"

/* By name, or by the part before the dot of "fuse.sshfs". Reads are charged to the process by
 * the clients that call task_io_account_read (nfs, smb, ceph), and by file systems that submit
 * their own block requests. */
static const struct {
    const char *type;
    struct dlb_fs_traits traits;
} kinds[] = {
    {"tmpfs", {.in_memory = true}},
    {"ramfs", {.in_memory = true}},
    {"rootfs", {.in_memory = true}},
    {"devtmpfs", {.in_memory = true}},
    {"hugetlbfs", {.in_memory = true}},
    {"overlay", {.layered = true, .counted = true}},
    {"aufs", {.layered = true, .counted = true}},
    {"nfs", {.remote = true, .counted = true}},
    {"nfs4", {.remote = true, .counted = true}},
    {"cifs", {.remote = true, .counted = true}},
    {"smb3", {.remote = true, .counted = true}},
    {"ceph", {.remote = true, .counted = true}},
    {"lustre", {.remote = true}},
    {"gpfs", {.remote = true}},
    {"beegfs", {.remote = true}},
    {"wekafs", {.remote = true}},
    {"glusterfs", {.remote = true}},
    {"afs", {.remote = true}},
    {"9p", {.remote = true}},
    {"virtiofs", {.remote = true}},
    {"fuse", {.by_process = true}},
    {"fuseblk", {.by_process = true}},
    {"zfs", {.elsewhere = true, .compresses = true, .many = true}},
    {"btrfs", {.compresses = true, .many = true, .counted = true}},
    {"bcachefs", {.compresses = true, .many = true, .counted = true}},
    {"f2fs", {.compresses = true, .counted = true}},
    {"squashfs", {.compresses = true, .counted = true}},
    {"erofs", {.compresses = true, .counted = true}},
};

struct dlb_fs_traits dlb_fs_traits_of(const char *type, bool on_device)
{
    size_t n = strcspn(type, ".");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].type) == n && strncmp(kinds[i].type, type, n) == 0)
            return kinds[i].traits;
    return (struct dlb_fs_traits){.counted = on_device};
}

/* The device that a mount's options or source name. For file systems whose st_dev is not a
 * device's number. */
static bool device_of_mount(const struct dlb_mount_found *mount, struct dlb_backing *out)
{
    struct stat st;
    if (out->traits.many || strncmp(mount->source, "/dev/", 5) != 0 ||
        stat(mount->source, &st) != 0 || !S_ISBLK(st.st_mode))
        return false;
    out->major = major(st.st_rdev);
    out->minor = minor(st.st_rdev);
    return true;
}

void dlb_backing_of(const char *path, struct dlb_backing *out)
{
    struct dlb_mount_found mount = {.type = ""};
    struct dlb_diskstats now;
    struct stat st;
    char *real = realpath(path, NULL);

    *out = (struct dlb_backing){.major = 0};
    if (real && stat(real, &st) == 0) {
        (void)dlb_mount_of(MOUNTINFO, real, &mount);
        out->major = major(st.st_dev);
        out->minor = minor(st.st_dev);
        (void)snprintf(out->type, sizeof out->type, "%s", mount.type);
        out->traits = dlb_fs_traits_of(out->type, out->major != 0);
        bool visible = out->major != 0 || device_of_mount(&mount, out);
        if (visible && dlb_diskstats_read(out->major, out->minor, &now))
            (void)snprintf(out->device, sizeof out->device, "%s", now.name);
    }
    free(real);
}

uint64_t dlb_backing_read_bytes(const struct dlb_backing *backing)
{
    struct dlb_diskstats now;
    if (!backing->device[0] || !dlb_diskstats_read(backing->major, backing->minor, &now))
        return DLB_NOT_MEASURED;
    return now.read_bytes;
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

uint32_t dlb_backing_limits(const struct dlb_backing *backing,
                            char text[DLB_BACKING_LIMITS][DLB_BACKING_LIMIT_BYTES])
{
    const struct dlb_fs_traits *fs = &backing->traits;
    const char *device = backing->device;
    bool mapped = starts(device, "dm-") || starts(device, "md"), loop = starts(device, "loop");
    const struct {
        bool holds;
        const char *about, *sentence;
    } all[] = {
        {fs->in_memory, backing->type, "the files are in memory, so a run cannot be cold"},
        {fs->layered, backing->type,
         "the files lie in a layer below, whose device is not visible from here"},
        {fs->remote, backing->type,
         "the server's own cache can be neither inspected nor emptied from here"},
        {fs->by_process, backing->type,
         "what the file system's own program keeps in memory is not visible from here"},
        {fs->elsewhere, backing->type,
         "keeps data in a cache of its own, which can be neither inspected nor emptied from here"},
        {fs->compresses, backing->type,
         "where it compresses, the device gives fewer bytes than are delivered"},
        {fs->many && !device[0], backing->type,
         "may lie on several devices, so that none of them counts its reads"},
        {mapped, device, "is made of other devices: bytes are counted at it, not at them"},
        {loop, device, "is a file of another file system, which may have it in the page cache"},
        {!fs->in_memory && device[0], device,
         "the disk's, the array's or the hypervisor's own cache can be neither inspected nor "
         "emptied "
         "from here"},
    };
    uint32_t n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all && n < DLB_BACKING_LIMITS; i++)
        if (all[i].holds)
            (void)snprintf(text[n++], DLB_BACKING_LIMIT_BYTES, "%s: %s", all[i].about,
                           all[i].sentence);
    return n;
}
