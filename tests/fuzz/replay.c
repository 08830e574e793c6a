/* Runs a fuzz harness over files, without libFuzzer: every argument is a file, or a folder of
 * files. Fails when there was nothing to run, so that a corpus that was moved cannot pass for a
 * tested one. */
#include "core/base/err.h"
#include "core/base/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { MAX_INPUT_BYTES = 64 << 20 };

static int run_file(const char *path, struct dlb_err *err)
{
    char *text;
    size_t n_bytes;
    int status = dlb_read_file(path, MAX_INPUT_BYTES, &text, &n_bytes, err);
    if (status != DLB_OK)
        return status;
    /* A copy of exactly this size, so that a sanitizer sees a read past the end (dlb_read_file adds
     * a zero). */
    uint8_t *exact = malloc(n_bytes != 0 ? n_bytes : 1);
    if (exact == NULL) {
        free(text);
        return dlb_fail(err, DLB_ERR_NOMEM, path, DLB_NO_OFFSET, "no memory for %zu bytes",
                        n_bytes);
    }
    memcpy(exact, text, n_bytes);
    free(text);
    (void)LLVMFuzzerTestOneInput(exact, n_bytes);
    free(exact);
    return DLB_OK;
}

struct walk {
    const char *folder;
    uint64_t n_run;
};

static int visit(void *ctx, const struct dlb_io_entry *entry, struct dlb_err *err)
{
    struct walk *walk = ctx;
    char path[4096];
    if (entry->kind != DLB_IO_FILE)
        return DLB_OK;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", walk->folder, entry->name) >= sizeof path)
        return dlb_fail(err, DLB_ERR_IO, walk->folder, DLB_NO_OFFSET, "path is too long: %s",
                        entry->name);
    walk->n_run++;
    return run_file(path, err);
}

static int run_argument(const char *path, uint64_t *n_run, struct dlb_err *err)
{
    enum dlb_io_kind kind;
    uint64_t n_bytes;
    int status = dlb_io_posix.stat(path, &kind, &n_bytes, err);
    if (status != DLB_OK)
        return status;
    if (kind != DLB_IO_DIR) {
        ++*n_run;
        return run_file(path, err);
    }
    struct walk walk = {.folder = path};
    status = dlb_io_posix.list(path, visit, &walk, err);
    *n_run += walk.n_run;
    return status;
}

int main(int argc, char **argv)
{
    uint64_t n_run = 0;
    for (int i = 1; i < argc; i++) {
        struct dlb_err err = {0};
        if (run_argument(argv[i], &n_run, &err) != DLB_OK) {
            char text[512];
            (void)fprintf(stderr, "replay: %s\n", dlb_err_text(&err, text, sizeof text));
            return 1;
        }
    }
    if (n_run == 0) {
        (void)fprintf(stderr, "replay: no input found\n");
        return 1;
    }
    printf("replay: %llu inputs\n", (unsigned long long)n_run);
    return 0;
}
