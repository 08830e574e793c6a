/* TOML composed by its grammar, so that deep states of toml11 are reached: each byte of the input
 * is a choice of the grammar, and a text of few bytes is a document. Where the bytes end, the first
 * choice is taken, which ends things. DLB_FUZZ_SHOW=1 prints the text. */
#include "tests/support/entries.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 1 << 16, MAX_LINES = 8, MAX_NESTED = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static const uint8_t *choices;
static size_t n_choices, n_text;
static char text[MAX_TEXT];
/* How far a document strays: TOML, if keys do not contradict each other; nothing that is refused
 * before toml11 sees it; or anything. */
static enum { GOOD, ODD, WILD } manner;

static unsigned choose(unsigned n)
{
    if (n_choices == 0)
        return 0;
    n_choices--;
    return *choices++ % n;
}

static void put(const char *what)
{
    size_t n = strlen(what);
    if (n <= sizeof text - n_text) {
        memcpy(text + n_text, what, n);
        n_text += n;
    }
}

static void put_byte(unsigned byte)
{
    if (n_text < sizeof text)
        text[n_text++] = (char)byte;
}

/* One of these texts; of the first n_good where all is to be TOML. */
#define ONE_OF(n_good, ...)                                                                        \
    do {                                                                                           \
        static const char *const these[] = {__VA_ARGS__};                                          \
        put(these[choose(manner == GOOD ? (n_good) : sizeof these / sizeof *these)]);              \
    } while (0)

/* Whether to leave out something that is needed. */
static bool lapses(void)
{
    return manner != GOOD && choose(24) == 23;
}

static void blanks(void)
{
    ONE_OF(4, "", " ", "\t", "  ");
}

/* Between the elements of an array, and before its end. */
static void gap(void)
{
    ONE_OF(8, "", " ", "\n", "\n  ", "# c ]\n", "\r\n", " # \"\n", "\t");
}

/* Few names, so that keys meet; and options that there are. */
static void key_part(void)
{
    ONE_OF(24, "a", "b", "c", "a", "b", "\"a\"", "'b'", "\"\"", "''", "\"a.b\"", "'a b'",
           "\"\\u0061\"", "1", "-", "1e5", "true", "inf", "dataset", "loader", "run", "sweep",
           "num_workers", "\"\xc3\xa9\"", "\"\\n\"", "\xc3\xa9", "", "\"a", "a b");
}

static void key(void)
{
    key_part();
    for (unsigned more = choose(4); more; more--) {
        ONE_OF(4, ".", ".", " . ", "\t.", "..", "");
        key_part();
    }
}

static void characters(void)
{
    for (unsigned n = choose(6); n; n--) {
        ONE_OF(12, "x", "\\n", "\\\\", "\\u00e9", "\\U0001F600", "#", "]", "\t", "\\b\\f\\r\\t",
               "[[", " = ", "\xf0\x9f\x98\x80", "\\\"", "'", "\\uD800", "\\U00110000", "\\u12",
               "\\x41", "\\e", "\\");
        if (manner == WILD)
            ONE_OF(1, "", "", "\xff", "\n", "\\\n", "\x01");
    }
}

static void string(void)
{
    static const char *const quotes[] = {"\"", "'", "\"\"\"", "\'\'\'"};
    const char *quote = quotes[choose(manner == WILD ? 4 : 2)];
    put(quote);
    characters();
    if (!lapses())
        put(quote);
}

static void number(void)
{
    ONE_OF(24, "1", "0", "-7", "+3", "1_000", "0x1F", "0xdead_beef", "0o17", "0b101", "1.5", "-0.0",
           "1e3", "6.02_2e+2_3", "inf", "-inf", "+nan", "nan", "0x7fffffffffffffff",
           "9223372036854775807", "-9223372036854775808", "1E-400", "1e400",
           "1.7976931348623157e308", "0o777", "9223372036854775808", "99999999999999999999999",
           "0xffffffffffffffff", "0o7777777777777777777777", "1__0", "_1", "1_", "0b2", "0x",
           "-0x1", "007", ".5", "5.", "1.e3", "1e",
           "0b10000000000000000000000000000000000000000000000000000000000000001");
}

