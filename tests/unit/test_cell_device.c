/* What a repetition asks of a real device, and in which order: the emulated one stands in for it.
 */
#include "scenarios/cell/numa.h"
#include "tests/support/cell.h"
#include "tests/support/own_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct {
    char order[16]; /* o: open, p: place, i: pin, e: end, c: close */
    const void *placed, *pinned;
    size_t placed_bytes, pinned_bytes;
    bool hangs;
} seen;

static void note(char what)
{
    size_t n = strlen(seen.order);
    assert_true(n + 1 < sizeof(seen.order));
    seen.order[n] = what;
}

static int noted_open(void *dv, const struct dlb_device_open *how, struct dlb_err *err)
{
    note('o');
    return dlb_dev_emulated.open(dv, how, err);
}

static int noted_pin(void *dv, void *host, size_t n_bytes, struct dlb_err *err)
{
    note('i');
    seen.pinned = host;
    seen.pinned_bytes = n_bytes;
    return dlb_dev_emulated.pin(dv, host, n_bytes, err);
}

static json_t *described(void *dv)
{
    (void)dv;
    return json_pack("{ss, ss}", "name", "a GPU", "pci_bus_id", "ffff:ff:1f.7");
}

static bool noted_end(void *dv)
{
    (void)dv;
    note('e');
    return !seen.hangs;
}

static void noted_close(void *dv)
{
    note('c');
    dlb_dev_emulated.close(dv);
}

/* Replaces the moving (--wrap, in CMakeLists.txt). */
json_t *__wrap_dlb_numa_place(const char *pci_bus_id, const struct dlb_memory *memory);
json_t *__wrap_dlb_numa_place(const char *pci_bus_id, const struct dlb_memory *memory)
{
    note('p');
    assert_string_equal(pci_bus_id, "ffff:ff:1f.7");
    seen.placed = memory->addr;
    seen.placed_bytes = memory->n_bytes;
    return json_object();
}

static void run(const char *kind, bool hangs, struct dlb_cell_result *out)
{
    char loader[40], workers[40];
    const char *const settings[] = {"dataset.format=synthetic",
                                    "dataset.codec=raw",
                                    "generate.samples=40",
                                    "generate.sample_bytes=1000",
                                    "loader.batch_size=10",
                                    workers,
                                    "loader.pin_memory=true",
                                    "device.step_ms=0",
                                    "run.warmup_batches=1",
                                    loader,
                                    NULL};
    (void)snprintf(loader, sizeof(loader), "loader.kind=%s", kind);
    (void)snprintf(workers, sizeof(workers), "loader.num_workers=%d", strcmp(kind, "inline") != 0);
    memset(&seen, 0, sizeof(seen));
    seen.hangs = hangs;
    own_device = dlb_dev_emulated;
    own_device.open = noted_open;
    own_device.pin = noted_pin;
    own_device.describe = described;
    own_device.end = noted_end;
    own_device.close = noted_close;
    cell_ran(settings, DLB_MODE_MEASURE, NULL, out);
    assert_ok(out);
}

/* Pinned pages do not move: what will be pinned is placed, and before that. */
static void memory_is_placed_and_then_pinned(void **state)
{
    static const char *const kinds[] = {"inline", "threads", "processes"};
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct dlb_cell_result ran;
        run(kinds[i], false, &ran);
        assert_string_equal(seen.order, "opiec");
        assert_non_null(seen.placed);
        assert_ptr_equal(seen.placed, seen.pinned);
        assert_true(seen.placed_bytes >= 10 * 1000);
        assert_int_equal(seen.placed_bytes, seen.pinned_bytes);
        assert_string_equal(ran.device.name, "a GPU");
        assert_string_equal(ran.stuck_why, "");
        dlb_cell_result_free(&ran);
    }
}

/* The result is there, and tells the caller to leave by _exit: in a process of its own. */
static void a_device_that_hangs_is_not_closed(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct dlb_cell_result ran;
        run("inline", true, &ran);
        _exit(ran.stuck_why[0] && strcmp(seen.order, "opie") == 0 ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_that_hangs_is_not_closed), /* forks: before there are threads */
        cmocka_unit_test(memory_is_placed_and_then_pinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
