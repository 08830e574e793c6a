#include "core/host/nvidia.h"
#include "core/host/nvml.h"

#include "core/base/clock.h"
#include "reports/load.h"
#include "reports/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void drivers_name_their_version(void **state)
{
    (void)state;
    const struct {
        const char *text, *version;
        uint32_t major;
    } known[] = {
        {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC "
         "2023\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n",
         "535.129.03", 535},
        {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  "
         "(dvs-builder@U22-I3)  Sun Jul 27 06:54:38 UTC 2025\n",
         "580.65.06", 580},
        {"NVRM version: NVIDIA UNIX aarch64 Kernel Module\t470.57  x", "470.57", 470},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct dlb_nvidia_driver driver;
        assert_true(dlb_nvidia_driver_parse(known[i].text, &driver));
        assert_string_equal(driver.version, known[i].version);
        assert_int_equal(driver.major, known[i].major);
    }
    static const char *const none[] = {
        "",
        "NVRM version:",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  unknown\nGCC version: 12.2.0",
        "GCC version: gcc version 12.2.0",
        "NVRM version: 1..2 .5 5. 12 1.2.3.4 0.1",
        "NVRM version: 11111111111111111111111111111111111.2",
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct dlb_nvidia_driver driver;
        assert_false(dlb_nvidia_driver_parse(none[i], &driver));
    }
}

static void advice_fits_what_is_there(void **state)
{
    (void)state;
    struct dlb_nvidia_driver old = {"535.129.03", 535}, new = {"580.65.06", 580};
    char text[160];
    assert_int_equal(dlb_nvidia_driver_needed(13), 580);
    assert_int_equal(dlb_nvidia_driver_needed(12), 525);
    assert_int_equal(dlb_nvidia_driver_needed(99), 0);
    dlb_nvidia_driver_advice(NULL, 13, text, sizeof text);
    assert_non_null(strstr(text, " 580 "));
    dlb_nvidia_driver_advice(&old, 13, text, sizeof text);
    assert_non_null(strstr(text, "535.129.03"));
    dlb_nvidia_driver_advice(&old, 12, text, sizeof text);
    assert_non_null(strstr(text, "container"));
    dlb_nvidia_driver_advice(&new, 13, text, sizeof text);
    assert_non_null(strstr(text, "container"));
}

static void a_gpu_has_a_device_file(void **state)
{
    char path[32];
    (void)state;
    assert_true(dlb_nvidia_device_parse("Model: \t\t NVIDIA H100\nBus Location: \t 0000:3b:00.0\n"
                                        "Device Minor: \t 3\nGPU Excluded:\t No\n",
                                        path));
    assert_string_equal(path, "/dev/nvidia3");
    static const char *const none[] = {"", "Device Minor:", "Device Minor: \t x\n",
                                       "Device Minor: 99999\n"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(dlb_nvidia_device_parse(none[i], path));
    assert_int_equal(dlb_nvidia_hold(""), -1);
    assert_int_equal(dlb_nvidia_hold("../../../../dev"), -1);
    assert_int_equal(dlb_nvidia_hold("ffff:ff:1f.7"), -1);
    struct dlb_pci_link link;
    dlb_pci_link("ffff:ff:1f.7", &link);
    assert_string_equal(link.speed, "");
    assert_int_equal(link.width_max, 0);
}

static void lists_give_their_nth_number(void **state)
{
    (void)state;
    uint32_t n = 0;
    assert_true(dlb_nth_number("10 21 31", 2, &n));
    assert_int_equal(n, 31);
    assert_false(dlb_nth_number("10 21", 2, &n));
    assert_false(dlb_nth_number("10 x", 1, &n));
    assert_false(dlb_nth_number("", 0, &n));
    assert_false(dlb_pci_numa_node("../../class", &n));
    assert_false(dlb_pci_numa_node("", &n));
}

/* Nodes 1 to 3 are offline. */
static void a_number_has_its_place(void **state)
{
    static const char list[] = "0,4-5,8";
    static const uint32_t numbers[] = {0, 4, 5, 8}, others[] = {1, 3, 6, 9};
    uint32_t place = 99;
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(dlb_place_in_list(list, numbers[i], &place));
        assert_int_equal(place, i);
        assert_false(dlb_place_in_list(list, others[i], &place));
    }
    assert_false(dlb_place_in_list("", 0, &place));
    assert_false(dlb_place_in_list("x", 0, &place));
}

static json_int_t number(const json_t *doc, const char *key)
{
    assert_true(json_is_integer(json_object_get(doc, key)));
    return json_integer_value(json_object_get(doc, key));
}

static void fits_the_schema(const json_t *nvml)
{
    struct dlb_err err;
    json_t *schema = dlb_summary_schema();
    const json_t *gpu = json_object_get(json_object_get(schema, "$defs"), "gpu");
    const json_t *part = json_object_get(json_object_get(gpu, "properties"), "nvml");
    assert_non_null(part);
    if (dlb_schema_check(part, nvml, DLB_SCHEMA_EXACT, NULL, &err))
        fail_msg("%s", err.what);
    json_decref(schema);
}

