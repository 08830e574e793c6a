#include "bench/experiment/scratch.h"

#include "bench/experiment/names.h"
#include "core/base/remove.h"
#include "scenarios/spec/embedded.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRATCH ".cells-" /* followed by the process's number */
#define MARK ".dlbench"
#define MARK_HEAD "dlbench scratch folder\nprocess %ld\n" /* then: made, machine */
#define MEMO "memo-"                                      /* loaders/device/memo.c */
#define TRACE "trace-"                                    /* scenarios/run/trace_path.c */
#define PYTHON "python-"                                  /* loaders/torch/interpreter.c */

enum { MARK_BYTES = 512 };

void dlb_scratch_name(char *name, size_t n_name)
{
    (void)snprintf(name, n_name, SCRATCH "%ld", (long)getpid());
}

bool dlb_scratch_name_of(const char *text, char *name, size_t n_name, const char **end)
{
    long pid = dlb_process_number(text, end);
    (void)snprintf(name, n_name, SCRATCH "%ld", pid);
    return pid > 0;
}

static void mark_text(char text[MARK_BYTES], long pid, bool made)
{
    char host[256] = "";
    (void)gethostname(host, sizeof(host) - 1);
    (void)snprintf(text, MARK_BYTES, MARK_HEAD "made %d\nmachine %s\n", pid, made, host);
}

