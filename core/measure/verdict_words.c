#include "core/measure/verdict_words.h"

#include "core/base/escape.h"
#include "core/measure/verdict_say.h"
#include "core/measure/verdict_torch.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct setting {
    char text[64];
};

static const char *plural(uint32_t n)
{
    return n == 1 ? "" : "s";
}

/* Where the bytes came from, so that storage is not blamed for reads from the page cache. */
static const char *read_meaning(enum dlb_cache_label cache)
{
    switch (cache) {
    case DLB_CACHE_COLD:
        return "fetching bytes from storage";
    case DLB_CACHE_WARM:
        return "copying bytes from the page cache; storage plays no part in that";
    case DLB_CACHE_MIXED:
        return "fetching bytes from files, some of which were in the page cache";
    case DLB_CACHE_UNKNOWN:
        break;
    }
    return "fetching bytes from files";
}

/* What a stage does, for readers who do not know its name. */
static const char *stage_meaning(int stage, enum dlb_cache_label cache)
{
    switch (stage) {
    case DLB_WS_READ:
        return read_meaning(cache);
    case DLB_WS_DECODE:
        return "turning stored bytes into pixels or numbers";
    case DLB_WS_TRANSFORM:
        return "crop, resize, flip, normalise";
    default:
        return "putting samples together into a batch";
    }
}

static void say_stage(struct words *w, const char *who, const struct dlb_evidence *e,
                      const struct dlb_finding *f)
{
    if (f->stage >= 0 && e->torch)
        dlb_say_torch_stage(w, e, f);
    if (f->stage < 0 || e->torch)
        return;
    say(w,
        f->stage_frac > 0.5 ? "%s most of the time in %s (%s): %s. "
                            : "%s more time in %s (%s) than in any other stage: %s. ",
        who, dlb_worker_stage_names[f->stage], percent(f->stage_frac).text,
        stage_meaning(f->stage, e->cache));
}

/* How to make a stage cheaper, apart from more workers. */
static const char *cheaper(const struct dlb_evidence *e, int stage)
{
    enum dlb_cache_label cache = e->cache;

    if (e->torch)
        return dlb_cheaper_in_torch(e, stage);
    switch (stage) {
    case DLB_WS_READ:
        return cache == DLB_CACHE_WARM
                   ? "fewer and larger files (tar shards), which take fewer system calls; faster "
                     "storage would change nothing"
                   : "fewer and larger files (tar shards), faster storage, or data that fits into "
                     "memory and stays in the page cache";
    case DLB_WS_DECODE:
        return "images stored at about the size that is trained on, scaled decode, or decoding on "
               "the GPU";
    case DLB_WS_TRANSFORM:
        return "u8 output that the GPU normalises, cheaper augmentation, or augmentation on the "
               "GPU";
    default:
        return "smaller samples (u8 instead of f32, widened on the GPU)";
    }
}

/* The workers of one loader, as loader.num_workers counts them. */
static struct setting setting(const struct dlb_evidence *e, uint32_t n)
{
    struct setting out;
    if (e->n_loaders > 1)
        (void)snprintf(out.text, sizeof out.text, "num_workers = %u for each accelerator", n);
    else
        (void)snprintf(out.text, sizeof out.text, "%u", n);
    return out;
}

/* Whether more workers were measured, and were not clearly faster. */
static bool more_were_no_faster(const struct dlb_evidence *e)
{
    return e->more_workers > 0 && e->faster_workers == 0;
}

static void say_workers_advice(struct words *w, const struct dlb_evidence *e,
                               const struct dlb_finding *f)
{
    const char *then = f->stage < 0 ? "larger batches" : cheaper(e, f->stage);
    const char *extend = e->most_swept ? ": extend sweep.loader.num_workers" : "";
    /* Waiting needs no CPU. */
    bool storage = e->waits || (f->stage == DLB_WS_READ && e->cache != DLB_CACHE_WARM);
    bool room = storage || !f->cpus_taken;

    if (room && e->n_idle_workers > 0)
        say(w,
            "Only %u of %u workers had a shard to read. Try: more shards, at least one for each "
            "worker.",
            e->num_workers, e->num_workers + e->n_idle_workers);
    else if (room && more_were_no_faster(e))
        say(w, "More workers (up to %s) were measured and were not clearly faster. Try: %s.",
            setting(e, e->more_workers).text, then);
    else if (e->num_workers == 0)
        say(w, "Try: num_workers = 1 or more, so that loading overlaps with compute; then %s.",
            then);
    else if (e->faster_workers > 0)
        say(w,
            e->n_loaders > 1 ? "Try: num_workers = %u for each accelerator, which was measured and "
                               "was faster; then %s."
                             : "Try: %u workers, which were measured and were faster; then %s.",
            e->faster_workers, then);
    else if (storage)
        say(w,
            "Try: more workers (now %s%s) or a larger prefetch_factor, so that more reads are "
            "under way at once; %s.",
            setting(e, e->num_workers / (e->n_loaders ? e->n_loaders : 1)).text, extend, then);
    else if (f->cpus_taken)
        say(w,
            "All %u CPU%s already have a worker, so more workers will not help. Try: more CPUs; "
            "%s.",
            e->n_cpus, plural(e->n_cpus), then);
    else if (e->n_cpus > 0)
        say(w, "Try: more workers (you have %u CPUs and use %u worker%s%s); then %s.", e->n_cpus,
            e->num_workers, plural(e->num_workers), extend, then);
    else
        say(w, "Try: more workers; then %s.", then);
}

