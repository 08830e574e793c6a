#include "bench/live/screen.h"

#include "bench/live/restore.h"

#ifdef DLB_HAVE_NCURSES

#include <curses.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <unistd.h>

static struct {
    SCREEN *screen; /* NULL: not opened; it stays for the process's life */
    bool shown, failed, reads;
    char leave[256]; /* bytes that leave it */
    size_t n_leave;
} s;

/* ncurses' own stream is unbuffered by itself: this is the callback of tputs. */
static int keep_byte(int byte)
{
    if (s.n_leave < sizeof s.leave)
        s.leave[s.n_leave++] = (char)byte;
    return byte;
}

static const char *capability(const char *name)
{
    char known[8];
    (void)snprintf(known, sizeof known, "%s", name);
    const char *text = tigetstr(known);
    return text && text != (const char *)-1 ? text : NULL;
}

bool dlb_screen_possible(void)
{
    int why = 0;
    const char *term = getenv("TERM");
    if (s.failed || !isatty(STDERR_FILENO) || !term || strcmp(term, "dumb") == 0)
        return false;
    if (!cur_term && setupterm(NULL, STDERR_FILENO, &why) != OK)
        return false;
    return s.screen || capability("cup");
}

bool dlb_screen_size(uint32_t *n_rows, uint32_t *n_columns)
{
    struct winsize size;
    *n_rows = 24;
    *n_columns = 80;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
        *n_rows = size.ws_row;
        *n_columns = size.ws_col;
    }
    pid_t in_front = tcgetpgrp(STDERR_FILENO); /* -1: a terminal that controls no session of ours */
    return in_front < 0 || in_front == getpgrp();
}

/* What leaves the screen, for a signal that ends the program: nothing of ncurses may be called
 * then. */
static void keep_leave(void)
{
    static const char *const names[] = {"sgr0", "op", "cnorm", "rmkx", "rmcup"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = capability(names[i]);
        if (text)
            (void)tputs(text, 1, keep_byte);
    }
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

/* The stream is ncurses' own, so that stderr's stays as it is. It has the locale's characters. */
static bool open_screen(void)
{
    int fd = dup(STDERR_FILENO);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    (void)setlocale(LC_CTYPE, "");
    s.reads = isatty(STDIN_FILENO) == 1;
    keep_leave();
    if (!out || !dlb_restore_arm(STDERR_FILENO, s.leave, s.n_leave))
        return false;
    dlb_restore_wanted(true);
    (void)del_curterm(cur_term); /* that of setupterm: newterm has one of its own */
    s.screen = newterm(NULL, out, stdin);
    if (!s.screen)
        return false;
    /* It asks for the size whenever it draws; a handler would interrupt calls of the control
     * thread. */
    (void)signal(SIGWINCH, SIG_DFL);
    (void)cbreak();
    (void)noecho();
    (void)nodelay(stdscr, TRUE);
    (void)curs_set(0);
    take_colours();
    return true;
}

static bool enter(void)
{
    if (!s.screen && !open_screen()) {
        dlb_restore_now();
        s.failed = true;
        return false;
    }
    dlb_restore_wanted(true);
    s.shown = true;
    return true;
}

static chtype look_of(enum dlb_style style)
{
    static const chtype look[DLB_N_STYLES] = {
        [DLB_STYLE_STRONG] = A_BOLD, [DLB_STYLE_FAINT] = A_DIM, [DLB_STYLE_BAD] = A_BOLD};
    short ink = 0, paper = 0;
    bool coloured = pair_content((short)style, &ink, &paper) == OK && ink > 0 && style > 0;
    return coloured ? (chtype)COLOR_PAIR((int)style) : look[style];
}

/* A row that is wider than it seems (characters of two columns) is written over by the next one. */
static void draw_row(const struct dlb_frame_row *row, int at)
{
    (void)move(at, 0);
    for (uint32_t from = 0, to; from < row->n_bytes; from = to) {
        for (to = from; to < row->n_bytes && row->style[to] == row->style[from];)
            to++;
        (void)attrset((int)look_of((enum dlb_style)row->style[from]));
        (void)addnstr(row->text + from, (int)(to - from));
    }
    (void)attrset(A_NORMAL);
    (void)clrtoeol();
}

/* Of a terminal alone: what is piped into the program is not the screen's. */
static bool was_typed(int key)
{
    bool typed = false;
    for (int got; s.reads && (got = getch()) != ERR;)
        typed = typed || got == key;
    return typed;
}

bool dlb_screen_draw(const struct dlb_frame *frame, bool *wants_end)
{
    uint32_t n_rows, n_columns;
    if (!dlb_screen_size(&n_rows, &n_columns))
        return true;
    if (!s.shown && !enter())
        return false;
    if (is_term_resized((int)n_rows, (int)n_columns))
        (void)resizeterm((int)n_rows, (int)n_columns);
    (void)erase();
    for (uint32_t i = 0; i < frame->n_rows; i++)
        draw_row(&frame->row[i], (int)i);
    (void)refresh();
    *wants_end = was_typed('q');
    return true;
}

void dlb_screen_leave(void)
{
    if (!s.shown)
        return;
    (void)endwin();
    s.shown = false;
    dlb_restore_wanted(false);
}

#else

bool dlb_screen_possible(void)
{
    return false;
}

bool dlb_screen_size(uint32_t *n_rows, uint32_t *n_columns)
{
    *n_rows = *n_columns = 0;
    return false;
}

bool dlb_screen_draw(const struct dlb_frame *frame, bool *wants_end)
{
    (void)frame;
    *wants_end = false;
    return false;
}

void dlb_screen_leave(void)
{
}

#endif
