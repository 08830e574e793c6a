/* A slow step of one rank, by LD_PRELOAD: the configuration that its runner gets from rank 0 has a
 * device.step_ms of DLB_SLOW_STEP times rank 0's. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>

#include <dlfcn.h>
#include <jansson.h>

json_t *json_loads(const char *text, size_t flags, json_error_t *error)
{
    typedef json_t *loads_fn(const char *, size_t, json_error_t *);
    loads_fn *loads = (loads_fn *)dlsym(RTLD_NEXT, "json_loads");
    json_t *doc = loads ? loads(text, flags, error) : NULL;
    json_t *config = json_object_get(doc, "config");
    const json_t *step = json_object_get(config, "device.step_ms");
    const char *times = getenv("DLB_SLOW_STEP");
    if (times && json_is_number(step))
        (void)json_object_set_new(config, "device.step_ms",
                                  json_real(json_number_value(step) * strtod(times, NULL)));
    return doc;
}
