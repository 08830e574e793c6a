#include "core/measure/verdict_torch.h"

#include "core/base/escape.h"

void dlb_say_torch_stage(struct words *w, const struct dlb_evidence *e, const struct dlb_finding *f)
{
    double ms = f->stage_frac * e->sample_ns / 1e6, of_ms = e->sample_ns / 1e6;
    const char *whose = e->own_code ? "your " : "";

    if (f->stage == DLB_WS_TRANSFORM && e->own_computing)
        say(w,
            "Of loading, %s__getitem__'s own computing, beside transforms and decoding that have "
            "time stamps, takes %.2g ms of %.2g ms a sample. ",
            whose, e->transform_ns / 1e6, of_ms);
    else if (f->stage == DLB_WS_TRANSFORM && e->transform && e->n_transforms > 1)
        say(w, "Of loading, %s%u transforms %.*s together take %.2g ms of %.2g ms a sample. ",
            whose, e->n_transforms, DLB_CUT(e->transform, 60), e->transform_ns / 1e6, of_ms);
    else if (f->stage == DLB_WS_TRANSFORM && e->transform)
        say(w, "Of loading, %stransform %.*s takes %.2g ms of %.2g ms a sample. ", whose,
            DLB_CUT(e->transform, 60), e->transform_ns / 1e6, of_ms);
    else if (f->stage == DLB_WS_DECODE)
        say(w,
            "Of loading, opening and decoding an image, which are timed together, take %.2g ms of "
            "%.2g ms a sample. ",
            ms, of_ms);
    else if (f->stage == DLB_WS_COLLATE)
        say(w, "Of loading, collate takes %.2g ms of %.2g ms a sample. ", ms, of_ms);
    else if (f->stage == DLB_WS_READ)
        say(w,
            "Of loading, what %s__getitem__ does beside transforms and decoding takes %.2g ms of "
            "%.2g ms a sample. ",
            whose, ms, of_ms);
    if (e->waits && f->stage != DLB_WS_COLLATE)
        say(w, "Most of __getitem__'s time passes in waiting, and not in computing. ");
}

void dlb_say_torch_transport(struct words *w, const struct dlb_evidence *e)
{
    say(w,
        "Handing a batch from a worker to the training loop, which packs its tensors at one end "
        "and unpacks them at the other, takes %.2g ms a sample; loading and collating take %.2g "
        "ms. "
        "Try: fewer tensors in a batch, because each is handed over by itself (one of all numbers "
        "instead of many small ones); num_workers = 0, if loading is that cheap; whole batches "
        "from the data set.",
        e->transport_ns / 1e6, e->sample_ns / 1e6);
}

const char *dlb_cheaper_in_torch(const struct dlb_evidence *e, int stage)
{
    if (e->waits && stage != DLB_WS_COLLATE)
        return "fewer and larger reads, or a source that is nearer or cached";
    switch (stage) {
    case DLB_WS_READ:
        return "fewer and larger reads for each sample";
    case DLB_WS_DECODE:
        return "images stored at about the size that is trained on, or another decoder "
               "(torchvision.io.decode_jpeg, Pillow-SIMD, DALI)";
    case DLB_WS_TRANSFORM:
        if (e->own_computing)
            return "less work in __getitem__ (a profiler such as py-spy shows its lines), or part "
                   "of it done once, before the training";
        return "a cheaper transform, or the same for a whole batch on the GPU";
    default:
        return "smaller samples (u8 instead of f32, widened on the GPU)";
    }
}