static void say_cpu_shortage(struct words *w, const struct dlb_evidence *e,
                             const struct dlb_finding *f)
{
    say(w, "The workers waited for a CPU core during %s of their working time. ",
        percent(f->runqueue_frac).text);
    say_stage(w, "They spent", e, f);
    if (e->num_workers < e->n_cpus)
        say(w,
            "There are %u CPUs for %u worker%s, so other programs use them. Try: a quiet machine, "
            "or "
            "loader.bind = \"core\".",
            e->n_cpus, e->num_workers, plural(e->num_workers));
    else
        say(w, "%u worker%s and the training loop share %u CPU%s%s. Try: more CPUs; %s.",
            e->num_workers, plural(e->num_workers), e->n_cpus, plural(e->n_cpus),
            e->faster_workers > 0 ? "" : ", so more workers will not help",
            f->stage < 0 ? "less work for each sample" : cheaper(e, f->stage));
}

static void say_start(struct words *w, const struct dlb_evidence *e)
{
    bool anew = e->num_workers > 0 && !e->persistent_workers;
    say(w,
        "Most of that is for the first batches of epochs, beyond what loading a batch takes: %s of "
        "the time%s. Try: %slonger epochs; less to do where an epoch begins (imports, opening "
        "files, filling a shuffle buffer).",
        percent(e->start_frac).text, anew ? ", in which workers are started anew" : "",
        anew ? "persistent_workers=True, which keeps the workers from one epoch to the next; "
             : "");
}

static void say_input_bound(struct words *w, const struct dlb_evidence *e,
                            const struct dlb_finding *f)
{
    say(w, "%s waited for data %s of the time; ", device_name(e), percent(f->input_frac).text);
    dlb_say_gain(w, e);
    dlb_say_copies(w, f);
    switch (f->cause) {
    case DLB_CAUSE_ORDER:
        say(w,
            "Batches were ready, but not the next one in order: one slow worker delayed the "
            "others, which waited %s of their time. Try: a larger prefetch_factor, so that they "
            "can run further ahead; "
            "samples or shards of more "
            "even size; or delivery in any order (in_order=False).",
            percent(f->blocked_frac).text);
        break;
    case DLB_CAUSE_CPU:
        say_cpu_shortage(w, e, f);
        break;
    case DLB_CAUSE_PIN:
        say(w,
            "Copying batches into page-locked memory, which one thread%s does, is the slowest "
            "part. Try: "
            "pin_mode = \"direct\", where workers write straight into page-locked memory; "
            "smaller batches in bytes (u8 "
            "instead of f32); or pin_memory=False.",
            e->n_loaders > 1 ? " of each loader" : "");
        break;
    case DLB_CAUSE_TRANSPORT:
        dlb_say_torch_transport(w, e);
        break;
    case DLB_CAUSE_START:
        say_start(w, e);
        break;
    default: {
        if (e->num_workers == 0)
            say(w,
                "There are no workers (num_workers = 0): the training loop loads every batch "
                "itself while %s is "
                "idle. ",
                device_name(e));
        static const char *const who[] = {"It spent", "The worker spent", "The workers spent"};
        say_stage(w, who[e->num_workers < 2 ? e->num_workers : 2], e, f);
        say_workers_advice(w, e, f);
    }
    }
}

static void say_h2d_bound(struct words *w, const struct dlb_evidence *e,
                          const struct dlb_finding *f)
{
    say(w, "%s was idle %s of the time while a batch was copied to it. ", device_name(e),
        percent(f->h2d_frac).text);
    if (e->pageable_copy || !e->pin_memory)
        say(w, "The copies start from ordinary (pageable) memory: they are slow and hold up the "
               "training loop. ");
    else
        say(w, "The copies already start from page-locked memory. ");

    if ((e->pageable_copy || !e->pin_memory) && e->device_prefetch == 0)
        say(w, "Try: pin_memory=True with non_blocking=True copies, and device.prefetch = 1, which "
               "copies the next batch on "
               "a stream of its own while this one computes.");
    else if (e->pageable_copy || !e->pin_memory)
        say(w, "Try: pin_memory=True with non_blocking=True copies.");
    else if (e->device_prefetch == 0)
        say(w, "Nothing overlaps with them. Try: device.prefetch = 1, which copies the next batch "
               "on a stream of its own "
               "while this one computes.");
    else
        say(w, "They overlap with compute and still take longer than it. Try: fewer bytes per "
               "batch (u8 instead of f32, "
               "widened on the GPU; smaller images), or a faster host link.");
}

