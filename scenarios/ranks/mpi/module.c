/* The functions of ranks.h by MPI: dlbench-mpi-NAME.so, one for each implementation that the build
 * found. It is loaded by module.h, and links nothing of the program.
 *
 * OpenMPI's and MPICH's blocking calls spin, which would burn a core that workers need. So every
 * collective is started without blocking, and tested between sleeps that grow. */
#include "scenarios/ranks/ranks.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

#define SLEEP_MIN_NS 5000
#define SLEEP_ROUND_NS 100000 /* the longest sleep within a round at the barrier of steps */
#define SLEEP_MAX_NS 2000000  /* elsewhere */
#define PING_TAG 1
#define NOTE_TAG 2
#define N_PINGS 32
#define N_NOTES 64 /* notes that may be on their way, and two to each rank */

static struct dlb_ranks_idle idle;
static MPI_Comm control, rounds; /* rounds: those of steps, which may run ahead of the others */
static MPI_Op meet_op;
static MPI_Datatype word_type;
static int my_rank, n_ranks;
static char my_node[MPI_MAX_PROCESSOR_NAME + 1];
static struct sent {
    MPI_Request request;
    struct dlb_ranks_note note;
} * notes; /* never freed: MPI may still send them when the process ends */
static int n_notes;
static char failed[MPI_MAX_ERROR_STRING + 64];
static int launcher_fd = -1; /* of MPICH's launcher, where MPI_Finalize is left out */

/* Whether the call of this name worked; the first that did not is kept. */
static bool worked(int rc, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (rc == MPI_SUCCESS || failed[0])
        return rc == MPI_SUCCESS;
    if (MPI_Error_string(rc, text, &length) != MPI_SUCCESS)
        (void)snprintf(text, sizeof(text), "error %d", rc);
    (void)snprintf(failed, sizeof(failed), "%s: %s", call, text);
    return false;
}

static bool finish(MPI_Request *request, const char *call, long longest_ns)
{
    long sleep_ns = SLEEP_MIN_NS;
    for (;;) {
        int done = 0;
        if (!worked(MPI_Test(request, &done, MPI_STATUS_IGNORE), call))
            return false;
        if (done)
            return true;
        if (!idle.idle(idle.ctx))
            return false;
        (void)nanosleep(&(struct timespec){.tv_nsec = sleep_ns}, NULL);
        sleep_ns = 2 * sleep_ns < longest_ns ? 2 * sleep_ns : longest_ns;
    }
}

/* Function of MPI_Op_create: its prototype has no const. */
static void meet(void *from, void *into, int *n, MPI_Datatype *type)
{
    const struct dlb_ranks_word *a = from;
    struct dlb_ranks_word *b = into;
    (void)type;
    for (int i = 0; i < *n; i++) {
        if (a[i].left_ns > b[i].left_ns) {
            b[i].left_ns = a[i].left_ns;
            b[i].input_ns = a[i].input_ns;
        }
        if (a[i].least_ns < b[i].least_ns)
            b[i].least_ns = a[i].least_ns;
        b[i].n_active += a[i].n_active;
    }
}

/* MPI_Finalize of MPICH before 4.2 hangs over UCX and TCP: a rank that waits for the others no
 * longer answers those that still disconnect (https://github.com/pmodels/mpich/pull/6596). */
static bool finalize_hangs(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n = 0, major = 0, minor = 0;
    return MPI_Get_library_version(text, &n) == MPI_SUCCESS &&
           sscanf(text, "MPICH Version: %d.%d", &major, &minor) == 2 && strstr(text, "ch4:ucx") &&
           (major < 4 || (major == 4 && minor < 2));
}

/* The connection to mpirun (srun has none of this kind); -1: none, or MPI closes as it should. */
static int find_launcher(void)
{
    const char *text = getenv("MPI_LOCALNRANKS") ? getenv("PMI_FD") : NULL;
    char *end = NULL;
    long fd = text ? strtol(text, &end, 10) : -1;
    if (!text || end == text || *end != '\0' || fd <= 2 || fd >= INT_MAX || !finalize_hangs())
        return -1;
    return (int)fd;
}

/* One line to the launcher; true: it answers with this one. Waits. */
static bool ask_launcher(const char *line, const char *answer)
{
    char text[256] = "";
    size_t n = 0;
    while (send(launcher_fd, line, strlen(line), MSG_NOSIGNAL) < 0)
        if (errno != EINTR)
            return false;
    while (n + 1 < sizeof(text) && !strchr(text, '\n')) {
        ssize_t got = recv(launcher_fd, text + n, 1, 0);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        n += got > 0;
    }
    return strncmp(text, answer, strlen(answer)) == 0;
}

static bool make_notes(void)
{
    n_notes = N_NOTES + 2 * n_ranks;
    notes = calloc((size_t)n_notes, sizeof(*notes));
    for (int i = 0; notes && i < n_notes; i++)
        notes[i].request = MPI_REQUEST_NULL;
    return notes != NULL;
}

