#include "core/host/mounts.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel writes blanks, newlines and backslashes as \ooo. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from;) {
        bool octal = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
                     from[2] <= '7' && from[3] >= '0' && from[3] <= '7';
        if (octal) {
            *to++ = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

/* "36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue" (proc(5)); any
 * number of optional fields before the hyphen. */
static bool parse_line(char *line, struct dlb_mount *mount)
{
    enum { FIXED = 6 };
    char *field[FIXED], *tail[3] = {NULL};
    char *at = line, *word;
    int n_fixed = 0, n_tail = -1; /* -1: before the hyphen */

    line[strcspn(line, "\n")] = '\0';
    while ((word = strsep(&at, " ")) != NULL) {
        if (n_fixed < FIXED)
            field[n_fixed++] = word;
        else if (n_tail < 0)
            n_tail = strcmp(word, "-") == 0 ? 0 : -1;
        else if (n_tail < 3)
            tail[n_tail++] = word;
    }
    if (n_fixed < FIXED || n_tail < 2)
        return false;
    *mount = (struct dlb_mount){.device = field[2],
                                .root = field[3],
                                .point = field[4],
                                .options = field[5],
                                .type = tail[0],
                                .source = tail[1],
                                .super_options = tail[2] ? tail[2] : ""};
    unescape(field[3]);
    unescape(field[4]);
    unescape(tail[1]);
    if (tail[2])
        unescape(tail[2]);
    return true;
}

bool dlb_mounts_each(const char *mountinfo_path,
                     bool (*visit)(void *ctx, const struct dlb_mount *mount), void *ctx)
{
    FILE *file = fopen(mountinfo_path, "re");
    char *line = NULL;
    size_t n_line = 0;
    bool more = true;

    if (!file)
        return false;
    while (more && getline(&line, &n_line, file) > 0) {
        struct dlb_mount mount;
        if (parse_line(line, &mount))
            more = visit(ctx, &mount);
    }
    free(line);
    (void)fclose(file);
    return true;
}

bool dlb_path_is_below(const char *path, const char *parent)
{
    size_t len = strlen(parent);
    while (len > 0 && parent[len - 1] == '/')
        len--;
    return strncmp(path, parent, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

bool dlb_list_has(const char *list, const char *item)
{
    size_t len = strlen(item);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, item, len) == 0 && (at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

struct search {
    const char *path;
    size_t longest;
    bool found;
    struct dlb_mount_found *out;
};

static bool longest_prefix(void *ctx, const struct dlb_mount *mount)
{
    struct search *search = ctx;
    size_t len = strlen(mount->point);

    if (!dlb_path_is_below(search->path, mount->point) || (search->found && len < search->longest))
        return true;
    search->found = true;
    search->longest = len;
    struct dlb_mount_found *out = search->out;
    (void)snprintf(out->point, sizeof out->point, "%s", mount->point);
    (void)snprintf(out->type, sizeof out->type, "%s", mount->type);
    (void)snprintf(out->source, sizeof out->source, "%s", mount->source);
    (void)snprintf(out->device, sizeof out->device, "%s", mount->device);
    (void)snprintf(out->options, sizeof out->options, "%s%s%s", mount->options,
                   mount->super_options[0] ? "," : "", mount->super_options);
    return true;
}

bool dlb_mount_of(const char *mountinfo_path, const char *path, struct dlb_mount_found *out)
{
    struct search search = {.path = path, .out = out};
    return dlb_mounts_each(mountinfo_path, longest_prefix, &search) && search.found;
}
