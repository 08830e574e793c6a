/* Batches that another process has loaded and copied. */
#include "tests/support/pipeline.h"

enum { N_BATCHES = 3, N_EACH = 5 };

static uint32_t n_given;

static int made_up_start(void *ld, const struct dlb_job *job, struct dlb_err *err)
{
    (void)ld, (void)job, (void)err;
    n_given = 0;
    return DLB_OK;
}

static void made_up_memory(void *ld, struct dlb_memory *out)
{
    (void)ld;
    *out = (struct dlb_memory){.shared = true};
}

static int made_up_begin_epoch(void *ld, uint32_t epoch, struct dlb_err *err)
{
    (void)ld, (void)epoch, (void)err;
    return DLB_OK;
}

/* Labels are among the bytes. */
static int made_up_next(void *ld, uint64_t timeout_ns, struct dlb_batch *out, bool *got,
                        struct dlb_err *err)
{
    uint64_t now_ns = dlb_now_ns();

    (void)ld, (void)timeout_ns, (void)err;
    *got = n_given < N_BATCHES;
    if (!*got)
        return DLB_END;
    *out = (struct dlb_batch){.n_samples = N_EACH,
                              .n_bytes = N_EACH * (UINT64_C(2050) + 8),
                              .seq = n_given,
                              .number = n_given,
                              .ready_ns = now_ns,
                              .taken_ns = now_ns,
                              .copied_ns = now_ns};
    n_given++;
    return DLB_OK;
}

static void made_up_release(void *ld, const struct dlb_batch *batch)
{
    (void)ld, (void)batch;
}

static int made_up_stop(void *ld, struct dlb_err *err)
{
    (void)ld, (void)err;
    return DLB_OK;
}

static void made_up_stats(void *ld, struct dlb_loader_stats *out)
{
    (void)ld, (void)out;
}

static void made_up_close(void *ld)
{
    (void)ld;
}

static const struct dlb_loader made_up = {.name = "made_up",
                                          .state_bytes = 1,
                                          .start = made_up_start,
                                          .memory = made_up_memory,
                                          .begin_epoch = made_up_begin_epoch,
                                          .next = made_up_next,
                                          .elsewhere = true,
                                          .release = made_up_release,
                                          .stop = made_up_stop,
                                          .stats = made_up_stats,
                                          .close = made_up_close};

static struct {
    int (*copy)(void *dv, uint32_t buf, const void *host, size_t n_bytes, struct dlb_err *err);
    uint32_t n;
    size_t n_bytes;
} copies;

static int watched_copy(void *dv, uint32_t buf, const void *host, size_t n_bytes,
                        struct dlb_err *err)
{
    assert_null(host);
    copies.n++;
    copies.n_bytes += n_bytes;
    return copies.copy(dv, buf, host, n_bytes, err);
}

/* The device makes its samples of as many bytes as dlbench's own batches of them have. */
static void test_a_device_is_told_what_its_steps_work_on(void **state)
{
    (void)state;
    struct dlb_augment widen = dlb_augment_widen(DLB_ELEMENT_U16, 1025);
    const struct dlb_augment none = {.kind = DLB_AUGMENT_NONE};
    const struct {
        const struct dlb_augment *augment;
        size_t n_bytes;
    } rows[] = {{&widen, N_BATCHES * N_EACH * widen.in_bytes}, {&none, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dlb_dataset dataset = {.shape.n_samples = (uint64_t)N_BATCHES * N_EACH,
                                      .max_payload_bytes = widen.in_bytes,
                                      .augment = *rows[i].augment};
        struct pipeline p = {.dataset = &dataset, .use_loader = &made_up};
        pipeline_device(&p.device);
        struct dlb_device watched = *dlb_devices[p.device.kind - 1];
        copies.copy = watched.copy;
        copies.n = 0;
        copies.n_bytes = 0;
        watched.copy = watched_copy;
        p.use_device = &watched;
        p.loader.batch_size = N_EACH;
        pipeline_run(&p);
        assert_int_equal(p.rc, DLB_OK);
        assert_int_equal(copies.n, N_BATCHES);
        assert_int_equal(copies.n_bytes, rows[i].n_bytes);
        pipeline_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_device_is_told_what_its_steps_work_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