/* All ranks close in the same way, or none would end. */
static bool agree_on_end(void)
{
    int fd = find_launcher(), least = -1;
    bool done = MPI_Allreduce(&fd, &least, 1, MPI_INT, MPI_MIN, control) == MPI_SUCCESS;
    launcher_fd = least < 0 ? -1 : fd;
    return done;
}

static bool open_mpi(const struct dlb_ranks_idle *how, char *why, size_t n_why)
{
    int given = 0, length = 0;
    idle = *how;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS ||
        MPI_Comm_dup(MPI_COMM_WORLD, &control) != MPI_SUCCESS ||
        MPI_Comm_dup(MPI_COMM_WORLD, &rounds) != MPI_SUCCESS ||
        MPI_Type_contiguous(sizeof(struct dlb_ranks_word) / 8, MPI_INT64_T, &word_type) ||
        MPI_Type_commit(&word_type) || MPI_Op_create(meet, 1, &meet_op) != MPI_SUCCESS ||
        MPI_Comm_size(control, &n_ranks) != MPI_SUCCESS || !make_notes() || !agree_on_end()) {
        (void)snprintf(why, n_why, "MPI cannot be initialised");
        return false;
    }
    (void)MPI_Comm_set_errhandler(control, MPI_ERRORS_RETURN);
    (void)MPI_Comm_set_errhandler(rounds, MPI_ERRORS_RETURN);
    (void)MPI_Comm_rank(control, &my_rank);
    (void)MPI_Get_processor_name(my_node, &length);
    my_node[length] = '\0';
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    return true;
}

static uint32_t rank(void)
{
    return (uint32_t)my_rank;
}

static uint32_t size(void)
{
    return (uint32_t)n_ranks;
}

static const char *node(void)
{
    return my_node;
}

/* Whether MPI can count so many bytes. */
static bool fits(uint64_t n_bytes)
{
    if (n_bytes > INT_MAX && !failed[0])
        (void)snprintf(failed, sizeof(failed), "a message of %llu bytes is longer than MPI allows",
                       (unsigned long long)n_bytes);
    return n_bytes <= INT_MAX;
}

static bool broadcast(void *bytes, size_t n_bytes)
{
    MPI_Request request;
    return fits(n_bytes) &&
           worked(MPI_Ibcast(bytes, (int)n_bytes, MPI_BYTE, 0, control, &request), "MPI_Ibcast") &&
           finish(&request, "MPI_Ibcast", SLEEP_MAX_NS);
}

/* Where each rank's bytes begin; false: more than MPI counts. */
static bool places(const uint64_t *n_each, int *counts, int *starts)
{
    uint64_t sum = 0;
    for (int i = 0; i < n_ranks; i++) {
        if (!fits(n_each[i]) || !fits(sum))
            return false;
        counts[i] = (int)n_each[i];
        starts[i] = (int)sum;
        sum += n_each[i];
    }
    return fits(sum);
}

static bool gather_bytes(const void *mine, uint64_t n_mine, void **all, const uint64_t *n_each)
{
    MPI_Request request;
    bool here = my_rank == 0, done = false;
    int *counts = here ? calloc(2 * (size_t)n_ranks, sizeof(int)) : NULL;
    int *starts = counts ? counts + n_ranks : NULL;
    if (here && counts && !places(n_each, counts, starts))
        goto out;
    if (counts)
        *all = malloc((size_t)starts[n_ranks - 1] + (size_t)counts[n_ranks - 1] + 1);
    if (here && !worked(counts && *all ? MPI_SUCCESS : MPI_ERR_NO_MEM, "the answers of all ranks"))
        goto out;
    done = worked(MPI_Igatherv(mine, (int)n_mine, MPI_BYTE, here ? *all : NULL, counts, starts,
                               MPI_BYTE, 0, control, &request),
                  "MPI_Igatherv") &&
           finish(&request, "MPI_Igatherv", SLEEP_MAX_NS);
out:
    free(counts);
    return done;
}

static bool gather(const void *mine, uint64_t n_mine, void **all, uint64_t *n_each)
{
    MPI_Request request;
    return fits(n_mine) &&
           worked(
               MPI_Igather(&n_mine, 1, MPI_UINT64_T, n_each, 1, MPI_UINT64_T, 0, control, &request),
               "MPI_Igather") &&
           finish(&request, "MPI_Igather", SLEEP_MAX_NS) && gather_bytes(mine, n_mine, all, n_each);
}

static bool reduce(struct dlb_ranks_word *word)
{
    MPI_Request request;
    struct dlb_ranks_word mine = *word;
    return worked(MPI_Iallreduce(&mine, word, 1, word_type, meet_op, rounds, &request),
                  "MPI_Iallreduce") &&
           finish(&request, "MPI_Iallreduce", SLEEP_ROUND_NS);
}

