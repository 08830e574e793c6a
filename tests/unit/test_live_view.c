/* What the live view shows, on terminals of many sizes: no terminal is needed. */
#include "bench/live/view.h"

#include "core/base/escape.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct dlb_frame frame;

static struct dlb_view a_sweep(uint32_t n_workers)
{
    struct dlb_view view = {.title = "sweep",
                            .reads = true,
                            .text = "12 of 40  block 2 of 5: cell 3 num_workers=2, batch 120",
                            .frac = 0.31,
                            .eta_s = 130,
                            .gone_s = 83.4,
                            .measures = true,
                            .demand_per_s = 1786};
    view.rates =
        (struct dlb_rates){.samples_per_s = 655.4,
                           .idle_frac = 0.63,
                           .n_workers = n_workers,
                           .n_shown = n_workers < DLB_LIVE_WORKERS ? n_workers : DLB_LIVE_WORKERS};
    for (uint32_t i = 0; i < view.rates.n_shown; i++)
        view.rates.worker[i] = (struct dlb_rates_worker){0.25, 0.5};
    view.race = (struct dlb_view_race){
        .there = true, .n_left = 4, .n_all = 12, .probability = 0.913, .needed = 0.965};
    (void)snprintf(view.race.leader, sizeof view.race.leader, "cell 5 num_workers=4");
    return view;
}

/* The first row with this text; NULL: none. */
static const struct dlb_frame_row *row_with(const char *text)
{
    for (uint32_t i = 0; i < frame.n_rows; i++)
        if (strstr(frame.row[i].text, text))
            return &frame.row[i];
    return NULL;
}

static uint32_t count(const struct dlb_frame_row *row, char what)
{
    uint32_t n = 0;
    for (const char *at = row->text; *at; at++)
        n += *at == what;
    return n;
}

static void all_is_there_at_80_by_24(void **state)
{
    struct dlb_view view = a_sweep(4);
    (void)state;
    dlb_view_draw(&view, 24, 80, &frame);
    assert_non_null(row_with("dlbench sweep"));
    assert_non_null(row_with(" 31%  ETA 2 min 10 s"));
    assert_non_null(row_with("12 of 40  block 2 of 5: cell 3 num_workers=2, batch 120"));
    assert_non_null(row_with("4 of 12 cells"));
    assert_non_null(row_with("91.3%"));
    assert_non_null(row_with("cell 5 num_workers=4"));
    assert_non_null(row_with("655 of 1,786"));
    const struct dlb_frame_row *idle = row_with("63%");
    assert_non_null(idle);
    /* The filled part of each bar is its share. */
    double full = count(idle, '#'), empty = count(idle, '-');
    assert_true(fabs(full / (full + empty) - 0.63) < 0.02);
    assert_int_equal(idle->style[strchr(idle->text, '#') - idle->text], DLB_STYLE_BAD);
    const struct dlb_frame_row *workers = row_with("  0 [");
    assert_non_null(workers);
    assert_non_null(strstr(workers->text, "  1 ["));
    double busy = count(workers, '#'), blocked = count(workers, '='), waits = count(workers, '.');
    double all = busy + blocked + waits;
    assert_true(fabs(busy / all - 0.25) < 0.03 && fabs(blocked / all - 0.25) < 0.03);
    assert_non_null(row_with("  3 ["));
    assert_null(row_with("more"));
}

static void what_is_not_known_is_not_shown(void **state)
{
    struct dlb_view view = a_sweep(0);
    (void)state;
    view.frac = view.eta_s = view.demand_per_s = (double)NAN;
    view.rates.idle_frac = (double)NAN;
    view.race = (struct dlb_view_race){.there = false};
    dlb_view_draw(&view, 24, 80, &frame);
    assert_null(row_with("%"));
    assert_null(row_with("ETA"));
    assert_null(row_with("idle"));
    assert_null(row_with("race"));
    assert_null(row_with("workers "));
    assert_non_null(row_with("655"));
    assert_null(row_with("nan"));
    view.rates.samples_per_s = (double)NAN;
    dlb_view_draw(&view, 24, 80, &frame);
    assert_null(row_with("655"));
    assert_null(row_with("nan"));
    view.measures = false; /* gen, convert */
    dlb_view_draw(&view, 24, 80, &frame);
    assert_null(row_with("samples/s"));
}

