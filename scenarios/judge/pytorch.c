#include "scenarios/judge/judge.h"
#include "scenarios/spec/meaning.h"

#include <stdio.h>
#include <string.h>

static const char *python_bool(bool value)
{
    return value ? "True" : "False";
}

/* A training has many epochs. Only processes' starts take time that shows, and only where there
 * are enough epochs: then the message has the measured numbers. */
static bool keeps_workers(const struct dlb_spec *spec)
{
    if (dlb_spec_is_torch(spec) ||
        (dlb_spec_forks(spec) && spec->run.epochs >= DLB_EPOCHS_WITH_BORDERS))
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

static bool is_set(const json_t *left_out, const char *key)
{
    for (size_t i = 0; i < json_array_size(left_out); i++)
        if (strcmp(json_string_value(json_array_get(left_out, i)), key) == 0)
            return false;
    return true;
}

void dlb_pytorch_text(const struct dlb_spec *spec, bool iterable, const json_t *left_out,
                      char *text, size_t n_text)
{
    const struct dlb_loader_opts *loader = &spec->loader;
    char pin[24] = "", ahead[64] = "", keep[40] = "", shuffle[72] = "", order[20] = "",
         timeout[32] = "";
    bool workers = loader->num_workers > 0;
    if (is_set(left_out, "loader.pin_memory"))
        (void)snprintf(pin, sizeof(pin), ", pin_memory=%s", python_bool(loader->pin_memory));
    if (workers && is_set(left_out, "loader.prefetch_factor"))
        (void)snprintf(ahead, sizeof(ahead), ", prefetch_factor=%lld",
                       (long long)loader->prefetch_factor);
    if (workers && is_set(left_out, "loader.persistent_workers"))
        (void)snprintf(keep, sizeof(keep), ", persistent_workers=%s",
                       python_bool(keeps_workers(spec)));
    if (workers && loader->order == DLB_ORDER_ANY && is_set(left_out, "loader.order"))
        (void)snprintf(order, sizeof(order), ", in_order=False");
    if (workers && loader->timeout_s > 0 && is_set(left_out, "loader.timeout_s"))
        (void)snprintf(timeout, sizeof(timeout), ", timeout=%g", loader->timeout_s);
    if (!iterable)
        write_order(spec, shuffle, sizeof(shuffle));
    (void)snprintf(
        text, n_text,
        "DataLoader(dataset, batch_size=%lld, num_workers=%lld%s%s%s%s, drop_last=%s%s%s)",
        (long long)loader->batch_size, (long long)loader->num_workers, pin, ahead, keep, shuffle,
        python_bool(loader->drop_last), timeout, order);
}
