#include "bench/cli/libraries.h"

#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

static int visit(struct dl_phdr_info *info, size_t size, void *list)
{
    char real[PATH_MAX];
    (void)size;
    if (!info->dlpi_name || !strchr(info->dlpi_name, '/') || !realpath(info->dlpi_name, real))
        return 0; /* the program itself, the kernel's vdso */
    const char *name = strrchr(real, '/') + 1;
    json_t *text = json_string(name);
    if (text) /* a name that is no UTF-8 is none of ours */
        (void)json_array_append_new(list, text);
    return 0;
}

bool dlb_libraries_add(json_t *environment)
{
    json_t *versions = json_object_get(environment, "versions");
    json_t *list = json_array();
    if (!list)
        return false;
    (void)dl_iterate_phdr(visit, list);
    if (!json_is_object(versions)) {
        versions = json_object();
        if (json_object_set_new(environment, "versions", versions)) {
            json_decref(list);
            return false;
        }
    }
    return json_object_set_new(versions, "jansson", json_string(jansson_version_str())) == 0 &&
           json_object_set_new(versions, "libraries", list) == 0;
}
