#include "tests/perf/fio.h"

#include "tests/perf/perf.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool perf_fio_found(void)
{
    if (system("fio --version >/dev/null 2>&1") == 0)
        return true;
    printf("left out: fio is not installed (Debian's package is called fio)\n");
    return false;
}

static double number(const json_t *job, const char *key)
{
    return json_number_value(json_object_get(json_object_get(job, "read"), key));
}

double perf_fio(const char *arguments, uint64_t *n_bytes)
{
    char command[16384];
    json_error_t why;
    const json_t *job;
    double seconds = 0;
    size_t i;

    if ((size_t)snprintf(command, sizeof command, "fio --output-format=json %s", arguments) >=
        sizeof command)
        perf_die("fio: too many arguments", NULL);
    FILE *pipe = popen(command, "re");
    json_t *doc = pipe ? json_loadf(pipe, JSON_DISABLE_EOF_CHECK, &why) : NULL;
    if (!doc || pclose(pipe) != 0)
        perf_die(command, NULL);
    *n_bytes = 0;
    json_array_foreach(json_object_get(doc, "jobs"), i, job) {
        double job_s = number(job, "runtime") / 1e3;
        seconds = job_s > seconds ? job_s : seconds;
        *n_bytes += (uint64_t)number(job, "io_bytes");
    }
    json_decref(doc);
    return seconds;
}
