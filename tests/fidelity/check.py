"""Whether the window of the plain loop and the judgement of tests/peers/fidelity count as they say. Needs no PyTorch; planted times."""

import math
import random
import statistics

import grid
from table import GAIN_LIMIT, class_by_figure, contradicts, is_settled, judged, markdown
from timeline import Timeline, Window

MS = 1000000
T_OF_THREE = 4.303  # Student's t, 97.5%, of two degrees of freedom
GAIN_OF_ONE = 1.05  # core/measure/verdict_terms.h: how well the gain of one repetition is known


def times(asked, in_hand, copied, start, end):
    return {key: value * MS for key, value in zip(("asked", "in_hand", "copied", "start", "end"), (asked, in_hand, copied, start, end))}


def check_window():
    """Steps of 10 ms, each 8 ms late: 1 ms before next(), 5 ms within it, 2 ms of copy. The first step is the warm-up."""
    window = Window(0, 1, 3)
    for i in range(5):
        window.add(i, 4, times(18 * i - 7, 18 * i - 2, 18 * i, 18 * i, 18 * i + 10))
        assert window.closed == (i == 4), i
    got = window.document()
    assert (got["steps"], got["samples"], got["window_s"]) == (3, 12, 0.054), got
    for name, want in {"idle_frac": 8, "idle_input_frac": 5, "idle_copy_frac": 2, "idle_other_frac": 1}.items():
        assert abs(got[name] - want / 18) < 1e-12, got
    assert abs(got["next_ms"] - 5) < 1e-9 and abs(got["copy_ms"] - 2) < 1e-9 and abs(got["interval_ms"] - 18) < 1e-9, got


def check_hidden():
    """Work that ends before the step before it leaves no idle time."""
    window = Window(0, 0, 2)
    for i in range(3):
        window.add(i, 1, times(10 * i - 8, 10 * i - 4, 10 * i - 2, 10 * i, 10 * i + 10))
    got = window.document()
    assert got["idle_frac"] == got["idle_input_frac"] == got["idle_copy_frac"] == got["idle_other_frac"] == 0, got


def check_rounds():
    """With 4 workers: warm-up and window are whole rounds, and across an epoch's end it closes where it opened."""
    window, seen = Window(4, 5, 6), 0
    for epoch in range(3):
        for nth in range(10):
            if not window.closed:
                window.add(nth, 1, times(seen, seen, seen, seen, seen))
                seen += 1
                closed_at = (epoch, nth)
    # Opened by batch 8; from batch 16 on, the first whose number in its epoch is a multiple of 4 closes it.
    assert closed_at == (1, 8) and window.document()["steps"] == 10, closed_at


def check_timeline():
    """Steps follow each other, and the host is at most one ahead."""
    device = Timeline(20.0)
    first, second = device.step(), device.step()
    assert second == first + 20 * MS and device.free_ns == first + 40 * MS
    device.run_ahead()
    assert device.ends == [first + 40 * MS]


def run(rate, idle, **more):
    return {"samples_per_s": rate, "idle_frac": idle, "interval_ms": 3200 / rate, "copy_ms": 1.0, "idle_copy_frac": 0.0,
            "idle_other_frac": 0.0, **more}


def row(step_ms, loop_runs, cells, verdict):
    pairs = [{"loop": run(*one), "dlbench": run(*other, **{"class": verdict})} for one, other in zip(loop_runs, cells)]
    return {"data": "files", "workers": 2, "bound": "input", "step_ms": step_ms, "pairs": pairs, "others_frac": 0.0, "stolen_frac": 0.0}


