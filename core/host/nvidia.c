#include "core/host/nvidia.h"

#include "core/host/cpulist.h"
#include "core/host/procfs.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "580.65.06" or "535.129": digits and one or two dots between them. */
static bool is_version(const char *word, size_t len)
{
    uint32_t n_dots = 0;
    for (size_t i = 0; i < len; i++) {
        bool dot = word[i] == '.';
        if (!dot && !isdigit((unsigned char)word[i]))
            return false;
        if (dot && (i == 0 || i + 1 == len || word[i - 1] == '.'))
            return false;
        n_dots += dot;
    }
    return n_dots == 1 || n_dots == 2;
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 ..."; the open module
 * says "NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build ...". */
bool dlb_nvidia_driver_parse(const char *text, struct dlb_nvidia_driver *out)
{
    const char *at = strstr(text, "NVRM version:");
    const char *end = at ? at + strcspn(at, "\n") : NULL;

    while (at && at < end) {
        size_t len = strcspn(at, " \t\n");
        if (len < sizeof out->version && is_version(at, len)) {
            memcpy(out->version, at, len);
            out->version[len] = '\0';
            unsigned long major = strtoul(out->version, NULL, 10);
            out->major = major <= UINT32_MAX ? (uint32_t)major : 0;
            return out->major > 0;
        }
        at += len + (at[len] != '\0');
    }
    return false;
}

bool dlb_nvidia_driver(struct dlb_nvidia_driver *out)
{
    char text[512];
    return dlb_procfs_text("/proc/driver/nvidia/version", text, sizeof text) &&
           dlb_nvidia_driver_parse(text, out);
}

/* CUDA Toolkit release notes, "Minimum required driver version for CUDA minor version
 * compatibility": 13.x >= 580, 12.x >= 525. */
uint32_t dlb_nvidia_driver_needed(uint32_t cuda_major)
{
    switch (cuda_major) {
    case 13:
        return 580;
    case 12:
        return 525;
    default:
        return 0;
    }
}

uint32_t dlb_nvidia_cuda_major(void)
{
#ifdef DLB_CUDA_MAJOR
    return DLB_CUDA_MAJOR;
#else
    return 0;
#endif
}

void dlb_nvidia_driver_advice(const struct dlb_nvidia_driver *driver, uint32_t cuda_major,
                              char *text, size_t n_text)
{
    uint32_t needed = dlb_nvidia_driver_needed(cuda_major);
    if (!driver)
        (void)snprintf(text, n_text,
                       "no NVIDIA driver is loaded here; CUDA %u needs driver %u or newer",
                       cuda_major, needed);
    else if (driver->major < needed)
        (void)snprintf(text, n_text,
                       "driver %s is too old: CUDA %u needs %u or newer; update it, or build "
                       "with an older CUDA toolkit",
                       driver->version, cuda_major, needed);
    else
        (void)snprintf(text, n_text,
                       "driver %s is loaded, but its libcuda.so.1 cannot be used: in a "
                       "container, start it with its GPUs (docker run --gpus all)",
                       driver->version);
}

/* A file below `folder` about a PCI device; false for what is no address. */
static bool device_path(const char *folder, const char *bus_id, const char *file, char path[128])
{
    char lower[32];
    size_t len = strlen(bus_id);

    if (len == 0 || len >= sizeof lower || strchr(bus_id, '/'))
        return false;
    for (size_t i = 0; i <= len; i++)
        lower[i] = (char)tolower((unsigned char)bus_id[i]);
    (void)snprintf(path, 128, "%s/%s/%s", folder, lower, file);
    return true;
}

static bool pci_path(const char *bus_id, const char *file, char path[128])
{
    return device_path("/sys/bus/pci/devices", bus_id, file, path);
}

bool dlb_nvidia_device_parse(const char *text, char path[32])
{
    static const char key[] = "Device Minor:";
    const char *at = strstr(text, key);
    uint64_t minor = 0;

    if (!at)
        return false;
    at += sizeof key - 1;
    if (!dlb_parse_u64(at + strspn(at, " \t"), &minor) || minor > 255)
        return false;
    (void)snprintf(path, 32, "/dev/nvidia%u", (unsigned)minor);
    return true;
}

int dlb_nvidia_hold(const char *bus_id)
{
    char information[128], text[2048], path[32];

    if (!device_path("/proc/driver/nvidia/gpus", bus_id, "information", information) ||
        !dlb_procfs_text(information, text, sizeof text) || !dlb_nvidia_device_parse(text, path))
        return -1;
    return open(path, O_RDWR | O_CLOEXEC);
}

bool dlb_pci_numa_node(const char *bus_id, uint32_t *node)
{
    char path[128];
    uint64_t value;

    if (!pci_path(bus_id, "numa_node", path) || !dlb_procfs_u64(path, &value) ||
        value > UINT32_MAX) /* "-1": there is one node, or the kernel does not know */
        return false;
    *node = (uint32_t)value;
    return true;
}

void dlb_pci_link(const char *bus_id, struct dlb_pci_link *out)
{
    const struct {
        const char *speed_file, *width_file;
        char *speed;
        uint32_t *width;
    } ends[] = {{"current_link_speed", "current_link_width", out->speed, &out->width},
                {"max_link_speed", "max_link_width", out->speed_max, &out->width_max}};

    *out = (struct dlb_pci_link){0};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char path[128];
        uint64_t width = 0;
        if (pci_path(bus_id, ends[i].speed_file, path) &&
            !dlb_procfs_text(path, ends[i].speed, sizeof out->speed))
            ends[i].speed[0] = '\0';
        if (pci_path(bus_id, ends[i].width_file, path) && dlb_procfs_u64(path, &width))
            *ends[i].width = (uint32_t)width;
    }
}

bool dlb_nth_number(const char *list, uint32_t n, uint32_t *out)
{
    for (uint32_t i = 0;; i++) {
        char *end;
        while (*list == ' ')
            list++;
        if (!isdigit((unsigned char)*list))
            return false;
        unsigned long value = strtoul(list, &end, 10);
        if (i == n) {
            *out = (uint32_t)value;
            return value <= UINT32_MAX;
        }
        list = end;
    }
}

bool dlb_place_in_list(const char *list, uint32_t number, uint32_t *place)
{
    unsigned first, last;
    *place = 0;
    while ((list = dlb_cpulist_range(list, &first, &last))) {
        if (number >= first && number <= last) {
            *place += number - first;
            return true;
        }
        *place += last - first + 1;
    }
    return false;
}

bool dlb_numa_distance(uint32_t from, uint32_t to, uint32_t *distance)
{
    char path[64], online[1024], list[1024];
    uint32_t place;
    (void)snprintf(path, sizeof path, "/sys/devices/system/node/node%u/distance", from);
    return dlb_procfs_text("/sys/devices/system/node/online", online, sizeof online) &&
           dlb_place_in_list(online, to, &place) && dlb_procfs_text(path, list, sizeof list) &&
           dlb_nth_number(list, place, distance);
}
