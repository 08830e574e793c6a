#include "bench/verbs/hidden.h"

#include "core/base/escape.h"
#include "core/base/io.h"
#include "core/base/mem.h"
#include "scenarios/run/child.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_BYTES (1u << 20)

int dlb_hidden_flags(const struct dlb_args *args, const char *verb,
                     const struct dlb_hidden_flag *flags, struct dlb_err *err)
{
    for (int i = 0; i < args->argc; i += 2) {
        const struct dlb_hidden_flag *flag = flags;
        while (flag->name && strcmp(flag->name, args->argv[i]) != 0)
            flag++;
        if (!flag->name || i + 1 == args->argc)
            return dlb_fail(err, flag->name ? DLB_ERR_USAGE_FLAG_VALUE : DLB_ERR_USAGE_UNKNOWN_FLAG,
                            NULL, DLB_NO_OFFSET,
                            flag->name ? "%s: a value is missing after \"%.*s\""
                                       : "%s: unknown flag \"%.*s\"",
                            verb, DLB_CUT(args->argv[i], 60));
        *flag->value = args->argv[i + 1];
    }
    for (const struct dlb_hidden_flag *flag = flags; flag->name; flag++)
        if (flag->needed && !*flag->value)
            return dlb_fail(err, DLB_ERR_USAGE_MISSING_ARGUMENT, NULL, DLB_NO_OFFSET,
                            "%s: %s FILE is missing", verb, flag->name);
    return DLB_OK;
}

int dlb_hidden_read(const char *path, json_t **out, struct dlb_err *err)
{
    char *text = NULL;
    size_t n_bytes = 0;
    json_error_t why;
    int rc = dlb_read_file(path, MAX_BYTES, &text, &n_bytes, err);

    *out = NULL;
    if (rc)
        return rc;
    json_t *doc = json_loadb(text, n_bytes, 0, &why);
    free(text);
    if (!json_is_object(doc)) {
        rc = dlb_fail(err, DLB_ERR_SPEC_INVALID, path, DLB_NO_OFFSET, "is not a JSON object: %s",
                      doc ? "another type" : why.text);
        json_decref(doc);
        return rc;
    }
    *out = doc;
    return DLB_OK;
}

int dlb_hidden_write(const char *path, const json_t *doc, struct dlb_err *err)
{
    char *text = dlb_mem_check(json_dumps(dlb_mem_check((json_t *)doc), JSON_INDENT(1)));
    int rc = dlb_write_file_atomic(path, text, strlen(text), err);
    free(text);
    return rc;
}

int dlb_hidden_exit(int rc, struct dlb_err *err)
{
    int code = rc ? dlb_print_err(err) : DLB_EXIT_OK;
    return rc && err->code == DLB_ERR_NO_SPACE ? DLB_CHILD_EXIT_NO_SPACE : code;
}

void *dlb_hidden_shared(const char *fd, size_t n_bytes)
{
    void *memory =
        fd ? mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(fd), 0) : MAP_FAILED;
    return memory == MAP_FAILED ? NULL : memory;
}
