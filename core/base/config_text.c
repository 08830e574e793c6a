#include "core/base/config.h"

#include "core/base/escape.h"
#include "core/base/apart.h"
#include "core/base/config_said.h"
#include "core/base/config_toml.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/opt_table.h"
#include "core/base/opt_value.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PARSE_S = 10 }; /* how long the parser may be silent */

/* A file that is missing is wrong usage, not a failed run. */
static int unreadable(const char *path, struct dlb_err *err)
{
    int number = errno;
    (void)dlb_fail(err, DLB_ERR_CONFIG_UNREADABLE, path, DLB_NO_OFFSET,
                   "cannot read the configuration: %s%s", strerrordesc_np(number),
                   number == ENOENT ? "; `dlbench init PATH --write FILE` writes one" : "");
    err->sys_errno = number;
    return (int)err->status;
}

/* Reads the whole file; of one that is too large, enough for the parser to refuse it. A pipe is
 * waited for, as by any program that reads one; one that ends without a byte is refused, because
 * the program that should have written it has failed. */
static int read_text(const char *path, char **out, size_t *n_bytes, struct dlb_err *err)
{
    char *text = NULL;
    struct stat st;
    ssize_t n = 0;
    int status = DLB_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    *n_bytes = 0;
    if (fd < 0 || fstat(fd, &st) != 0) {
        status = unreadable(path, err);
        goto out;
    }
    if (S_ISDIR(st.st_mode)) {
        status = dlb_fail(err, DLB_ERR_CONFIG_UNREADABLE, path, DLB_NO_OFFSET,
                          "is a folder: --config needs a TOML file");
        goto out;
    }
    text = dlb_mem_new(DLB_TOML_MAX_BYTES + 1);
    while (*n_bytes <= DLB_TOML_MAX_BYTES &&
           ((n = read(fd, text + *n_bytes, DLB_TOML_MAX_BYTES + 1 - *n_bytes)) > 0 ||
            (n < 0 && errno == EINTR)))
        *n_bytes += n > 0 ? (size_t)n : 0;
    if (n < 0)
        status = dlb_fail_errno(err, path, DLB_NO_OFFSET, "cannot read the configuration");
    else if (*n_bytes == 0 && S_ISFIFO(st.st_mode))
        status = dlb_fail(err, DLB_ERR_CONFIG_UNREADABLE, path, DLB_NO_OFFSET,
                          "is a pipe that ended before anything was written to it");
out:
    if (fd >= 0)
        (void)close(fd);
    if (status != DLB_OK) {
        free(text);
        text = NULL;
    }
    *out = text;
    return status;
}

/* toml11 reads text that somebody else may have written. If it crashes, the text is refused. */
struct parse {
    const char *text, *name;
    size_t n_bytes;
    char *entries; /* as JSON */
    uint64_t n_entries_bytes;
};

static int parse(void *ctx, struct dlb_err *err)
{
    struct parse *p = ctx;
    json_t *entries = NULL;
    int status = dlb_toml_parse(p->text, p->n_bytes, p->name, &entries, err);
    if (status != DLB_OK)
        return status;
    p->entries = dlb_mem_check(json_dumps(entries, JSON_COMPACT));
    p->n_entries_bytes = strlen(p->entries);
    json_decref(entries);
    return DLB_OK;
}

static bool pass(void *ctx, struct dlb_pipe *pipe)
{
    struct parse *p = ctx;
    return dlb_pass(pipe, &p->n_entries_bytes, sizeof p->n_entries_bytes) &&
           dlb_pass_array(pipe, (void **)&p->entries, p->n_entries_bytes, 1);
}

/* At these bytes; where it was killed or ended in another way, they need not be the cause. */
static bool parser_crashed(const struct dlb_err *err)
{
    int signo = err->code == DLB_ERR_CHILD_CRASHED ? err->lib_code : 0;
    return signo == SIGSEGV || signo == SIGBUS || signo == SIGABRT || signo == SIGFPE ||
           signo == SIGILL;
}

/* A process that was taken over can answer anything. */
static bool are_entries(const json_t *entries)
{
    const json_t *entry;
    size_t i;

    json_array_foreach(entries, i, entry) {
        if (!json_is_string(json_object_get(entry, "key")) || !json_object_get(entry, "value") ||
            !json_is_integer(json_object_get(entry, "line")))
            return false;
    }
    return json_is_array(entries);
}

static int parse_apart(const char *text, size_t n_bytes, const char *name, json_t **entries,
                       struct dlb_err *err)
{
    struct parse p = {.text = text, .name = name, .n_bytes = n_bytes};
    struct dlb_apart how = {.path = name,
                            .who = "the TOML parser",
                            .doing = "reading it",
                            .work = parse,
                            .pass = pass,
                            .ctx = &p,
                            .sandboxed = true,
                            .patience_s = PARSE_S};
    int status = dlb_apart(&how, err);

