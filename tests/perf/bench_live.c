/* What the live view costs: samples/s with it and without it, in pairs.
 *
 * First the whole program in a terminal of 80 x 24 (a pty that is read all the time), with the view
 * and with --quiet, by turns. The workers spin, so that they need every CPU: whatever the view
 * takes is theirs. Then a cell in this process, whose counters (core/base/live.h) are watched by
 * nobody, against one without counters; its samples are of 64 bytes, so that most of its time is
 * the harness's own.
 *
 * $DLB_PERF_PAIRS (20) sets how many pairs. */
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/measure/stats.h"
#include "scenarios/cell/cell.h"
#include "tests/perf/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_PAIRS = 200, GAP_MS = 60 };
#define SHOULD_STAY_FRAC 0.01

static char dlbench[PATH_MAX], folder[PATH_MAX], answer[PATH_MAX + 16];

static void find_program(void)
{
    ssize_t n = readlink("/proc/self/exe", dlbench, sizeof dlbench - 1);
    char *slash;
    if (n <= 0)
        perf_die("/proc/self/exe", NULL);
    dlbench[n] = '\0';
    for (int i = 0; i < 2; i++) { /* build/perf/tests/bench_live */
        slash = strrchr(dlbench, '/');
        if (!slash)
            perf_die(dlbench, NULL);
        *slash = '\0';
    }
    (void)strncat(dlbench, "/dlbench", sizeof dlbench - strlen(dlbench) - 1);
}

static _Noreturn void become(bool view)
{
    int out = open(answer, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (out < 0 || dup2(out, STDOUT_FILENO) < 0 || setenv("TERM", "xterm-256color", 1) != 0)
        _exit(127);
    char *const argv[] = {dlbench,
                          "run",
                          "--json",
                          "--results",
                          folder,
                          "--run-name",
                          "live",
                          "--overwrite",
                          "--set",
                          "dataset.format=synthetic",
                          "--set",
                          "dataset.codec=raw",
                          "--set",
                          "generate.samples=1000000",
                          "--set",
                          "generate.sample_bytes=64",
                          "--set",
                          "loader.batch_size=32",
                          "--set",
                          "loader.num_workers=2",
                          "--set",
                          "loader.sample_spin_us=50",
                          "--set",
                          "device.step_ms=0",
                          "--set",
                          "run.repeats=1",
                          "--set",
                          "run.max_batches=4000",
                          view ? NULL : "--quiet",
                          NULL};
    (void)execv(dlbench, argv);
    _exit(127);
}

/* Reads until the program has closed the terminal. A drawing is a burst of bytes. */
static uint32_t count_drawings(int fd)
{
    char bytes[4096];
    uint64_t last_ns = 0;
    uint32_t n = 0;
    for (;;) {
        ssize_t got = read(fd, bytes, sizeof bytes);
        if (got <= 0 && errno != EINTR)
            return n;
        uint64_t now_ns = dlb_now_ns();
        n += now_ns - last_ns > GAP_MS * DLB_NS_PER_MS;
        last_ns = now_ns;
    }
}

static double rate_of(uint32_t *n_drawings, double *seconds, bool view)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    uint64_t start_ns = dlb_now_ns();
    int fd = -1, status = 0;
    pid_t pid = forkpty(&fd, NULL, NULL, &size);
    if (pid < 0)
        perf_die("forkpty", NULL);
    if (pid == 0)
        become(view);
    *n_drawings = count_drawings(fd);
    (void)waitpid(pid, &status, 0);
    (void)close(fd);
    *seconds = (double)(dlb_now_ns() - start_ns) * 1e-9;
    json_t *doc = json_load_file(answer, 0, NULL);
    const json_t *cell = json_array_get(json_object_get(doc, "cells"), 0);
    double rate = dlb_json_number(json_object_get(cell, "samples_per_s"), "median");
    json_decref(doc);
    if (status != 0 || !(rate > 0))
        perf_die(dlbench, NULL);
    return rate;
}

static void report(const char *what, const double *with, const double *without, uint32_t n)
{
    struct dlb_estimate loss = dlb_estimate_paired_loss(with, without, n);
    printf(
        "%s: %.0f samples/s with, %.0f without, by the medians; costs %+.2f%% (95%% of %u pairs: "
        "%+.2f%% to %+.2f%%; should stay below %.0f%%)\n",
        what, dlb_median(with, n), dlb_median(without, n), loss.median * 100, n, loss.low * 100,
        loss.high * 100, SHOULD_STAY_FRAC * 100);
}

static void the_view(uint32_t n)
{
    static double with[MAX_PAIRS], without[MAX_PAIRS];
    double most_per_s = 0, seconds;
    uint32_t n_drawings = 0, n_quiet = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < 2; k++) {
            if ((i + k) % 2 == 0) {
                with[i] = rate_of(&n_drawings, &seconds, true);
                most_per_s = fmax(most_per_s, n_drawings / seconds);
            } else {
                without[i] = rate_of(&n_quiet, &seconds, false);
            }
        }
    report("the view", with, without, n);
    printf("  redraws: at most %.1f a second, %u in the last run\n", most_per_s, n_drawings);
}

static double cell_rate(const struct dlb_spec *spec, struct dlb_pulse *pulse)
{
    const struct dlb_cell_watch watch = {.pulse = pulse};
    struct dlb_cell_result ran;
    dlb_cell_run(spec, DLB_MODE_MEASURE, &watch, &ran);
    double rate = dlb_cell_result_samples_per_s(&ran);
    if (!(rate > 0))
        perf_die(ran.reason, NULL);
    dlb_cell_result_free(&ran);
    return rate;
}

static void the_counters(uint32_t n)
{
    static double with[MAX_PAIRS], without[MAX_PAIRS];
    static struct dlb_pulse pulse;
    struct dlb_spec spec;
    perf_spec(&spec, (const char *[]){"dataset.format=synthetic", "dataset.codec=raw",
                                      "generate.samples=4000000", "generate.sample_bytes=64",
                                      "loader.batch_size=64", "loader.num_workers=1",
                                      "device.step_ms=0", "run.max_batches=30000", NULL});
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < 2; k++) {
            if ((i + k) % 2 == 0)
                with[i] = cell_rate(&spec, &pulse);
            else
                without[i] = cell_rate(&spec, NULL);
        }
    report("the counters", with, without, n);
}

int main(void)
{
    const char *pairs = getenv("DLB_PERF_PAIRS");
    uint32_t n = pairs ? (uint32_t)strtoul(pairs, NULL, 10) : 20;
    n = n < 1 ? 1 : n > MAX_PAIRS ? MAX_PAIRS : n;
    find_program();
    perf_folder(folder, sizeof folder);
    (void)snprintf(answer, sizeof answer, "%s/answer.json", folder);
    the_counters(n);
    the_view(n);
    return 0;
}
