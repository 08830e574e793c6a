#include "bench/live/screen.h"

#include "bench/live/restore.h"
#include "bench/live/terminal.h"
#include "bench/live/typed.h"

#ifdef DLB_HAVE_NCURSES

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>

static struct {
    SCREEN *screen; /* NULL: not opened; it stays for the process's life */
    bool failed, utf8;
    struct dlb_typed typed;
} s;

/* Bytes for the terminal, collected by tputs. */
static struct {
    char text[256];
    size_t n;
} bytes;

static int keep_byte(int byte)
{
    if (bytes.n < sizeof bytes.text)
        bytes.text[bytes.n++] = (char)byte;
    return byte;
}

static void keep(const char *capability)
{
    if (capability)
        (void)tputs(capability, 1, keep_byte);
}

bool dlb_screen_possible(void)
{
    int why = 0;
    const char *term = getenv("TERM");
    if (s.failed || !isatty(STDERR_FILENO) || dlb_terminal_shared() || !term ||
        strcmp(term, "dumb") == 0)
        return false;
    if (!cur_term && setupterm(NULL, STDERR_FILENO, &why) != OK)
        return false;
    return s.screen || (cur_term && cursor_address);
}

/* endwin() cannot be called by a signal's handler, nor in the background: the screen is always left
 * by these bytes, and ncurses is not told. Without an alternate screen the cursor goes below. */
static bool arm(void)
{
    bytes.n = 0;
    keep(exit_attribute_mode);
    keep(orig_pair);
    keep(cursor_normal);
    keep(exit_ca_mode ? exit_ca_mode : tiparm(cursor_address, 999, 0));
    return dlb_restore_arm(bytes.text, bytes.n);
}

static void take_colours(void)
{
    static const short ink[DLB_N_STYLES] = {[DLB_STYLE_GOOD] = COLOR_GREEN,
                                            [DLB_STYLE_WARN] = COLOR_YELLOW,
                                            [DLB_STYLE_BAD] = COLOR_RED};
    const char *no_color = getenv("NO_COLOR");
    if ((no_color && no_color[0]) || !has_colors() || start_color() == ERR)
        return;
    short paper = use_default_colors() == OK ? -1 : COLOR_BLACK;
    for (int i = 0; i < DLB_N_STYLES; i++)
        if (ink[i])
            (void)init_pair((short)i, ink[i], paper);
}

/* The stream is ncurses' own, so that stderr's stays as it is. It has the locale's characters.
 * ncurses' handlers are not used: SIGTSTP, SIGINT and SIGTERM have others already, and it asks for
 * the size whenever it draws. */
static bool open_screen(void)
{
    int fd = dup(STDERR_FILENO);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

    (void)setlocale(LC_CTYPE, "");
    s.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    s.typed.was_other = true; /* what was typed before was not meant for the view */
    if (!out || !arm() || !dlb_restore_hold())
        goto out;
    (void)del_curterm(cur_term); /* that of setupterm: newterm has one of its own */
    s.screen = newterm(NULL, out, stdin);
    if (!s.screen)
        goto out;
    (void)signal(SIGWINCH, SIG_DFL);
    (void)cbreak();
    (void)noecho();
    (void)nodelay(stdscr, TRUE);
    (void)curs_set(0);
    take_colours();
    return true;
out:
    dlb_restore_now();
    s.failed = true;
    if (out)
        (void)fclose(out);
    else if (fd >= 0)
        (void)close(fd);
    return false;
}

/* What ncurses believes to be there is not: it draws all of it anew. */
static bool enter_again(void)
{
    if (!dlb_restore_hold())
        return false;
    (void)reset_prog_mode();
    bytes.n = 0;
    keep(enter_ca_mode);
    keep(cursor_invisible);
    (void)!write(STDERR_FILENO, bytes.text, bytes.n);
    (void)clearok(curscr, TRUE);
    return true;
}

static bool enter(void)
{
    s.typed =
        (struct dlb_typed){.was_other = true}; /* what was typed before was not for the view */
    return s.screen ? enter_again() : !s.failed && open_screen();
}

static chtype look_of(enum dlb_style style)
{
    static const chtype look[DLB_N_STYLES] = {
        [DLB_STYLE_STRONG] = A_BOLD, [DLB_STYLE_FAINT] = A_DIM, [DLB_STYLE_BAD] = A_BOLD};
    short ink = 0, paper = 0;
    bool coloured = pair_content((short)style, &ink, &paper) == OK && ink > 0 && style > 0;
    return coloured ? (chtype)COLOR_PAIR((int)style) : look[style];
}

/* A character that the locale does not have is a question mark. */
static void draw_text(const char *text, uint32_t n)
{
    if (s.utf8) {
        (void)addnstr(text, (int)n);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            (void)addch(text[i] & 0x80 ? '?' : (chtype)text[i]);
}

/* A row that is wider than it seems (characters of two columns) is written over by the next one. */
static void draw_row(const struct dlb_frame_row *row, int at)
{
    (void)move(at, 0);
    for (uint32_t from = 0, to; from < row->n_bytes; from = to) {
        for (to = from; to < row->n_bytes && row->style[to] == row->style[from];)
            to++;
        (void)attrset((int)look_of((enum dlb_style)row->style[from]));
        draw_text(row->text + from, to - from);
    }
    (void)attrset(A_NORMAL);
    (void)clrtoeol();
}

/* Ctrl-Z waits for the end of a drawing, so that none goes on when the screen was left. */
bool dlb_screen_draw(const struct dlb_frame *frame, uint32_t n_rows, uint32_t n_columns)
{
    sigset_t one, before;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, SIGTSTP);
    (void)pthread_sigmask(SIG_BLOCK, &one, &before);
    if (dlb_restore_continued())
        dlb_screen_leave();
    bool entered = dlb_restore_holds() || enter();
    if (entered) {
        if (is_term_resized((int)n_rows, (int)n_columns))
            (void)resizeterm((int)n_rows, (int)n_columns);
        (void)erase();
        for (uint32_t i = 0; i < frame->n_rows; i++)
            draw_row(&frame->row[i], (int)i);
        (void)refresh();
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return entered;
}

bool dlb_screen_asked_to_end(void)
{
    uint32_t n_q = 0, n_other = 0;
    if (!dlb_terminal_has_keys() || !dlb_restore_holds())
        return false;
    for (int key; (key = getch()) != ERR;)
        if (key != KEY_RESIZE) /* nobody typed that */
            *(key == 'q' ? &n_q : &n_other) += 1;
    return dlb_typed_q(&s.typed, n_q, n_other);
}

void dlb_screen_leave(void)
{
    dlb_restore_now();
}

#else

bool dlb_screen_possible(void)
{
    return false;
}

bool dlb_screen_draw(const struct dlb_frame *frame, uint32_t n_rows, uint32_t n_columns)
{
    (void)frame;
    (void)n_rows;
    (void)n_columns;
    return false;
}

bool dlb_screen_asked_to_end(void)
{
    return false;
}

void dlb_screen_leave(void)
{
}

#endif
