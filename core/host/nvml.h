/* The driver's own accounting of a GPU during a run, by NVML, the library behind nvidia-smi.
 *
 * Floor 1. Control thread; a thread that it starts takes samples. The library is opened at run
 * time; without it nothing is measured. Utilisation is reported beside the measurements and
 * never used in them, because it is the share of time in which any kernel ran, however small. */
#ifndef DLB_CORE_HOST_NVML_H
#define DLB_CORE_HOST_NVML_H

#include <jansson.h>
#include <stdint.h>

struct dlb_nvml;

/* Starts to sample the GPU with this PCI address, ten times a second. NULL when there is no
 * NVML, or it does not know the GPU. Call it after the fork server was started, because it
 * starts a thread. */
struct dlb_nvml *dlb_nvml_start(const char *pci_bus_id);

/* The same, with the library of this name or path. */
struct dlb_nvml *dlb_nvml_start_with(const char *library, const char *pci_bus_id);

/* Stops sampling and frees it. New reference, as `nvml` of summary.schema.json: means over the
 * samples, the GPU's limits, and the processes that had a context on it besides this one; figures
 * that could not be read are null. NULL for NULL, or when memory is short. */
json_t *dlb_nvml_stop(struct dlb_nvml *nvml);

/* Names of the set bits of nvmlDeviceGetCurrentClocksThrottleReasons. New reference. */
json_t *dlb_nvml_throttle_json(uint64_t reasons);

#endif
