/* Allocation and JSON of control code, and shared memory. */
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/shm.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Sanitizers end the process where malloc would return NULL, unless told otherwise. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void memory_is_zeroed_and_never_null(void **state)
{
    (void)state;
    uint8_t *bytes = dlb_mem_new(100);
    uint64_t *numbers = dlb_mem_array(10, sizeof *numbers);
    void *nothing = dlb_mem_new(0), *none = dlb_mem_array(0, 8);
    char *text = dlb_mem_text("abc");
    for (int i = 0; i < 100; i++)
        assert_int_equal(bytes[i], 0);
    for (uint64_t i = 0; i < 10; i++) {
        assert_int_equal(numbers[i], 0);
        numbers[i] = i;
    }
    numbers = dlb_mem_grow(numbers, 1000, sizeof *numbers);
    for (uint64_t i = 0; i < 10; i++)
        assert_int_equal(numbers[i], i);
    numbers[999] = 1;
    assert_string_equal(text, "abc");
    assert_ptr_equal(dlb_mem_check(text), text);
    free(bytes);
    free(numbers);
    free(nothing);
    free(none);
    free(text);
}

static void state_is_aligned(void **state)
{
    (void)state;
    for (size_t n = 1; n < 300; n += 37) {
        uint8_t *bytes = dlb_mem_state(n);
        assert_non_null(bytes);
        assert_int_equal((uintptr_t)bytes % 64, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(bytes[i], 0);
        free(bytes);
    }
    assert_null(dlb_mem_state(SIZE_MAX / 2)); /* reported, and the process goes on */
}

static void ask_for_too_much(int which)
{
    static char name[] = "x";
    if (which == 0)
        free(dlb_mem_new(SIZE_MAX / 2));
    else if (which == 1)
        free(dlb_mem_array(SIZE_MAX / 4, 16)); /* the product does not fit */
    else if (which == 2)
        free(dlb_mem_grow(NULL, SIZE_MAX / 4, 16));
    else if (which == 3)
        (void)dlb_mem_check(NULL);
    else if (which == 4)
        json_decref(dlb_json_made(NULL));
    else
        dlb_json_put(NULL, name, NULL);
}

static void write_mark(void *ctx)
{
    (void)!write(*(int *)ctx, "m", 1);
}

/* Exit code 3, a message on stderr that names the code, and the hook once. */
static void exhaustion_ends_the_process(void **state)
{
    (void)state;
    for (int which = 0; which < 6; which++) {
        char said[256] = "", mark[8];
        int messages[2], marks[2], status;
        assert_int_equal(pipe(messages), 0);
        assert_int_equal(pipe(marks), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            (void)dup2(messages[1], STDERR_FILENO);
            dlb_mem_at_exhaustion(write_mark, &marks[1]);
            ask_for_too_much(which);
            _exit(0);
        }
        (void)close(messages[1]);
        (void)close(marks[1]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 3);
        assert_true(read(messages[0], said, sizeof said - 1) > 0);
        assert_non_null(strstr(said, "[E_NOMEM]"));
        assert_int_equal(read(marks[0], mark, sizeof mark), 1);
        (void)close(messages[0]);
        (void)close(marks[0]);
    }
}

static void json_reads_by_type(void **state)
{
    (void)state;
    json_t *doc = json_pack("{si, sf, ss, sb, sn}", "whole", 3, "real", 0.5, "text", "words",
                            "truth", 1, "nothing");
    assert_true(dlb_json_number(doc, "whole") == 3.0 && dlb_json_number(doc, "real") == 0.5);
    assert_true(isnan(dlb_json_number(doc, "text")) && isnan(dlb_json_number(doc, "absent")));
    assert_int_equal(dlb_json_u64(doc, "whole", 7), 3);
    assert_int_equal(dlb_json_u64(doc, "real", 7), 7);
    assert_int_equal(dlb_json_u64(doc, "absent", 7), 7);
    assert_string_equal(dlb_json_text(doc, "text"), "words");
    assert_string_equal(dlb_json_text(doc, "nothing"), "");
    assert_true(dlb_json_is_true(doc, "truth"));
    assert_false(dlb_json_is_true(doc, "whole"));
    json_object_set_new(doc, "whole", json_integer(-1));
    assert_int_equal(dlb_json_u64(doc, "whole", 7), 7);
    assert_true(isnan(dlb_json_number(NULL, "whole")));
    json_decref(doc);
}

static void json_of_what_was_not_measured(void **state)
{
    (void)state;
    json_t *list = json_array();
    dlb_json_append(list, dlb_json_real_or_null(0.25));
    dlb_json_append(list, dlb_json_real_or_null((double)NAN));
    dlb_json_append(list, dlb_json_real_or_null((double)INFINITY));
    dlb_json_append(list, dlb_json_u64_or_null(5));
    dlb_json_append(list, dlb_json_u64_or_null(DLB_NOT_MEASURED));
    dlb_json_append(list, dlb_json_u64_or_null((uint64_t)INT64_MAX + 1));
    dlb_json_append(list, dlb_json_hex(0xabcu));
    char *text = json_dumps(list, JSON_COMPACT);
    assert_string_equal(text, "[0.25,null,null,5,null,null,\"0000000000000abc\"]");
    free(text);
    json_decref(list);
}

static void json_of_any_bytes(void **state)
{
    (void)state;
    json_t *good = dlb_json_safe_text("a\xc3\xa4"), *bad = dlb_json_safe_text("a\xff\xc3z\\x");
    assert_string_equal(json_string_value(good), "a\xc3\xa4");
    assert_string_equal(json_string_value(bad), "a\\xff\\xc3z\\x5cx");
    json_decref(good);
    json_decref(bad);
}

static void shm_is_zeroed_and_shared(void **state)
{
    struct dlb_shm shm;
    struct dlb_err err;
    int status;

    (void)state;
    assert_int_equal(dlb_shm_create(&shm, 3 * 4096 + 1, true, &err), DLB_OK);
    assert_true(shm.n_bytes >= 3 * 4096 + 1);
    unsigned char *bytes = shm.addr;
    for (size_t i = 0; i < shm.n_bytes; i++)
        assert_int_equal(bytes[i], 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bytes[3 * 4096] = 42;
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(bytes[3 * 4096], 42);
    dlb_shm_free(&shm);
}

static void private_shm_is_writable(void **state)
{
    struct dlb_shm shm;
    struct dlb_err err;

    (void)state;
    assert_int_equal(dlb_shm_create(&shm, 8 << 20, false, &err), DLB_OK);
    assert_int_equal((uintptr_t)shm.addr % 4096, 0);
    memset(shm.addr, 1, shm.n_bytes);
    dlb_shm_free(&shm);
}

static void too_much_shm_is_an_error(void **state)
{
    struct dlb_shm shm;
    struct dlb_err err = {0};

    (void)state;
    assert_int_not_equal(dlb_shm_create(&shm, SIZE_MAX / 2, true, &err), DLB_OK);
    assert_true(strlen(err.what) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_never_null),
        cmocka_unit_test(state_is_aligned),
        cmocka_unit_test(exhaustion_ends_the_process),
        cmocka_unit_test(json_reads_by_type),
        cmocka_unit_test(json_of_what_was_not_measured),
        cmocka_unit_test(json_of_any_bytes),
        cmocka_unit_test(shm_is_zeroed_and_shared),
        cmocka_unit_test(private_shm_is_writable),
        cmocka_unit_test(too_much_shm_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
