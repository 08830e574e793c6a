#include "core/host/gpus.h"

#include "core/host/nvidia.h"
#include "core/host/procfs.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "/proc/driver/nvidia/gpus"

/* access(2) asks the control group's list of devices, and does not start the GPU as open(2) would.
 */
static bool may_use(const char *root, const char *information)
{
    char path[PATH_MAX], text[2048], device[32], excluded[16];
    if (dlb_procfs_value(information, "GPU Excluded", excluded, sizeof excluded) &&
        strcmp(excluded, "Yes") == 0)
        return false;
    if (!dlb_procfs_text(information, text, sizeof text) || !dlb_nvidia_device_parse(text, device))
        return true; /* an old driver */
    (void)snprintf(path, sizeof path, "%s%s", root, device);
    return access(path, R_OK | W_OK) == 0;
}

static bool look_at(const char *root, const char *bus_id, struct dlb_gpu *out)
{
    char information[PATH_MAX];
    *out = (struct dlb_gpu){.bus_id = ""};
    if (bus_id[0] == '.' || strlen(bus_id) >= sizeof out->bus_id)
        return false;
    (void)snprintf(out->bus_id, sizeof out->bus_id, "%s", bus_id);
    (void)snprintf(information, sizeof information, "%s" FOLDER "/%s/information", root, bus_id);
    if (!dlb_procfs_value(information, "GPU UUID", out->uuid, sizeof out->uuid))
        out->uuid[0] = '\0';
    if (!dlb_procfs_value(information, "Model", out->model, sizeof out->model))
        out->model[0] = '\0';
    return may_use(root, information);
}

/* A domain of more than four digits is a larger one. */
static int by_address(const void *a, const void *b)
{
    const char *left = ((const struct dlb_gpu *)a)->bus_id,
               *right = ((const struct dlb_gpu *)b)->bus_id;
    size_t n_left = strlen(left), n_right = strlen(right);
    if (n_left != n_right)
        return n_left < n_right ? -1 : 1;
    return strcmp(left, right);
}

uint32_t dlb_gpus(const char *root, struct dlb_gpu out[DLB_GPUS_MAX])
{
    char path[PATH_MAX];
    const struct dirent *entry;
    uint32_t n = 0;
    (void)snprintf(path, sizeof path, "%s" FOLDER, root);
    DIR *folder = opendir(path);
    while (folder && n < DLB_GPUS_MAX && (entry = readdir(folder)) != NULL)
        n += look_at(root, entry->d_name, &out[n]);
    if (folder)
        (void)closedir(folder);
    qsort(out, n, sizeof *out, by_address);
    return n;
}