/* Every worker has a bar, or is among those that are counted. */
static void workers_fill_the_width(void **state)
{
    struct dlb_view view = a_sweep(48);
    (void)state;
    dlb_view_draw(&view, 50, 200, &frame);
    assert_non_null(row_with(" 47 ["));
    assert_null(row_with("more"));
    assert_non_null(strstr(row_with("  0 [")->text, "  4 ["));
    dlb_view_draw(&view, 24, 80, &frame);
    uint32_t n_bars = 0, n_more = 0;
    for (uint32_t i = 0; i < frame.n_rows; i++) {
        const char *at = frame.row[i].text;
        while ((at = strstr(at, "[#######======")))
            n_bars++, at++;
    }
    const struct dlb_frame_row *more = row_with("more");
    assert_non_null(more);
    assert_int_equal(sscanf(more->text, " and %u more", &n_more), 1);
    assert_int_equal(n_bars + n_more, 48);
    assert_true(n_bars >= 20);
    view = a_sweep(300); /* beyond those that are shown */
    dlb_view_draw(&view, 50, 200, &frame);
    assert_non_null(row_with("64 of 300"));
}

static void nothing_is_wider_or_longer_than_the_terminal(void **state)
{
    struct dlb_view view = a_sweep(48);
    (void)state;
    for (uint32_t i = 0; i < 12; i++)
        dlb_view_note(&view, "a note that is longer than some of these terminals are wide, by far");
    for (uint32_t n_rows = 0; n_rows <= 80; n_rows++)
        for (uint32_t n_columns = 0; n_columns <= 300; n_columns++) {
            dlb_view_draw(&view, n_rows, n_columns, &frame);
            assert_true(frame.n_rows <= n_rows && frame.at <= frame.n_rows);
            for (uint32_t i = 0; i < frame.n_rows; i++) {
                assert_true(frame.row[i].n_columns <= n_columns);
                assert_int_equal(strlen(frame.row[i].text), frame.row[i].n_bytes);
                assert_int_equal(frame.row[i].n_bytes, frame.row[i].n_columns);
            }
        }
}

static void the_last_notes_stay(void **state)
{
    struct dlb_view view = a_sweep(2);
    char text[32];
    (void)state;
    for (int i = 0; i < 20; i++) {
        (void)snprintf(text, sizeof text, "note %d.", i);
        dlb_view_note(&view, text);
    }
    dlb_view_draw(&view, 24, 80, &frame);
    assert_non_null(row_with("note 19."));
    assert_non_null(row_with("note 12."));
    assert_null(row_with("note 11."));
    assert_true(row_with("note 18.") < row_with("note 19."));
    dlb_view_draw(&view, 14, 80, &frame); /* the newest where there is room for few */
    assert_non_null(row_with("note 19."));
}

static void names_are_inert_and_whole(void **state)
{
    struct dlb_view view = a_sweep(0);
    (void)state;
    (void)snprintf(view.text, sizeof view.text, "opening a\033[2J\n\xff \xe6\x97\xa5\xe6\x9c\xac");
    for (uint32_t n_columns = 1; n_columns < 60; n_columns++) {
        dlb_view_draw(&view, 24, n_columns, &frame);
        for (uint32_t i = 0; i < frame.n_rows; i++) {
            const char *text = frame.row[i].text;
            for (const char *at = text; *at; at++)
                assert_true((unsigned char)*at >= 0x20 && (unsigned char)*at != 0x7f);
            for (size_t at = 0, n; at < frame.row[i].n_bytes; at += n) {
                n = dlb_utf8_bytes(text + at, frame.row[i].n_bytes - at);
                assert_true(n > 0);
            }
        }
    }
    assert_non_null(row_with("\\x1b[2J\\x0a\\xff \xe6\x97\xa5\xe6\x9c\xac"));
}

static void the_end_is_announced(void **state)
{
    struct dlb_view view = a_sweep(0);
    (void)state;
    dlb_view_draw(&view, 24, 80, &frame);
    assert_non_null(row_with("q: "));
    view.ending = true;
    dlb_view_draw(&view, 24, 80, &frame);
    assert_null(row_with("q: "));
    assert_non_null(row_with("ending"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_there_at_80_by_24),
        cmocka_unit_test(what_is_not_known_is_not_shown),
        cmocka_unit_test(workers_fill_the_width),
        cmocka_unit_test(nothing_is_wider_or_longer_than_the_terminal),
        cmocka_unit_test(the_last_notes_stay),
        cmocka_unit_test(names_are_inert_and_whole),
        cmocka_unit_test(the_end_is_announced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
