#include "bench/experiment/result.h"

#include "bench/cli/print.h"
#include "reports/report.h"
#include "reports/watch.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define READABLE_COLUMNS 100 /* longer lines of text are hard to read */
#define PIPE_COLUMNS 160     /* wide enough for the usual columns of a table */

uint32_t dlb_result_columns(void)
{
    struct winsize size;
    const char *wanted = getenv("COLUMNS");
    unsigned long n = wanted ? strtoul(wanted, NULL, 10) : 0;
    if (!isatty(STDOUT_FILENO))
        return n >= 20 && n <= 1000 ? (uint32_t)n : PIPE_COLUMNS;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

void dlb_result_print(const json_t *doc, const char *folder, const struct dlb_args *args)
{
    const struct dlb_report *report = dlb_report_by_name(args->json ? "json" : "terminal");
    struct dlb_report_opts opts = {
        .n_columns = dlb_result_columns(), .folder = folder, .verbose = args->verbose};
    struct dlb_text text = {0};
    report->render(doc, &opts, &text);
    dlb_print_out(text.data, text.len_bytes);
    dlb_text_free(&text);
}

void dlb_result_print_pair(const json_t *const docs[2])
{
    uint32_t n = dlb_result_columns();
    struct dlb_text text = {0};
    dlb_watch_render(docs, 2, n, n < READABLE_COLUMNS ? n : READABLE_COLUMNS, &text);
    dlb_print_out(text.data, text.len_bytes);
    dlb_text_free(&text);
}
