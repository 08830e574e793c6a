#include "bench/cli/libraries.h"

#include "core/base/json.h"

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
    dlb_json_append(list, dlb_json_safe_text(strrchr(real, '/') + 1));
    return 0;
}

void dlb_libraries_add(json_t *environment)
{
    json_t *versions = json_object_get(environment, "versions");
    json_t *list = dlb_json_made(json_array());
#ifdef DLB_LINKED_IN
    dlb_json_append(list, dlb_json_made(json_string(DLB_LINKED_IN)));
#endif
    (void)dl_iterate_phdr(visit, list);
    if (!json_is_object(versions)) {
        versions = dlb_json_made(json_object());
        dlb_json_put(environment, "versions", versions);
    }
    dlb_json_put(versions, "jansson", dlb_json_made(json_string(jansson_version_str())));
    dlb_json_put(versions, "libraries", list);
}
