#include "loaders/torch/interpreter.h"

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/remove.h"
#include "core/host/group.h"
#include "loaders/torch/scripts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SLICE_NS (50 * DLB_NS_PER_MS) /* longest sleep without a look at `cancel` */
#define NAME_BYTES 64                 /* of a script */
#define LOOK_NS (500 * DLB_NS_PER_MS) /* between looks for progress */
#define STAMP_WORDS 512               /* read at once */
#define LONG_WAIT_S 5                 /* is told of when it is interrupted */

static int write_scripts(struct dlb_interpreter *self, const char *scratch, struct dlb_err *err)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/python-XXXXXX", scratch) >= PATH_MAX - NAME_BYTES)
        return dlb_fail(err, DLB_ERR_SCRATCH_PATH_TOO_LONG, scratch, DLB_NO_OFFSET,
                        "a path of more than %d bytes", PATH_MAX - NAME_BYTES);
    if (!mkdtemp(path))
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "cannot make a folder");
    if (!realpath(path, self->folder)) /* the user's code may change the working folder */
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "cannot find a folder");
    return dlb_embedded_write(dlb_torch_scripts, self->folder, err);
}

static json_t *setup_of(const struct dlb_interpreter_how *how)
{
    json_t *out =
        dlb_json_made(json_pack("{ss, sI, sI, sI, sI}", "mode", how->mode, "rank",
                                (json_int_t)how->rank, "world", (json_int_t)how->world, "seed",
                                (json_int_t)how->seed, "samples", (json_int_t)how->n_samples));
    dlb_json_put(out, "settings", json_incref((json_t *)(uintptr_t)how->settings));
    if (how->trace)
        dlb_json_put(out, "trace", json_incref((json_t *)(uintptr_t)how->trace));
    return out;
}

/* Counts and nanoseconds of all stages and processes (loaders/torch/dlbench_stamps.py). */
static uint64_t sum_of_stamps(const struct dlb_interpreter *self)
{
    uint64_t words[STAMP_WORDS], sum = 0;
    uint64_t n_left = dlb_json_u64(self->link.about, "stamp_words", 0);
    char path[PATH_MAX];
    off_t at = 0;

    (void)snprintf(path, sizeof path, "%.*s/stamps", PATH_MAX - NAME_BYTES, self->folder);
    int fd = n_left > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    while (fd >= 0 && n_left > 0) {
        size_t n = n_left < STAMP_WORDS ? (size_t)n_left : STAMP_WORDS;
        ssize_t got = pread(fd, words, n * sizeof *words, at);
        for (ssize_t i = 0; i < got / (ssize_t)sizeof *words; i++)
            sum += words[i];
        at += got;
        n_left = got == (ssize_t)(n * sizeof *words) ? n_left - n : 0;
    }
    if (fd >= 0)
        (void)close(fd);
    return sum;
}

static uint64_t sum_of_use(const struct dlb_interpreter *self)
{
    struct dlb_os_process use = {0};
    uint64_t pss_bytes = 0;

    if (self->link.keeper.program > 0)
        dlb_os_group(self->link.keeper.program, &use, &pss_bytes);
    return use.utime_ns + use.stime_ns + use.read_chars;
}

/* Looks for progress, now and then, and signs the pulse for it. */
static void look(struct dlb_interpreter *self, struct dlb_pulse *pulse, uint64_t now_ns)
{
    bool imports = !self->link.about;
    uint64_t sum = 0;

    if (now_ns - self->alive.looked_ns < LOOK_NS)
        return;
    self->alive.looked_ns = now_ns;
    if (!imports)
        sum = sum_of_stamps(self);
    else if (now_ns - self->alive.start_ns < DLB_IMPORT_LIMIT_S * DLB_NS_PER_S)
        sum = sum_of_use(self);
    if (sum != 0 && sum != self->alive.sum) {
        self->alive.moved_ns = now_ns;
        dlb_pulse_sign(pulse);
    }
    self->alive.sum = sum;
}

