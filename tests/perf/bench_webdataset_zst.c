/* `webdataset` + `raw` on .tar.zst shards, of content that shrinks to about half, against a bare
 * libarchive loop with libzstd behind it: the same shards, every member's bytes into the same
 * slots, with as many threads. */
#include "tests/perf/shards.h"

#include <stdio.h>

#if defined DLB_HAVE_LIBARCHIVE && defined DLB_HAVE_ZSTD

#include "formats/codecs/zstd.h"
#include "formats/generate/manifest.h"
#include "formats/webdataset/tar_write.h"
#include "formats/webdataset/write.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { SHARDS = 16, SHARD_SAMPLES = 128 };

/* gen's raw samples are noise, which no compression shrinks; the zstd codec's are not. */
static void write_shard(const struct dlb_spec *spec, uint32_t number)
{
    const struct dlb_codec *codec = dlb_codec_by_name("zstd");
    char *path = dlb_wds_shard_path(spec->dataset.path, number, SHARDS, DLB_TAR_ZST);
    struct dlb_unzstd unzstd = {.context = NULL};
    struct dlb_bytes frame = {.data = NULL};
    struct dlb_tar_writer writer;
    struct dlb_err err = {0};
    char name[32];

    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    if (fd < 0)
        perf_die("shard", NULL);
    if (dlb_tar_writer_open(&writer, NULL, fd, path, DLB_TAR_ZST, &err) != DLB_OK)
        perf_die("shard", &err);
    for (uint32_t i = 0; i < SHARD_SAMPLES; i++) {
        uint32_t k = number * SHARD_SAMPLES + i;
        frame.len_bytes = 0;
        if (codec->make(&spec->generate, k, &frame, &err) != DLB_OK ||
            dlb_unzstd(&unzstd, frame.data, frame.len_bytes, 0, &err) != DLB_OK)
            perf_die("sample", &err);
        (void)snprintf(name, sizeof name, "%08u.bin", k);
        if (dlb_tar_writer_add(&writer, name, unzstd.out.data, unzstd.out.len_bytes, &err) !=
            DLB_OK)
            perf_die("shard", &err);
        (void)snprintf(name, sizeof name, "%08u.cls", k);
        if (dlb_tar_writer_add(&writer, name, "1", 1, &err) != DLB_OK)
            perf_die("shard", &err);
    }
    if (dlb_tar_writer_close(&writer, &err) != DLB_OK)
        perf_die("shard", &err);
    dlb_tar_writer_abandon(&writer);
    (void)close(fd);
    dlb_unzstd_free(&unzstd);
    dlb_bytes_free(&frame);
    free(path);
}

int main(void)
{
    struct dlb_spec spec;
    uint32_t counts[8], n_counts = perf_thread_counts(counts);
    glob_t shards;
    struct perf_shards_rival rival = {"webdataset (.tar.zst) + raw", "libarchive + zstd",
                                      perf_shards_read, &shards, 0.95};

    /* One sample by gen, for the folder. */
    perf_spec(&spec, (const char *[]){"dataset.format=webdataset", "dataset.codec=raw",
                                      "generate.samples=1", "generate.sample_bytes=110000",
                                      "webdataset.compression=zst", "loader.batch_size=64",
                                      "loader.shuffle=false", "loader.persistent_workers=true",
                                      "device.prefetch=1", NULL});
    perf_generate(&spec);
    char *manifest = dlb_path_join(spec.dataset.path, DLB_MANIFEST_NAME);
    if (!manifest || unlink(manifest) != 0)
        perf_die("manifest", NULL);
    free(manifest);
    for (uint32_t i = 0; i < SHARDS; i++)
        write_shard(&spec, i);
    perf_shards_find(&shards, spec.dataset.path);
    for (uint32_t i = 0; i < n_counts; i++)
        perf_shards_compare(&spec, counts[i], &rival);
    globfree(&shards);
    return 0;
}

#else

int main(void)
{
    printf("skipped: built without libarchive or libzstd\n");
    return 0;
}

#endif
