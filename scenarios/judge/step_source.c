#include "scenarios/judge/step_source.h"

#include "core/base/mem.h"
#include "loaders/device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP "device.step_ms"
#define SOURCE "device.step_source"

/* Of "file:12" the length of the file's name. */
static size_t n_file(const char *origin)
{
    const char *colon = strrchr(origin, ':');
    return colon ? (size_t)(colon - origin) : strlen(origin);
}

static bool is_of_this_step(const struct dlb_config *cfg)
{
    const char *step = dlb_config_origin(cfg, STEP), *source = dlb_config_origin(cfg, SOURCE);
    if (strcmp(source, "--set") == 0) /* nothing is later */
        return true;
    return n_file(step) == n_file(source) && strncmp(step, source, n_file(step)) == 0;
}

static void say_origin(const char *origin, char *text, size_t n_text)
{
    static const char workload[] = "workload ";
    if (strcmp(origin, "default") == 0 || strncmp(origin, workload, sizeof workload - 1) == 0)
        (void)snprintf(text, n_text, "%s", origin);
    else
        (void)snprintf(text, n_text, "configuration (%s)", origin);
}

const char *dlb_step_source(const struct dlb_config *cfg, char *text, size_t n_text)
{
    struct dlb_device_opts *opts = dlb_mem_new(sizeof *opts);
    dlb_config_fill(cfg, &dlb_device_group, opts);
    if (json_object_get(dlb_config_axes(cfg), STEP))
        (void)snprintf(text, n_text, "swept");
    else if (opts->step_source[0] && is_of_this_step(cfg))
        (void)snprintf(text, n_text, "%s", opts->step_source);
    else
        say_origin(dlb_config_origin(cfg, STEP), text, n_text);
    free(opts);
    return text;
}
