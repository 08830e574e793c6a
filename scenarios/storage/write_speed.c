#include "scenarios/storage/write_speed.h"

#include "core/base/clock.h"
#include "core/base/rng.h"
#include "formats/codec.h"
#include "formats/generate/file.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)4 << 20)
#define SPEED_NS (1 * DLB_NS_PER_S)
#define SPEED_MAX_BYTES (UINT64_C(1) << 30)
#define MAKE_NS (300 * DLB_NS_PER_MS)

/* Cuts `path` to the nearest folder that exists. */
static bool nearest_folder(char *path)
{
    while (access(path, F_OK) != 0) {
        char *slash = strrchr(path, '/');
        if (!slash) {
            path[0] = '.';
            path[1] = '\0';
            return true;
        }
        if (slash == path)
            slash++;
        if (*slash == '\0') /* not even the root */
            return false;
        *slash = '\0';
    }
    return true;
}

/* Writes noise, so that compression gains nothing, and syncs, because the page cache holds the
 * last part. */
static int write_for_a_while(struct dlb_gen_file *file, double *bytes_per_s, struct dlb_err *err)
{
    uint64_t *noise = malloc(PIECE_BYTES), n_bytes = 0, start_ns = 0;
    struct dlb_rng rng = dlb_rng_seed((uint64_t)getpid(), dlb_now_ns(), 0);
    int rc = noise
                 ? DLB_OK
                 : dlb_fail(err, DLB_ERR_NOMEM, file->path, DLB_NO_OFFSET, "no memory to write it");

    for (size_t i = 0; noise && i < PIECE_BYTES / sizeof(*noise); i++)
        noise[i] = dlb_rng_u64(&rng);
    start_ns = dlb_now_ns();
    while (rc == DLB_OK && n_bytes < SPEED_MAX_BYTES && dlb_now_ns() - start_ns < SPEED_NS) {
        rc = dlb_gen_file_write(file, noise, PIECE_BYTES, err);
        n_bytes += PIECE_BYTES;
    }
    if (rc == DLB_OK && fdatasync(file->fd) != 0)
        rc = dlb_gen_fail_write(err, file->path, DLB_NO_OFFSET, "syncing to disk");
    *bytes_per_s = (double)n_bytes * 1e9 / (double)(dlb_now_ns() - start_ns);
    free(noise);
    return rc;
}

int dlb_write_speed(const char *folder, double *bytes_per_s, struct dlb_err *err)
{
    char *near = strdup(folder[0] ? folder : ".");
    struct dlb_gen_file file;
    int rc = DLB_OK;

    if (!near || !nearest_folder(near)) {
        free(near);
        return dlb_fail(err, DLB_ERR_NOMEM, folder, DLB_NO_OFFSET, "no memory for a path");
    }
    rc = dlb_gen_file_open_nameless(&file, near, err);
    if (rc == DLB_OK) {
        struct dlb_err late;
        rc = write_for_a_while(&file, bytes_per_s, err);
        (void)dlb_gen_file_finish(&file, rc, &late);
    }
    free(near);
    return rc;
}

double dlb_make_speed(const struct dlb_gen *gen)
{
    struct dlb_bytes sample = {0};
    struct dlb_err ignored;
    uint64_t n_bytes = 0, start_ns = dlb_now_ns(), now_ns = start_ns;
    int rc = DLB_OK;

    if (!gen->codec->make)
        return (double)NAN;
    for (uint64_t i = 0; rc == DLB_OK && now_ns - start_ns < MAKE_NS; i++) {
        sample.len_bytes = 0;
        rc = gen->codec->make(gen->opts, i % (uint64_t)gen->opts->samples, &sample, &ignored);
        n_bytes += sample.len_bytes;
        now_ns = dlb_now_ns();
    }
    dlb_bytes_free(&sample);
    return rc == DLB_OK ? (double)n_bytes * 1e9 / (double)(now_ns - start_ns) : (double)NAN;
}