static void date(void)
{
    ONE_OF(5, "1979-05-27", "1979-05-27T07:32:00Z", "1979-05-27 07:32:00.999999-07:00", "07:32:00",
           "07:32:00.5", "1979-13-40", "9999-99-99T99:99:99", "0000-00-00", "1979-05-27T",
           "1979-05-27T07:32", "24:60:61", "1979-05-27T07:32:00+99:99", "07:32:00.9999999999999",
           "-1979-05-27", "19790-05-27");
}

static void value(unsigned depth);

static void array(unsigned depth)
{
    put("[");
    for (unsigned n = (manner != WILD) + choose(5); n; n--) {
        gap();
        value(depth + 1);
        gap();
        if (n > 1 || choose(4) == 3)
            ONE_OF(1, ",", ",", ",", ",", ",,", "", ";");
    }
    gap();
    if (!lapses())
        put("]");
}

static void inline_table(unsigned depth)
{
    put("{");
    for (unsigned n = choose(4); n; n--) {
        blanks();
        key();
        ONE_OF(3, " = ", "=", "=", " =\n", "");
        value(depth + 1);
        blanks();
        if (n > 1)
            ONE_OF(1, ",", ",", ",", ",,", "\n,", "");
    }
    ONE_OF(3, "", "", " ", "\n", "# }\n", ",");
    if (!lapses())
        put("}");
}

static void value(unsigned depth)
{
    switch (choose(depth < MAX_NESTED ? 9 : 4)) {
    case 0:
        number();
        break;
    case 1:
        string();
        break;
    case 2:
        ONE_OF(2, "true", "false", "True", "truefalse", "", "a");
        break;
    case 3:
        date();
        break;
    case 4:
    case 5:
    case 6:
        array(depth);
        break;
    default:
        inline_table(depth);
        break;
    }
}

static void header(void)
{
    static const char *const brackets[][2] = {{"[", "]"},  {"[", "]"},  {"[ ", " ]"},  {"[[", "]]"},
                                              {"[[", "]"}, {"[", "]]"}, {"[ [", "] ]"}};
    const char *const *pair = brackets[choose(manner == WILD ? 7 : 3)];

    put(pair[0]);
    blanks();
    key();
    blanks();
    if (!lapses())
        put(pair[1]);
}

static void odd_line(void)
{
    ONE_OF(3, "# comment", "", "#", "[.]", "= 1", "\xef\xbb\xbf", "[", "a");
    if (manner == WILD)
        ONE_OF(1, "", "#\xff", "[]", "[[]]", "\x7f", "\r");
    for (unsigned n = manner == WILD ? choose(8) : 0; n; n--)
        put_byte(choose(256)); /* as it is */
}

static void line(void)
{
    blanks();
    switch (choose(8)) {
    case 0:
    case 1:
    case 2:
    case 3:
        key();
        ONE_OF(3, " = ", "=", "=", " ", "==");
        value(0);
        break;
    case 4:
    case 5:
    case 6:
        header();
        break;
    default:
        odd_line();
        break;
    }
    ONE_OF(6, "\n", "\n", "\n", "\r\n", " # c\n", "\n\n", " ", "", "\n ");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    choices = data;
    n_choices = n_bytes;
    n_text = 0;
    manner = (unsigned)choose(3);
    for (unsigned n = 0; n_choices > 0 && n < MAX_LINES; n++)
        line();
    if (getenv("DLB_FUZZ_SHOW"))
        printf("%.*s\n", (int)n_text, text);
    /* A copy of exactly its size, so that a read past the end is seen. */
    char *copy = malloc(n_text ? n_text : 1);
    if (!copy)
        abort();
    memcpy(copy, text, n_text);
    entries_parse(copy, n_text);
    free(copy);
    return 0;
}
