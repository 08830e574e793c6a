/* Included before each source of a worker that is built a second time, without time stamps
 * (bench_stamps): the clock stands still, nothing is counted as a stage or as a request, and all
 * names with external linkage are others. */
#ifndef DLB_TESTS_PERF_UNTIMED_H
#define DLB_TESTS_PERF_UNTIMED_H

#include "core/base/clock.h"
#include "core/base/io.h"
#include "core/measure/hist.h"
#include "core/measure/trace.h"
#include "loaders/worker/quick.h"

/* Never set: requests are not timed. */
struct dlb_untimed_watch {
    void (*request)(struct dlb_untimed_watch *watch, uint64_t ns, size_t n_bytes);
};
static _Thread_local struct dlb_untimed_watch *dlb_untimed_watch __attribute__((unused));
_Static_assert(sizeof(struct dlb_untimed_watch) == sizeof(struct dlb_io_watch),
               "both builds of a worker share its memory");

#define dlb_now_ns() UINT64_C(1)
#define dlb_hist_add(hist, value_ns) ((void)(hist), (void)(value_ns))
#define dlb_hist_share(hist, total_ns, n) ((void)(hist), (void)(total_ns))
#define dlb_quick_count(quick, hist, ns, n)                                                        \
    ((quick)->n = DLB_QUICK_MOST, (void)(hist), (void)(ns), (void)(n))
#define dlb_io_watch dlb_untimed_watch

#define dlb_worker_open dlb_untimed_worker_open
#define dlb_worker_close dlb_untimed_worker_close
#define dlb_worker_begin_epoch dlb_untimed_worker_begin_epoch
#define dlb_worker_fill dlb_untimed_worker_fill
#define dlb_filling_publish dlb_untimed_filling_publish
#define dlb_filling_note dlb_untimed_filling_note
#define dlb_many_at_once dlb_untimed_many_at_once
#define dlb_many_fill dlb_untimed_many_fill
#define dlb_ld_inline dlb_untimed_ld_inline

#endif
