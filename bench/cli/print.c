#include "bench/cli/print.h"

#include "bench/cli/verb.h"
#include "core/base/json.h"
#include "core/base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MAX_WIDTH 110 /* longer lines are hard to read */
#define MIN_WIDTH 50

static char out_buffer[256 * 1024];
static int out_errno;  /* of the first write to stdout that failed: stdio does not keep it */
static bool out_begun; /* stdout holds a document, or the start of one */

static struct dlb_err first_err; /* the cause; later errors follow from it */
static bool has_err;

int dlb_exit_code(enum dlb_status status)
{
    switch (status) {
    case DLB_OK:
        return DLB_EXIT_OK;
    case DLB_E_CONFIG:
    case DLB_E_MISSING:
        return DLB_EXIT_USAGE;
    case DLB_E_CANCELLED:
        return DLB_EXIT_INTERRUPTED;
    default:
        return DLB_EXIT_FAILED;
    }
}

int dlb_print_err(const struct dlb_err *err)
{
    char text[sizeof err->path + sizeof err->what + 40];

    if (!has_err)
        first_err = *err;
    has_err = true;
    dlb_say(stderr, "dlbench: %s [%s]", dlb_err_text(err, text, sizeof text),
            dlb_code_name(err->code));
    return dlb_exit_code(err->status);
}

void dlb_streams_prepare(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            /* open() takes the lowest free descriptor, which is this one. For reading only: a
             * write to a closed stdout must still fail, so that it is reported. */
            (void)open("/dev/null", O_RDONLY);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file over the size limit is an error to report */
    /* A large buffer: printf's writes then happen in flush_out, which keeps errno. */
    if (!isatty(STDOUT_FILENO))
        (void)setvbuf(stdout, out_buffer, _IOFBF, sizeof out_buffer);
}

static void flush_out(void)
{
    errno = 0;
    if (fflush(stdout) != 0 && out_errno == 0)
        out_errno = errno;
}

void dlb_print_out(const char *text, size_t n_bytes)
{
    flush_out();
    out_begun = true;
    errno = 0;
    if (fwrite(text, 1, n_bytes, stdout) < n_bytes && out_errno == 0)
        out_errno = errno;
    flush_out();
}

static bool reader_left(void)
{
    struct pollfd asked = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&asked, 1, 0) > 0 && (asked.revents & POLLERR);
}

int dlb_streams_finish(struct dlb_err *err)
{
    flush_out();
    if (!ferror(stdout))
        return DLB_OK;
    if (out_errno == EPIPE || reader_left())
        return DLB_OK;
    errno = out_errno ? out_errno : EIO; /* EIO: the reason is lost */
    return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "cannot write to standard output");
}

void dlb_print_json(const json_t *document)
{
    char *text = dlb_json_dumped(document, JSON_INDENT(2));

    dlb_print_out(text, strlen(text));
    dlb_print_out("\n", 1);
    free(text);
}

void dlb_print_error_json(void)
{
    json_t *error, *document;

    if (!has_err || out_begun)
        return;
    error = dlb_json_made(json_object());
    dlb_json_put(error, "code", json_string(dlb_code_name(first_err.code)));
    dlb_json_put(error, "text", dlb_json_safe_text(first_err.what));
    dlb_json_put(error, "path",
                 first_err.path[0] ? dlb_json_safe_text(first_err.path) : json_null());
    dlb_json_put(error, "offset", dlb_json_u64_or_null(first_err.offset_bytes));
    document = dlb_json_made(json_object());
    dlb_json_put(document, "error", error);
    dlb_print_json(document);
    json_decref(document);
}

uint32_t dlb_print_width(FILE *out)
{
    struct winsize size;

    if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col > MAX_WIDTH ? MAX_WIDTH : size.ws_col < MIN_WIDTH ? MIN_WIDTH : size.ws_col;
}

static void put_spaces(FILE *out, uint32_t n)
{
    (void)fprintf(out, "%*s", (int)n, "");
}

/* One line of the text, n_line bytes, the cursor being at `indent`. */
static void fold_line(FILE *out, const char *line, size_t n_line, uint32_t indent, uint32_t width)
{
    uint32_t column = indent;
    size_t at = 0;

    if (n_line > 0 && line[0] == ' ') { /* an example: as it stands */
        (void)fwrite(line, 1, n_line, out);
        return;
    }
    while (at < n_line) {
        size_t n_word = strcspn(line + at, " \n");
        if (column > indent && column + 1 + n_word > width) {
            (void)fputc('\n', out);
            put_spaces(out, indent);
            column = indent;
        } else if (column > indent) {
            (void)fputc(' ', out);
            column++;
        }
        (void)fwrite(line + at, 1, n_word, out);
        column += (uint32_t)n_word;
        at += n_word + 1;
    }
}

void dlb_print_folded(FILE *out, const char *text, uint32_t indent, uint32_t column, uint32_t width)
{
    if (column > 0 && column >= indent) {
        (void)fputc('\n', out);
        column = 0;
    }
    for (;;) {
        size_t n_line = strcspn(text, "\n");
        if (n_line > 0) {
            put_spaces(out, indent - column);
            fold_line(out, text, n_line, indent, width);
        }
        (void)fputc('\n', out);
        column = 0;
        if (text[n_line] == '\0')
            return;
        text += n_line + 1;
    }
}