static int open_folder(int at, const char *name)
{
    return (int)TEMP_FAILURE_RETRY(
        openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/* The bytes of the mark; -1: there is none. */
static ssize_t read_mark(int scratch, char text[MARK_BYTES])
{
    struct stat st;
    int fd = (int)TEMP_FAILURE_RETRY(
        openat(scratch, MARK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    ssize_t n = -1;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size < MARK_BYTES)
        n = TEMP_FAILURE_RETRY(read(fd, text, MARK_BYTES - 1));
    if (fd >= 0)
        (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n;
}

struct seen {
    bool mark, more;
};

/* Removes nothing. */
static bool see(void *ctx, int folder, const char *name, int depth)
{
    struct seen *seen = ctx;
    (void)folder, (void)depth;
    if (strcmp(name, MARK) == 0)
        seen->mark = true;
    else
        seen->more = true;
    return false;
}

struct dlb_scratch dlb_scratch_look(int folder, const char *name)
{
    struct dlb_scratch out = {.kind = DLB_SCRATCH_NONE};
    char text[MARK_BYTES], wanted[MARK_BYTES], head[64];
    const char *end = "";
    struct seen seen = {false, false};
    long pid = strncmp(name, SCRATCH, strlen(SCRATCH)) == 0
                   ? dlb_process_number(name + strlen(SCRATCH), &end)
                   : 0;
    int fd = pid && !*end ? open_folder(folder, name) : -1;
    if (fd < 0)
        return out;
    ssize_t n = read_mark(fd, text);
    dlb_remove_entries(fd, see, &seen);
    if (!seen.more && (n == 0 || !seen.mark))
        out.kind = DLB_SCRATCH_UNMARKED;
    (void)snprintf(head, sizeof(head), MARK_HEAD, pid);
    if (n > 0 && strncmp(text, head, strlen(head)) == 0)
        out.kind = DLB_SCRATCH_ELSEWHERE;
    for (int made = 0; made < 2; made++) {
        mark_text(wanted, pid, made);
        if (n > 0 && strcmp(text, wanted) == 0) {
            out.kind = DLB_SCRATCH_HERE;
            out.made = made;
        }
    }
    out.pid = out.kind == DLB_SCRATCH_NONE ? 0 : pid;
    (void)close(fd);
    return out;
}

bool dlb_scratch_make(int folder, bool made)
{
    char name[32], text[MARK_BYTES];
    dlb_scratch_name(name, sizeof(name));
    if (mkdirat(folder, name, 0777))
        return false;
    mark_text(text, (long)getpid(), made);
    int dir = open_folder(folder, name);
    int fd = dir < 0 ? -1
                     : (int)TEMP_FAILURE_RETRY(
                           openat(dir, MARK, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    size_t n_bytes = strlen(text), done = 0;
    ssize_t n = 0;
    for (; fd >= 0 && done < n_bytes && n >= 0; done += n > 0 ? (size_t)n : 0)
        n = TEMP_FAILURE_RETRY(write(fd, text + done, n_bytes - done));
    bool ok = fd >= 0 && n >= 0;
    int code = errno;
    if (fd >= 0)
        (void)close(fd);
    if (!ok && fd >= 0)
        (void)unlinkat(dir, MARK, 0);
    if (dir >= 0)
        (void)close(dir);
    if (!ok)
        (void)unlinkat(folder, name, AT_REMOVEDIR);
    errno = code;
    return ok;
}

static bool is_memo(const char *name)
{
    size_t len = strlen(MEMO), n_digits;
    if (strncmp(name, MEMO, len) != 0)
        return false;
    n_digits = strspn(name + len, "0123456789abcdef");
    const char *end = name + len + n_digits;
    const char *process = NULL;
    char stem[32];
    (void)snprintf(stem, sizeof(stem), "%.*s", (int)(n_digits < 20 ? len + n_digits : len), name);
    return n_digits == 16 &&
           (*end == '\0' || dlb_is_temporary(name, (const char *[]){stem, NULL}, &process));
}

/* trace-BLOCK-AGAIN (scenarios/run/trace_path.h). */
static bool is_trace(const char *name)
{
    size_t len = strlen(TRACE), n_block, n_again;
    if (strncmp(name, TRACE, len) != 0)
        return false;
    n_block = strspn(name + len, "0123456789");
    const char *again = name + len + n_block;
    n_again = *again == '-' ? strspn(again + 1, "0123456789") : 0;
    return n_block > 0 && n_again > 0 && again[1 + n_again] == '\0';
}

static bool is_written_there(const char *name)
{
    static const char *const files[] = {"spec.json", "result.json", "log.txt", NULL};
    const char *process = NULL;
    bool is = is_memo(name) || is_trace(name) || dlb_is_temporary(name, files, &process);
    for (int i = 0; files[i] && !is; i++)
        is = strcmp(name, files[i]) == 0;
    for (const struct dlb_embedded *script = dlb_gap_scripts; !is && script->name; script++)
        is = strcmp(name, script->name) == 0 ||
             dlb_is_temporary(name, (const char *[]){script->name, NULL}, &process);
    return is;
}

/* In the folder that a result's is exchanged for (replace.h): the result's files, and links to the
 * user's. A file that has no other name is the user's. */
static bool goes_of_new(int folder, const char *name, const struct stat *st)
{
    if (S_ISDIR(st->st_mode)) {
        enum dlb_scratch_kind kind = dlb_scratch_look(folder, name).kind;
        return kind == DLB_SCRATCH_HERE || kind == DLB_SCRATCH_UNMARKED;
    }
    return st->st_nlink > 1 || dlb_is_result_file(name);
}

/* The folder of an interpreter, as mkdtemp(3) makes it. */
static bool is_python(const char *name, const struct stat *st)
{
    return S_ISDIR(st->st_mode) &&
           (st->st_mode & 0777) == 0700 && /* a parent may pass on its setgid bit */
           strncmp(name, PYTHON, strlen(PYTHON)) == 0 && strlen(name) == strlen(PYTHON "XXXXXX");
}

/* ctx: whether the folder at depth 1 is that of an interpreter, in which all goes. */
static bool goes(void *ctx, int folder, const char *name, int depth)
{
    struct stat st;
    bool *python = ctx;
    if (depth > 1 && *python)
        return true;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
        return false;
    if (depth == 1) {
        *python = is_python(name, &st);
        return S_ISDIR(st.st_mode) ? *python || strcmp(name, DLB_SCRATCH_NEW) == 0
                                   : is_written_there(name);
    }
    if (depth == 2)
        return goes_of_new(folder, name, &st);
    return S_ISREG(st.st_mode) && strcmp(name, MARK) == 0;
}

void dlb_scratch_remove(int folder, const char *name)
{
    struct seen left = {false, false};
    bool python = false;
    enum dlb_scratch_kind kind = dlb_scratch_look(folder, name).kind;
    int fd =
        kind == DLB_SCRATCH_HERE || kind == DLB_SCRATCH_UNMARKED ? open_folder(folder, name) : -1;
    if (fd < 0)
        return;
    if (kind == DLB_SCRATCH_HERE)
        dlb_remove_entries(fd, goes, &python);
    dlb_remove_entries(fd, see, &left);
    if (!left.more)
        (void)unlinkat(fd, MARK, 0);
    (void)close(fd);
    (void)unlinkat(folder, name, AT_REMOVEDIR); /* fails if it holds anything */
}
