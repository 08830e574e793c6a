/* Whether a path looks like a folder of sample files. */
#include "formats/codec.h"
#include "formats/files/list.h"
#include "formats/generate/manifest.h"

#include <jansson.h>
#include <string.h>

struct probe {
    bool decoded, folder, any;
};

static int probe_visit(void *ctx, const struct dlb_io_entry *entry, struct dlb_err *err)
{
    struct probe *probe = ctx;
    const char *dot = strrchr(entry->name, '.');
    const struct dlb_codec *images = dlb_codec_by_name("image"),
                           *audio = dlb_codec_by_name("audio");

    (void)err;
    if (entry->name[0] == '.')
        return DLB_OK;
    probe->folder |= entry->kind == DLB_IO_DIR;
    probe->any |= entry->kind == DLB_IO_FILE;
    probe->decoded |= entry->kind == DLB_IO_FILE && dot &&
                      (dlb_codec_takes(images, dot + 1) || dlb_codec_takes(audio, dot + 1));
    return probe->decoded ? DLB_END : DLB_OK;
}

int dlb_files_probe(const char *path, const struct dlb_io *io)
{
    struct dlb_err ignored;
    struct probe probe = {0};
    json_t *manifest = NULL;

    if (dlb_manifest_load(path, &manifest, &ignored) == DLB_OK && manifest) {
        const char *format = json_string_value(
            json_object_get(json_object_get(manifest, "params"), "dataset.format"));
        int likely = format && strcmp(format, "files") == 0 ? 100 : 0;
        json_decref(manifest);
        return likely;
    }
    int rc = io->list(path, probe_visit, &probe, &ignored);
    if (rc != DLB_OK && rc != DLB_END)
        return 0;
    return probe.decoded ? 80 : probe.folder ? 50 : probe.any ? 10 : 0;
}
