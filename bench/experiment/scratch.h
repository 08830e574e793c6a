/* A process's scratch folder inside of a result's: .cells-<process>. A mark in it tells it from a
 * user's folder of that name: the file .dlbench names the machine and the process. Of what is in
 * it, only files of the names that dlbench writes are ever removed, and folders of interpreters.
 *
 * Floor 5. Any thread. Allocates nothing, so that it works when memory is exhausted. */
#ifndef DLB_BENCH_EXPERIMENT_SCRATCH_H
#define DLB_BENCH_EXPERIMENT_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

/* In the scratch folder: what a result's folder is exchanged for (replace.h). */
#define DLB_SCRATCH_NEW "new"

enum dlb_scratch_kind {
    DLB_SCRATCH_NONE,      /* another's, or no folder at all */
    DLB_SCRATCH_UNMARKED,  /* of such a name; empty, or with a mark that has no byte */
    DLB_SCRATCH_ELSEWHERE, /* a process of another machine has it, or had it */
    DLB_SCRATCH_HERE,      /* a process of this machine */
};

struct dlb_scratch {
    enum dlb_scratch_kind kind;
    long pid;
    bool made; /* the process made the result's folder, too */
};

/* Writes the name of this process's scratch folder. */
void dlb_scratch_name(char *name, size_t n_name);

/* The same for the process whose number the text begins with; *end is what follows it. False: it
 * begins with none. */
bool dlb_scratch_name_of(const char *text, char *name, size_t n_name, const char **end);

/* Makes this process's, below an open folder. False: errno. */
bool dlb_scratch_make(int folder, bool made);

struct dlb_scratch dlb_scratch_look(int folder, const char *name);

/* Removes one that has the mark of this machine, or is unmarked, and what dlbench wrote in it. With
 * anything else in it, it stays and keeps its mark. */
void dlb_scratch_remove(int folder, const char *name);

#endif