def check_judgement():
    half = [(160, 0.5), (162, 0.49), (158, 0.51)]  # batches of 20 ms, steps of 10 ms
    near = [(165, 0.52), (160, 0.5), (160, 0.5)]
    it = judged(row(10, half, near, "INPUT-BOUND"))
    assert it["within"] and not it["contradicts"] and abs(it["ratio"] - 160 / 158) < 1e-9, it
    assert judged(row(10, half, near, "COMPUTE-BOUND"))["contradicts"]
    assert judged(row(10, half, near, "H2D-BOUND"))["contradicts"]
    copies = [run(160, 0.5, copy_ms=7.0, idle_copy_frac=0.35)] * 3  # without any copies 1.54 times as fast at most
    assert contradicts("H2D-BOUND", copies, 10) and not contradicts("H2D-BOUND", copies, 14)  # with each batch there 2 and 1.43 times
    cell = {"class": "H2D-BOUND", "gain": 1.5, "idle_frac": 0.5, "idle_input_frac": 0.1}  # the figure alone, of 0.3 and of 0.4 for copies
    assert class_by_figure({**cell, "idle_copy_frac": 0.3}) == "INPUT-BOUND" and class_by_figure(cell) == "H2D-BOUND"
    assert not judged(row(10, half, near, "BORDERLINE"))["contradicts"]
    assert judged(row(19.9, half, near, "INPUT-BOUND"))["contradicts"]
    assert not judged(row(10, half, [(170, 0.5)] * 3, "INPUT-BOUND"))["within"]  # 6% faster
    assert not judged(row(10, half, [(160, 0.54)] * 3, "INPUT-BOUND"))["within"]  # 4 points
    failed = row(10, half, near, "INPUT-BOUND")
    failed["pairs"][1]["dlbench"] = {"failed": "PYTHON_RAISED"}
    assert not judged(failed)["within"] and "PYTHON_RAISED" in markdown([failed], 48)


def check_settled():
    """A row needs more pairs while its ratio is not known to 1.5%, whatever it is; not after a failure."""
    loops = [(160, 0.5)] * 3
    assert is_settled(row(10, loops, [(120, 0.5), (121, 0.5), (122, 0.5)], "INPUT-BOUND"))
    wide = row(10, loops, [(150, 0.5), (160, 0.5), (170, 0.5)], "INPUT-BOUND")  # 3.6%
    assert not is_settled(wide)
    wide["pairs"] *= 6
    assert is_settled(wide)
    assert is_settled(row(10, loops[:2], [(150, 0.5), (150.2, 0.5)], "INPUT-BOUND"))  # 0.07%
    assert not is_settled(row(10, loops[:2], [(150, 0.5), (151, 0.5)], "INPUT-BOUND"))  # 0.3%: enough of three, not of two
    wide["pairs"] = wide["pairs"][:1]
    assert not is_settled(wide)
    wide["pairs"][0] = {"loop": run(160, 0.5), "dlbench": {"failed": "PYTHON_RAISED"}}
    assert is_settled(wide)


def settled(rng, mean, spread, most=12):
    """A row whose pairs' ratios are drawn: as many as the rule takes."""
    ratios = [math.exp(rng.gauss(mean, spread)) for _ in range(2)]
    while True:
        it = row(10, [(160, 0.5)] * len(ratios), [(160 * ratio, 0.5) for ratio in ratios], "INPUT-BOUND")
        if len(ratios) == most or is_settled(it):
            return judged(it)["within"], len(ratios)
        ratios.append(math.exp(rng.gauss(mean, spread)))


def check_odds():
    """How often the rule takes a row without a difference for one, or one of 8% for none; and how many pairs it takes."""
    rng, n = random.Random(1), 400
    for spread, most_wrong, pairs in ((0.0005, 0, (2, 2.3)), (0.02, 0.03, (3, 3.6)), (0.05, 0.12, (7, 8.5)), (0.08, 0.2, (10, 12))):
        for mean in (0, 0.08):
            rows = [settled(rng, mean, spread) for _ in range(n)]
            wrong, taken = sum(within != (mean == 0) for within, _ in rows) / n, sum(k for _, k in rows) / n
            assert wrong <= most_wrong and pairs[0] <= taken <= pairs[1], (spread, mean, wrong, taken)


def class_of(gains):
    """What dlbench says of repetitions (docs/verdict.md, core/measure/gain.h: of one cell the interval is Student's t)."""
    logs = [math.log(gain) for gain in gains]
    half = T_OF_THREE * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else math.log(GAIN_OF_ONE)
    above = statistics.mean(logs) - math.log(GAIN_LIMIT)
    return "BORDERLINE" if abs(above) < half else "INPUT-BOUND" if above > 0 else "COMPUTE-BOUND"


