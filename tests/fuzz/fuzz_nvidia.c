/* /proc/driver/nvidia/version, and lists of numbers as in node0/distance: any text ends, with a
 * version that fits or without. */
#include "core/host/nvidia.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    struct dlb_nvidia_driver driver;
    char *text = malloc(n_bytes + 1), advice[512];
    uint32_t number;

    if (!text)
        abort();
    if (n_bytes)
        memcpy(text, data, n_bytes);
    text[n_bytes] = '\0';
    if (dlb_nvidia_driver_parse(text, &driver)) {
        if (driver.major == 0 || !memchr(driver.version, '\0', sizeof driver.version) ||
            !strstr(text, driver.version))
            abort();
        dlb_nvidia_driver_advice(&driver, 12, advice, sizeof advice);
    }
    for (uint32_t n = 0; n < 4; n++)
        (void)dlb_nth_number(text, n, &number);
    free(text);
    return 0;
}
