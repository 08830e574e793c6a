/* /proc/diskstats: any text ends, with a device's line or without. */
#include "core/host/diskstats.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    struct dlb_diskstats out = {.read_bytes = 0};
    char *text = malloc(n_bytes + 1);

    if (!text)
        abort();
    if (n_bytes)
        memcpy(text, data, n_bytes);
    text[n_bytes] = '\0';
    static const unsigned numbers[][2] = {{0, 0}, {8, 1}, {259, 0}, {254, 0}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (dlb_diskstats_find(text, numbers[i][0], numbers[i][1], &out) &&
            (!memchr(out.name, '\0', sizeof out.name) || out.name[0] == '\0' ||
             out.read_bytes % 512 != 0))
            abort();
    free(text);
    return 0;
}
