/* formats/keys: which keys occur again. */
#include "formats/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { N = 5000 }; /* the table grows several times */

static struct dlb_key *at(struct dlb_keys *keys, unsigned number)
{
    char key[16];
    int n = snprintf(key, sizeof key, "%u", number);
    struct dlb_err err;
    struct dlb_key *found = dlb_keys_at(keys, key, (size_t)n, "a.tar", &err);

    assert_non_null(found);
    return found;
}

static void keys_are_found_again(void **state)
{
    struct dlb_keys keys = {.slot = NULL};
    struct dlb_err err;
    (void)state;

    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < N; i++) {
            struct dlb_key *key = at(&keys, i);
            assert_int_equal(key->place, 0);
            assert_int_equal(key->fields, 0);
            key->place = i + 1;
        }
        assert_int_equal(keys.n, N);
        for (unsigned i = 0; i < N; i++)
            assert_int_equal(at(&keys, i)->place, i + 1);
        assert_int_equal(keys.n, N);
        dlb_keys_clear(&keys);
        assert_int_equal(keys.n, 0);
    }
    struct dlb_key *empty = dlb_keys_at(&keys, "", 0, "a.tar", &err);
    assert_non_null(empty);
    empty->fields = 7;
    assert_int_equal(dlb_keys_at(&keys, NULL, 0, "a.tar", &err)->fields, 7);
    dlb_keys_free(&keys);
    dlb_keys_clear(&keys);
}

/* The kernel would grant more than it has. */
static void memory_is_checked_before_it_is_taken(void **state)
{
    struct dlb_keys keys = {.n = UINT64_C(1) << 39, .cap = UINT64_C(1) << 40};
    struct dlb_err err;
    (void)state;

    assert_null(dlb_keys_at(&keys, "a", 1, "a.tar", &err));
    assert_int_equal(err.code, DLB_ERR_DATASET_EXCEEDS_MEMORY);
    assert_string_equal(err.path, "a.tar");
    assert_non_null(strstr(err.what, " 35.2 TB"));
    assert_true(keys.cap == UINT64_C(1) << 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_found_again),
        cmocka_unit_test(memory_is_checked_before_it_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
