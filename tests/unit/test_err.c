#include "core/base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void fail_fills_everything(void **state)
{
    char text[512];
    struct dlb_err err;

    (void)state;
    memset(&err, 0xff, sizeof err);
    assert_int_equal(dlb_fail(&err, DLB_ERR_FORMAT, "a.tar", 1024, "bad checksum %d", 7),
                     DLB_E_FORMAT);
    assert_int_equal(err.status, DLB_E_FORMAT);
    assert_int_equal(err.sys_errno, 0);
    assert_int_equal(err.lib_code, 0);
    assert_string_equal(dlb_err_text(&err, text, sizeof text), "a.tar @ 1024: bad checksum 7");
    (void)dlb_fail(&err, DLB_ERR_FORMAT, "a.tar", DLB_NO_OFFSET, "x");
    assert_string_equal(dlb_err_text(&err, text, sizeof text), "a.tar: x");
    (void)dlb_fail(&err, DLB_ERR_FORMAT, NULL, DLB_NO_OFFSET, "x");
    assert_string_equal(dlb_err_text(&err, text, sizeof text), "x");
    (void)dlb_fail(&err, DLB_ERR_FORMAT, "p", 0, "x");
    assert_string_equal(dlb_err_text(&err, text, sizeof text), "p @ 0: x");
}

static void long_texts_are_cut(void **state)
{
    char path[1000], what[1000];
    struct dlb_err err;

    (void)state;
    memset(path, 'p', sizeof path - 1);
    memcpy(path + sizeof path - 1 - 8, "/end.tar", 9);
    memset(what, 'w', sizeof what - 1);
    what[sizeof what - 1] = '\0';
    (void)dlb_fail(&err, DLB_ERR_IO, path, DLB_NO_OFFSET, "%s", what);
    assert_int_equal(strlen(err.path), sizeof err.path - 1);
    assert_memory_equal(err.path, "...p", 4);
    assert_string_equal(err.path + sizeof err.path - 1 - 8, "/end.tar");
    assert_int_equal(strlen(err.what), sizeof err.what - 1);
    assert_string_equal(err.what + sizeof err.what - 1 - 4, "w...");
}

/* At either parity of the cut, so that it falls inside a character of two bytes once. */
static void characters_are_not_cut(void **state)
{
    char text[1002] = "";
    struct dlb_err err;

    (void)state;
    for (size_t i = 0; i < 500; i++)
        memcpy(text + 2 * i, "\u00e9", 3);
    for (int odd = 0; odd < 2; odd++) {
        (void)dlb_fail(&err, DLB_ERR_IO, text, DLB_NO_OFFSET, "%s%s", odd ? "w" : "", text);
        assert_memory_equal(err.path, "...\u00e9", 5);
        assert_string_equal(err.what + strlen(err.what) - 5, "\u00e9...");
        text[1000] = 'p';
        text[1001] = '\0';
    }
}

/* One byte less than the room there is: nothing is cut. */
static void texts_that_just_fit_are_whole(void **state)
{
    char what[160], path[256];
    struct dlb_err err;

    (void)state;
    memset(what, 'w', sizeof what - 1);
    what[sizeof what - 1] = '\0';
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    (void)dlb_fail(&err, DLB_ERR_IO, path, DLB_NO_OFFSET, "%s", what);
    assert_string_equal(err.what, what);
    assert_string_equal(err.path, path);
}

static void errno_becomes_text(void **state)
{
    struct dlb_err err;

    (void)state;
    errno = ENOENT;
    assert_int_equal(dlb_fail_errno(&err, "x", DLB_NO_OFFSET, "cannot open"), DLB_E_IO);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_int_equal(err.code, DLB_ERR_NOT_FOUND);
    assert_string_equal(err.what, "cannot open: No such file or directory");
    errno = ENOMEM;
    assert_int_equal(dlb_fail_errno(&err, NULL, DLB_NO_OFFSET, "mmap"), DLB_E_NOMEM);
    static const struct {
        int number;
        enum dlb_code code;
    } codes[] = {{EACCES, DLB_ERR_PERMISSION},     {EPERM, DLB_ERR_PERMISSION},
                 {ENOSPC, DLB_ERR_NO_SPACE},       {EDQUOT, DLB_ERR_NO_SPACE},
                 {EMFILE, DLB_ERR_TOO_MANY_FILES}, {ENFILE, DLB_ERR_TOO_MANY_FILES},
                 {ENOTDIR, DLB_ERR_NOT_A_FOLDER},  {EISDIR, DLB_ERR_IS_A_FOLDER},
                 {ENOMEM, DLB_ERR_NOMEM},          {EIO, DLB_ERR_IO}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        errno = codes[i].number;
        assert_int_equal(dlb_fail_errno(&err, "x", 7, "reading"), dlb_code_status(codes[i].code));
        assert_int_equal(err.code, codes[i].code);
        assert_int_equal(err.sys_errno, codes[i].number);
        assert_int_equal(err.offset_bytes, 7);
    }
}

/* Scripts compare names, so no two codes share one, and each is looked up again by it. */
static void codes_have_names_and_texts(void **state)
{
    (void)state;
    for (int i = 0; i < DLB_N_CODES; i++) {
        enum dlb_code code = (enum dlb_code)i;
        const char *name = dlb_code_name(code), *text = dlb_code_text(code);
        enum dlb_status status = dlb_code_status(code);
        assert_int_equal(strncmp(name, "E_", 2), 0);
        assert_int_equal(strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"), strlen(name));
        assert_int_equal(dlb_code_by_name(name),
                         i); /* the first of that name: it is the only one */
        assert_true(strlen(text) > 10 && text[strlen(text) - 1] != '.');
        assert_true(status > DLB_END && status <= DLB_E_CANCELLED);
    }
    assert_string_equal(dlb_code_name(DLB_ERR_NOT_FOUND), "E_NOT_FOUND");
    assert_int_equal(dlb_code_by_name("E_NO_SUCH_CODE"), DLB_N_CODES);
    assert_int_equal(dlb_code_by_name(""), DLB_N_CODES);
    assert_string_equal(dlb_code_name(DLB_N_CODES), "E_?");
    assert_string_equal(dlb_code_text(DLB_N_CODES), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail_fills_everything),  cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(characters_are_not_cut), cmocka_unit_test(texts_that_just_fit_are_whole),
        cmocka_unit_test(errno_becomes_text),     cmocka_unit_test(codes_have_names_and_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
