/* Configuration: TOML text as a file would hold it, and its lines as --set would take them. No
 * input may crash, leak or be half accepted. */
#include "tests/support/entries.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void set_lines(const uint8_t *data, size_t n_bytes)
{
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    char *text = malloc(n_bytes + 1), *rest = text;
    struct dlb_err err;

    if (!cfg || !text)
        abort();
    memcpy(text, data, n_bytes);
    text[n_bytes] = '\0';
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
        (void)dlb_config_set(cfg, line, &err);
    free(text);
    dlb_config_free(cfg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    entries_parse((const char *)data, n_bytes);
    set_lines(data, n_bytes);
    return 0;
}
