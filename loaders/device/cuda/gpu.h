/* What the files of the CUDA device share.
 *
 * Floor 3, private to them. Consumer thread. Streams and events are named by their tags, so that
 * this header needs no CUDA. */
#ifndef DLB_LOADERS_DEVICE_CUDA_GPU_H
#define DLB_LOADERS_DEVICE_CUDA_GPU_H

#include "core/base/rng.h"
#include "loaders/device/cuda/gpu_clock.h"
#include "loaders/device/cuda/step.h"
#include "loaders/device/cuda/step_plan.h"
#include "loaders/device/device.h"

enum { DLB_CUDA_MAX_PINNED = 4, DLB_CUDA_MAX_BUFS = 16 };

#define DLB_CUDA_ANSWER_NS (10 * DLB_NS_PER_S) /* what is waited for takes 1 s at most */

struct CUevent_st;

struct dlb_cuda_buffer {
    uint8_t *data; /* device memory */
    uint8_t *made; /* device memory: what the step makes of data; NULL: nothing */
    size_t n_bytes;
    struct CUevent_st *copy_start, *copy_end, *step_start, *step_end;
    uint64_t copy_call_ns; /* host's time before the copy was queued */
    uint64_t waited_ns;    /* since when what was queued last is waited for; 0: it is not yet */
    double step_ns;        /* that the step was given work for */
    bool copied, stepped;  /* stamps are in `times` */
    struct dlb_dev_times times;
};

/* The step as it was calibrated. */
struct dlb_cuda_calibration {
    struct dlb_step_model model;
    double asked_ns, measured_ns; /* of one whole step with a full buffer, or of 1 s of a longer */
    double read_ns;               /* reading a full buffer alone */
    double augment_ns;            /* making samples of a full buffer; comes on top of the step */
    uint32_t n_sms_seen;          /* multiprocessors that its blocks ran on */
    bool reused;                  /* an earlier cell of the sweep measured it */
};

struct dlb_cuda {
    const struct dlb_device_opts *opts;
    struct dlb_rng rng;
    bool copy_on_compute, keep_bytes;
    bool hung;        /* did not answer in time: nothing of it is waited for or freed */
    const char *memo; /* see dlb_device_open */
    uint32_t n_bufs, n_sms;
    size_t buf_bytes, made_bytes;      /* made_bytes: of what is made of a full buffer */
    const struct dlb_augment *augment; /* NULL: steps make nothing of their batches */
    char name[96], pci_bus_id[32];
    struct CUstream_st *compute, *copy, *side; /* side: checksums, and ending a step early */
    struct dlb_cuda_buffer bufs[DLB_CUDA_MAX_BUFS];
    struct CUevent_st *anchor, *spare; /* spare: the next anchor, while n_before_next > 0 */
    uint32_t n_before_next;            /* steps to settle before it is */
    float next_ms;                     /* from the anchor to it */
    struct dlb_gpu_clock clock;
    uint64_t last_step_end_ns, last_copy_end_ns; /* of what was settled: stamps never go back */
    double copy_ns_per_byte;                     /* of the fastest copy; 0: none was timed */
    unsigned long long *sums;                    /* device memory: one per buffer */
    uint32_t *stop;                              /* device memory */
    float *sink;                                 /* device memory */
    uint32_t *sm_of_block;                       /* device memory: n_sms */
    void *scratch;                               /* device memory of `memory` steps */
    uint64_t n_chunks, next_chunk;
    uint8_t *back, *made_back; /* host memory for checksums */
    uint32_t *sm_seen;         /* host memory for sm_of_block */
    struct {
        uint8_t *addr;
        size_t n_bytes;
    } pinned[DLB_CUDA_MAX_PINNED];
    uint32_t n_pinned;
    struct dlb_cuda_calibration calibration;
};

/* Fills *err from a cudaError_t, and says what to do where that is known; DLB_E_DEVICE. */
int dlb_cuda_fail(struct dlb_err *err, int code, const char *doing);

/* DLB_OK for cudaSuccess, else as above. */
int dlb_cuda_checked(int code, const char *doing, struct dlb_err *err);

/* Whether the buffer is there and can hold n_bytes. */
int dlb_cuda_check_buf(const struct dlb_cuda *cu, uint32_t buf, size_t n_bytes,
                       struct dlb_err *err);

/* Waits until all that was queued on a stream is done, looking without pause as CUDA's own wait
 * does, but no longer than limit_ns: the runtime's synchronizing calls have no limit. */
int dlb_cuda_finish(struct dlb_cuda *cu, struct CUstream_st *stream, uint64_t limit_ns,
                    const char *doing, struct dlb_err *err);

/* Marks the GPU as one that does not answer, and says what was waited for; DLB_E_DEVICE. */
int dlb_cuda_hangs(struct dlb_cuda *cu, const char *what, uint64_t waited_ns, struct dlb_err *err);

/* Queues on the compute stream what a step does: read n_bytes of `data`, then n_iters iterations in
 * n_launches kernels. `where` (NULL, or n_sms numbers in device memory) is told the
 * multiprocessors. */
int dlb_cuda_queue_step(struct dlb_cuda *cu, uint32_t buf, size_t n_bytes, uint64_t n_iters,
                        uint32_t n_launches, uint32_t *where, struct dlb_err *err);

/* Queues on the compute stream what is made of n_bytes of `buf`, if anything is. */
int dlb_cuda_queue_augment(struct dlb_cuda *cu, uint32_t buf, size_t n_bytes, struct dlb_err *err);

/* Finds out how many iterations make device.step_ms, or recalls it: then the clocks are raised, and
 * no more. Uses buffer 0 and its step events. */
int dlb_cuda_calibrate(struct dlb_cuda *cu, struct dlb_err *err);

/* See dlb_device. A wait sleeps until shortly before the end of a copy or of a step is due, then
 * looks without pause. */
int dlb_cuda_poll(void *dv, uint32_t buf, enum dlb_point point, bool *reached, struct dlb_err *err);
int dlb_cuda_wait(void *dv, uint32_t buf, enum dlb_point point, uint64_t timeout_ns,
                  struct dlb_dev_times *out, bool *reached, struct dlb_err *err);

/* Facts about GPU, driver and calibration; see dlb_device.describe. */
json_t *dlb_cuda_describe(void *dv);

/* Whether a GPU answers; see dlb_device.probe. */
int dlb_cuda_probe(char name[96], struct dlb_err *err);

#endif
