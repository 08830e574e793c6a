"""The checks of tests/gpu/acceptance, and what they run the program with. Comes with the program, in its bundle.

Every check adds rows to a table: what was wanted, what was measured, whether it held. Each has its seconds, and those that are run have
to be through in BUDGET_S.
"""

import concurrent.futures
import copy
import glob
import json
import os
import re
import select
import shutil
import statistics
import subprocess
import sys
import time

import training
from program import BUDGET_S, OUT_OF_TIME, Bench, CannotRun, OutOfTime, end_session, hold_drivers, watchers_of_cells

MB = 10**6
__all__ = ["Bench", "CHECKS", "CannotRun", "USUAL", "identify", "run"]


def copies(n_bytes, n, **more):
    """Batches of n_bytes from a source that costs nothing, one sample each."""
    return {"dataset.format": "synthetic", "dataset.codec": "raw", "generate.samples": n + 16, "generate.sample_bytes": n_bytes,
            "loader.kind": "threads", "loader.num_workers": 1, "loader.batch_size": 1, "loader.pin_memory": True,
            "device.prefetch": 1, "run.warmup_batches": 8, "run.max_batches": n, **more}


# Without workers: a hand-off from thread to thread takes about as long as a short copy or step, and the device is what is looked at.
INLINE = {"loader.kind": "auto", "loader.num_workers": 0}


def gb(rate):
    return f"{rate / 1e9:.2f} GB/s"


def step_s(cell, batch_size=1):
    return batch_size / cell["samples_per_s"]["median"]


def mean_ns(stage):
    return stage["sum_ns"] / stage["count"] if stage["count"] else 0.0


def find(doc, pattern, path=""):
    """Numbers and texts of a document whose path matches."""
    if isinstance(doc, dict):
        for key, value in doc.items():
            yield from find(value, pattern, f"{path}.{key}")
    elif not isinstance(doc, list) and re.search(pattern, path, re.I):
        yield path.lstrip("."), doc


def torch_peer(b, *words):
    """Rates that PyTorch reaches, and what to say of it; {} and why where it cannot be had. It is beside the figures, never one of them."""
    script = os.path.join(b.bundle, "tests", "gpu", "torch_peer.py")
    try:
        done = b.command([os.environ.get("PYTHON", sys.executable), script, *map(str, words), *(["--cpu"] if b.emulated else [])], 30)
        if done.returncode != 0:
            return {}, (done.stderr.strip().splitlines() or ["no torch"])[-1]
        rates = json.loads(done.stdout)
        return rates, f"torch {rates.pop('torch')}" + (", which copied to the host's memory" if b.emulated else "")
    except (CannotRun, OSError, ValueError, KeyError) as why:
        return {}, f"{type(why).__name__}: {why}"


