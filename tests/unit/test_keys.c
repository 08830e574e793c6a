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
    struct dlb_key *found = dlb_keys_at(keys, key, (size_t)n);

    assert_non_null(found);
    return found;
}

static void keys_are_found_again(void **state)
{
    struct dlb_keys keys = {.slot = NULL};
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
    struct dlb_key *empty = dlb_keys_at(&keys, "", 0);
    assert_non_null(empty);
    empty->fields = 7;
    assert_int_equal(dlb_keys_at(&keys, NULL, 0)->fields, 7);
    dlb_keys_free(&keys);
    dlb_keys_clear(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keys_are_found_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
