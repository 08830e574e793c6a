#include "scenarios/ranks/launcher.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLURM_LOCAL "SLURM_LOCALID"

extern char **environ;

/* The first row whose `rank` and `size` are set wins. Inside of srun other launchers' variables
 * come first: the plugin of Slurm that sets them says which MPI fits. `needs`: a variable without
 * which the row does not count; a batch script of Slurm has no step, and is one process. */
static const struct {
    const char *name, *module, *rank, *size, *local, *n_local, *needs;
} rows[] = {
    {"Open MPI's mpirun", "openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", NULL},
    {"MPICH's mpirun", "mpich", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", NULL},
    {"srun with PMIx", "openmpi", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", SLURM_LOCAL, NULL,
     "SLURM_STEP_ID"},
    {"a launcher with PMIx", "openmpi", "PMIX_RANK", NULL, NULL, NULL, "PMIX_NAMESPACE"},
    {"srun without MPI", NULL, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", SLURM_LOCAL, NULL,
     "SLURM_STEP_ID"},
};

static const char *const forgotten[] = {
    "OMPI_",      "PMIX_",        "PMI_",        "PMI2_",        "PRTE_",        "ORTE_",
    "HYDRA_",     "HYDI_",        "MPI_LOCAL",   "MPIR_",        "SLURM_PROCID", "SLURM_LOCALID",
    "SLURM_STEP", "SLURM_NTASKS", "SLURM_TASKS", "SLURM_NPROCS", "SLURM_GTIDS",  "SLURM_TASK_PID"};

/* False: not set, or no number. */
static bool number(const char *name, uint32_t *out)
{
    const char *text = name ? getenv(name) : NULL;
    char *end;
    errno = 0;
    unsigned long value = text && *text ? strtoul(text, &end, 10) : 0;
    if (!text || !*text || *end || errno || value > UINT32_MAX)
        return false;
    *out = (uint32_t)value;
    return true;
}

/* The ranks of this machine, of a list over all machines: "2(x3),1" is two on each of three, then
 * one. 0: not known. */
static uint32_t slurm_n_local(void)
{
    const char *at = getenv("SLURM_STEP_TASKS_PER_NODE");
    uint32_t node = 0;
    if (!at || !number("SLURM_NODEID", &node))
        return 0;
    for (;;) {
        char *end;
        unsigned long n = strtoul(at, &end, 10), n_nodes = 1;
        if (strncmp(end, "(x", 2) == 0) {
            n_nodes = strtoul(end + 2, &end, 10);
            end += *end == ')';
        }
        if (node < n_nodes)
            return n <= UINT32_MAX ? (uint32_t)n : 0;
        node -= (uint32_t)n_nodes;
        if (*end != ',')
            return 0;
        at = end + 1;
    }
}

struct dlb_launcher dlb_launcher_look(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct dlb_launcher out = {.name = rows[i].name, .module = rows[i].module};
        if ((rows[i].needs && !getenv(rows[i].needs)) || !number(rows[i].rank, &out.rank))
            continue;
        if (rows[i].size && !number(rows[i].size, &out.size))
            continue;
        out.knows_local = number(rows[i].local, &out.local_rank) ||
                          number(SLURM_LOCAL, &out.local_rank); /* srun's own, whatever the MPI */
        if (!number(rows[i].n_local, &out.n_local))
            out.n_local = slurm_n_local();
        return out;
    }
    return (struct dlb_launcher){.name = NULL};
}

static bool is_launchers(const char *variable)
{
    for (size_t i = 0; i < sizeof(forgotten) / sizeof(*forgotten); i++)
        if (strncmp(variable, forgotten[i], strlen(forgotten[i])) == 0)
            return true;
    return false;
}

void dlb_launcher_forget(void)
{
    uint32_t fd;
    if (number("PMI_FD", &fd) && fd > 2)
        (void)close((int)fd);
    for (char **at = environ; *at;) {
        const char *end = strchr(*at, '=');
        char name[256];
        size_t n = end ? (size_t)(end - *at) : 0;
        if (n == 0 || n >= sizeof(name) || !is_launchers(*at)) {
            at++;
            continue;
        }
        memcpy(name, *at, n);
        name[n] = '\0';
        if (unsetenv(name)) /* moves what follows to this place */
            at++;
    }
}
