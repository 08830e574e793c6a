#include "core/base/shell.h"

#include "core/base/escape.h"
#include "core/base/mem.h"
#include "core/base/quoted.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN                                                                                      \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=,@%+-" /* need no quotes   \
                                                                                */
#define OCTAL_BYTES 4                                                          /* of \OOO */

static bool is_plain(const char *text)
{
    return text[0] && text[strspn(text, PLAIN)] == '\0';
}

/* The bytes of the character at `at` that $'...' takes as they are; 0: it has to be written. */
static size_t as_it_is(const char *at)
{
    size_t n = dlb_utf8_bytes(at, strlen(at));
    bool special = *at == '\\' || *at == '\'';
    bool escaped = n > 0 && dlb_escape(at, n, DLB_ESCAPE_CONTROLS, NULL, 0) > n;

    return special || escaped ? 0 : n;
}

static void put_octal(char *word, const char *text)
{
    word = stpcpy(word, "$'");
    for (size_t n; *text; text += n) {
        n = as_it_is(text);
        if (n > 0) {
            memcpy(word, text, n);
            word += n;
        } else {
            n = 1;
            word += sprintf(word, "\\%03o", (unsigned)(uint8_t)*text);
        }
    }
    (void)stpcpy(word, "'");
}

static void put_quoted(char *word, const char *text)
{
    *word++ = '\'';
    for (; *text; text++)
        word = *text == '\'' ? stpcpy(word, "'\\''") : (*word = *text, word + 1);
    (void)stpcpy(word, "'");
}

char *dlb_shell_word(const char *text)
{
    size_t n = strlen(text);
    char *word = dlb_mem_array(n + 1, OCTAL_BYTES);

    if (is_plain(text))
        memcpy(word, text, n + 1);
    else if (dlb_escape(text, n, DLB_ESCAPE_NAME, NULL, 0) > n)
        put_octal(word, text);
    else
        put_quoted(word, text);
    return word;
}

char *dlb_shell_path_setting(const char *key, const char *path)
{
    size_t n = strlen(key) + strlen(path) + sizeof "=./";
    char *setting = dlb_mem_array(n, 1);

    (void)snprintf(setting, n, "%s=%s%s", key, dlb_is_quoted(path) ? "./" : "", path);
    char *word = dlb_shell_word(setting);
    free(setting);
    return word;
}
