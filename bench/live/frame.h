/* What a terminal is to show: rows of text, each byte with a style.
 *
 * Floor 5, private to the live view but for the screen that draws it. Pure. */
#ifndef DLB_BENCH_LIVE_FRAME_H
#define DLB_BENCH_LIVE_FRAME_H

#include <stdint.h>

enum dlb_style {
    DLB_STYLE_PLAIN,
    DLB_STYLE_STRONG, /* titles */
    DLB_STYLE_FAINT,  /* frames of bars, hints */
    DLB_STYLE_GOOD,   /* busy */
    DLB_STYLE_WARN,   /* blocked; below what is asked for */
    DLB_STYLE_BAD,    /* idle */
    DLB_N_STYLES
};

#define DLB_FRAME_ROWS 64
#define DLB_FRAME_BYTES 256 /* of a row, with its final zero: wider terminals have room left */

struct dlb_frame_row {
    char text[DLB_FRAME_BYTES]; /* UTF-8 without control characters */
    uint8_t style[DLB_FRAME_BYTES];
    uint32_t n_bytes, n_columns;
};

struct dlb_frame {
    uint32_t n_rows, n_columns; /* of the terminal, as far as they are used */
    uint32_t at;                /* the row that is written next; n_rows: it is full */
    struct dlb_frame_row row[DLB_FRAME_ROWS];
};

/* Empty, for a terminal of this size. */
void dlb_frame_begin(struct dlb_frame *frame, uint32_t n_rows, uint32_t n_columns);

/* Appends to the current row, up to the terminal's width. A name from outside is escaped. */
void dlb_frame_put(struct dlb_frame *frame, enum dlb_style style, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same of a text that is escaped already, such as a line of dlb_say. */
void dlb_frame_put_escaped(struct dlb_frame *frame, enum dlb_style style, const char *text);

/* Spaces up to this column. */
void dlb_frame_pad(struct dlb_frame *frame, uint32_t column);

/* Appends n cells of one character. */
void dlb_frame_fill(struct dlb_frame *frame, enum dlb_style style, char with, uint32_t n);

void dlb_frame_next(struct dlb_frame *frame);

/* Rows below the current one. */
uint32_t dlb_frame_rows_left(const struct dlb_frame *frame);

#endif
