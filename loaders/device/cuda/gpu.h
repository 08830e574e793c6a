/* The state of the CUDA device, which its files share.
 *
 * Floor 3, private to the CUDA device. Consumer thread. Streams and events are named by their
 * struct tags, so that this header needs no CUDA header. A function takes the group it needs. */
#ifndef DLB_LOADERS_DEVICE_CUDA_GPU_H
#define DLB_LOADERS_DEVICE_CUDA_GPU_H

#include "core/base/rng.h"
#include "loaders/device/cuda/gpu_clock.h"
#include "loaders/device/cuda/step.h"
#include "loaders/device/cuda/step_plan.h"
#include "loaders/device/device.h"

enum { DLB_CUDA_MAX_PINNED = 4, DLB_CUDA_MAX_BUFS = 16 };

struct CUevent_st;
struct CUgraphExec_st;

/* What one launch on a buffer does: makes samples of the batch, reads it, and computes. */
struct dlb_cuda_recipe {
    size_t n_bytes;
    bool augments, steps;
    uint64_t n_iters;
    uint32_t n_launches; /* kernels that the iterations are spread over */
    uint32_t *where;     /* [n_sms] in device memory: gets the multiprocessors; may be NULL */
};

/* A recipe as a CUDA graph, ready to be launched. */
struct dlb_cuda_launch {
    struct CUgraphExec_st *exec; /* NULL: none yet */
    struct dlb_cuda_recipe recipe;
    uint64_t first_chunk;
};

struct dlb_cuda_buffer {
    uint8_t *data; /* device memory */
    uint8_t *made; /* device memory: what the step makes of data; NULL: nothing */
    size_t n_bytes;
    struct CUevent_st *copy_start, *copy_end, *step_start, *step_end;
    struct dlb_cuda_launch launch;
    uint64_t copy_call_ns; /* host's time before the copy was queued */
    uint64_t step_call_ns; /* the same of the step */
    uint64_t waited_ns;    /* when the wait for the last queued work began; 0: no wait yet */
    double step_ns;        /* how long the step should last by its work */
    bool copied, stepped;  /* the stamps of copy, of step are in `times` */
    struct dlb_dev_times times;
};

/* What calibration found out about the step. */
struct dlb_cuda_calibration {
    struct dlb_step_model model;
    double asked_ns,
        measured_ns;     /* of one step with a full buffer; of a longer step, of 1 s of it */
    double read_ns;      /* reading a full buffer alone */
    double augment_ns;   /* making samples of a full buffer, in addition to the step */
    uint32_t n_sms_seen; /* multiprocessors that its blocks ran on */
    bool reused;         /* measured by an earlier cell of the sweep */
};

/* The steps that were settled. */
struct dlb_cuda_ran {
    uint64_t n_steps;
    double asked_ns, took_ns; /* sums */
};

/* What the device was opened for; see dlb_device_open. */
struct dlb_cuda_setup {
    const struct dlb_device_opts *opts;
    const struct dlb_augment *augment; /* NULL: steps make nothing of their batches */
    const char *memo;
    uint32_t n_bufs;
    size_t buf_bytes;
    size_t made_bytes; /* of what is made of a full buffer */
    bool copy_on_compute, keep_bytes;
};

/* The GPU's name and place. */
struct dlb_cuda_gpu {
    char name[96], pci_bus_id[32];
};

struct dlb_cuda_streams {
    struct CUstream_st *compute, *copy;
    struct CUstream_st *side; /* for checksums, brackets, and for ending a step early */
};

/* What the step's kernels work with. Pointers are to device memory. */
struct dlb_cuda_kernels {
    uint32_t n_sms;           /* multiprocessors that they compute on */
    unsigned long long *sums; /* [n_bufs] what each buffer's last step read */
    uint32_t *stop;           /* not 0: kernels return at once */
    float *sink;
    uint32_t *sm_of_block; /* [n_sms] */
    void *scratch;         /* of `memory` steps */
    uint64_t n_chunks, next_chunk;
};

/* Host memory that the GPU writes to. */
struct dlb_cuda_staging {
    uint8_t *back, *made_back; /* a batch, and what was made of it; with keep_bytes only; owned */
    uint32_t *sm_seen;         /* [n_sms] of sm_of_block; owned */
};

/* Host memory that was declared page-locked; borrowed. */
struct dlb_cuda_pins {
    struct {
        uint8_t *addr;
        size_t n_bytes;
    } range[DLB_CUDA_MAX_PINNED];
    uint32_t n;
};

/* The GPU's events on the host's clock. */
struct dlb_cuda_time {
    struct dlb_gpu_clock clock;
    struct CUevent_st *anchor; /* the event that others are measured from */
    struct CUevent_st *spare;  /* the next anchor, while n_before_next > 0 */
    struct CUevent_st *tried;  /* of a bracket that is being taken */
    uint64_t bracket_ns;       /* host's time before `tried` was recorded; 0: it was not */
    uint64_t next_bracket_ns;  /* when to record it again */
    uint32_t n_before_next;    /* steps to settle before `spare` becomes the anchor */
    float next_ms;             /* from the anchor to it */
    uint64_t last_step_end_ns; /* of the last settled step: stamps never go back */
    uint64_t last_copy_end_ns;
};

