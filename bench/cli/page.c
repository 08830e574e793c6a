#include "bench/cli/page.h"

#include "bench/cli/args.h"
#include "bench/cli/help.h"
#include "bench/cli/keys.h"
#include "bench/cli/print.h"

#include <stdio.h>
#include <string.h>

/* A key in a few words, because its own help may take lines. */
static const struct {
    const char *key, *words;
} briefs[] = {
    {"calibrate.interpreter", "the Python that runs it; empty: found by itself"},
    {"calibrate.python", "FILE.py:FUNCTION, which returns a step"},
    {"calibrate.seconds", "the longest that steps are measured"},
    {"calibrate.timeout_s", "the longest that an import or a step may take"},
    {"dataset.codec", "what decodes a sample: raw, jpeg, ..."},
    {"dataset.format", "files, webdataset, hdf5, ..."},
    {"dataset.on_error", "skip: leave bad samples out and count them"},
    {"dataset.path", "folder or file that holds the data"},
    {"device.step_ms", "milliseconds of one training step"},
    {"gap.batch_size", "rows in a batch"},
    {"gap.epochs", "measured passes over the array"},
    {"gap.features", "numbers in a row"},
    {"gap.pages", "pages of memory: small, huge, kernel"},
    {"gap.python", "the Python that has torch; empty: found by itself"},
    {"gap.repeats", "repetitions of each rung"},
    {"gap.samples", "rows of the array"},
    {"gap.workers", "workers of the rungs that have any; 0: by CPUs"},
    {"generate.classes", "how many labels"},
    {"generate.sample_bytes", "mean size of a sample"},
    {"generate.samples", "how many samples are written"},
    {"generate.seed", "equal seeds give equal bytes"},
    {"loader.batch_size", "samples per batch"},
    {"loader.kind", "dlbench's loaders, or torch: PyTorch's own"},
    {"loader.num_workers", "workers that load batches"},
    {"loader.pin_memory", "copy to the device from page-locked memory"},
    {"loader.prefetch_factor", "batches that each worker may have ready"},
    {"loader.shuffle", "a new order each epoch"},
    {"run.cache", "page cache at the start: as-is, warm, cold"},
    {"run.max_batches", "measured batches; 0: whole epochs"},
    {"storage.allow_small", "measure data that memory may hold"},
    {"storage.max_accelerators", "where the search ends"},
    {"storage.max_minutes", "ends after this; 0: when it is settled"},
    {"sweep.max_minutes", "ends after this at the latest; 0: no limit"},
    {"sweep.tolerance", "what the answer may lose to the best"},
    {"transform.pixels", "u8, or f32: floats as ToTensor gives"},
    {"webdataset.shard_samples", "samples in each shard"},
    {"workload.accelerator", "whose step times: a100, h100, ..."},
    {"workload.gate", "utilisation below which it counts as not fed"},
};

#define COLUMN_TEXT 29

static const char *brief(const char *key, const struct dlb_opt *opt)
{
    for (size_t i = 0; i < sizeof briefs / sizeof *briefs; i++)
        if (strcmp(briefs[i].key, key) == 0)
            return briefs[i].words;
    return opt->help;
}

static void print_key(FILE *out, const struct dlb_verb *verb, const char *key, uint32_t width)
{
    const struct dlb_opt *opt = dlb_key_find(dlb_verb_groups(verb), key);
    char text[512];

    if (!opt)
        DLB_BUG("a verb's page names a key that the verb does not take");
    (void)snprintf(text, sizeof text, *opt->def ? "%s (%s)" : "%s", brief(key, opt), opt->def);
    dlb_print_folded(out, text, COLUMN_TEXT, (uint32_t)fprintf(out, "  %s", key), width);
}

static void print_where(FILE *out, const struct dlb_verb *verb, uint32_t width)
{
    char text[400];

    (void)snprintf(text, sizeof text,
                   "All flags and details: `dlbench help %s --full`. %sAs a manual: `dlbench man | "
                   "man -l -`.",
                   verb->name, verb->keys[0] ? "All keys: `dlbench help keys [SECTION]`. " : "");
    dlb_print_folded(out, text, 0, 0, width);
    if (verb->flags & DLB_FLAG_RANKS)
        dlb_print_folded(out, "Under mpirun or srun all ranks take part: see docs/cluster.md.", 0,
                         0, width);
}

static void print_keys(FILE *out, const struct dlb_verb *verb, uint32_t width)
{
    (void)fprintf(out, "Keys that matter most, with defaults: %s\n",
                  verb->flags & DLB_FLAG_CONFIG ? "--KEY VALUE, or in the file"
                                                : "flags, without their section");
    for (const char *const *key = verb->keys; *key; key++)
        print_key(out, verb, *key, width);
    (void)fputc('\n', out);
}

void dlb_page_print(FILE *out, const struct dlb_verb *verb)
{
    uint32_t width = dlb_print_width(out);

    if (!verb->examples[0]) {
        dlb_help_verb(out, verb);
        return;
    }
    dlb_print_folded(out, verb->summary, 0, 0, width);
    (void)fputs("\nUsage:", out);
    dlb_print_folded(out, verb->usage, 7, 6, width);
    (void)fputc('\n', out);
    for (const char *const *example = verb->examples; *example; example++)
        (void)fprintf(out, "  %s\n", *example);
    (void)fputc('\n', out);
    if (verb->keys[0])
        print_keys(out, verb, width);
    print_where(out, verb, width);
}
