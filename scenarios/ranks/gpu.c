#include "scenarios/ranks/gpu.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPUS "/proc/driver/nvidia/gpus"
#define VISIBLE "CUDA_VISIBLE_DEVICES"

static uint32_t n_gpus(void)
{
    DIR *folder = opendir(GPUS);
    uint32_t n = 0;
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL)
        n += entry->d_name[0] != '.';
    if (folder)
        (void)closedir(folder);
    return n;
}

bool dlb_rank_gpu_of(const char *visible, uint32_t n_there, uint32_t local_rank, char *out,
                     size_t n_out)
{
    uint32_t n = 1;
    if (!visible) {
        (void)snprintf(out, n_out, "%u", n_there > 0 ? local_rank % n_there : 0);
        return n_there > 1;
    }
    for (const char *at = visible; (at = strchr(at, ',')) != NULL; at++)
        n++;
    const char *from = visible;
    for (uint32_t i = 0; i < local_rank % n; i++)
        from = strchr(from, ',') + 1;
    size_t length = strcspn(from, ",");
    if (n < 2 || length == 0 || length >= n_out)
        return false;
    memcpy(out, from, length);
    out[length] = '\0';
    return true;
}

void dlb_rank_gpu_choose(uint32_t local_rank)
{
    char chosen[128]; /* a number, or a UUID */
    if (dlb_rank_gpu_of(getenv(VISIBLE), n_gpus(), local_rank, chosen, sizeof(chosen)))
        (void)setenv(VISIBLE, chosen, 1);
}