    if (status != DLB_OK && parser_crashed(err))
        status = dlb_fail(err, DLB_ERR_CONFIG_NOT_TOML, name, DLB_NO_OFFSET,
                          "not TOML: the parser fails at it");
    if (status == DLB_OK) {
        *entries = json_loadb(p.entries, p.n_entries_bytes, JSON_ALLOW_NUL, NULL);
        if (!are_entries(*entries)) {
            json_decref(*entries);
            status = dlb_fail(err, DLB_ERR_CONFIG_NOT_TOML, name, DLB_NO_OFFSET,
                              "not TOML: the parser's answer makes no sense");
        }
    }
    free(p.entries);
    return status;
}

int dlb_config_load_text(struct dlb_config *cfg, const char *text, size_t n_bytes, const char *name,
                         struct dlb_err *err)
{
    struct dlb_said said;
    json_t *entries = NULL, *entry;
    char origin[1100];
    size_t i;
    int status = parse_apart(text, n_bytes, name, &entries, err);

    if (status != DLB_OK)
        return status;
    said = dlb_said_copy(&cfg->said);
    json_array_foreach(entries, i, entry) {
        const json_t *key = json_object_get(entry, "key");
        (void)snprintf(origin, sizeof origin, "%s:%" JSON_INTEGER_FORMAT, name,
                       json_integer_value(json_object_get(entry, "line")));
        status = strlen(json_string_value(key)) == json_string_length(key)
                     ? dlb_said_put_json(cfg, &said, json_string_value(key),
                                         json_object_get(entry, "value"), origin, err)
                     : dlb_fail(err, DLB_ERR_CONFIG_BAD_TEXT, origin, DLB_NO_OFFSET,
                                "a key holds a zero byte, behind %s", json_string_value(key));
        if (status != DLB_OK)
            break;
    }
    json_decref(entries);
    if (status == DLB_OK) {
        dlb_said_drop(&cfg->said);
        cfg->said = said;
    } else {
        dlb_said_drop(&said);
    }
    return status;
}

int dlb_config_load(struct dlb_config *cfg, const char *path, struct dlb_err *err)
{
    char *text;
    size_t n_bytes;
    int status = read_text(path, &text, &n_bytes, err);

    if (status != DLB_OK)
        return status;
    status = dlb_config_load_text(cfg, text, n_bytes, path, err);
    free(text);
    return status;
}

static int set_axis_text(struct dlb_config *cfg, const char *full_key, char *text,
                         struct dlb_err *err)
{
    const char *key = full_key + strlen(DLB_SWEEP), *origin = "--set";
    const struct dlb_opt *opt = dlb_config_find(cfg, key, NULL);
    size_t len = strlen(text);
    json_t *axis, *canonical;
    int status = DLB_OK;

    if (!opt)
        return dlb_config_unknown(cfg, full_key, origin, err);
    if (len < 2 || text[0] != '[' || text[len - 1] != ']')
        return dlb_axis_not_a_list(key, origin, err);
    axis = dlb_json_made(json_array());
    text[len - 1] = '\0';
    for (char *list = text + 1, *element; list && status == DLB_OK;) {
        element = dlb_list_trimmed(dlb_list_next(&list));
        if (*element == '\0' && !list) /* "[]" and "[1, 2,]", as in TOML */
            break;
        status = dlb_opt_from_text(opt, key, element, origin, &canonical, err);
        if (status == DLB_OK)
            status = dlb_axis_append(axis, key, canonical, origin, err);
    }
    if (status != DLB_OK) {
        json_decref(axis);
        return status;
    }
    return dlb_axis_finish(&cfg->said, key, axis, origin, err);
}

static int set_value_text(struct dlb_config *cfg, const char *key, const char *text,
                          struct dlb_err *err)
{
    const struct dlb_opt *opt = dlb_config_find(cfg, key, NULL);
    json_t *canonical;
    int status;

    if (!opt)
        return dlb_config_unknown(cfg, key, "--set", err);
    status = dlb_opt_from_text(opt, key, text, "--set", &canonical, err);
    if (status != DLB_OK)
        return status;
    status = dlb_said_put_value(&cfg->said, opt, key, canonical, "--set", err);
    if (status == DLB_OK)
        (void)json_object_del(cfg->said.axes, key); /* its origin stays: dlb_config_has tells */
    return status;
}

int dlb_config_set(struct dlb_config *cfg, const char *assignment, struct dlb_err *err)
{
    const char *equals = strchr(assignment, '=');
    char *copy, *value;
    const char *key;
    int status;

    if (!equals)
        return dlb_fail(err, DLB_ERR_CONFIG_NO_VALUE, "--set", DLB_NO_OFFSET,
                        "\"%.*s\" has no \"=\": write --set key=value", DLB_CUT(assignment, 60));
    copy = dlb_mem_text(assignment);
    copy[equals - assignment] = '\0';
    key = dlb_list_trimmed(copy);
    value = dlb_list_trimmed(copy + (equals - assignment) + 1);
    if (dlb_config_is_axis(cfg, key))
        status = set_axis_text(cfg, key, value, err);
    else
        status = set_value_text(cfg, key, value, err);
    free(copy);
    return status;
}
