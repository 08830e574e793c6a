/* Flags with names of their own. */
#include "bench/cli/flags.h"

#include "bench/cli/args.h"
#include "core/measure/compare.h"

const struct dlb_flag dlb_flags[] = {
    [FLAG_CONFIG] = {"config", "FILE", DLB_FLAG_CONFIG,
                     "read options from a TOML file, or from the installed configuration of that "
                     "name; may be repeated, later files win",
                     NULL},
    [FLAG_SET] = {"set", "KEY=VALUE", DLB_FLAG_CONFIG,
                  "set one option; wins over the files. --KEY VALUE does the same. "
                  "sweep.KEY=[A, B] makes sweep try both values",
                  NULL},
    [FLAG_RESULTS] = {"results", "DIR", DLB_FLAG_RESULTS,
                      "write results below this folder (default: results)", NULL},
    [FLAG_RUN_NAME] = {"run-name", "NAME", DLB_FLAG_RESULTS,
                       "name this result's folder (default: made from configuration, command and "
                       "time)",
                       NULL},
    [FLAG_RESUME] = {"resume", "DIR", DLB_FLAG_RESUME,
                     "go on with a run that was killed, interrupted or ran out of disk: DIR is its "
                     "result's folder, which has its configuration",
                     NULL},
    [FLAG_FORMAT] = {"format", "FORMAT", DLB_FLAG_TARGET, "write the target in this format", NULL},
    [FLAG_REPORT_FORMAT] = {"format", "FORMAT", DLB_FLAG_REPORT,
                            "print html (a page), md (Markdown), csv (a row a repetition), json, "
                            "txt (all as text) or prometheus instead of the usual text",
                            NULL},
    [FLAG_COMPARE_FORMAT] = {"format", "FORMAT", DLB_FLAG_COMPARE,
                             "print html (a page, with A and B in it), md (Markdown), json or txt "
                             "instead of the usual text",
                             NULL},
    [FLAG_PROMETHEUS] =
        {"prometheus", "FILE", DLB_FLAG_REPORT,
         "write the figures to this file for the textfile collector of "
         "Prometheus' node_exporter, replacing an earlier one at once; print nothing unless "
         "--format or --json asks for it",
         NULL},
    [FLAG_FROM] = {"from", "FORMAT", DLB_FLAG_TARGET,
                   "read the source in this format, if it is not recognised or recognised wrongly",
                   NULL},
    [FLAG_WRITE] = {"write", "FILE", DLB_FLAG_WRITE, "write to this file, which is new", NULL},
    [FLAG_OVERWRITE] = {"overwrite", NULL, DLB_FLAG_RESULTS | DLB_FLAG_TARGET | DLB_FLAG_WRITE,
                        "replace what has the same name, once the new one is complete", NULL},
    [FLAG_DROP_CACHES] = {"drop-caches", NULL, DLB_FLAG_RESULTS,
                          "empty the page, directory and inode caches of the whole machine before "
                          "each cold repetition; needs root. Same as run.drop_caches",
                          "run.drop_caches"},
    [FLAG_JSON] = {"json", NULL, DLB_FLAG_JSON,
                   "print one JSON document on stdout instead of text: the result, or the error",
                   NULL},
    [FLAG_VERBOSE] = {"verbose", NULL, DLB_FLAG_RESULTS | DLB_FLAG_BESIDE,
                      "print all notes in full, before the answer", NULL},
    [FLAG_QUIET] = {"quiet", NULL, DLB_FLAG_QUIET,
                    "show no progress on stderr, neither the live view nor lines; notes and errors "
                    "are still said",
                    NULL},
    [FLAG_WORKLOAD] = {"workload", "NAME", DLB_FLAG_WORKLOAD,
                       "start from a built-in workload, or from a TOML file of your own; --config "
                       "files win over it",
                       NULL},
    [FLAG_DATA] = {"path", "FOLDER", DLB_FLAG_WORKLOAD,
                   "folder of the data set, on the storage to be measured. Same as dataset.path",
                   "dataset.path"},
    [FLAG_ACCELERATOR] = {"accelerator", "NAME", DLB_FLAG_STORAGE,
                          "use this accelerator's step times. Same as workload.accelerator",
                          "workload.accelerator"},
    [FLAG_BASELINE] = {"baseline", "PROGRAM", DLB_FLAG_STORAGE,
                       "compare with this program reading the same files (fio). Same as "
                       "storage.baseline",
                       "storage.baseline"},
    [FLAG_DRY_RUN] = {"dry-run", NULL, DLB_FLAG_STORAGE,
                      "measure no training: print how large the data set must be, and how long "
                      "writing it takes",
                      NULL},
    [FLAG_DRY_PLAN] = {"dry-run", NULL, DLB_FLAG_PLAN,
                       "measure and write nothing: print the cells, what is skipped and why, and "
                       "the memory, bytes and time that they take",
                       NULL},
    [FLAG_EXHAUSTIVE] = {"exhaustive", NULL, DLB_FLAG_SWEEP,
                         "measure each cell run.repeats times. Same as sweep.exhaustive",
                         "sweep.exhaustive"},
    [FLAG_FAIL_ON] = {"fail-on", "RULE", DLB_FLAG_RULES,
                      "exit with 1 if the rule fails, such as 'idle>10%', 'samples_per_s<1700' or "
                      "'slower>2%'; may be repeated",
                      NULL},
    [FLAG_STRICT] = {"strict", NULL, DLB_FLAG_RULES,
                     "a rule that is unclear fails, and so does a failed cell", NULL},
    [FLAG_JUNIT] = {"junit", "FILE", DLB_FLAG_RULES,
                    "write what the rules came to as JUnit XML; replaces an earlier one", NULL},
    [FLAG_TRACEML] =
        {"traceml", "FILE", DLB_FLAG_TRACEML,
         "write the result as TraceML's final_summary.json, too; replaces an earlier one", NULL},
    [FLAG_TRACE] =
        {"trace", "FILE", DLB_FLAG_TRACE,
         "record what each worker, the training loop and the device do when, and write "
         "it as Chrome's trace JSON, which ui.perfetto.dev opens; replaces an earlier one",
         NULL},
    [FLAG_ALSO_A] = {"also-a", "PATH", DLB_FLAG_COMPARE,
                     "a further result of what A measured, made at another time; may be repeated",
                     NULL},
    [FLAG_ALSO_B] = {"also-b", "PATH", DLB_FLAG_COMPARE, "the same for B", NULL},
    [FLAG_SMALLEST] = {"smallest", "SHARE", DLB_FLAG_COMPARE,
                       "smallest change of interest (default 1%)", NULL},
    [FLAG_BETWEEN] = {"between", "SHARE", DLB_FLAG_COMPARE,
                      "what results differ by that were made at different times, as a standard "
                      "deviation (default " DLB_COMPARE_BETWEEN_TEXT ")",
                      NULL},
    [FLAG_RUN] = {"run", NULL, DLB_FLAG_COMPARE,
                  "measure A and B now, in turns: both are configurations (.toml)", NULL},
    {.name = NULL},
};