/* What a wait needs to know. */
struct dlb_cuda_waiting {
    uint64_t limit_ns;       /* device.hang_s: longest wait for work that takes 1 s at most */
    double copy_ns_per_byte; /* of the fastest copy so far; 0: none was timed */
    bool hung; /* the GPU did not answer in time: nothing on it is waited for or freed any more */
};

struct dlb_cuda {
    struct dlb_cuda_setup setup;
    struct dlb_cuda_gpu gpu;
    struct dlb_rng rng; /* of the step times */
    struct dlb_cuda_streams streams;
    struct dlb_cuda_buffer bufs[DLB_CUDA_MAX_BUFS];
    struct dlb_cuda_kernels kernels;
    struct dlb_cuda_staging staging;
    struct dlb_cuda_pins pins;
    struct dlb_cuda_time time;
    struct dlb_cuda_waiting waiting;
    struct dlb_cuda_calibration calibration;
    struct dlb_cuda_ran ran;
};

/* Fills *err from a cudaError_t, with advice if there is any; DLB_E_DEVICE. */
int dlb_cuda_fail(struct dlb_err *err, int code, const char *doing);

/* DLB_OK for cudaSuccess, else as above. */
int dlb_cuda_checked(int code, const char *doing, struct dlb_err *err);

/* DLB_E_DEVICE unless the buffer exists and can hold n_bytes. */
int dlb_cuda_check_buf(const struct dlb_cuda_setup *setup, uint32_t buf, size_t n_bytes,
                       struct dlb_err *err);

/* Waits until everything that was queued on a stream is done, for at most limit_ns. It polls
 * without a pause, as CUDA's own wait does; it exists because the runtime's synchronizing calls
 * have no time limit. */
int dlb_cuda_finish(struct dlb_cuda_waiting *waiting, struct CUstream_st *stream, uint64_t limit_ns,
                    const char *doing, struct dlb_err *err);

/* Marks the GPU as hung and fails with DLB_E_DEVICE; `what` was waited for. */
int dlb_cuda_hangs(struct dlb_cuda_waiting *waiting, const char *what, uint64_t waited_ns,
                   struct dlb_err *err);

/* Launches a recipe on the compute stream, as one graph that begins with the buffer's step_start:
 * of a step that finds an idle GPU the event must not come before the kernels do. The buffer's last
 * launch has ended. The graph is kept, and recorded anew only when the work differs. */
int dlb_cuda_launch(struct dlb_cuda *cu, uint32_t buf, const struct dlb_cuda_recipe *recipe,
                    struct dlb_err *err);

/* Launches each kernel once without work, outside of graphs: the first launch loads it. */
int dlb_cuda_load(struct dlb_cuda *cu, struct dlb_err *err);

/* What kernels get, apart from their own arguments. */
struct dlb_cuda_work dlb_cuda_work(const struct dlb_cuda *cu);

/* Brackets an event, if the last bracket is a second old. It does not wait for a stream that is not
 * idle: then it comes back to it with the next call. */
int dlb_cuda_bracket(struct dlb_cuda *cu, struct dlb_err *err);

/* A step was settled: when all that were in flight at the bracket are, its event is the anchor. */
void dlb_cuda_move_anchor(struct dlb_cuda_time *time);

/* Relates the GPU's clock to the host's, at open. */
int dlb_cuda_open_clock(struct dlb_cuda *cu, struct dlb_err *err);

/* Finds out how many iterations make device.step_ms. If an earlier cell did, it only raises the
 * GPU's clocks. Uses buffer 0 and its step events. */
int dlb_cuda_calibrate(struct dlb_cuda *cu, struct dlb_err *err);

/* See dlb_device. */
int dlb_cuda_open(void *dv, const struct dlb_device_open *how, struct dlb_err *err);
bool dlb_cuda_end(void *dv);
void dlb_cuda_close(void *dv);

/* See dlb_device. A wait sleeps until shortly before the copy or the step should end, then polls
 * without a pause. */
int dlb_cuda_poll(void *dv, uint32_t buf, enum dlb_point point, bool *reached, struct dlb_err *err);
int dlb_cuda_wait(void *dv, uint32_t buf, enum dlb_point point, uint64_t timeout_ns,
                  struct dlb_dev_times *out, bool *reached, struct dlb_err *err);

/* Facts about GPU, driver and calibration; see dlb_device.describe. */
json_t *dlb_cuda_describe(void *dv);

/* Steps and clock of the run; see dlb_device.ran. */
json_t *dlb_cuda_ran(void *dv);

/* Whether a GPU answers; see dlb_device.probe. */
int dlb_cuda_probe(char name[96], struct dlb_err *err);

#endif
