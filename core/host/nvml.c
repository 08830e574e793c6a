#include "core/host/nvml.h"

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/host/procfs.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The driver averages utilization over 1/6 to 1 s, so that sampling this often misses no window.
 * The first windows also cover the time before: calibration, with its many steps. */
#define SAMPLE_NS (100 * DLB_NS_PER_MS)
#define WINDOW_NS (1 * DLB_NS_PER_S)

/* The part of NVML's documented interface that is used; functions return 0 for success. */
struct device; /* nvmlDevice_t is a pointer to it */
enum { CLOCK_SM = 1, SENSOR_GPU = 0 };
struct utilization {
    unsigned gpu, memory; /* percent */
};

struct process { /* nvmlProcessInfo_v2_t */
    unsigned pid;
    unsigned long long bytes; /* ULLONG_MAX: not known */
    unsigned gpu_instance, compute_instance;
};
enum { MAX_PROCESSES = 32, PROCESS_EVERY = 10 /* samples */ };

struct calls {
    int (*init)(void);
    int (*shutdown)(void);
    int (*by_bus_id)(const char *, struct device **);
    int (*utilization)(struct device *, struct utilization *);
    int (*clock)(struct device *, int, unsigned *);
    int (*max_clock)(struct device *, int, unsigned *);
    int (*throttle)(struct device *, unsigned long long *);
    int (*pcie_gen)(struct device *, unsigned *);
    int (*pcie_width)(struct device *, unsigned *);
    int (*max_pcie_gen)(struct device *, unsigned *);
    int (*max_pcie_width)(struct device *, unsigned *);
    int (*power)(struct device *, unsigned *);
    int (*temperature)(struct device *, int, unsigned *);
    int (*power_limit)(struct device *, unsigned *);
    int (*default_power_limit)(struct device *, unsigned *);
    int (*mig)(struct device *, unsigned *, unsigned *);
    int (*processes)(struct device *, unsigned *, struct process *);
};

/* Sum, extremes and number of the samples that could be read. */
struct series {
    double sum;
    unsigned min, max;
    uint32_t n;
};

struct dlb_nvml {
    void *library;
    struct calls nvml;
    struct device *gpu;
    char bus_id[32];
    pthread_t thread;
    uint64_t start_ns;
    pthread_mutex_t lock;
    pthread_cond_t stopped;
    bool stop;
    uint32_t n_samples;
    struct series busy, memory_busy, sm_mhz, pcie_gen, pcie_width, power_mw, temperature_c;
    struct series before_mhz, after_mhz;
    bool has_throttle;
    unsigned long long throttle;
    struct process processes[MAX_PROCESSES]; /* seen in any sample */
    uint32_t n_processes;
};

static void *symbol(void *library, const char *name, const char *other)
{
    void *found = dlsym(library, name);
    return found || !other ? found : dlsym(library, other);
}