static void say_residual_heavy(struct words *w, const struct dlb_evidence *e,
                               const struct dlb_finding *f)
{
    say(w, "%s was idle %s of the time, waiting neither for data nor for copies. ", device_name(e),
        percent(f->residual_frac).text);
    if (f->input_refuted) {
        say(w, "It also waited for data %s of the time", percent(f->input_frac).text);
        dlb_say_at_most(w, ", but ", e, f);
        say(w, ". ");
    }
    if (f->epoch_frac >= f->residual_frac / 2.0) {
        say(w,
            "Most of that lies between epochs (%s): ending one and starting the next%s. Try: %s.",
            percent(f->epoch_frac).text,
            e->num_workers > 0 && !e->persistent_workers ? ", with new workers" : "",
            e->num_workers == 0 ? "longer epochs"
            : e->persistent_workers
                ? "longer epochs, or fewer workers"
                : "persistent_workers=True, which keeps the workers from one epoch to the next");
    } else if (f->cause == DLB_CAUSE_HOST) {
        say(w,
            "The training loop's own CPU time (device.host_busy_frac) took %s of the time: steps "
            "that it delays begin late. Try: a core for the loop alone (%s); a lower "
            "device.host_busy_frac, if the training's own is.",
            percent(e->host_frac).text,
            e->num_workers > 0 ? "fewer workers than CPUs" : "workers, which load beside it");
    } else if (f->cause == DLB_CAUSE_CPU) {
        if (f->oversleep_frac >= f->residual_frac / 2.0)
            say(w, "For most of that the training loop woke up late (%s), which the host causes. ",
                percent(f->oversleep_frac).text);
        if (f->cpus_taken)
            say(w,
                "%u worker%s and the training loop share %u CPU%s. Try: fewer workers, so that the "
                "loop keeps a core; ",
                e->num_workers, plural(e->num_workers), e->n_cpus, plural(e->n_cpus));
        else
            say(w, "Try: a quiet machine; ");
        say(w, "%s.",
            e->device_prefetch == 0
                ? "device.prefetch = 1, which queues the next step before this one ends"
                : "longer steps (larger batches)");
    } else if (e->device_prefetch == 0) {
        say(w, "Each step is only started after the one before has ended. Try: device.prefetch = "
               "1, which queues the next "
               "step in time; longer steps (larger batches).");
    } else {
        say(w, "It is scheduling and start-up. Try: longer steps (larger batches), a quiet "
               "machine, longer epochs.");
    }
}

/* Whether the workers wait for the training loop more than they work. */
static bool loading_waits(const struct dlb_finding *f)
{
    return f->blocked_frac > 0.5;
}

static void say_compute_bound(struct words *w, const struct dlb_evidence *e,
                              const struct dlb_finding *f)
{
    say(w, "%s computed %s of the time. Loading is hidden behind it", device_name(e),
        percent(f->compute_frac).text);
    dlb_say_at_most(w, ": ", e, f);
    say(w, ". ");
    if (e->num_workers > 1 && loading_waits(f))
        say(w, "The %u workers waited %s of their time for the training loop: fewer are enough. ",
            e->num_workers, percent(f->blocked_frac).text);
    say(w, "To go faster, make the step itself faster: lower precision, a compiled model, a faster "
           "GPU.");
}

static void say_incomplete(struct words *w, const struct dlb_evidence *e,
                           const struct dlb_finding *f)
{
    if (!f->input_refuted) {
        say(w, "too little was measured to judge: the run failed, was interrupted, had no batches "
               "left after its warm-up, or no more batches than its workers prefetch. Try: more "
               "run.epochs or run.max_batches, or a smaller run.warmup_batches.");
        return;
    }
    dlb_say_refuted(w, e, f);
    say(w,
        ", so loading is not the cause, and %s of idle time is not explained. Try: a quiet "
        "machine; more repeats or more batches, for narrower intervals.",
        percent(1.0 - f->compute_frac).text);
}

