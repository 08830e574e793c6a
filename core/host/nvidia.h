/* NVIDIA's driver and the NUMA node of a GPU, as the kernel reports them, without CUDA.
 *
 * Floor 1. Any thread. */
#ifndef DLB_CORE_HOST_NVIDIA_H
#define DLB_CORE_HOST_NVIDIA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_nvidia_driver {
    char version[32]; /* "580.65.06" */
    uint32_t major;
};

/* Reads the text of /proc/driver/nvidia/version; false when no version is found in it. */
bool dlb_nvidia_driver_parse(const char *text, struct dlb_nvidia_driver *out);

/* Version of the loaded kernel module; false when there is none (WSL has a driver without the
 * file). */
bool dlb_nvidia_driver(struct dlb_nvidia_driver *out);

/* The oldest driver branch on which programs of a CUDA release (13 for 13.0) run; 0 when
 * unknown. */
uint32_t dlb_nvidia_driver_needed(uint32_t cuda_major);

/* CUDA release that this build links; 0: built without CUDA. */
uint32_t dlb_nvidia_cuda_major(void);

/* For a message: why CUDA finds no driver that it can use, and what to do. `driver`: NULL when
 * no kernel module is loaded. */
void dlb_nvidia_driver_advice(const struct dlb_nvidia_driver *driver, uint32_t cuda_major,
                              char *text, size_t n_text);

/* Path of the device file of a GPU, from the text of /proc/driver/nvidia/gpus/ID/information; false
 * when it names no "Device Minor". */
bool dlb_nvidia_device_parse(const char *text, char path[32]);

/* Opens the device file of the GPU at this PCI address. As long as a process has it open, the
 * driver keeps the GPU initialised: without, and without its persistence mode, each process waits
 * for that anew. A descriptor; -1 when there is none. */
int dlb_nvidia_hold(const char *bus_id);

/* NUMA node of a PCI device ("0000:3b:00.0", any case); false when the kernel does not say. */
bool dlb_pci_numa_node(const char *bus_id, uint32_t *node);

/* Speed ("32.0 GT/s PCIe") and width of a PCI device's link, as it is and at most; "" and 0 where
 * the kernel does not say. */
struct dlb_pci_link {
    char speed[32], speed_max[32];
    uint32_t width, width_max;
};
void dlb_pci_link(const char *bus_id, struct dlb_pci_link *out);

/* Distance between two NUMA nodes as the firmware reports it (10: the same); false when unknown. */
bool dlb_numa_distance(uint32_t from, uint32_t to, uint32_t *distance);

/* The place of a number in a list such as "0-1,4": 4 is at place 2. The kernel lists a node's
 * distances to online nodes alone, in their order. False when the number is not in the list. */
bool dlb_place_in_list(const char *list, uint32_t number, uint32_t *place);

/* The number at place `n` of a list "10 21 31"; false when there are fewer. */
bool dlb_nth_number(const char *list, uint32_t n, uint32_t *out);

#endif
