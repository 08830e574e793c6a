/* The kernel's lists of CPUs, read and written. */
#include "core/host/cpulist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void lists_come_back(void **state)
{
    static const struct {
        const char *list;
        int n;
    } rows[] = {{"0", 1},           {"0-3", 4},         {"0,2,4", 3},
                {"0-15,32-47", 32}, {"7,9-10,1023", 4}, {"0-1023", 1024}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[DLB_CPULIST_TEXT];
        cpu_set_t set;
        assert_true(dlb_cpulist_parse(rows[i].list, &set));
        assert_int_equal(CPU_COUNT(&set), rows[i].n);
        dlb_cpulist_text(&set, text, sizeof text);
        assert_string_equal(text, rows[i].list);
    }
}

static void what_is_no_list(void **state)
{
    static const char *const rows[] = {"",     "x",      "-1",   "3-1",         "1-",  "1;2",
                                       "1,,2", "0-1024", "1024", "99999999999", "0, 1"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cpu_set_t set;
        assert_false(dlb_cpulist_parse(rows[i], &set));
        assert_int_equal(CPU_COUNT(&set), 0);
    }
}

static void every_other_cpu_has_room(void **state)
{
    (void)state;
    char text[DLB_CPULIST_TEXT];
    cpu_set_t set, again;
    CPU_ZERO(&set);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu += 2)
        CPU_SET(cpu, &set);
    dlb_cpulist_text(&set, text, sizeof text);
    assert_true(dlb_cpulist_parse(text, &again));
    assert_true(CPU_EQUAL(&set, &again));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_come_back),
        cmocka_unit_test(what_is_no_list),
        cmocka_unit_test(every_other_cpu_has_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
