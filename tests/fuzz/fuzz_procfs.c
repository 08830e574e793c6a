/* The kernel's small text files, each way of reading them: any text ends, with a value or without.
 * The first byte is the size of the caller's memory. */
#include "core/host/osacct_parse.h"
#include "core/host/procfs.h"
#include "tests/support/memory_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void texts(const char *path, size_t n_text)
{
    char *text = malloc(n_text); /* exactly as large as it is said to be */
    if (!text)
        abort();
    if (dlb_procfs_text(path, text, n_text) && strlen(text) >= n_text)
        abort();
    if (dlb_procfs_value(path, "model name", text, n_text) && strlen(text) >= n_text)
        abort();
    if (dlb_procfs_chosen(path, text, n_text) && strlen(text) >= n_text)
        abort();
    free(text);
}

static void machine(const char *path)
{
    char text[512];
    if (!dlb_procfs_text(path, text, sizeof text))
        return;
    struct dlb_os_machine after = dlb_os_machine_parse(text), before = {0, 0, 0, 0};
    double busy = dlb_os_busy_frac(&before, &after), stolen = dlb_os_stolen_frac(&before, &after);
    if (busy > 1 || stolen > 1 || busy < 0 || stolen < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    /* One content under all names: the readers of a root look for these. */
    static const char *const names[] = {"proc/self/io", "proc/self/smaps_rollup", "proc/self/statm",
                                        "proc/self/status", "proc/meminfo"};
    enum { N = sizeof names / sizeof *names };
    static int fd[N];
    static char path[128];
    struct dlb_os_process process;
    struct dlb_os_thread thread;
    uint64_t value;

    if (n_bytes < 1)
        return 0;
    for (size_t i = 0; i < N; i++) {
        if (fd[i] == 0)
            fd[i] = memory_files_new(names[i]);
        memory_files_set(fd[i], data + 1, n_bytes - 1);
    }
    (void)snprintf(path, sizeof path, "%s/proc/meminfo", memory_files_folder());
    texts(path, 1 + data[0]);
    (void)dlb_procfs_u64(path, &value);
    (void)dlb_procfs_field(path, "MemAvailable:", &value);
    machine(path);
    dlb_os_io_at(memory_files_folder(), &process);
    dlb_os_schedstat_at(path, &thread);
    (void)dlb_os_pss_bytes_at(memory_files_folder());
    (void)dlb_os_peak_pss_bytes_at(memory_files_folder());
    (void)dlb_os_mem_available_bytes_at(memory_files_folder());
    return 0;
}
