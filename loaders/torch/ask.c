#include "loaders/torch/ask.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "loaders/torch/interpreter.h"

#include <stdlib.h>

#define LIMIT_S 300 /* importing from a cold disk and a first batch take minutes */

int dlb_torch_ask(const struct dlb_python_opts *python, const json_t *settings, uint64_t seed,
                  uint64_t n_samples, const char *scratch, const atomic_bool *cancel,
                  json_t **about, struct dlb_err *err)
{
    struct dlb_interpreter *interpreter = dlb_mem_new(sizeof(*interpreter));
    struct dlb_pulse limit = {.stall_ns = LIMIT_S * DLB_NS_PER_S};
    const struct dlb_interpreter_how how = {.python = python,
                                            .settings = settings,
                                            .mode = "probe",
                                            .scratch = scratch,
                                            .world = 1,
                                            .seed = seed,
                                            .n_samples = n_samples,
                                            .cancel = cancel,
                                            .quiet = true,
                                            .pulse = &limit};

    int rc = dlb_interpreter_start(interpreter, &how, err);
    *about = rc == DLB_OK ? json_incref(interpreter->link.about) : NULL;
    dlb_interpreter_close(interpreter);
    free(interpreter);
    return rc;
}
