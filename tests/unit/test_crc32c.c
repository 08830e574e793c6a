#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/tfrecord/crc32c.h"

#include <string.h>

/* RFC 3720, B.4, and the check value of the catalogue of CRCs. */
static void known_values(void **state)
{
    uint8_t block[32];
    (void)state;
    assert_int_equal(dlb_crc32c(0, (const uint8_t *)"123456789", 9), 0xe3069283);
    assert_int_equal(dlb_crc32c_table(0, (const uint8_t *)"123456789", 9), 0xe3069283);
    memset(block, 0, sizeof block);
    assert_int_equal(dlb_crc32c(0, block, sizeof block), 0x8a9136aa);
    memset(block, 0xff, sizeof block);
    assert_int_equal(dlb_crc32c(0, block, sizeof block), 0x62a8ab43);
    for (uint32_t i = 0; i < sizeof block; i++)
        block[i] = (uint8_t)i;
    assert_int_equal(dlb_crc32c(0, block, sizeof block), 0x46dd794e);
    assert_int_equal(dlb_crc32c(0, block, 0), 0);
}

static void table_and_instruction_agree(void **state)
{
    uint8_t data[300];
    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 131 + (i >> 3));
    for (size_t from = 0; from < 9; from++)
        for (size_t n = 0; n + from <= sizeof data; n++) {
            uint32_t whole = dlb_crc32c(0, data + from, n);
            assert_int_equal(dlb_crc32c_table(0, data + from, n), whole);
            assert_int_equal(
                dlb_crc32c(dlb_crc32c_table(0, data + from, n / 3), data + from + n / 3, n - n / 3),
                whole);
        }
}

/* As TensorFlow's crc32c_test.cc has it: masking changes it, twice is not once. */
static void mask(void **state)
{
    uint32_t crc = dlb_crc32c(0, (const uint8_t *)"foo", 3);
    (void)state;
    assert_int_not_equal(crc, dlb_crc32c_mask(crc));
    assert_int_not_equal(crc, dlb_crc32c_mask(dlb_crc32c_mask(crc)));
    assert_int_equal(dlb_crc32c_mask(0), 0xa282ead8);
    assert_int_equal(dlb_crc32c_mask(0x8000), 0xa282ead9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(table_and_instruction_agree),
        cmocka_unit_test(mask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
