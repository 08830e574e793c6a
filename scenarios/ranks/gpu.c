#include "scenarios/ranks/gpu.h"

#include "core/host/gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VISIBLE "CUDA_VISIBLE_DEVICES"
#define ORDER "CUDA_DEVICE_ORDER"
#define BY_ADDRESS "PCI_BUS_ID"

static uint32_t n_of(const char *visible)
{
    uint32_t n = 1;
    for (const char *at = visible; (at = strchr(at, ',')) != NULL; at++)
        n++;
    return n;
}

bool dlb_rank_gpu_of(const char *visible, uint32_t n_there, uint32_t local_rank, char *out,
                     size_t n_out)
{
    if (!visible) {
        (void)snprintf(out, n_out, "%u", n_there > 0 ? local_rank % n_there : 0);
        return n_there > 1;
    }
    uint32_t n = n_of(visible);
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

/* Whether this rank alone uses its GPU, and no GPU of the machine is left without a rank, whose
 * CPUs nobody would use. */
static bool is_one_each(const char *visible, uint32_t n_there, uint32_t n_local)
{
    uint32_t n = visible ? n_of(visible) : n_there;
    bool launchers = visible && n == 1;
    return n_local > 1 && (launchers || n_local == n);
}

/* CUDA's other order begins with the fastest GPU. */
static bool is_by_address(const struct dlb_gpu *gpus, uint32_t n)
{
    const char *order = getenv(ORDER);
    bool alike = true;
    for (uint32_t i = 1; i < n; i++)
        alike = alike && strcmp(gpus[i].model, gpus[0].model) == 0;
    return alike || (order && strcmp(order, BY_ADDRESS) == 0);
}

/* `chosen`: a number, or a UUID, whose end may be left out. NULL: not known, as is a part of a GPU
 * (MIG). */
static const struct dlb_gpu *find(const char *chosen, const struct dlb_gpu *gpus, uint32_t n)
{
    const struct dlb_gpu *found = NULL;
    char *end;
    unsigned long nth = strtoul(chosen, &end, 10);
    if (chosen[0] >= '0' && chosen[0] <= '9' && *end == '\0')
        return nth < n && is_by_address(gpus, n) ? &gpus[nth] : NULL;
    if (strncmp(chosen, "GPU-", 4) != 0)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (strncmp(gpus[i].uuid, chosen, strlen(chosen)) != 0)
            continue;
        if (found)
            return NULL;
        found = &gpus[i];
    }
    return found;
}

void dlb_rank_gpu_choose(const char *root, uint32_t local_rank, uint32_t n_local,
                         struct dlb_rank_place *place)
{
    struct dlb_gpu gpus[DLB_GPUS_MAX];
    char chosen[128]; /* a number, or a UUID */
    const char *visible = getenv(VISIBLE);
    uint32_t n = dlb_gpus(root, gpus);
    bool one_each = is_one_each(visible, n, n_local);
    *place = (struct dlb_rank_place){.gpu = ""};
    if (dlb_rank_gpu_of(visible, n, local_rank, chosen, sizeof(chosen))) {
        if (!visible)
            (void)setenv(ORDER, BY_ADDRESS, 0);
        (void)setenv(VISIBLE, chosen, 1);
    }
    visible = getenv(VISIBLE);
    const struct dlb_gpu *mine = one_each && visible ? find(visible, gpus, n) : NULL;
    if (mine && dlb_near_bind(root, mine->bus_id, &place->near))
        memcpy(place->gpu, mine->bus_id, sizeof(place->gpu));
}