def verdicts(rng, of_loop, of_cell, spread, most=12):
    """Whether dlbench contradicts the loop, with three repetitions, with one, and by the figure of one alone; whether three and one are
    BORDERLINE. Gains that are drawn."""

    def drawn_gain(of):
        return max(math.exp(rng.gauss(math.log(of), spread)), 1)

    def pair():
        loop, gain = drawn_gain(of_loop), drawn_gain(of_cell)
        return {"loop": run(160 / loop, 0, interval_ms=20 * loop), "dlbench": run(160 / gain, 0, **{"class": class_of([gain]), "gain": gain})}

    drawn = row(20, [], [], "")
    drawn["three"] = {"class": class_of([drawn_gain(of_cell) for _ in range(3)])}
    drawn["pairs"] = [pair(), pair()]
    while len(drawn["pairs"]) < most and not is_settled(drawn):
        drawn["pairs"].append(pair())
    it = judged(drawn)
    return (it["three_contradict"], it["contradicts"], it["figure_contradicts"],
            it["class_of_three"] == "BORDERLINE", it["class"] == "BORDERLINE")


# gain of the loop, of the cell, spread of a run: three repetitions contradict, one, its figure; three are BORDERLINE, one is; at most or
# at least so often
VERDICTS = (
    (1.11, 1.11, 0.005, "<0.03", "<0.01", "<0.15", ">0.9", ">0.99"),
    (1.11, 1.11, 0.05, "<0.03", "<0.05", "<0.15", ">0.9", ">0.5"),
    (1.105, 1.12, 0.005, "<0.35", "<0.01", ">0.6", ">0.6", ">0.99"),
    (1.105, 1.12, 0.02, "<0.05", "<0.05", ">0.1", ">0.8", ">0.9"),
    (1.0, 1.05, 0.02, "<0.01", "<0.01", "<0.01", "<0.35", "<0.5"),
    (1.02, 1.3, 0.02, ">0.9", ">0.95", ">0.95", "<0.1", "<0.05"),
    (1.3, 1.02, 0.02, ">0.9", ">0.95", ">0.95", "<0.1", "<0.05"),
)


def check_verdicts():
    """How often near the limit two that are equal contradict each other by chance, and two that are 1.3% apart; and how often a cell that
    is wrong is found out."""
    for of_loop, of_cell, spread, *wanted in VERDICTS:
        rng, n = random.Random(1), 400
        shares = [sum(one) / n for one in zip(*(verdicts(rng, of_loop, of_cell, spread) for _ in range(n)))]
        for share, want in zip(shares, wanted):
            assert share <= float(want[1:]) if want[0] == "<" else share >= float(want[1:]), (of_loop, of_cell, spread, shares, wanted)


def check_grid():
    """How often a loss of more than 2% is found where there is none, and where it is 5%; and how many rounds that takes."""
    rest = (0, -0.06, -0.06, -0.3)
    for spread, most_wrong, rounds in ((0.01, 0, (6, 6.1)), (0.03, 0.08, (14, 17)), (0.05, 0.08, (34, 40))):
        for mean, is_lost in ((0, False), (-0.05, True)):
            rng, n, wrong, taken = random.Random(1), 200, 0, 0
            for _ in range(n):
                rates, left = grid.measure(lambda _, keys: {key: math.exp(rng.gauss((mean, *rest)[key], spread)) for key in keys},
                                           range(1 + len(rest)), 0, 6)
                wrong += (grid.loss(rates, left, 0)[1] > 0.02) != is_lost
                taken += len(rates[0])
            assert wrong / n <= most_wrong and rounds[0] <= taken / n <= rounds[1], (spread, mean, wrong / n, taken / n)


for check in (check_grid, check_odds, check_verdicts, check_window, check_hidden, check_rounds, check_timeline, check_judgement, check_settled):
    check()
