/* What the driver's own accounting (NVML, the library behind nvidia-smi) says of a GPU during a
 * run.
 *
 * Floor 1. Control thread; a thread of its own takes samples. The library is opened at run time:
 * where it is not there, nothing is measured. Utilisation is shown beside the figures and never
 * used for them: it is the share of time in which any kernel ran, however small. */
#ifndef DLB_CORE_HOST_NVML_H
#define DLB_CORE_HOST_NVML_H

#include <jansson.h>
#include <stdint.h>

struct dlb_nvml;

/* Begins to sample the GPU with this PCI address, ten times a second. NULL when there is no NVML,
 * or it does not know the GPU. After the fork server was started. */
struct dlb_nvml *dlb_nvml_start(const char *pci_bus_id);

/* The same with a library of this name or path. */
struct dlb_nvml *dlb_nvml_start_with(const char *library, const char *pci_bus_id);

/* Ends and frees it. New reference: {samples, utilization_frac, memory_utilization_frac (means),
 * sm_clock_before_mhz, sm_clock_after_mhz, sm_clock_min_mhz (while sampled), sm_clock_max_mhz (the
 * GPU's limit), power_w (mean), temperature_c (highest), throttle[] (reasons seen in any sample,
 * but "idle"), pcie_gen, pcie_width (highest seen), pcie_gen_max, pcie_width_max}; what could not
 * be read is null. NULL for NULL, or when memory is short. */
json_t *dlb_nvml_stop(struct dlb_nvml *nvml);

/* Names of the set bits of nvmlDeviceGetCurrentClocksThrottleReasons. New reference. */
json_t *dlb_nvml_throttle_json(uint64_t reasons);

#endif