/* nvml.h maps plain names to those with _v2. Only the first three functions are required. */
static bool load(struct calls *nvml, void *library)
{
    const struct {
        void *into;
        const char *name, *other;
    } wanted[] = {
        {&nvml->init, "nvmlInit_v2", "nvmlInit"},
        {&nvml->shutdown, "nvmlShutdown", NULL},
        {&nvml->by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId"},
        {&nvml->utilization, "nvmlDeviceGetUtilizationRates", NULL},
        {&nvml->clock, "nvmlDeviceGetClockInfo", NULL},
        {&nvml->max_clock, "nvmlDeviceGetMaxClockInfo", NULL},
        {&nvml->throttle, "nvmlDeviceGetCurrentClocksEventReasons",
         "nvmlDeviceGetCurrentClocksThrottleReasons"},
        {&nvml->pcie_gen, "nvmlDeviceGetCurrPcieLinkGeneration", NULL},
        {&nvml->pcie_width, "nvmlDeviceGetCurrPcieLinkWidth", NULL},
        {&nvml->max_pcie_gen, "nvmlDeviceGetMaxPcieLinkGeneration", NULL},
        {&nvml->max_pcie_width, "nvmlDeviceGetMaxPcieLinkWidth", NULL},
        {&nvml->power, "nvmlDeviceGetPowerUsage", NULL},
        {&nvml->temperature, "nvmlDeviceGetTemperature", NULL},
        {&nvml->power_limit, "nvmlDeviceGetEnforcedPowerLimit", NULL},
        {&nvml->default_power_limit, "nvmlDeviceGetPowerManagementDefaultLimit", NULL},
        {&nvml->mig, "nvmlDeviceGetMigMode", NULL},
        /* _v3 of drivers 535.43 to 535.86 has records of 32 bytes under the same name. */
        {&nvml->processes, "nvmlDeviceGetComputeRunningProcesses_v2",
         "nvmlDeviceGetComputeRunningProcesses_v3"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *found = symbol(library, wanted[i].name, wanted[i].other);
        memcpy(wanted[i].into, &found,
               sizeof found); /* converts an object pointer to a function pointer */
    }
    return nvml->init && nvml->shutdown && nvml->by_bus_id;
}

static void add(struct series *s, unsigned value)
{
    s->min = s->n == 0 || value < s->min ? value : s->min;
    s->max = s->n == 0 || value > s->max ? value : s->max;
    s->sum += value;
    s->n++;
}

static void add_number(struct dlb_nvml *n, int (*call)(struct device *, unsigned *),
                       struct series *s)
{
    unsigned value = 0;
    if (call && call(n->gpu, &value) == 0)
        add(s, value);
}

static void add_kind(struct dlb_nvml *n, int (*call)(struct device *, int, unsigned *), int kind,
                     struct series *s)
{
    unsigned value = 0;
    if (call && call(n->gpu, kind, &value) == 0)
        add(s, value);
}

static void add_process(struct dlb_nvml *n, const struct process *one)
{
    for (uint32_t i = 0; i < n->n_processes; i++)
        if (n->processes[i].pid == one->pid)
            return;
    if (n->n_processes < MAX_PROCESSES)
        n->processes[n->n_processes++] = *one;
}

/* Who has a context on the GPU. */
static void look_at_processes(struct dlb_nvml *n)
{
    struct process seen[2 * MAX_PROCESSES]; /* room for records that are larger in some driver */
    unsigned n_seen = MAX_PROCESSES;

    if (!n->nvml.processes || n->nvml.processes(n->gpu, &n_seen, seen) != 0)
        return;
    for (unsigned i = 0; i < n_seen && i < MAX_PROCESSES; i++)
        add_process(n, &seen[i]);
}

static void sample(struct dlb_nvml *n)
{
    const struct calls *nvml = &n->nvml;
    struct utilization used = {0};
    unsigned long long reasons = 0;

    n->n_samples++;
    if (nvml->utilization && dlb_now_ns() - n->start_ns > WINDOW_NS &&
        nvml->utilization(n->gpu, &used) == 0) {
        add(&n->busy, used.gpu);
        add(&n->memory_busy, used.memory);
    }
    if (nvml->throttle && nvml->throttle(n->gpu, &reasons) == 0) {
        n->has_throttle = true;
        n->throttle |= reasons;
    }
    add_kind(n, nvml->clock, CLOCK_SM, &n->sm_mhz);
    add_number(n, nvml->pcie_gen, &n->pcie_gen);
    add_number(n, nvml->pcie_width, &n->pcie_width);
    add_number(n, nvml->power, &n->power_mw);
    add_kind(n, nvml->temperature, SENSOR_GPU, &n->temperature_c);
    if (n->n_samples % PROCESS_EVERY == 0)
        look_at_processes(n);
}

static void *sample_main(void *arg)
{
    struct dlb_nvml *n = arg;
    uint64_t due_ns = n->start_ns;

    (void)pthread_mutex_lock(&n->lock);
    while (!n->stop) {
        due_ns += SAMPLE_NS;
        struct timespec until = dlb_timespec(due_ns);
        (void)pthread_cond_timedwait(&n->stopped, &n->lock, &until);
        if (!n->stop && dlb_now_ns() >= due_ns)
            sample(n);
    }
    (void)pthread_mutex_unlock(&n->lock);
    return NULL;
}

static bool start_thread(struct dlb_nvml *n)
{
    pthread_condattr_t attr;
    if (pthread_condattr_init(&attr) != 0)
        return false;
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&n->stopped, &attr);
    (void)pthread_condattr_destroy(&attr);
    (void)pthread_mutex_init(&n->lock, NULL);
    if (pthread_create(&n->thread, NULL, sample_main, n) == 0)
        return true;
    (void)pthread_cond_destroy(&n->stopped);
    (void)pthread_mutex_destroy(&n->lock);
    return false;
}

struct dlb_nvml *dlb_nvml_start_with(const char *library, const char *pci_bus_id)
{
    struct dlb_nvml *n = calloc(1, sizeof *n);
    bool up = false;

    if (!n || strlen(pci_bus_id) >= sizeof n->bus_id)
        goto fail;
    memcpy(n->bus_id, pci_bus_id, strlen(pci_bus_id) + 1);
    n->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!n->library || !load(&n->nvml, n->library))
        goto fail;
    up = n->nvml.init() == 0;
    if (!up || n->nvml.by_bus_id(n->bus_id, &n->gpu) != 0)
        goto fail;
    add_kind(n, n->nvml.clock, CLOCK_SM, &n->before_mhz);
    look_at_processes(n);
    n->start_ns = dlb_now_ns();
    if (start_thread(n))
        return n;
fail:
    if (up)
        (void)n->nvml.shutdown();
    if (n && n->library)
        (void)dlclose(n->library);
    free(n);
    return NULL;
}