static void say_balanced(struct words *w, const struct dlb_evidence *e, const struct dlb_finding *f)
{
    bool prefetch = e->device_prefetch == 0;
    bool worker =
        !f->cpus_taken && !loading_waits(f) && e->n_idle_workers == 0 && !more_were_no_faster(e);

    say(w, "%s computed %s of the time, waited for data %s, for copies %s, and the rest took %s. ",
        device_name(e), percent(f->compute_frac).text, percent(f->input_frac).text,
        percent(f->h2d_frac).text, percent(f->residual_frac).text);
    dlb_say_at_most(w, "There is little to gain: ", e, f);
    if (f->side == DLB_GAIN_UNKNOWN)
        say(w, "None of these takes 10%%");
    say(w, ". Try: %s%s%s, if the last few percent matter.", worker ? "one more worker" : "",
        worker && prefetch ? ", or " : "",
        prefetch ? "device.prefetch = 1"
        : worker ? ""
                 : "longer steps (larger batches)");
}

/* What the run with a null source showed; false: nothing against the harness. */
static bool say_null_source(struct words *w, const struct dlb_finding *f)
{
    bool slow = f->headroom > 0.0 && f->headroom < DLB_HEADROOM_MIN;

    if (f->harness_frac > DLB_HARNESS_MAX)
        say(w, "with a source that costs nothing the device was still idle %s of the time; ",
            percent(f->harness_frac).text);
    if (slow)
        say(w,
            "with such a source and steps that take no time dlbench itself reaches only %s what "
            "was measured; ",
            times(f->headroom).text);
    if (slow || f->harness_frac > DLB_HARNESS_MAX)
        say(w, "so these figures may be dlbench's own, and nothing is blamed on the storage. Try: "
               "fewer accelerators or a machine with more CPUs, larger batches, longer steps.");
    return slow || f->harness_frac > DLB_HARNESS_MAX;
}

static void say_harness_bound(struct words *w, const struct dlb_evidence *e,
                              const struct dlb_finding *f)
{
    if (say_null_source(w, f))
        return;
    if (f->starved) {
        dlb_say_refuted(w, e, f);
        say(w,
            ", and it was itself idle %s of the time, copies apart: the machine was busy, or "
            "dlbench is the limit, so this says nothing about the loader. Try: a quiet machine; "
            "longer steps (larger batches).",
            percent(f->ceiling_idle_frac).text);
        return;
    }
    say(w, "dlbench's own bookkeeping took %s of the time and %s of it is not accounted for",
        percent(f->account_frac).text, percent(f->unaccounted_frac).text);
    if (f->unaccounted_max_frac > f->unaccounted_frac)
        say(w, " (median; %s in the worst repetition)", percent(f->unaccounted_max_frac).text);
    say(w, ", which is too much for these figures to say anything about loader or storage. Try: "
           "longer steps (larger batches or device.step_ms), fewer workers than CPUs, a quiet "
           "machine.");
}

static void say_lost(struct words *w, const struct dlb_evidence *e, const struct dlb_finding *f)
{
    if (e->n_lost > 0)
        say(w, "%s of the samples (%" PRIu64 " of %" PRIu64 ") could not be read or decoded",
            percent(f->lost_frac).text, e->n_lost, e->n_lost_of);
    if (e->n_cut_shards > 0)
        say(w,
            "%s the rest of a shard could not be read, counted once an epoch: %" PRIu64
            "; how many samples those are is not known",
            e->n_lost > 0 ? ", and" : "In all epochs", e->n_cut_shards);
    if (e->first_lost)
        say(w, " (first: %.*s)", DLB_CUT(e->first_lost, 240));
    say(w, ": look at them with `dlbench inspect`. Of the rest: ");
}

void dlb_verdict_words(const struct dlb_evidence *evidence, const struct dlb_finding *finding,
                       char *text, size_t n_text)
{
    struct words w = {.text = text, .cap = n_text};

    say(&w, "%s: ", dlb_verdict_class_name(finding->klass));
    if (finding->lost_frac >= DLB_LOST_WARN || evidence->n_cut_shards > 0)
        say_lost(&w, evidence, finding);
    switch (finding->klass) {
    case DLB_V_INCOMPLETE:
        say_incomplete(&w, evidence, finding);
        break;
    case DLB_V_HARNESS_BOUND:
        say_harness_bound(&w, evidence, finding);
        break;
    case DLB_V_INPUT_BOUND:
        say_input_bound(&w, evidence, finding);
        break;
    case DLB_V_H2D_BOUND:
        say_h2d_bound(&w, evidence, finding);
        break;
    case DLB_V_RESIDUAL_HEAVY:
        say_residual_heavy(&w, evidence, finding);
        break;
    case DLB_V_BORDERLINE:
        dlb_say_borderline(&w, evidence, finding);
        break;
    case DLB_V_COMPUTE_BOUND:
        say_compute_bound(&w, evidence, finding);
        break;
    case DLB_V_BALANCED:
        say_balanced(&w, evidence, finding);
        break;
    }
    if (evidence->undecoded)
        say(&w,
            " Decoding is left out: the samples are %s, delivered as bytes. With decoding, loading "
            "takes longer than measured here.",
            evidence->undecoded);
}
