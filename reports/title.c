#include "reports/title.h"

#include "core/base/escape.h"
#include "core/base/json.h"

#include <stdio.h>
#include <string.h>

#define BEGIN "dlbench "
#define PARTIAL " (PARTIAL"

static void put(const json_t *doc, const char *command, const char *behind, uint32_t n_columns,
                struct dlb_text *out)
{
    char line[320];

    (void)snprintf(line, sizeof line, BEGIN "%.*s: %.*s%s", DLB_CUT(command, 40),
                   DLB_CUT(dlb_text_shown(doc, "run_name"), 200), behind);
    dlb_text_fold(out, line, 0, n_columns);
}

void dlb_report_title(const json_t *doc, const char *command, uint32_t n_columns,
                      struct dlb_text *out)
{
    put(doc, command,
        dlb_json_is_true(doc, "interrupted") ? PARTIAL ": interrupted)"
        : dlb_json_is_true(doc, "partial")   ? PARTIAL ")"
                                             : "",
        n_columns, out);
}

bool dlb_report_is_of(const json_t *doc, const char *text)
{
    char command[41] = "";
    struct dlb_text title = {0};

    if (strncmp(text, BEGIN, strlen(BEGIN)) != 0)
        return false;
    const char *word = text + strlen(BEGIN);
    size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz");
    if (n == 0 || n >= sizeof command)
        return false;
    memcpy(command, word, n);
    put(doc, command, "", DLB_REPORT_TEXT_COLUMNS, &title);
    n = title.len_bytes - 1; /* without the end of the line */
    bool is = strncmp(text, title.data, n) == 0 &&
              (text[n] == '\n' || strncmp(text + n, PARTIAL, strlen(PARTIAL)) == 0);
    dlb_text_free(&title);
    return is;
}
