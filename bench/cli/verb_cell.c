/* One repetition of one cell, as the runner starts it. */
#include "bench/base/io.h"
#include "bench/cli/verb.h"
#include "scenarios/cell.h"
#include "scenarios/flat.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPEC_MAX_BYTES (1u << 20)

struct cell_args {
    const char *spec, *result, *mode, *heartbeat_fd, *memo;
};

static int parse(const struct dlb_args *args, struct cell_args *out, struct dlb_err *err)
{
    const struct {
        const char *flag;
        const char **value;
    } known[] = {{"--spec", &out->spec},
                 {"--result", &out->result},
                 {"--mode", &out->mode},
                 {"--heartbeat-fd", &out->heartbeat_fd},
                 {"--memo", &out->memo}};
    const size_t n_known = sizeof(known) / sizeof(known[0]);
    for (int i = 0; i < args->argc; i += 2) {
        size_t k = 0;
        while (k < n_known && strcmp(known[k].flag, args->argv[i]) != 0)
            k++;
        if (k == n_known || i + 1 == args->argc)
            return dlb_fail(err, DLB_E_CONFIG, NULL, DLB_NO_OFFSET, "cell: \"%.60s\" is %s",
                            args->argv[i], k == n_known ? "no flag of it" : "without a value");
        *known[k].value = args->argv[i + 1];
    }
    if (!out->spec || !out->result)
        return dlb_fail(err, DLB_E_CONFIG, NULL, DLB_NO_OFFSET,
                        "cell: --spec FILE and --result FILE are needed");
    return DLB_OK;
}

static int read_spec(const char *path, struct dlb_spec *spec, struct dlb_err *err)
{
    char *text = NULL;
    size_t n_bytes = 0;
    json_error_t why;
    int rc = dlb_read_file(path, SPEC_MAX_BYTES, &text, &n_bytes, err);
    if (rc)
        return rc;
    json_t *flat = json_loadb(text, n_bytes, 0, &why);
    free(text);
    rc = json_is_object(flat)
             ? dlb_flat_spec(flat, path, spec, err)
             : dlb_fail(err, DLB_E_CONFIG, path, DLB_NO_OFFSET, "is not a JSON object: %s",
                        flat ? "another type" : why.text);
    json_decref(flat);
    return rc;
}

static _Atomic uint64_t *map_heartbeat(const char *fd)
{
    _Atomic uint64_t *beat = NULL;
    if (!fd)
        return NULL;
    beat = mmap(NULL, sizeof(*beat), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(fd), 0);
    return beat == MAP_FAILED ? NULL : beat;
}

static int write_result(const char *path, const json_t *doc, struct dlb_err *err)
{
    char *text = doc ? json_dumps(doc, JSON_INDENT(1)) : NULL;
    int rc = text ? dlb_write_file_atomic(path, text, strlen(text), err)
                  : dlb_fail(err, DLB_E_NOMEM, path, DLB_NO_OFFSET, "cell: out of memory");
    free(text);
    return rc;
}

static int run(const struct dlb_args *args)
{
    struct cell_args in = {0};
    struct dlb_spec *spec = calloc(1, sizeof(*spec));
    struct dlb_err err;
    (void)signal(SIGXFSZ, SIG_IGN);
    int rc = spec ? parse(args, &in, &err)
                  : dlb_fail(&err, DLB_E_NOMEM, NULL, DLB_NO_OFFSET, "cell: out of memory");
    if (!rc)
        rc = read_spec(in.spec, spec, &err);
    if (!rc) {
        dlb_catch_interrupts();
        struct dlb_cell_watch watch = {map_heartbeat(in.heartbeat_fd), &dlb_interrupted, in.memo};
        bool warm = in.mode && strcmp(in.mode, "warm") == 0;
        json_t *doc = dlb_cell_run(spec, warm ? DLB_MODE_WARM : DLB_MODE_MEASURE, &watch);
        bool stuck = json_is_true(json_object_get(doc, "stuck"));
        rc = write_result(in.result, doc, &err);
        if (!rc && stuck)
            _exit(DLB_EXIT_OK); /* a thread that does not come back would hold up exit() */
        json_decref(doc);
    }
    free(spec);
    return rc ? dlb_print_err(&err) : DLB_EXIT_OK;
}

const struct dlb_verb dlb_verb_cell = {
    .name = "cell",
    .summary = "One repetition of one cell: what dlbench calls itself by",
    .usage = "dlbench cell --spec FILE --result FILE [--mode measure|warm] [--heartbeat-fd N] "
             "[--memo FOLDER]",
    .details = "Reads a flat JSON configuration and writes what it measured, whatever came of it.",
    .flags = DLB_FLAG_HIDDEN,
    .run = run,
};
