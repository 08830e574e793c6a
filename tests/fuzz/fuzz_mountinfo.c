/* /proc/self/mountinfo: any text ends, with a mount whose texts are whole, or without. */
#include "core/host/mounts.h"
#include "tests/support/memory_files.h"

#include <stdbool.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static bool measure(void *ctx, const struct dlb_mount *mount)
{
    *(size_t *)ctx += strlen(mount->device) + strlen(mount->root) + strlen(mount->point) +
                      strlen(mount->options) + strlen(mount->type) + strlen(mount->source) +
                      strlen(mount->super_options);
    return true;
}

static bool whole(const char *text, size_t n)
{
    return memchr(text, '\0', n) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const char *const paths[] = {"/", "/data/train", "/mnt/with blank"};
    static int fd = -1;
    static char path[128];
    struct dlb_mount_found found;
    size_t n_texts = 0;

    if (fd < 0) {
        fd = memory_files_new("mountinfo");
        (void)snprintf(path, sizeof path, "%s/mountinfo", memory_files_folder());
    }
    memory_files_set(fd, data, n_bytes);
    if (!dlb_mounts_each(path, measure, &n_texts) || n_texts > n_bytes)
        abort();
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (dlb_mount_of(path, paths[i], &found) &&
            (!whole(found.point, sizeof found.point) || !whole(found.type, sizeof found.type) ||
             !whole(found.source, sizeof found.source) ||
             !whole(found.options, sizeof found.options) ||
             !whole(found.device, sizeof found.device) ||
             (strlen(found.point) + 1 < sizeof found.point &&
              !dlb_path_is_below(paths[i], found.point))))
            abort();
    return 0;
}
