#include "bench/live/frame.h"

#include "core/base/escape.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void dlb_frame_begin(struct dlb_frame *frame, uint32_t n_rows, uint32_t n_columns)
{
    memset(frame, 0, sizeof *frame);
    frame->n_rows = n_rows < DLB_FRAME_ROWS ? n_rows : DLB_FRAME_ROWS;
    frame->n_columns = n_columns < DLB_FRAME_BYTES ? n_columns : DLB_FRAME_BYTES - 1;
}

static struct dlb_frame_row *current(struct dlb_frame *frame)
{
    return frame->at < frame->n_rows ? &frame->row[frame->at] : NULL;
}

/* Whole characters only: a sequence of UTF-8 counts as one column. */
static void append(const struct dlb_frame *frame, struct dlb_frame_row *row, enum dlb_style style,
                   const char *text)
{
    while (*text && row->n_columns < frame->n_columns) {
        size_t n = 1;
        while (((unsigned char)text[n] & 0xc0) == 0x80)
            n++;
        if (row->n_bytes + n >= DLB_FRAME_BYTES)
            return;
        memcpy(row->text + row->n_bytes, text, n);
        memset(row->style + row->n_bytes, (int)style, n);
        row->n_bytes += (uint32_t)n;
        row->n_columns++;
        text += n;
    }
}

void dlb_frame_put(struct dlb_frame *frame, enum dlb_style style, const char *fmt, ...)
{
    char text[4 * DLB_FRAME_BYTES], shown[4 * DLB_FRAME_BYTES];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    (void)dlb_escape(text, sizeof text, DLB_ESCAPE_NAME, shown, sizeof shown);
    dlb_frame_put_escaped(frame, style, shown);
}

void dlb_frame_put_escaped(struct dlb_frame *frame, enum dlb_style style, const char *text)
{
    struct dlb_frame_row *row = current(frame);
    if (row)
        append(frame, row, style, text);
}

void dlb_frame_pad(struct dlb_frame *frame, uint32_t column)
{
    struct dlb_frame_row *row = current(frame);
    while (row && row->n_columns < column && row->n_columns < frame->n_columns)
        append(frame, row, DLB_STYLE_PLAIN, " ");
}

void dlb_frame_fill(struct dlb_frame *frame, enum dlb_style style, char with, uint32_t n)
{
    const char text[2] = {with, '\0'};
    struct dlb_frame_row *row = current(frame);
    for (uint32_t i = 0; row && i < n; i++)
        append(frame, row, style, text);
}

void dlb_frame_next(struct dlb_frame *frame)
{
    if (frame->at < frame->n_rows)
        frame->at++;
}

uint32_t dlb_frame_rows_left(const struct dlb_frame *frame)
{
    return frame->at + 1 < frame->n_rows ? frame->n_rows - frame->at - 1 : 0;
}