def h2d(b):
    """Pinned copies through the prefetcher against a bare loop, in turns."""
    sizes = [4 * MB] if b.quick else [1 * MB, 4 * MB, 16 * MB, 400 * MB]
    for n_bytes in sizes:
        n = max(20, min(2000, 8000 * MB // n_bytes)) if not b.quick else 30
        free = {"device.step_ms": 0, "device.prefetch": 2}
        bare = {"copy": [], "loop": []}
        for turn in range(2):
            if b.emulated:
                loop = {"copy_bytes_per_s": 25e9, "loop_bytes_per_s": 25e9}
                free.update({"device.pinned_bytes_per_s": 25e9, "device.pageable_bytes_per_s": 5e9})
            else:
                loop = b.bare_copy("rate", n_bytes, n)
            for key in bare:
                bare[key].append(loop[key + "_bytes_per_s"])
            if turn == 0:
                pinned = b.run(copies(n_bytes, n, **free, **INLINE))[1]
        name = f"pinned copies of {n_bytes // MB} MB"
        for key, what, rate in (("copy", "while copying", pinned["h2d_bytes_per_s"]),
                                ("loop", "back to back, all in all", pinned["delivered_bytes_per_s"])):
            base = statistics.mean(bare[key])
            judged = n_bytes >= 4 * MB  # a smaller copy is mostly its call
            b.row(f"{name}, {what}", ">= 0.95 of a bare cudaMemcpyAsync loop" if judged else "shown", f"{rate / base:.3f}",
                  rate >= 0.95 * base if judged else None, f"{gb(rate)} of {gb(base)}")
        few = max(10, n // 8)
        pageable = b.run(copies(n_bytes, few, **{**free, **INLINE, "loader.pin_memory": False}))[1]
        thread = b.run(copies(n_bytes, few, **{**free, "loader.pin_mode": "thread"}))[1]
        b.row(f"{name}: pageable beside it", "shown", gb(pageable["h2d_bytes_per_s"]), None,
              f"all in all {gb(pageable['delivered_bytes_per_s'])}")
        b.row(f"{name}: by a pin thread", "shown", gb(thread["h2d_bytes_per_s"]), None,
              f"all in all {gb(thread['delivered_bytes_per_s'])}")
    rates, why = torch_peer(b, "copy", *sizes)
    b.row("PyTorch's copies on the same GPU", "shown", "; ".join(f"{k}: {gb(v)}" for k, v in rates.items()) or "not measured", None, why)
    n_bytes, n = 16 * MB, 20 if b.quick else 200
    like_torch = b.run(copies(n_bytes, n, **{"loader.kind": "processes", "loader.transport": "fresh", "loader.pin_mode": "thread",
                                             "device.step_ms": 0}))[1]
    rates, why = torch_peer(b, "loader", n, n_bytes)
    b.row("PyTorch's DataLoader, 1 worker, pin_memory, 16 MB", "shown", gb(rates[str(n_bytes)]) if rates else "not measured", None,
          f"{why}; dlbench's processes, fresh memory and pin thread: {gb(like_torch['delivered_bytes_per_s'])}")


def overlap(b):
    """Compute, copy and production planted at equal time."""
    n_bytes, n = (32 * MB, 20) if b.quick else (512 * MB, 60)
    link = {"device.pinned_bytes_per_s": n_bytes / 10e-3} if b.emulated else {}
    cell = b.run(copies(n_bytes, n, **{**link, "device.step_ms": 0}))[1]
    copy_s = n_bytes / cell["h2d_bytes_per_s"]
    planted = {"device.step_ms": round(copy_s * 1e3, 4), "loader.sample_sleep_us": round(copy_s * 1e6)}
    alone = b.run(copies(1000, n, **{**planted, "device.step_ms": 0.05}))[1]
    for depth in (1, 0) if b.quick else (1, 2, 0):
        cell = b.run(copies(n_bytes, n, **{**link, **planted, "device.prefetch": depth}))[1]
        stages = cell["device_stages"]
        produce, compute, copy = step_s(alone), mean_ns(stages["compute"]) / 1e9, mean_ns(stages["copy"]) / 1e9
        each = f"production {produce * 1e3:.2f}, compute {compute * 1e3:.2f}, copy {copy * 1e3:.2f}; step {step_s(cell) * 1e3:.2f} ms"
        if depth > 0:
            ratio = step_s(cell) / max(produce, compute, copy)
            b.row(f"overlap with prefetch {depth}", "step <= 1.03 of the longest", f"{ratio:.3f}", ratio <= 1.03, each)
        else:
            ratio = step_s(cell) / max(produce, copy + compute)
            b.row("no overlap with prefetch 0", "step 0.95 to 1.10 of max(production, copy + compute)", f"{ratio:.3f}",
                  0.95 <= ratio <= 1.10, each)


def idle(b):
    """Planted duty cycles, found again; what nvidia-smi would have said is beside it."""
    period_ms = 20
    for duty in (0.5,) if b.quick else (0.1, 0.5, 0.9):
        doc, cell = b.run(copies(1 * MB, 25 if b.quick else 150, **{
            "device.step_ms": period_ms * duty, "loader.sample_sleep_us": period_ms * 1000}))
        busy = 1 - cell["gpu_idle_frac"]["median"]
        nvml = [f"nvidia-smi would have said {value:.0%}" for _, value in find(doc, r"nvml\.utilization_frac") if value is not None]
        b.row(f"duty cycle of {duty:.0%}", "found within 2 points", f"{busy:.1%}", abs(busy - duty) <= 0.02,
              f"a step every {step_s(cell) * 1e3:.2f} ms; " + (nvml[0] if nvml else "no NVML figure"))


def step_row(b, name, options, n):
    """By the run's own events, and by the window, whose stamps are on the host's clock."""
    doc, cell = b.run(copies(4096, n, **options))
    stage, step_ms = cell["device_stages"]["compute"], options["device.step_ms"]
    ran = {key: value for key, value in find(doc, r"device\.gpu\.run\.(step_took_ns|clock_drift_frac|n_brackets)$")}
    took_ms = mean_ns(stage) / 1e6
    own = next((value for key, value in ran.items() if key.endswith("step_took_ns") and value), None)
    drift = next((value for key, value in ran.items() if key.endswith("clock_drift_frac") and value is not None), None)
    b.row(name, "mean within 2%", f"{took_ms / step_ms - 1:+.2%}", abs(took_ms / step_ms - 1) <= 0.02,
          f"median {stage['p50_ns'] / 1e6:.4f} ms; {n} steps" + (f"; by the GPU's events {own / step_ms / 1e6 - 1:+.2%}" if own else "")
          + (f"; clock drift {drift * 1e6:+.1f} ppm" if drift is not None else ""))


def steps(b):
    """Steps take what was asked on average, of both kinds, queued behind each other and on an idle GPU, and on a share of the multiprocessors."""
    planted = [("fma", 0.05, 2000), ("fma", 1, 2000), ("fma", 50, 20), ("fma", 1000, 3), ("memory", 0.05, 2000), ("memory", 1, 2000)]
    for kind, step_ms, n in [("fma", 1, 20), ("memory", 1, 20)] if b.quick else planted:
        n_warm = round(300 / step_ms) if step_ms <= 1 else 1 if step_ms > 100 else 8
        more = {"generate.samples": n_warm + n + 16, "run.warmup_batches": n_warm, **({"device.prefetch": 2} if step_ms <= 1 else {})}
        how = {"device.step_kind": kind, "device.step_ms": step_ms, **INLINE, **more}
        step_row(b, f"{kind} steps of {step_ms:g} ms", how, n)
    # A step that finds the GPU idle begins with its kernels, not with its launch.
    for step_ms in (1,) if b.quick else (0.05, 1):
        step_row(b, f"fma steps of {step_ms:g} ms on an idle GPU", {
            "device.step_ms": step_ms, "device.prefetch": 1, "loader.sample_sleep_us": 3000 * step_ms}, 20 if b.quick else 500)
    name, wanted = "sm_share = 0.5", "half of the multiprocessors"
    if b.emulated:
        b.row(name, wanted, "not run", None, "the emulated accelerator has no multiprocessors")
        return
    gpu = b.run(copies(4096, 20, **{"device.step_ms": 1, "device.sm_share": 0.5, **INLINE}))[0]["device"]["gpu"]
    seen, all_of_it = gpu["step"]["n_sms_seen"], gpu["sms"]
    b.row(name, wanted, f"{seen} of {all_of_it}", bool(seen and all_of_it) and abs(seen - all_of_it / 2) <= 1,
          f"{gpu['step']['n_sms']} blocks")
    gpu = b.run(copies(4096, 200, **{"device.step_ms": 1, **INLINE}), env={"CUDA_LAUNCH_BLOCKING": "1"})[0]["device"]["gpu"]
    said, took_ns = gpu["environment"]["CUDA_LAUNCH_BLOCKING"], gpu["run"]["step_took_ns"]
    b.row("CUDA_LAUNCH_BLOCKING = 1", "said, and a mean within 2%", f"{said}, {took_ns / 1e6 - 1:+.2%}" if took_ns else f"{said}, no step",
          said == "1" and bool(took_ns) and abs(took_ns / 1e6 - 1) <= 0.02)


def waited_share(cell):
    """Of the device's time: idle for want of a batch."""
    sums = {name: stage["sum_ns"] for name, stage in cell["device_stages"].items() if name != "copy"}
    return sums["idle_input"] / max(1, sum(sums.values()))


def model(b):
    """Rates fitted on half of the cells, on the emulated accelerator, predict the other half."""
    n_bytes, batch = (8 if b.quick else 32) * MB, 8
    base = copies(n_bytes // batch, 0, **{
        "generate.samples": batch * (24 if b.quick else 60), "loader.batch_size": batch, "loader.sample_sleep_us": 500,
        "run.max_batches": 8 if b.quick else 40, "sweep.loader.num_workers": [1] if b.quick else [1, 2],
        "sweep.loader.pin_memory": [False, True], "sweep.device.prefetch": [0, 1],
        "sweep.device.step_ms": [6] if b.quick else [1.5, 6] if b.emulated else [1.5, 3, 6], "sweep.exhaustive": True})
    axes = sorted(key[6:] for key in base if key.startswith("sweep.") and key != "sweep.exhaustive")

    def cells(options):
        code, doc, err = b.dlbench("sweep", {**base, **options}, limit_s=300)
        if code != 0 or not doc or doc["partial"]:
            raise CannotRun(f"the sweep failed with {code}: {err.strip()[-300:]}")
        return {tuple(float(cell["config"][a]) for a in axes): cell for cell in doc["cells"] if cell["status"] == "ok"}

    # A driver's pageable copies run 10% faster or slower from process to process.
    real = cells({"device.kind": b.kind, "run.repeats": 1 if b.quick else 3,
                  **({"device.pinned_bytes_per_s": 20e9, "device.pageable_bytes_per_s": 4e9, "device.copy_us": 60} if b.emulated else {})})
    # Alternating as on a chessboard: each half has every value of every axis.
    order = {key: sum(sorted({k[i] for k in real}).index(v) for i, v in enumerate(key)) % 2 for key in real}
    fit_half, other = [k for k in real if order[k] == 0], [k for k in real if order[k] == 1]
    pin, depth = axes.index("loader.pin_memory"), axes.index("device.prefetch")
    rates = {pinned: statistics.median(real[k]["h2d_bytes_per_s"] for k in fit_half if k[pin] == pinned) for pinned in (0.0, 1.0)}
    fitted = {"device.kind": "emulated", "run.repeats": 3 if b.emulated and not b.quick else 1,
              "device.pinned_bytes_per_s": round(rates[1.0]), "device.pageable_bytes_per_s": round(rates[0.0]), "device.copy_us": 0}
    # What a step without overlap takes longer than copy and compute do is the launches' cost.
    guess = cells({**fitted, "sweep.device.prefetch": [0]})
    # It shows where the device sets the pace.
    naive = [k for k in fit_half if k[depth] == 0]
    paced = [k for k in naive if waited_share(real[k]) < 0.02] or naive
    late_s = statistics.median(step_s(real[k], batch) - step_s(guess[k], batch) for k in paced)
    fitted["device.copy_us"] = round(max(0.0, late_s) * 1e6, 1)
    guess = cells(fitted)
    rate_error = {k: guess[k]["samples_per_s"]["median"] / real[k]["samples_per_s"]["median"] - 1 for k in other}
    idle_error = {k: guess[k]["gpu_idle_frac"]["median"] - real[k]["gpu_idle_frac"]["median"] for k in other}
    worst = max(max(map(abs, rate_error.values())), max(map(abs, idle_error.values())))
    apart = max(max(values) / min(values) - 1 for values in (real[k]["samples_per_s"]["values"] for k in other))
    for key in other:
        b.keep(cell=dict(zip(axes, key)), samples_per_s=real[key]["samples_per_s"]["values"], idle_frac=real[key]["gpu_idle_frac"]["values"],
               predicted_samples_per_s=guess[key]["samples_per_s"]["median"], predicted_idle_frac=guess[key]["gpu_idle_frac"]["median"])
    good = sum(max(abs(rate_error[k]), abs(idle_error[k])) <= 0.05 for k in other)
    b.row(f"emulated accelerator, fitted on {len(fit_half)} cells, predicts {len(other)} others", "5 of 6 within 5%",
          f"{good} of {len(other)}; worst {worst:.1%}", len(fit_half) >= 8 and len(other) >= 8 and 6 * good >= 5 * len(other),
          f"mean error: samples/s {statistics.mean(map(abs, rate_error.values())):.1%}, idle {statistics.mean(map(abs, idle_error.values())):.1%} points; "
          f"a cell's own repetitions are up to {apart:.1%} apart; fitted: pinned "
          f"{gb(rates[1.0])}, pageable {gb(rates[0.0])}, {fitted['device.copy_us']:g} us a copy")


def same_samples(epochs, source):
    """Each sample once in each of three epochs, with the source's checksums."""
    whole = len(epochs) == 3 and all(e["samples"] == e["unique"] == e["expected"] > 0 for e in epochs)
    return whole and [e["set_checksum"] for e in epochs] == [e["set_checksum"] for e in source]


def checksums_of(b, module, codecs, kinds):
    """A row. The run itself fails where what the device holds differs from what the workers wrote."""
    name, wanted = f"checksums of {module['name']}", "equal to the source's, each sample once"
    data = {"dataset.format": module["name"], "generate.samples": 64, "generate.sample_bytes": 30000}
    if module["name"] != "synthetic":
        data["dataset.path"] = os.path.join(b.work, "data-" + module["name"])
    for data["dataset.codec"] in sorted(codecs, key=lambda codec: codec != "raw"):
        code, _, err = b.dlbench("gen", data) if module["name"] != "synthetic" else (0, None, "")
        if code == 0:
            break
        shutil.rmtree(data["dataset.path"], ignore_errors=True)
    if code != 0:
        return name, wanted, "not run", None, "gen writes none: " + err.strip()[-200:]
    common = {**data, "loader.batch_size": 8, "loader.pin_memory": True, "loader.persistent_workers": False, "loader.shuffle": True,
              "run.epochs": 3, "run.checksum": True, "device.step_ms": 0, "run.warmup_batches": 1}
    source = b.run({**common, "device.kind": "emulated", "loader.num_workers": 0})[1]["epochs"]
    wrong = []
    for kind in kinds:
        cell = b.run({**common, "loader.kind": kind, "loader.num_workers": 0 if kind == "inline" else 2})[1]
        if not same_samples(cell["epochs"], source) or cell["memory"]["pinned_bytes"] == 0:
            wrong.append(kind)
    return (name, wanted, "not so with " + ", ".join(wrong) if wrong else "equal", not wrong,
            f"{', '.join(kinds)}; 3 epochs of {source[0]['samples']} samples; codec {data['dataset.codec']}")


def checksums(b):
    """What reached the device is what was stored: every format, threads and processes, workers anew in each of three epochs."""
    modules = json.loads(b.command([b.program, "doctor", "--json"]).stdout)["modules"]
    formats = [m for m in modules if m["kind"] == "format" and m["available"]]
    codecs = [m["name"] for m in modules if m["kind"] == "codec" and m["available"]]
    kinds = ("processes",) if b.quick else ("inline", "threads", "processes")
    with concurrent.futures.ThreadPoolExecutor(1 if b.one_process else 4) as pool:  # nothing is timed
        for row in pool.map(lambda module: checksums_of(b, module, codecs, kinds), formats):
            b.row(*row)
    # The mapping that is registered with the driver was mapped by the fork server before, and is written by processes that it forks
    # for each epoch: few slots, so that each is written and copied many times, by workers of all three epochs.
    data = {"dataset.format": "tokens", "dataset.codec": "raw", "dataset.path": os.path.join(b.work, "data-forks"),
            "generate.samples": 256, "tokens.seq_len": 65535}
    code, _, err = b.dlbench("gen", data)
    if code != 0:
        raise CannotRun(f"gen failed with {code}: {err.strip()[-300:]}")
    common = {**data, "loader.batch_size": 4, "loader.shuffle": True, "run.epochs": 3, "run.checksum": True, "device.step_ms": 0,
              "loader.num_workers": 2, "loader.prefetch_factor": 1, "run.warmup_batches": 1}
    source = b.run({**common, "device.kind": "emulated", "loader.num_workers": 0})[1]["epochs"]
    for persistent in (False, True):
        cell = b.run({**common, "loader.kind": "processes", "loader.pin_memory": True, "loader.persistent_workers": persistent})[1]
        fine = same_samples(cell["epochs"], source) and cell["memory"]["pinned_bytes"] > 0
        b.row(f"pinned slots of the fork server, workers {'kept' if persistent else 'forked anew'}", "three epochs reach the device as written",
              "equal" if fine else "not equal", fine,
              f"{cell['memory']['pinned_bytes'] / MB:.1f} MB pinned, {sum(e['bytes'] for e in cell['epochs']) / MB:.0f} MB through it")


def augment(b):
    """Crop, flip and normalise on the device, bit for bit as on the CPU; what either costs is beside it."""
    images = {"dataset.format": "files", "dataset.codec": "jpeg", "transform.pixels": "f32", "generate.sample_bytes": "30 kB"}
    for name, sets in (("images", {**images, "transform.crop": "random-resized"}), ("random crops", {**images, "transform.crop": "random"}),
                       ("tokens", {"dataset.format": "tokens", "dataset.codec": "tokens"})):
        data = {**sets, "dataset.path": os.path.join(b.work, "augment-" + sets["dataset.format"]), "generate.samples": 48 if b.quick else 512}
        if not os.path.exists(data["dataset.path"]):
            code, _, err = b.dlbench("gen", data)
            if code != 0:
                b.row(f"{name} made on the device", "equal to the CPU's", "not run", None, "gen writes none: " + err.strip()[-200:])
                continue
        common = {**data, "loader.batch_size": 16, "loader.num_workers": 2, "loader.pin_memory": True, "run.epochs": 3, "device.step_ms": 0}
        cells = {where: b.run({**common, "transform.where": where, "run.checksum": True})[1] for where in ("cpu", "gpu")}
        same = same_samples(cells["gpu"]["epochs"], cells["cpu"]["epochs"])
        if not b.quick:
            cells = {where: b.run({**common, "transform.where": where})[1] for where in ("cpu", "gpu")}
        rates = {where: cell["samples_per_s"]["median"] for where, cell in cells.items()}
        b.row(f"{name} made on the device", "equal to the CPU's, bit for bit", "equal" if same else "not equal", same,
              f"{rates['gpu']:.0f} samples/s, made on the CPU {rates['cpu']:.0f}; "
              f"{mean_ns(cells['gpu']['device_stages']['compute']) / 1e3:.1f} us a step for 16 samples")


def imagenet(b):
    """configs/imagenet.toml from end to end, with fewer images and cells."""
    config = os.path.join(b.bundle, "configs", "imagenet.toml")
    n, batch = (48, 8) if b.quick else (1024, 64)
    less = {"dataset.path": os.path.join(b.work, "imagenet"), "generate.samples": n, "loader.batch_size": batch}
    code, _, err = b.dlbench("gen", less, config=config)
    if code != 0:
        raise CannotRun(f"gen failed with {code}: {err.strip()[-300:]}")
    code, doc, err = b.dlbench("sweep", {
        **less, "device.kind": b.kind, "device.step_ms": 143.4 * batch / 256, "run.repeats": 1, "run.warmup_batches": 2,
        "sweep.exhaustive": True,
        "sweep.loader.num_workers": [0, max(2, min(16, b.cpus))], "sweep.loader.prefetch_factor": [2],
        "sweep.loader.pin_memory": [True] if b.quick else [False, True]}, config=config, limit_s=180)
    states = [cell["status"] for cell in doc["cells"]] if doc else []
    fine = code == 0 and "ok" in states and not doc["partial"] and doc["best_cell"] is not None and doc["device"]["kind"] == b.kind
    b.row("sweep of configs/imagenet.toml", "every cell, and a verdict", f"{states.count('ok')} cells" if fine else f"exit code {code}",
          fine, doc["verdict"]["text"] if fine else err.strip()[-300:])


# What compute-sanitizer says of itself where a machine does not allow it, in its own lines. Nothing else excuses it.
REFUSAL = re.compile(r"^=+ .*(device not supported|not have permission|insufficient permission|ERR_NVGPUCTRPERM|driver .*not supported)",
                     re.I | re.M)
SUMMARY = re.compile(r"^=+ (?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+)", re.M)


WATCHES = re.compile(r"^libsanitizer-collection\b")  # the tool preloads others into whatever it starts


def judge_watched(code, err, logs, cells):
    """What was measured, whether it held, and a detail: of the logs by process, and of the libraries of the tool in each process that measured.
    The tool writes one log for all that it has started, or one for each."""
    text = "\n".join(logs.values())
    errors = [int(n) for n in SUMMARY.findall(text)]
    refused = REFUSAL.search(text)
    if refused and sum(errors) == 0:
        return "not run", None, "the machine does not allow it: " + refused.group(0)[-200:]
    watched = {pid for pid, names in cells.items() if any(map(WATCHES.match, names))}
    lacks = ("no summary" if not errors else f"it was in no process that measured ({cells})" if not watched else
             "no summary of a process that measured" if len(logs) > 1 and not any(SUMMARY.search(logs.get(pid, "")) for pid in watched) else "")
    if lacks:
        return f"exit code {code}, and {lacks}", False, (text.strip()[-200:] + " " + err.strip()[-200:])
    return f"{sum(errors)} errors", sum(errors) == 0 and code == 0, f"exit code {code}: {err.strip()[-200:]}" if code else ""


def sanitizer(b):
    """memcheck and racecheck of CUDA, where the machine has and allows them."""
    tool = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
    for what in ("memcheck", "racecheck"):
        name, wanted = f"compute-sanitizer {what}", "clean"
        if b.emulated or not tool:
            b.row(name, wanted, "not run", None, "it looks at a GPU's kernels" if b.emulated else "compute-sanitizer is not here")
            continue
        # Steps that are long beside what a watched launch takes, or no calibration holds (with racecheck one of 20 ms stayed 2% off);
        # both kinds, and both of what steps make.
        options = {"device.kind": "cuda", "device.step_ms": 20 if what == "memcheck" else 200,
                   "device.step_kind": "memory" if what == "memcheck" else "fma",
                   "run.checksum": True, "run.repeats": 1, "run.max_batches": 8, "run.warmup_batches": 2, "loader.num_workers": 1,
                   "loader.pin_memory": True, "transform.where": "gpu"}
        images = {"dataset.format": "files", "dataset.codec": "jpeg", "transform.pixels": "f32", "generate.sample_bytes": "20 kB"}
        data = images if what == "memcheck" and b.has_jpeg() else {"dataset.format": "tokens", "dataset.codec": "tokens"}
        data = {**data, "dataset.path": os.path.join(b.work, "watched-" + data["dataset.format"]), "generate.samples": 96,
                "loader.batch_size": 8}
        cells, logs = {}, {}

        def look(seen=cells):  # what was once there counts
            for pid, names in watchers_of_cells().items():
                seen[pid] = seen.get(pid, set()) | names

        code, _, err = b.dlbench("gen", data)
        if code != 0:
            raise CannotRun(f"gen failed with {code}: {err.strip()[-300:]}")
        code, _, err = b.dlbench("run", {**options, **data}, look=look, prefix=(
            tool, "--tool", what, "--target-processes", "all", "--error-exitcode", "9", "--log-file", f"{b.work}/{what}-%p.log"))
        for path in glob.glob(f"{b.work}/{what}-*.log"):
            with open(path, errors="replace") as file:
                logs[int(path.rsplit("-", 1)[1].split(".")[0])] = file.read()
        b.row(name, wanted, *judge_watched(code, err, logs, cells))


def errors(b):
    """What goes wrong is said: exit code, and words that name it."""
    small = copies(1 * MB, 8, **{"device.step_ms": 0.1, "run.repeats": 1})

    def refused(name, words, options, env=None):
        code, doc, err = b.dlbench("run", options, env=env)
        last = (err.strip().splitlines() or ["nothing"])[-1]
        b.row(name, "exit code 2 or 3, and says so", f"exit code {code}", code in (2, 3) and bool(re.search(words, err, re.I)), last[-300:])

    unseen = {"CUDA_VISIBLE_DEVICES": ""}
    if b.emulated:
        refused("device.kind = \"cuda\" without a GPU", r"device\.kind|CUDA|driver|GPU", {**small, "device.kind": "cuda"}, unseen)
        refused("a batch that no memory holds", r"memory|large|too", {**small, "generate.sample_bytes": "1TiB"})
    else:
        refused("device.kind = \"cuda\" where no GPU is visible", r"no (CUDA|GPU|device)|GPU", {**small, "device.kind": "cuda"}, unseen)
    code, doc, err = b.dlbench("run", {**small, "device.kind": "auto"}, env=unseen)
    fine = code == 0 and doc and doc["device"]["kind"] == "emulated" and bool(doc["device"]["why"])
    b.row("device.kind = \"auto\" where no GPU is visible", "emulated, and says why", doc["device"]["kind"] if doc else f"exit code {code}",
          bool(fine), doc["device"]["why"] if doc else err.strip()[-300:])
    planted = "it takes a machine that has one; tests/unit/test_cuda_errors.c plants the driver's answer and reads what is said"
    for name in ("a driver that is too old, or missing", "a GPU that another program has for itself"):
        b.row(name, "a clear error", "not run", None, planted)
    if b.emulated:
        b.row("a GPU whose memory others hold", "a clear error", "not run", None, planted)
        return
    for name, leave, wanted in (("a GPU that others use, with 4 GB free", 4000 * MB, 0), ("a GPU whose memory others hold", 48 * MB, 3)):
        lacks = "the GPU takes one process" if b.one_process else "" if os.access(b.bare, os.X_OK) else "the bundle has no libexec/bare_copy"
        if lacks:
            b.row(name, "works, or a clear error", "not run", None, lacks)
            continue
        holder = subprocess.Popen([b.bare, "hold", str(leave)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  start_new_session=True)
        try:
            if not select.select([holder.stdout], [], [], 30)[0] or not holder.stdout.readline():
                b.row(name, "works, or a clear error", "not run", None, "bare_copy could not hold the memory")
            elif wanted == 0:
                code, doc, err = b.dlbench("run", {**small, "device.kind": "cuda"})
                b.row(name, "it runs", f"exit code {code}", code == 0, err.strip()[-300:])
            else:
                refused(name, "memory", {**copies(256 * MB, 8, **{"device.step_ms": 0.1, "run.repeats": 1}), "device.kind": "cuda"})
        finally:
            end_session(holder)


def identify(b):
    """Device, driver and program, as the result names them; leaves with 77 where no GPU answers."""
    about = {"emulated": b.emulated, "gpu": None, "driver": None}
    if not b.emulated:
        b.drivers = hold_drivers()
    code, doc, err = b.dlbench("run", {**copies(1 * MB, 8), "device.kind": "emulated" if b.emulated else "auto", "run.repeats": 1,
                                       "device.step_ms": 0.1})
    if not doc:
        raise CannotRun(f"dlbench run failed with {code}: {err.strip()[-300:]}")
    if doc["device"]["kind"] != b.kind:
        print(f"acceptance: no GPU answers: {doc['device']['why']}. --rehearse runs the checks' twins", file=sys.stderr)
        sys.exit(77)
    about.update(device=doc["device"], dlbench=doc["dlbench"], kernel=doc["environment"]["kernel"], cpu=doc["environment"]["cpu"])
    if not b.emulated:
        about["driver"] = next((value for _, value in find(doc, r"gpu\.driver$") if value), None)
        if os.access(b.bare, os.X_OK):
            about["gpu"] = b.bare_copy("info")
            b.one_process = about["gpu"]["one_process"]
    return about


# In the order of what depends on the GPU most: the last ones are what a slow machine has no time for.
# What each takes on a GPU machine, in seconds, and some more: seen with an H200, but for what was changed since (model, sanitizer).
CHECKS = {"h2d": (h2d, 63), "overlap": (overlap, 27), "idle": (idle, 20), "steps": (steps, 45), "model": (model, 170),
          "checksums": (checksums, 40), "errors": (errors, 12), "augment": (augment, 40), "imagenet": (imagenet, 40),
          "sanitizer": (sanitizer, 45), "resnet-32": (training.resnet_32, 490), "resnet-128": (training.resnet_128, 490)}
USUAL = [name for name in CHECKS if not name.startswith("resnet-")]  # without --only; each of the others is a run of its own


def plan(names):
    """The seconds of each check, and how long each may take: whatever those before it left, less what those after it are planned for."""
    planned = [CHECKS[name][1] for name in names]
    print("plan: " + ", ".join(f"{name} {s} s" for name, s in zip(names, planned)) + f"; {sum(planned)} s, and {BUDGET_S} s are the most",
          file=sys.stderr, flush=True)
    return {name: sum(planned[i + 1:]) for i, name in enumerate(names)}


def run_check(b, name, reserved_s):
    """One check, which ends in time, and takes no other along."""
    b = copy.copy(b)
    b.check, b.end = name, b.end - reserved_s
    begin, check = time.monotonic(), CHECKS[name][0]
    try:
        check(b)
    except OutOfTime as why:
        b.row(f"the rest of {name}", check.__doc__, OUT_OF_TIME, None, str(why))
    except Exception as why:
        b.row(name, check.__doc__, "could not be run", False, f"{type(why).__name__}: {why}")
    print(f"     {name}: {time.monotonic() - begin:.0f} s of {CHECKS[name][1]} planned", file=sys.stderr, flush=True)


def run(b, names):
    """Fills b.table, in the order of the checks."""
    reserved_s = plan(names)
    b.table.update((name, []) for name in names)
    if not (b.emulated and b.quick):
        for name in names:
            run_check(b, name, reserved_s[name])
        return
    with concurrent.futures.ThreadPoolExecutor(4) as pool:  # of which no time is judged
        list(pool.map(lambda name: run_check(b, name, 0), names))
