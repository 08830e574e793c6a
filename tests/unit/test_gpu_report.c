/* What reports say of a real GPU, from documents: no GPU is needed. */
#include "reports/findings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static json_t *document(const char *gpu, double idle)
{
    json_t *doc = json_pack("{ss, ss, s{ss, si, si}, s{ss, ss, ss, so}, si, s[{s{sf}}]}", "command",
                            "run", "run_name", "r", "dataset", "format", "files", "samples", 1,
                            "bytes", 1, "device", "kind", "cuda", "name", "NVIDIA H100", "why",
                            "auto", "gpu", json_loads(gpu, JSON_DECODE_ANY, NULL), "best_cell", 0,
                            "cells", "gpu_idle_frac", "median", idle);
    assert_non_null(doc);
    return doc;
}

static void check(const char *gpu, double idle, const char *says, const char *says_not)
{
    json_t *doc = document(gpu, idle);
    struct dlb_text out = {0};
    dlb_findings_head(doc, 0, &out);
    assert_non_null(out.data);
    if (says)
        assert_non_null(strstr(out.data, says));
    if (says_not)
        assert_null(strstr(out.data, says_not));
    dlb_text_free(&out);
    json_decref(doc);
}

static void what_nvidia_smi_would_have_said(void **state)
{
    (void)state;
    const char *full = "{\"driver\": \"580.65.06\", \"runtime_cuda\": \"13.0\", \"nvml\": "
                       "{\"utilization_frac\": 0.97, \"pcie_gen\": 5, \"pcie_width\": 16, "
                       "\"throttle\": [\"sw_power_cap\", \"sync_boost\"]}}";
    check(full, 0.38, " 97%, above ", NULL);
    check(full, 0.38, " 62.0% ", NULL);
    check(full, 0.38, "580.65.06, CUDA 13.0, PCIe gen 5 x16", NULL);
    check(full, 0.38, " sw_power_cap, sync_boost", NULL);
    check("{\"driver\": \"1\", \"nvml\": {\"utilization_frac\": 0.5}}", 0.5, " 50%, under", "PCIe");
    check("{\"driver\": \"1\", \"numa\": {\"node\": 1, \"distance\": 21, \"bound\": true}}", 0.5,
          "node 1 (distance 21)", NULL);
    check("{\"driver\": \"1\", \"numa\": {\"node\": null, \"distance\": null, \"bound\": false}}",
          0.5, "gpu:", "NUMA");
}

static void nothing_is_said_of_what_was_not_measured(void **state)
{
    (void)state;
    check("null", 0.5, NULL, "gpu:");
    check("{\"driver\": \"1\", \"nvml\": null}", 0.5, "gpu:", "nvidia-smi");
    check("{\"nvml\": {\"utilization_frac\": null, \"throttle\": [1, null]}}", 0.5,
          "gpu:", "nvidia-smi");
    check("{\"driver\": 5, \"nvml\": [1]}", 0.5, "gpu:", "nvidia-smi");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nvidia_smi_would_have_said),
        cmocka_unit_test(nothing_is_said_of_what_was_not_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