static bool barrier(void)
{
    MPI_Request request;
    return worked(MPI_Ibarrier(rounds, &request), "MPI_Ibarrier") &&
           finish(&request, "MPI_Ibarrier", SLEEP_ROUND_NS);
}

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* One number to or from a rank, at once: between tests only the CPU is given away. */
static bool pass_now(int64_t *number, int rank, bool sends)
{
    MPI_Request request;
    int done = 0;
    int rc = sends ? MPI_Isend(number, 1, MPI_INT64_T, rank, PING_TAG, control, &request)
                   : MPI_Irecv(number, 1, MPI_INT64_T, rank, PING_TAG, control, &request);
    while (rc == MPI_SUCCESS && !done) {
        rc = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done && !idle.idle(idle.ctx))
            return false;
        if (!done)
            (void)sched_yield();
    }
    return worked(rc, sends ? "MPI_Isend" : "MPI_Irecv");
}

/* Rank 0 gives each rank its turn. */
static bool serve_pings(void)
{
    int64_t now = 0;
    for (int rank = 1; rank < n_ranks; rank++) {
        if (!pass_now(&now, rank, true))
            return false;
        for (int i = 0; i < N_PINGS; i++) {
            if (!pass_now(&now, rank, false))
                return false;
            now = now_ns();
            if (!pass_now(&now, rank, true))
                return false;
        }
    }
    return true;
}

/* Ranks sleep until it is their turn. The least round trip has the least to guess. */
static bool offsets(struct dlb_ranks_offset *mine)
{
    MPI_Request request;
    int64_t there = 0;
    *mine = (struct dlb_ranks_offset){0, my_rank == 0 ? 0 : INT64_MAX};
    if (my_rank == 0)
        return serve_pings();
    if (!worked(MPI_Irecv(&there, 1, MPI_INT64_T, 0, PING_TAG, control, &request), "MPI_Irecv") ||
        !finish(&request, "MPI_Irecv", SLEEP_MAX_NS))
        return false;
    for (int i = 0; i < N_PINGS; i++) {
        int64_t start = now_ns();
        if (!pass_now(&start, 0, true) || !pass_now(&there, 0, false))
            return false;
        int64_t end = now_ns(), error = (end - start + 1) / 2;
        if (error < mine->error_ns)
            *mine = (struct dlb_ranks_offset){start + (end - start) / 2 - there, error};
    }
    return true;
}

/* A note that finds no place is dropped: a rank that takes none is named by its silence. */
static void tell(uint32_t to, const struct dlb_ranks_note *note)
{
    for (int i = 0; i < n_notes; i++) {
        int done = notes[i].request == MPI_REQUEST_NULL;
        if (!done && MPI_Test(&notes[i].request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            continue; /* one that failed keeps its place */
        if (!done)
            continue;
        notes[i].note = *note;
        (void)MPI_Isend(&notes[i].note, sizeof(*note), MPI_BYTE, (int)to, NOTE_TAG, control,
                        &notes[i].request);
        return;
    }
}

static bool heard(struct dlb_ranks_note *note, uint32_t *from)
{
    MPI_Status status;
    int there = 0;
    if (MPI_Iprobe(MPI_ANY_SOURCE, NOTE_TAG, control, &there, &status) != MPI_SUCCESS || !there)
        return false;
    *from = (uint32_t)status.MPI_SOURCE;
    return MPI_Recv(note, sizeof(*note), MPI_BYTE, status.MPI_SOURCE, NOTE_TAG, control,
                    MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

static const char *why_failed(void)
{
    return failed;
}

static void abort_mpi(int code)
{
    (void)MPI_Abort(MPI_COMM_WORLD, code);
}

static bool go_on(void *ctx)
{
    (void)ctx;
    return true;
}

/* In place of MPI_Finalize: what it says to the launcher (in the protocol PMI-1), without
 * disconnecting. No rank ends before all are here, and nothing that one waits for is on its way. */
static void end_without_mpi(void)
{
    idle.idle = go_on; /* there is no runner any more */
    (void)(barrier() && ask_launcher("cmd=barrier_in\n", "cmd=barrier_out") &&
           ask_launcher("cmd=finalize\n", "cmd=finalize_ack"));
}

static void close_mpi(void)
{
    struct dlb_ranks_note note;
    uint32_t from;
    while (heard(&note, &from)) /* nothing that was sent is left */
        ;
    if (launcher_fd >= 0) {
        end_without_mpi();
        return;
    }
    (void)MPI_Op_free(&meet_op);
    (void)MPI_Type_free(&word_type);
    (void)MPI_Comm_free(&rounds);
    (void)MPI_Comm_free(&control);
    (void)MPI_Finalize();
}

extern const struct dlb_ranks dlb_ranks_module;
__attribute__((visibility("default"))) const struct dlb_ranks dlb_ranks_module = {
    .abi = DLB_RANKS_ABI,
    .name = DLB_MPI_NAME,
    .open = open_mpi,
    .rank = rank,
    .size = size,
    .node = node,
    .broadcast = broadcast,
    .gather = gather,
    .reduce = reduce,
    .barrier = barrier,
    .offsets = offsets,
    .tell = tell,
    .heard = heard,
    .why = why_failed,
    .abort = abort_mpi,
    .close = close_mpi,
};