int dlb_interpreter_patience(struct dlb_interpreter *self, const struct dlb_interpreter_how *how,
                             uint64_t since_ns, double limit_s, struct dlb_err *err)
{
    uint64_t stall_ns = how->pulse ? how->pulse->stall_ns : 0;
    uint64_t now_ns = dlb_now_ns(), waited_ns = now_ns - since_ns;

    look(self, how->pulse, now_ns);
    uint64_t silent_ns =
        self->alive.moved_ns > since_ns ? now_ns - self->alive.moved_ns : waited_ns;
    double waited_s = (double)waited_ns / (double)DLB_NS_PER_S;

    if (how->cancel && atomic_load(how->cancel) && waited_s < LONG_WAIT_S)
        return dlb_fail(err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
    if (how->cancel && atomic_load(how->cancel))
        return dlb_fail(err, DLB_ERR_PYTHON_SILENT, self->path, DLB_NO_OFFSET,
                        "interrupted, when it had not answered for %.3g s", waited_s);
    if ((limit_s <= 0 || waited_s < limit_s) && (stall_ns == 0 || silent_ns < stall_ns))
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_PYTHON_HANGS, self->path, DLB_NO_OFFSET, "no answer for %.3g s%s",
                    waited_s,
                    self->link.about /* it has been ready */
                        ? ""
                        : ": it imports your code, makes the data set, or loads a first batch");
}

int dlb_interpreter_await(struct dlb_interpreter *self, const struct dlb_interpreter_how *how,
                          uint64_t kind, uint64_t since_ns, struct dlb_link_answer *answer,
                          struct dlb_err *err)
{
    bool got = false;
    int rc = DLB_OK;

    while (rc == DLB_OK && !got) {
        rc = dlb_link_wait(&self->link, SLICE_NS, answer, &got, err);
        if (rc == DLB_OK && !got)
            rc = dlb_interpreter_patience(self, how, since_ns, 0, err);
    }
    if (rc == DLB_OK && answer->kind != kind)
        rc = dlb_fail(err, DLB_ERR_PYTHON_GARBAGE, self->path, DLB_NO_OFFSET,
                      "answer %u instead of %u", (unsigned)answer->kind, (unsigned)kind);
    return rc;
}

/* Whether the next candidate may do. */
static bool is_none(enum dlb_code code)
{
    return code == DLB_ERR_PYTHON_NO_TORCH || code == DLB_ERR_PYTHON_NOT_FOUND;
}

int dlb_interpreter_start(struct dlb_interpreter *self, const struct dlb_interpreter_how *how,
                          struct dlb_err *err)
{
    const char *given = how->python->interpreter;
    struct dlb_link_answer answer;
    char script[PATH_MAX];

    self->link.fd = -1;
    int rc = write_scripts(self, how->scratch ? how->scratch : "/tmp", err);
    if (rc != DLB_OK)
        return rc;
    json_t *setup = setup_of(how);
    (void)snprintf(script, sizeof script, "%.*s/%s", PATH_MAX - NAME_BYTES, self->folder,
                   dlb_torch_scripts[0].name);
    rc = dlb_fail(err, DLB_ERR_PYTHON_NO_TORCH, given[0] ? given : NULL, DLB_NO_OFFSET,
                  "%s: name one by python.interpreter",
                  given[0] ? "there is no such program" : "this machine has no python3");
    for (uint32_t i = 0;
         rc != DLB_OK && is_none(err->code) && dlb_python_candidate(given, i, self->path); i++) {
        dlb_link_close(&self->link);
        uint64_t start_ns = self->alive.start_ns = dlb_now_ns();
        rc = dlb_link_open(&self->link, self->path, script, how->quiet, setup, err);
        if (rc == DLB_OK)
            rc = dlb_interpreter_await(self, how, DLB_LINK_READY, start_ns, &answer, err);
    }
    json_decref(setup);
    return rc;
}

void dlb_interpreter_close(struct dlb_interpreter *self)
{
    dlb_link_close(&self->link);
    if (self->folder[0])
        dlb_remove_tree(AT_FDCWD, self->folder);
    self->folder[0] = '\0';
}
