/* `files` + `raw` against open, read, close: the same files in the same order, into the same slots,
 * with as many threads. */
#include "tests/perf/files.h"
#include "tests/perf/perf.h"

#include <stdio.h>

enum { EPOCHS = 4 }; /* per call: a quarter of a second */

static void read_all(struct perf_thread *thread)
{
    const struct perf_files *files = thread->ctx;
    size_t batch = thread->batch_size;
    uint32_t slot = 0;

    for (size_t first = thread->number * batch; first < files->n; first += thread->n * batch) {
        uint8_t *dst = thread->slots + slot * thread->slot_bytes;
        size_t used = 0;
        for (size_t i = first; i < first + batch && i < files->n; i++) {
            /* One byte past the end is asked for, so that a longer file cannot pass unnoticed. */
            used += perf_file_read(&files->file[i], dst + used, thread->slot_bytes - used);
            thread->n_samples++;
        }
        thread->n_bytes += used;
        slot = (slot + 1) % thread->n_slots;
    }
}

int main(void)
{
    struct dlb_spec spec;
    struct perf_files files;
    uint32_t counts[8], n_counts = perf_thread_counts(counts);

    perf_spec(&spec, (const char *[]){"dataset.format=files", "dataset.codec=raw",
                                      "generate.samples=4096", "generate.sample_bytes=110000",
                                      "generate.classes=16", "loader.batch_size=256",
                                      "loader.prefetch_factor=2", "loader.shuffle=false",
                                      "loader.persistent_workers=true", "device.prefetch=1", NULL});
    perf_generate(&spec);
    perf_files_open(&files, spec.dataset.path);
    for (uint32_t i = 0; i < n_counts; i++) {
        spec.loader.num_workers = counts[i];
        (void)perf_match(&spec, &(struct perf_match){.name = "files + raw",
                                                     .unit = "files",
                                                     .base_name = "open/read/close",
                                                     .should_reach = 0.95,
                                                     .epochs = EPOCHS,
                                                     .body = read_all,
                                                     .ctx = &files});
    }
    perf_files_close(&files);
    return 0;
}