struct dlb_nvml *dlb_nvml_start(const char *pci_bus_id)
{
    return dlb_nvml_start_with("libnvidia-ml.so.1", pci_bus_id);
}

static json_t *mean(const struct series *s, double scale)
{
    return s->n > 0 ? json_real(s->sum / s->n * scale) : json_null();
}

static json_t *highest(const struct series *s)
{
    return s->n > 0 ? json_integer((json_int_t)s->max) : json_null();
}

static json_t *limit(struct dlb_nvml *n, int (*call)(struct device *, unsigned *))
{
    struct series s = {0};
    add_number(n, call, &s);
    return highest(&s);
}

/* nvmlClocksEventReasons, by bit. */
json_t *dlb_nvml_throttle_json(uint64_t reasons)
{
    static const char *const names[] = {"idle",
                                        "applications_clocks_setting",
                                        "sw_power_cap",
                                        "hw_slowdown",
                                        "sync_boost",
                                        "sw_thermal_slowdown",
                                        "hw_thermal_slowdown",
                                        "hw_power_brake_slowdown",
                                        "display_clock_setting"};
    json_t *out = json_array();
    for (size_t i = 1; out && i < sizeof names / sizeof *names; i++)
        if (reasons >> i & 1 && json_array_append_new(out, json_string(names[i])) != 0) {
            json_decref(out);
            return NULL;
        }
    return out;
}

static json_t *milliwatts(struct dlb_nvml *n, int (*call)(struct device *, unsigned *))
{
    unsigned mw = 0;
    return call && call(n->gpu, &mw) == 0 ? json_real(mw * 1e-3) : json_null();
}

enum mig { MIG_UNKNOWN, MIG_OFF, MIG_ON };

static enum mig mig_of(struct dlb_nvml *n)
{
    unsigned now = 0, pending = 0;
    if (!n->nvml.mig || n->nvml.mig(n->gpu, &now, &pending) != 0)
        return MIG_UNKNOWN;
    return now == 1 ? MIG_ON : MIG_OFF;
}

static json_t *mig_json(enum mig mig)
{
    return mig == MIG_UNKNOWN ? json_null() : json_boolean(mig == MIG_ON);
}

/* The driver counts processes as the machine does. In a container it names none of ours, and then
 * it is not known which one this process is: NULL. */
static const struct process *find_us(const struct dlb_nvml *n)
{
    for (uint32_t i = 0; i < n->n_processes; i++)
        if (n->processes[i].pid == (unsigned)getpid())
            return &n->processes[i];
    return NULL;
}

