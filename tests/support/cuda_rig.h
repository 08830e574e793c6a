/* The CUDA device over a runtime of the tests' own, opened for one test. Header-only; for one file
 * of one test. */
#ifndef DLB_TESTS_SUPPORT_CUDA_RIG_H
#define DLB_TESTS_SUPPORT_CUDA_RIG_H

#ifdef DLB_HAVE_CUDA
#include "tests/support/fake_cuda.h"

extern const struct dlb_device dlb_dev_cuda;

enum { BYTES = 1 << 16 };

struct rig {
    struct dlb_device_opts opts;
    struct dlb_cuda *cu;
    bool no_hang; /* device.hang_s = 0; else 10 s where `opts` has none */
    struct dlb_err err;
    uint8_t *host;
    const struct dlb_augment *augment; /* NULL: none */
    const char *memo;                  /* NULL: none */
};

static inline int rig_open(struct rig *rig, uint32_t n_bufs, bool one_stream, bool keep)
{
    struct dlb_device_open how = {.opts = &rig->opts,
                                  .n_bufs = n_bufs,
                                  .buf_bytes = BYTES,
                                  .seed = 3,
                                  .copy_on_compute = one_stream,
                                  .keep_bytes = keep,
                                  .augment = rig->augment,
                                  .memo = rig->memo};
    if (!rig->no_hang && rig->opts.hang_s <= 0)
        rig->opts.hang_s = 10;
    if (rig->opts.sm_share <= 0)
        rig->opts.sm_share = 1;
    rig->cu = calloc(1, sizeof *rig->cu);
    rig->host = malloc(BYTES);
    assert_true(rig->cu && rig->host);
    for (size_t i = 0; i < BYTES; i++)
        rig->host[i] = (uint8_t)(i * 7 + i / 256);
    int rc = dlb_dev_cuda.open(rig->cu, &how, &rig->err);
    if (rc != DLB_OK && fake.fail_at == 0)
        print_error("%s\n", rig->err.what);
    return rc;
}

static inline void rig_close(struct rig *rig)
{
    fake.fail_at = 0;
    dlb_dev_cuda.close(rig->cu);
    assert_int_equal(fake.n_live, 0);
    assert_int_equal(fake.n_refused, 0);
    free(rig->cu);
    free(rig->host);
}

static inline int trip(struct rig *rig, uint32_t buf, size_t n, struct dlb_dev_times *times)
{
    bool reached = false;
    int rc = dlb_dev_cuda.copy(rig->cu, buf, rig->host, n, &rig->err);
    if (rc == DLB_OK)
        rc = dlb_dev_cuda.step(rig->cu, buf, &rig->err);
    if (rc == DLB_OK)
        rc = dlb_dev_cuda.wait(rig->cu, buf, DLB_STEPPED, UINT64_MAX, times, &reached, &rig->err);
    assert_true(rc != DLB_OK || reached);
    return rc;
}

static inline double step_ms(const struct dlb_dev_times *t)
{
    return (double)(t->step_end_ns - t->step_start_ns) / 1e6;
}

static inline int reset(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    gpu_reset();
    fake.driver = "580.65.06";
    fake.with = cudaErrorUnknown;
    return 0;
}

#endif

#endif
