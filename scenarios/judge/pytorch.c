#include "scenarios/judge/judge.h"
#include "scenarios/spec/meaning.h"

#include <stdio.h>

static const char *python_bool(bool value)
{
    return value ? "True" : "False";
}

/* A training has many epochs. Only processes' starts take time that shows, and only where there
 * are enough epochs: then the message has the measured numbers. */
static bool keeps_workers(const struct dlb_spec *spec)
{
    if (dlb_spec_forks(spec) && spec->run.epochs >= DLB_EPOCHS_WITH_BORDERS)
        return spec->loader.persistent_workers;
    return true;
}

/* DataLoader refuses both for iterable data: the data set shuffles and divides itself. */
static void write_order(const struct dlb_spec *spec, char *text, size_t n_text)
{
    const char *shuffle = python_bool(spec->loader.shuffle);
    if (dlb_spec_ranks(spec) > 1)
        (void)snprintf(text, n_text, ", sampler=DistributedSampler(dataset, shuffle=%s%s)", shuffle,
                       spec->loader.drop_last ? ", drop_last=True" : "");
    else
        (void)snprintf(text, n_text, ", shuffle=%s", shuffle);
}

void dlb_pytorch_text(const struct dlb_spec *spec, bool iterable, char *text, size_t n_text)
{
    const struct dlb_loader_opts *loader = &spec->loader;
    char ahead[64] = "", keep[40] = "", shuffle[72] = "", order[20] = "", timeout[32] = "";
    if (loader->num_workers > 0) {
        (void)snprintf(ahead, sizeof(ahead), ", prefetch_factor=%lld",
                       (long long)loader->prefetch_factor);
        (void)snprintf(keep, sizeof(keep), ", persistent_workers=%s",
                       python_bool(keeps_workers(spec)));
        if (loader->order == DLB_ORDER_ANY)
            (void)snprintf(order, sizeof(order), ", in_order=False");
        if (loader->timeout_s > 0)
            (void)snprintf(timeout, sizeof(timeout), ", timeout=%g", loader->timeout_s);
    }
    if (!iterable)
        write_order(spec, shuffle, sizeof(shuffle));
    (void)snprintf(text, n_text,
                   "DataLoader(dataset, batch_size=%lld, num_workers=%lld, pin_memory=%s%s%s%s, "
                   "drop_last=%s%s%s)",
                   (long long)loader->batch_size, (long long)loader->num_workers,
                   python_bool(loader->pin_memory), ahead, keep, shuffle,
                   python_bool(loader->drop_last), timeout, order);
}
