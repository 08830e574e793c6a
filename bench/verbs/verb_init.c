/* `dlbench init`: the settings of bench/verbs/propose.c as a configuration with comments. */
#include "bench/cli/own_file.h"
#include "bench/cli/print.h"
#include "bench/cli/verb.h"
#include "bench/cli/version.h"
#include "bench/verbs/propose.h"
#include "core/base/json.h"
#include "core/base/say.h"
#include "core/base/shell.h"
#include "core/base/units.h"
#include "core/host/osacct.h"
#include "reports/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "# dlbench init: " /* how the file begins */

static void put_comment(struct dlb_text *out, const char *lead, const char *words)
{
    dlb_text_printf(out, "%s", lead);
    dlb_text_plain(out, words, 1000);
    dlb_text_printf(out, "\n");
}

static void put_head(struct dlb_text *out, const char *path, const char *file,
                     const struct dlb_inspected *in)
{
    char samples[40], bytes[40], ram[40], line[400];
    char *word = dlb_shell_word(file ? file : "FILE");

    put_comment(out, MARK, path);
    (void)snprintf(line, sizeof line, "%s samples, %s; %u CPUs, %s of memory; dlbench " DLB_VERSION,
                   dlb_count_text((double)in->shape.n_samples, samples, sizeof samples),
                   dlb_bytes_text(in->shape.total_bytes, bytes, sizeof bytes),
                   dlb_os_n_cpus(&(double){0}),
                   dlb_bytes_text(dlb_os_ram_bytes(), ram, sizeof ram));
    put_comment(out, "# ", line);
    dlb_text_printf(out, "#\n# Next: dlbench sweep --config ");
    dlb_text_plain(out, word, SIZE_MAX);
    free(word);
    dlb_text_printf(out, "\n# `dlbench help keys [SECTION]` lists what else can be set.\n");
}

/* JSON's numbers, strings, truth and lists are TOML's, too. */
static void put_value(struct dlb_text *out, const char *key, const json_t *value,
                      const struct dlb_inspected *in)
{
    char why[400];
    char *text = dlb_json_dumped(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    const char *full = dlb_propose_why(key, in, why, sizeof why);
    const char *bare = strncmp(key, "sweep.loader.", 13) == 0 ? key + 6 : strchr(key, '.') + 1;
    int n = snprintf(NULL, 0, "%s = %s", bare, text);

    dlb_text_printf(out, "%s = ", bare);
    dlb_text_append(out, text, strlen(text));
    if (*full) {
        dlb_text_printf(out, "%*s# ", n < 31 ? 32 - n : 1, "");
        dlb_text_plain(out, full, 300);
    }
    dlb_text_printf(out, "\n");
    free(text);
}

static void put_section(struct dlb_text *out, const char *section, json_t *flat,
                        const struct dlb_inspected *in)
{
    size_t n = strlen(section);
    bool begun = false;
    const char *key;
    json_t *value;

    json_object_foreach(flat, key, value) {
        if (strncmp(key, section, n) != 0 || key[n] != '.')
            continue;
        if (!begun)
            dlb_text_printf(out, "\n[%s]\n", section);
        begun = true;
        put_value(out, key, value, in);
    }
    if (strcmp(section, "device") == 0 && !begun)
        dlb_text_printf(out,
                        "\n[device]\n"
                        "# step_ms = 100                 # milliseconds of one training step with "
                        "this batch: your own, which `dlbench calibrate` measures.\n"
                        "#                               # The verdict depends on it. Until it is "
                        "set, results call 100 ms an assumption\n");
}

static void put_configuration(struct dlb_text *out, const char *path, const char *file,
                              const struct dlb_inspected *in)
{
    static const char *const sections[] = {"dataset", "transform", "loader",
                                           "device",  "run",       "sweep"};
    json_t *flat = dlb_propose(path, in, dlb_propose_batch(in));

    put_head(out, path, file, in);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        put_section(out, sections[i], flat, in);
    json_decref(flat);
}

static int run(const struct dlb_args *args)
{
    struct dlb_inspected in;
    struct dlb_text text = {.data = NULL};
    struct dlb_err err;
    int rc = args->write ? dlb_own_file_may(args->write, MARK, args->overwrite, &err) : DLB_OK;

    if (!rc) {
        rc = dlb_inspect(args->path, args->cfg, &in, &err);
        rc = rc ? rc : dlb_propose_check(args->path, &in, &err);
        if (rc) {
            (void)dlb_print_err(&err);
            return DLB_EXIT_FAILED; /* the data is wrong, not the command, whatever the status */
        }
        put_configuration(&text, args->path, args->write, &in);
        if (args->write)
            rc = dlb_own_file_write(args->write, MARK, args->overwrite, text.data, text.len_bytes,
                                    &err);
        else
            dlb_print_out(text.data, text.len_bytes);
    }
    if (!rc && args->write) {
        char *word = dlb_shell_word(args->write);
        dlb_say(stderr, "dlbench: %s: written; next: dlbench sweep --config %s", args->write, word);
        free(word);
    }
    dlb_text_free(&text);
    return rc ? dlb_print_err(&err) : DLB_EXIT_OK;
}

const struct dlb_verb dlb_verb_init = {
    .name = "init",
    .summary = "Write a configuration for a data set of yours on this machine",
    .usage = "dlbench init PATH [--write FILE] [--overwrite]",
    .details =
        "Look at PATH as `dlbench inspect` does, and print a configuration with comments that "
        "`dlbench sweep --config FILE` takes as it stands. Batch size and the time of a training "
        "step are guesses: replace them by your own, or give `dlbench calibrate`'s file as a "
        "second --config. --overwrite replaces a file that dlbench init wrote, and no other.\n\n"
        "  dlbench init /data/imagenet/train\n"
        "  dlbench init /data/imagenet/train --write my.toml",
    .flags = DLB_FLAG_PATH | DLB_FLAG_WRITE,
    .run = run,
};
