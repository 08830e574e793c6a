/* A script that stands in for a cell's process. Header-only. */
#ifndef DLB_TESTS_SCRIPTED_H
#define DLB_TESTS_SCRIPTED_H

#include <stdio.h>
#include <sys/stat.h>

/* The script finds what it was called with in $spec, $result, $mode, $id and $beat. */
static inline int scripted_write(const char *path, const char *script)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return -1;
    (void)fprintf(
        file,
        "#!/bin/sh\nshift\nwhile [ $# -gt 1 ]; do\ncase $1 in --spec) spec=$2 ;; --result) "
        "result=$2 ;; --mode) mode=$2 ;; --heartbeat-fd) beat=$2 ;; --data-id) id=$2 ;; "
        "esac\nshift 2\ndone\n"
        "%s\n",
        script);
    return fclose(file) || chmod(path, 0755);
}

#endif
