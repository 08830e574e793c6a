/* The GPUs that NVIDIA's driver shows, without CUDA.
 *
 * Floor 1. Any thread. */
#ifndef DLB_CORE_HOST_GPUS_H
#define DLB_CORE_HOST_GPUS_H

#include <stddef.h>
#include <stdint.h>

#define DLB_GPUS_MAX 64

struct dlb_gpu {
    char bus_id[32]; /* "0000:3b:00.0" */
    char uuid[64];   /* "GPU-0a1b..."; "" or with question marks: the driver does not say */
    char model[64];
};

/* Those that this process may use, in the order of their PCI addresses, which is CUDA's with
 * CUDA_DEVICE_ORDER=PCI_BUS_ID. Control groups hide the device files of others. `root`: stands for
 * "/", so that tests can have one made up; "" is the machine itself. Returns their number. */
uint32_t dlb_gpus(const char *root, struct dlb_gpu out[DLB_GPUS_MAX]);

#endif
