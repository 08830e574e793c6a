/* The step's kernels, compiled for the CPU. */
#include "loaders/device/cuda/step.cu"
