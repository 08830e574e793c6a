#include "core/host/procfs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void trim(char *text)
{
    size_t len = strlen(text);
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        text[--len] = '\0';
}

bool dlb_procfs_text(const char *path, char *text, size_t n_text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t got = 0;

    if (fd < 0)
        return false;
    while (used < n_text - 1) {
        got = read(fd, text + used, n_text - 1 - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    (void)close(fd);
    if (got < 0)
        return false;
    text[used] = '\0';
    trim(text);
    return true;
}

bool dlb_parse_u64(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    const char *at = text;

    for (; isdigit((unsigned char)*at); at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = 10 * value + digit;
    }
    if (at == text || (*at != '\0' && !isspace((unsigned char)*at)))
        return false;
    *out = value;
    return true;
}

bool dlb_procfs_u64(const char *path, uint64_t *out)
{
    char text[64];
    return dlb_procfs_text(path, text, sizeof text) && dlb_parse_u64(text, out);
}

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

/* Copies what follows `key` in the first line that starts with it and continues with a blank or
 * a colon. */
static bool find_line(const char *path, const char *key, char *rest, size_t n_rest)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t n_line = 0, n_key = strlen(key);
    bool found = false;

    if (!file)
        return false;
    while (!found && getline(&line, &n_line, file) > 0) {
        if (strncmp(line, key, n_key) != 0 || !strchr(" \t:", line[n_key]))
            continue;
        (void)snprintf(rest, n_rest, "%s", skip_blanks(line + n_key));
        found = true;
    }
    free(line);
    (void)fclose(file);
    return found;
}

bool dlb_procfs_field(const char *path, const char *key, uint64_t *out)
{
    char rest[128];
    return find_line(path, key, rest, sizeof rest) && dlb_parse_u64(rest, out);
}

bool dlb_procfs_value(const char *path, const char *key, char *text, size_t n_text)
{
    char rest[512];

    if (!find_line(path, key, rest, sizeof rest) || rest[0] != ':')
        return false;
    (void)snprintf(text, n_text, "%s", skip_blanks(rest + 1));
    trim(text);
    return true;
}

bool dlb_procfs_chosen(const char *path, char *word, size_t n_word)
{
    char text[256];

    if (!dlb_procfs_text(path, text, sizeof text))
        return false;
    char *open_at = strchr(text, '['), *close_at = open_at ? strchr(open_at, ']') : NULL;
    if (!close_at)
        return false;
    *close_at = '\0';
    (void)snprintf(word, n_word, "%s", open_at + 1);
    return true;
}
