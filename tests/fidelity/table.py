"""What tests/peers/fidelity measured, judged and written as a Markdown table."""

import math
import statistics

KNOWN_WELL = 0.015  # standard error of the mean of ln(ratio)
KNOWN_OF_TWO = 0.001  # two pairs are near each other by chance: of rows whose pairs spread by 5%, one in three within 3%
RATE_TOLERANCE, IDLE_TOLERANCE = 0.05, 0.03
GAIN_LIMIT = 1 / (1 - 0.10)  # docs/verdict.md: what a share of 10% costs
SHARE_LIMIT = 0.10
NAMES = {"files": "ImageFolder", "webdataset": "webdataset", "hdf5": "h5py", "tokens": "tokens"}
LOADING = ("INPUT-BOUND", "BORDERLINE", "COMPUTE-BOUND", "BALANCED")  # the gain tells them apart
UNJUDGED = ("INCOMPLETE", "HARNESS-BOUND")


def gain(run, step_ms):
    """How much faster the loop would be if each batch were there when it is asked for: the host then copies, the device computes."""
    return run["interval_ms"] / max(step_ms, run["copy_ms"])


def most_of(share):
    """How much faster it would be at most without what takes that share."""
    return 1 / max(1 - share, 1e-9)


def contradicts(verdict, loop_runs, step_ms):
    """The class says what no run of the loop shows."""
    gains = [gain(run, step_ms) for run in loop_runs]
    if verdict == "INPUT-BOUND":
        copies_first = all(gain(run, step_ms) < most_of(run["idle_copy_frac"]) for run in loop_runs)
        return copies_first or max(gains) < GAIN_LIMIT
    if verdict in ("COMPUTE-BOUND", "BALANCED"):
        return min(gains) > GAIN_LIMIT
    if verdict == "H2D-BOUND":
        loading_first = min(gains) > GAIN_LIMIT and all(gain(run, step_ms) > most_of(run["idle_copy_frac"]) for run in loop_runs)
        return loading_first or max(run["idle_copy_frac"] for run in loop_runs) < SHARE_LIMIT
    if verdict == "RESIDUAL-HEAVY":
        return max(run["idle_other_frac"] for run in loop_runs) < SHARE_LIMIT
    return False


def median_run(cells):
    return sorted(cells, key=lambda cell: cell["samples_per_s"])[(len(cells) - 1) // 2]


def class_by_figure(cell):
    """What the figure of the gain says alone, as if it were known well: stricter than dlbench's class, which allows for what it is not."""
    if not cell.get("gain"):
        return cell["class"]
    if cell["class"] == "H2D-BOUND" and cell["gain"] > most_of(cell.get("idle_copy_frac", cell["idle_frac"] - cell["idle_input_frac"])):
        return "INPUT-BOUND"
    if cell["class"] not in LOADING:
        return cell["class"]
    return "INPUT-BOUND" if cell["gain"] > GAIN_LIMIT else "COMPUTE-BOUND"


def ratios_of(row):
    return [pair["dlbench"]["samples_per_s"] / pair["loop"]["samples_per_s"] for pair in row["pairs"] if "failed" not in pair["dlbench"]]


def is_settled(row):
    """Whether the row's ratio is known well enough. More pairs end no failure."""
    logs = [math.log(ratio) for ratio in ratios_of(row)]
    if len(logs) < len(row["pairs"]):
        return True
    limit = KNOWN_OF_TWO if len(logs) == 2 else KNOWN_WELL
    return len(logs) > 1 and statistics.stdev(logs) / math.sqrt(len(logs)) < limit


def judged(row):
    """The row's figures: medians of each side; ratio and difference are medians over the pairs, whose runs followed each other."""
    pairs = row["pairs"]
    loop_runs, cells = [pair["loop"] for pair in pairs], [pair["dlbench"] for pair in pairs]
    three = [row["three"]] if "three" in row else []  # the run with three repetitions
    out = {"failed": next((cell["failed"] for cell in cells + three if "failed" in cell), None)}
    out["loop_rate"] = statistics.median(run["samples_per_s"] for run in loop_runs)
    out["loop_idle"] = statistics.median(run["idle_frac"] for run in loop_runs)
    gains = [gain(run, row["step_ms"]) for run in loop_runs]
    out["gain"] = (min(gains), max(gains))
    if out["failed"]:
        out["within"] = out["contradicts"] = out["three_contradict"] = out["figure_contradicts"] = False
        return out
    out["rate"] = statistics.median(cell["samples_per_s"] for cell in cells)
    out["idle"] = statistics.median(cell["idle_frac"] for cell in cells)
    ratios = ratios_of(row)
    out["ratio"], out["ratios"] = statistics.median(ratios), (min(ratios), max(ratios))
    out["points"] = statistics.median(cell["idle_frac"] - run["idle_frac"] for cell, run in zip(cells, loop_runs))
    one = median_run(cells)
    out["class"] = one["class"]
    out["class_of_three"] = three[0]["class"] if three else out["class"]
    out["contradicts"] = contradicts(out["class"], loop_runs, row["step_ms"])
    out["three_contradict"] = contradicts(out["class_of_three"], loop_runs, row["step_ms"])
    out["figure_contradicts"] = contradicts(class_by_figure(one), loop_runs, row["step_ms"])
    out["within"] = abs(out["ratio"] - 1) <= RATE_TOLERANCE and abs(out["points"]) <= IDLE_TOLERANCE
    return out


def line(row):
    it = judged(row)
    head = (f"| {NAMES[row['data']]} | {row['workers']} | {row['bound']}, {row['step_ms']:.2f} ms | {len(row['pairs'])} "
            f"| {it['loop_rate']:,.0f} | {it['loop_idle']:.1%} ")
    tail = f"| {it['gain'][0]:.2f} to {it['gain'][1]:.2f} | {row['others_frac']:.0%}, {row['stolen_frac']:.0%} |"
    if it["failed"]:
        return head + f"| failed: {it['failed']} | | | | | " + tail + " no |"
    verdict = it["class"] + (" (contradicts)" if it["contradicts"] else "")
    if it["class_of_three"] != it["class"]:
        verdict += f"; of three {it['class_of_three']}" + (" (contradicts)" if it["three_contradict"] else "")
    return (head + f"| {it['rate']:,.0f} | {it['idle']:.1%} "
            f"| {it['ratio']:.3f} ({it['ratios'][0]:.2f} to {it['ratios'][1]:.2f}) | {100 * it['points']:+.1f} | {verdict} " + tail +
            (" yes |" if it["within"] else " no |"))


HEAD = """\
| data | workers | steps are bound by | pairs | loop: samples/s | idle | dlbench: samples/s | idle | ratio | points | class | loop: gain | others, stolen | within |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"""


def markdown(rows, n_all):
    """The table, and the counts that fidelity asks for."""
    lines = [HEAD] + [line(row) for row in rows]
    judgements = [judged(row) for row in rows]
    n_within = sum(it["within"] for it in judgements)
    n_against, n_of_three, n_figures = (sum(it[name] for it in judgements)
                                        for name in ("contradicts", "three_contradict", "figure_contradicts"))
    n_unjudged = sum(it.get("class") in UNJUDGED for it in judgements)
    lines += ["", f"{len(rows)} of {n_all} rows measured; {n_within} within {RATE_TOLERANCE:.0%} of the rate and "
              f"{100 * IDLE_TOLERANCE:.0f} points of idle; {n_against} contradicting verdicts, "
              f"{n_of_three} with three repetitions, {n_figures} if the figure alone decided; {n_unjudged} without a judgement."]
    return "\n".join(lines)