static void a_run_is_sampled(void **state)
{
    (void)state;
    assert_null(dlb_nvml_start_with("libnvidia-no-such.so", "0000:3B:00.0"));
    assert_null(dlb_nvml_start_with("libm.so.6", "0000:3B:00.0"));
    assert_null(dlb_nvml_start_with(DLB_FAKE_NVML, "0000:00:00.0"));
    assert_null(dlb_nvml_stop(NULL));
    struct dlb_nvml *nvml = dlb_nvml_start_with(DLB_FAKE_NVML, "0000:3B:00.0");
    assert_non_null(nvml);
    (void)dlb_sleep_until_ns(dlb_now_ns() + 1300 * DLB_NS_PER_MS);
    json_t *doc = dlb_nvml_stop(nvml);
    assert_non_null(doc);
    fits_the_schema(doc);
    assert_true(number(doc, "samples") >= 1);
    double busy = json_real_value(json_object_get(doc, "utilization_frac"));
    assert_true(busy > 0.8999 && busy < 0.9001);
    assert_int_equal(number(doc, "sm_clock_before_mhz"), 1980);
    assert_int_equal(number(doc, "sm_clock_after_mhz"), 1970 - 10 * number(doc, "samples"));
    assert_int_equal(number(doc, "pcie_gen"), 5);
    assert_true(json_is_null(json_object_get(doc, "pcie_width"))); /* no such function */
    assert_true(json_is_null(json_object_get(doc, "power_w")));    /* not supported */
    assert_true(fabs(json_real_value(json_object_get(doc, "power_limit_w")) - 350) < 1e-9);
    assert_true(json_is_null(json_object_get(doc, "power_limit_default_w")));
    assert_true(json_is_false(json_object_get(doc, "mig")));
    const json_t *other = json_array_get(json_object_get(doc, "other_processes"), 0);
    assert_int_equal(number(doc, "n_other_processes"), 1);
    assert_int_equal(json_array_size(json_object_get(doc, "other_processes")), 1);
    assert_int_equal(number(other, "pid"), getppid());
    assert_true(json_string_length(json_object_get(other, "name")) > 0);
    assert_true(json_is_null(json_object_get(other, "memory_bytes")));
    assert_int_equal(json_array_size(json_object_get(doc, "throttle")), 1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(doc, "throttle"), 0)),
                        "sw_power_cap");
    json_decref(doc);
}

static json_t *listed(const char *list)
{
    assert_int_equal(setenv("DLB_FAKE_LIST", list, 1), 0);
    struct dlb_nvml *nvml = dlb_nvml_start_with(DLB_FAKE_NVML, "0000:3B:00.0");
    assert_non_null(nvml);
    json_t *doc = dlb_nvml_stop(nvml);
    assert_int_equal(unsetenv("DLB_FAKE_LIST"), 0);
    fits_the_schema(doc);
    return doc;
}

/* A list that names nobody says nothing of neighbours; one on another part of the GPU is none. */
static void neighbours(void **state)
{
    (void)state;
    json_t *doc = listed("empty");
    assert_true(json_is_null(json_object_get(doc, "n_other_processes")));
    assert_true(json_is_null(json_object_get(doc, "other_processes")));
    json_decref(doc);
    doc = listed("parts");
    assert_int_equal(number(doc, "n_other_processes"), 1);
    assert_int_equal(json_array_size(json_object_get(doc, "other_processes")), 1);
    json_decref(doc);
}

/* The driver's window reaches back a second, to before the run. */
static void a_short_run_has_no_utilization(void **state)
{
    (void)state;
    struct dlb_nvml *nvml = dlb_nvml_start_with(DLB_FAKE_NVML, "0000:3B:00.0");
    assert_non_null(nvml);
    (void)dlb_sleep_until_ns(dlb_now_ns() + 350 * DLB_NS_PER_MS);
    json_t *doc = dlb_nvml_stop(nvml);
    assert_non_null(doc);
    fits_the_schema(doc);
    assert_true(number(doc, "samples") >= 1);
    assert_true(json_is_null(json_object_get(doc, "utilization_frac")));
    assert_true(json_is_null(json_object_get(doc, "memory_utilization_frac")));
    assert_int_equal(number(doc, "pcie_gen"), 5);
    json_decref(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drivers_name_their_version),
        cmocka_unit_test(advice_fits_what_is_there),
        cmocka_unit_test(a_gpu_has_a_device_file),
        cmocka_unit_test(lists_give_their_nth_number),
        cmocka_unit_test(a_number_has_its_place),
        cmocka_unit_test(a_run_is_sampled),
        cmocka_unit_test(neighbours),
        cmocka_unit_test(a_short_run_has_no_utilization),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
