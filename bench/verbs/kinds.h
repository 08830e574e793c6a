/* Which kinds of data a folder holds, by the names of its files: inspect reads one of them.
 *
 * Floor 5. Control thread; does not print. */
#ifndef DLB_BENCH_VERBS_KINDS_H
#define DLB_BENCH_VERBS_KINDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define DLB_N_KINDS 9

struct dlb_kind {
    const char *name;   /* static: "tar shards" */
    const char *format; /* that reads them, or NULL: none does */
    const char *codec;  /* that decodes them, or NULL: that is not known by the name */
    bool folder;        /* the format reads a folder of them as one data set */
    uint64_t n_files;
    char first[1024];  /* the path of one of them */
    char parent[1024]; /* the folder that it lies in */
};

struct dlb_kinds {
    struct dlb_kind kind[DLB_N_KINDS];
    uint32_t n_found; /* kinds with files */
    uint64_t n_files, n_others;
    bool ended; /* the search ended before all files were seen */
};

/* Of a folder and those below it. Anything else, or what cannot be read, holds no kinds. */
void dlb_kinds_find(const char *path, struct dlb_kinds *out);

/* An array of {kind, files, format (or null), first}. New reference. */
json_t *dlb_kinds_json(const struct dlb_kinds *kinds);

#endif