/* On the same part of the GPU, where it is in parts. */
static bool is_other(const struct process *one, const struct process *us)
{
    return one->pid != us->pid && one->gpu_instance == us->gpu_instance;
}

static json_t *processes_json(const struct dlb_nvml *n)
{
    const struct process *us = find_us(n);
    if (!us)
        return json_null();
    json_t *out = json_array();
    for (uint32_t i = 0; i < n->n_processes; i++) {
        const struct process *one = &n->processes[i];
        char path[64], name[64];
        if (!is_other(one, us))
            continue;
        (void)snprintf(path, sizeof path, "/proc/%u/comm", one->pid);
        bool named = dlb_procfs_text(path, name, sizeof name);
        dlb_json_append(out,
                        json_pack("{si, so, so}", "pid", (int)one->pid, "name",
                                  named ? dlb_json_safe_text(name) : json_null(), "memory_bytes",
                                  one->bytes == ULLONG_MAX ? json_null()
                                                           : json_integer((json_int_t)one->bytes)));
    }
    return out;
}

static json_t *others_json(const struct dlb_nvml *n, enum mig mig)
{
    const struct process *us = find_us(n);
    uint32_t n_others = 0;

    if (!us) /* one of them is this process; an empty list says nothing, nor do other parts' */
        return n->n_processes > 0 && mig != MIG_ON ? json_integer(n->n_processes - 1) : json_null();
    for (uint32_t i = 0; i < n->n_processes; i++)
        n_others += is_other(&n->processes[i], us);
    return json_integer(n_others);
}

static json_t *as_json(struct dlb_nvml *n)
{
    struct series max_mhz = {0};
    enum mig mig = mig_of(n);
    add_kind(n, n->nvml.max_clock, CLOCK_SM, &max_mhz);
    /* json_pack steals its arguments, and returns NULL when one of them is NULL. */
    return json_pack(
        "{so, so, so, so, so, so, so, so, so, so, so, so, so, so, so, so, so, so, so, so}",
        "samples", json_integer((json_int_t)n->n_samples), "utilization_frac", mean(&n->busy, 0.01),
        "memory_utilization_frac", mean(&n->memory_busy, 0.01), "sm_clock_before_mhz",
        highest(&n->before_mhz), "sm_clock_after_mhz", highest(&n->after_mhz), "sm_clock_min_mhz",
        n->sm_mhz.n > 0 ? json_integer((json_int_t)n->sm_mhz.min) : json_null(),
        "sm_clock_mean_mhz", mean(&n->sm_mhz, 1), "sm_clock_max_mhz", highest(&max_mhz), "power_w",
        mean(&n->power_mw, 1e-3), "power_limit_w", milliwatts(n, n->nvml.power_limit),
        "power_limit_default_w", milliwatts(n, n->nvml.default_power_limit), "temperature_c",
        highest(&n->temperature_c), "throttle",
        n->has_throttle ? dlb_nvml_throttle_json(n->throttle) : json_null(), "mig", mig_json(mig),
        "n_other_processes", others_json(n, mig), "other_processes", processes_json(n), "pcie_gen",
        highest(&n->pcie_gen), "pcie_width", highest(&n->pcie_width), "pcie_gen_max",
        limit(n, n->nvml.max_pcie_gen), "pcie_width_max", limit(n, n->nvml.max_pcie_width));
}

json_t *dlb_nvml_stop(struct dlb_nvml *n)
{
    if (!n)
        return NULL;
    (void)pthread_mutex_lock(&n->lock);
    n->stop = true;
    (void)pthread_cond_signal(&n->stopped);
    (void)pthread_mutex_unlock(&n->lock);
    (void)pthread_join(n->thread, NULL);
    (void)pthread_cond_destroy(&n->stopped);
    (void)pthread_mutex_destroy(&n->lock);
    add_kind(n, n->nvml.clock, CLOCK_SM, &n->after_mhz);
    look_at_processes(n);
    json_t *out = as_json(n);
    (void)n->nvml.shutdown();
    (void)dlclose(n->library);
    free(n);
    return out;
}
