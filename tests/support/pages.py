"""Opens pages of dlbench in a headless Chromium and holds them against the documents they were made of.

usage: pages.py [--quick] PAGE SUMMARY.json...     the page, and the documents of its results in their order
Each width, light, dark and paper; with --quick one width. Exits 1, with a line for each thing that is wrong.
"""

import base64
import gzip
import json
import math
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser
from page_figures import (ANY, FIGURES, by_workers, cells_of, facts, facts_ids, lanes, lines, median, numbers, offered, ran, rate, settings,
                          share, with_interval, workers_of)

MAX_LOAD_S = 2 # of CPU time
MAX_BYTES = 3e6
PAPER_PX = 718 # the width of A4 between Chromium's margins
SHRINK = 1.25 # a browser makes smaller what is wider than paper: no further than from 10 pt to 8 pt

# Whether something is on a canvas. Of a copy: Chromium's console complains about canvases that are read several times.
DRAWN = """const drawn = c => { const copy = new OffscreenCanvas(c.width, c.height).getContext("2d", {willReadFrequently: true});
    copy.drawImage(c, 0, 0); return copy.getImageData(0, 0, c.width, c.height).data.some(byte => byte); };"""

# What a page shows, as numbers and texts.
LOOK = """(() => { """ + DRAWN + """
  const all = (of, what) => [...of.querySelectorAll(what)], number = e => (e.dataset.v === undefined ? null : Number(e.dataset.v));
  const figures = all(document, "figure").map(figure => ({
    id: figure.id, chart: figure.dataset.chart || null,
    plot: figure.dataset.chart ? figure.querySelector(".plot").getBoundingClientRect().height : 0,
    label: figure.dataset.chart ? figure.querySelector("canvas").getAttribute("aria-label") : null,
    drawn: figure.dataset.chart ? drawn(figure.querySelector("canvas")) : null,
    head: all(figure, "th").map(th => th.textContent), units: all(figure, "th").map(th => th.dataset.unit || ""),
    rows: all(figure, "tbody tr").map(tr => ({id: tr.id, values: [...tr.cells].map(td => [number(td), td.textContent]),
      link: tr.querySelector("a[href]") ? tr.querySelector("a").getAttribute("href") : ""})),
    marks: all(figure, ".mark").map(li => Number(li.dataset.at)),
    lanes: all(figure, ".lane:not(.axis)").map(lane => all(lane, "path").map(path => path.getAttribute("d")))}));
  const width = document.documentElement.clientWidth; // a telephone's innerWidth grows with what is too wide
  const outside = all(document, "main *").filter(e => !e.closest(".scroll") && e.getBoundingClientRect().right > width + 1)
    .map(e => e.tagName + "." + e.className).slice(0, 5);
  return {figures: Object.fromEntries(figures.map(figure => [figure.id, figure])), outside, scroll: document.documentElement.scrollWidth,
    width, alerted: window.alerted || 0, scripts: document.scripts.length, images: document.images.length,
    calls: all(document, "pre[id$=-call]").map(e => e.textContent), charts: typeof Chart !== "undefined",
    facts: Object.fromEntries(all(document, "section").map(e => [e.id, Object.fromEntries(all(e, ".facts dt").map(dt =>
      [dt.textContent, dt.nextElementSibling.textContent]))])),
    verdicts: all(document, ".verdict strong").map(e => e.textContent),
    documents: all(document, 'script[id$=-document]').map(e => e.textContent),
    tiles: Object.fromEntries(all(document, "section").map(e => [e.id, all(e, ".tiles dd").map(dd => [number(dd), dd.textContent])]))};
})()"""

wrong = []


def check(holds, words):
    if not holds:
        wrong.append(words)


def close(a, b):
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b))


# --- numbers as they are printed

SCALES = {"": 1, "%": 0.01, "x": 1, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400,
          "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15, "EB": 1e18}
QUANTITY = re.compile(r"\d[\d,.]*(?: (?:[num]?s|[kMGTPE]?B|min))?\b") # in a sentence
PRINTED = re.compile(r"([-+]?)([\d,]+)(?:\.(\d+))?(?:e([-+]\d+))? ?([a-zA-Z%]*)(?:/s)?(?: (\d+) ([a-z]+))?(?: \(\d+\))?")


def printed(text):
    """The number of a text, and by how much rounding may have moved it; (NaN, 0): there is none."""
    match = PRINTED.fullmatch(text)
    if not match or match[5] not in SCALES or (match[7] or "") not in SCALES:
        return math.nan, 0
    sign, whole, digits, power, unit, rest, rest_unit = match.groups("")
    step = 10 ** -len(digits) * 10 ** int(power or 0) * SCALES[unit]
    value = int(whole.replace(",", "") + digits) * step
    if value == 0 and unit == "s":
        step = 0 # less than a second is printed in smaller units
    if rest:
        step = 2 * SCALES[rest_unit] # "2 h 5 min" leaves out seconds
        value += int(rest) * SCALES[rest_unit]
    return -value if sign == "-" else value, step / 2


def agree(number, text, unit=""):
    """A text is its number, as far as its digits go."""
    value, rounding = printed(text)
    number *= 1e-9 if unit == "ns" else 1
    return abs(value - number) <= rounding * (1 + 1e-6) + 1e-9 * abs(number)


def check_printed(seen):
    for figure in seen["figures"].values():
        for row in figure["rows"]:
            for title, unit, (number, text) in zip(figure["head"], figure["units"], row["values"]):
                fits = number is None or agree(number, text, unit)
                check(fits, "printed: %r as %r, in %s, %s" % (number, text, figure["id"], title))


# --- what a page shows of it

def holds(shown, value):
    """A cell of a table, its number and its text, is this value. Names from outside are shown otherwise."""
    own, text = shown
    if value is ANY:
        return True
    if value is None or isinstance(value, str):
        return own is None and (text == (value or "-") or not (value or "").isprintable())
    return own is not None and close(own, value)


def check_rows(result, name, seen, expected):
    figure = "r%d-%s" % (result, name)
    shown = seen["figures"].get(figure, {"head": [], "rows": []})
    rows = shown["rows"]
    if name == "rates": # line by line
        rows = sorted(rows, key=lambda row: int("0" + row["link"].partition("-c")[2]))
    check(len(rows) == len(expected), "%s has %d rows instead of %d" % (figure, len(rows), len(expected)))
    for at, (row, (cell, values)) in enumerate(zip(rows, expected)):
        about, place = row["id"] if name == "cells" else row["link"][1:], "" if cell is None else "r%d-c%d" % (result, cell)
        check(about == place, "%s: row %d is about %r instead of %r" % (figure, at, about, place))
        check(len(row["values"]) == len(values), "%s: row %d has %d values instead of %d" % (figure, at, len(row["values"]), len(values)))
        for title, own, value in zip(shown["head"], row["values"], values):
            check(holds(own, value), "%s, row %d, %s: shows %r, is %r" % (figure, at, title, own, value))


def check_repetitions(result, document, seen):
    for row, (at, cell) in zip(seen["figures"].get("r%d-cells" % result, {"rows": []})["rows"], cells_of(document)):
        values, texts = rate(document, cell).get("values") or [None], row["values"][-1][1].split()
        fits = [text == "-" if value is None else agree(value, text) for value, text in zip(values, texts)]
        check(len(texts) == len(values) and all(fits), "cell %d has repetitions %s, shown: %s" % (at, values, texts))


def check_idle(result, document, seen):
    """A row for each combination of settings, a column for each number of workers; the first of cells with the same settings."""
    figure = "r%d-idle" % result
    shown = seen["figures"].get(figure, {"head": [""], "rows": []})
    workers = sorted({workers_of(cell) for _, cell in ran(document)} - {None}) if by_workers(document) else []
    grid = {(settings(document, cell), workers_of(cell)): share(document, cell, "gpu_idle_frac") for _, cell in reversed(ran(document))}
    wanted = [[grid.get((key, n)) for n in workers] for key in lines(document)] if workers else []
    heads = [printed(title.split()[0])[0] for title in shown["head"][1:]]
    check(heads == workers, "%s is of %s workers instead of %s" % (figure, heads, workers))
    left = [row["values"][1:] for row in shown["rows"]]
    check(len(left) == len(wanted), "%s has %d rows instead of %d" % (figure, len(left), len(wanted)))
    for values in wanted:
        match = next((row for row in left if all(map(holds, row, values))), None)
        check(match, "%s, row of %s: there are only %s" % (figure, values, left))
        left = [row for row in left if row is not match]


def check_lanes(result, document, seen):
    """What is drawn: each span where it is, to a tenth of 1/10000 of the lane."""
    shown = seen["figures"].get("r%d-timeline" % result, {"lanes": []})["lanes"]
    wanted = [list(by_name.values()) for _, by_name in lanes(document)]
    n_shown, n_wanted = [len(lane) for lane in shown], [len(lane) for lane in wanted]
    check(n_shown == n_wanted, "lanes: %s shapes instead of %s" % (n_shown, n_wanted))
    for lane, shapes in zip(shown, wanted):
        for path, spans in zip(lane, shapes):
            drawn = [[float(value) for value in span] for span in re.findall(r"M([\d.]+) 0h([\d.]+)v10h-\2z", path)]
            scaled = [[10000 * ns / document["timeline"]["span_ns"] for ns in span] for span in spans]
            far = max((abs(a - b) for one, other in zip(drawn, scaled) for a, b in zip(one, other)), default=0)
            check(len(drawn) == len(spans) and far <= 0.051, "lanes: %d spans of %d, up to %g off" % (len(drawn), len(spans), far))


def needs(cell):
    """Samples/s that the steps of all accelerators could take."""
    own, config = cell.get("accelerators") or {}, cell.get("config") or {}
    (count,), (samples, steps) = numbers(own, "count"), numbers((own.get("each") or [{}])[0], "samples", "steps")
    step_ms, batch_size = numbers(config, "device.step_ms", "loader.batch_size")
    if not count or not step_ms or not (samples and steps or batch_size):
        return None
    if not samples or not steps: # too many accelerators to tell of each
        return count * batch_size / step_ms * 1000
    if batch_size and steps > 1: # the last batch of an epoch may be smaller
        check(batch_size / 2 < samples / steps <= batch_size, "%d steps took %d samples: batch_size is %d" % (steps, samples, batch_size))
    return count * (samples / steps) / step_ms * 1000


def hardware(document):
    """What dlbench's own loaders deliver beside PyTorch: the winner of their race, else the fastest that does the same work."""
    own = {at: median(document, cell) for at, cell in cells_of(document) if cell.get("pipeline") == "hardware"}
    winner = ((document.get("recommendation_detail") or {}).get("hardware") or {}).get("cell")
    need = needs(offered(document))
    same = [own[at] for at, cell in cells_of(document) if at in own and (need is None or abs((needs(cell) or 0) - need) <= need / 200)]
    return own[winner] if winner in own else max(filter(None, same), default=None)


def tiles(document):
    """What is needed and given, what the hardware could give, and what would be given with data always ready; of a comparison the
    change."""
    if document.get("compare"):
        return numbers(document["compare"]["overall"], "change_frac", "low", "high", "detectable_frac")
    if document.get("storage"):
        return numbers(document["storage"], "max_accelerators")
    cell = offered(document)
    gives, (gain,) = median(document, cell), numbers((cell.get("verdict") or {}).get("gain"), "median")
    return [needs(cell), gives, hardware(document) if cell.get("pipeline") == "pytorch" else None,
            None if gives is None or gain is None else gives * gain]


def check_tiles(result, document, seen):
    wanted = [value for value in tiles(document) if value is not None]
    shown = seen["tiles"].get("r%d" % result, [])
    check(len(shown) == len(wanted) and all(close(own, value) for (own, _), value in zip(shown, wanted)),
          "tiles: %s instead of %s, of result %d" % (shown, wanted, result))
    for own, text in shown:
        check(agree(own, text.split()[0]), "tiles: %r is printed as %r" % (own, text))
    if document.get("storage") and shown:
        low, high = numbers(document["storage"], "low", "high")
        known = low is not None and high is not None
        check(not known or re.findall(r"\d+", shown[0][1])[-2:] == [str(low), str(high)], "tiles: %s without %s to %s" % (shown, low, high))


def check_facts(result, document, seen):
    """Which numbers the lines about a job's machines, clocks and MPI have, in their order."""
    shown, wanted, ids = seen["facts"].get("r%d" % result, {}), facts(document), facts_ids(document)
    for name, figures in wanted.items():
        text = shown.get(name, "")
        texts = QUANTITY.findall(re.sub("rank 0|one machine, [^:]*:", "", text.partition(", program")[0]))
        check((name in shown) == (figures is not None), "facts: %r is %r, of result %d" % (name, text, result))
        check(figures is None or (len(texts) == len(figures) and all(map(agree, figures, texts))),
              "facts: %s has %s instead of %s" % (name, texts, figures))
    check(all(known in shown.get("ranks", "") for known in ids), "facts: %r lacks one of %s" % (shown.get("ranks"), ids))


def check_marks(result, document, seen):
    """Lines across a chart."""
    storage, tolerance = document.get("storage") or {}, (document.get("config") or {}).get("sweep.tolerance")
    for name, wanted in (("curve", numbers(storage, "gate", "max_accelerators")), ("race", [tolerance])):
        figure = seen["figures"].get("r%d-%s" % (result, name), {})
        shown, wanted = figure.get("marks", []), [value for value in wanted if value is not None]
        check(not figure.get("chart") or (len(shown) == len(wanted) and all(map(close, shown, wanted))),
              "%s of result %d has lines at %s instead of %s" % (name, result, shown, wanted))


def unpacked(text):
    """A document as JSON, or as gzip in base64."""
    return json.loads(text if text.startswith("{") else gzip.decompress(base64.b64decode(text)))


def same(a, b):
    """A page has ten digits of a number, as summary.json; --json of a comparison has all."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-9 * abs(a)
    return a == b


def check_document(result, document, seen):
    check(same(unpacked(seen["documents"][result]), document), "the page holds another document %d" % result)
    for figure in FIGURES:
        check_rows(result, figure.__name__, seen, figure(document))
    for part in (check_tiles, check_idle, check_repetitions, check_lanes, check_marks, check_facts):
        part(result, document, seen)
    if document.get("compare"):
        check(document["compare"]["overall"]["verdict"] in seen["verdicts"][0], "the verdict is not first: %r" % seen["verdicts"])
    if document.get("pytorch", "").isprintable() and document.get("pytorch") and seen["calls"] and len(seen["documents"]) == 1:
        check(document["pytorch"] in seen["calls"], "the settings to paste are not shown")


def gap_of(gap):
    """What a DataLoader that shuffles takes, of what slicing takes, with the interval."""
    seconds = {rung["rung"]: numbers(rung.get("seconds"), "median")[0] for rung in gap["rungs"]}
    loader, direct = seconds.get("torch-dataloader"), seconds.get("torch-direct")
    ends = numbers(gap, "total_low", "total_high")
    return [loader / direct if loader and direct else None] + [1 + end / direct if direct and end is not None else None for end in ends]


def check_beside(documents, seen):
    """Several results: what each offers, how many accelerators it feeds, or the gap of its ladder."""
    documents = [document for document in documents if document.get("run_name")]
    stored, ladders = (all(document.get(kind) for document in documents) for kind in ("storage", "gap"))
    rows = []
    for document in documents if len(documents) > 1 else []:
        cell = offered(document)
        own = numbers(document["storage"], "max_accelerators", "low", "high") if stored else with_interval(rate(document, cell))
        own = own if stored or not document.get("storage") else 3 * [None]
        own = gap_of(document["gap"]) if ladders else own
        need = None if document.get("storage") else needs(cell)
        rows.append((None, 2 * [ANY] + own + [need, share(document, cell, "gpu_idle_frac")] + 7 * [ANY]))
    name = next((figure for figure in seen["figures"] if figure.endswith("-beside")), "r0-beside")
    check_rows(int(name[1:].split("-")[0]), "beside", seen, rows)


def look(tab, path, documents, width, dark):
    page = tab.page(path, width=width, dark=dark)
    where = "%s, %d px%s: " % (os.path.basename(path), width, ", dark" if dark else "")
    seen = page.evaluate(LOOK)
    for error in page.errors:
        wrong.append(where + error)
    before = len(wrong)
    check(seen["scroll"] <= seen["width"] == width, "is %d px wide: %s" % (seen["scroll"], seen["outside"]))
    check(seen["alerted"] == 0 and seen["images"] == 0, "a name has become markup")
    check(seen["scripts"] == len(documents) + 2, "has %d scripts" % seen["scripts"])
    for figure in seen["figures"].values():
        if figure["chart"] and seen["charts"]:
            check(figure["drawn"] and figure["plot"] >= 100, "%s is not drawn" % figure["id"])
            check(figure["label"] and figure["rows"], "%s has no words or no table" % figure["id"])
    check(0 < page.load_s < MAX_LOAD_S, "took %.2f s to open" % page.load_s)
    check_printed(seen)
    check_beside(documents, seen)
    for result, document in enumerate(documents):
        check_document(result, document, seen)
    wrong[before:] = [where + words for words in wrong[before:]]
    return page, seen


# --- on paper

# What is not drawn, what is wider than the paper, and notes that are closed.
PAPER = """new Promise(done => { dispatchEvent(new Event("beforeprint")); """ + DRAWN + """
  requestAnimationFrame(() => requestAnimationFrame(() => {
    const all = (of, what) => [...of.querySelectorAll(what)], seen = e => e.checkVisibility() && e.getBoundingClientRect().height > 0;
    const open = figure => figure.dataset.chart || figure.querySelector(".lanes") || !figure.querySelector("details");
    const shown = figure => all(figure, "canvas").some(c => seen(c) && drawn(c)) || all(figure, "table, .lanes").some(seen);
    const right = e => Math.ceil(e.getBoundingClientRect().right), most = innerWidth * %g + 1;
    const wide = all(document, "main *").filter(e => !e.closest("svg") && seen(e) && right(e) > most);
    done({paper: document.documentElement.classList.contains("paper"), charts: typeof Chart !== "undefined", inner: innerWidth,
      unseen: all(document, "figure").filter(figure => open(figure) && !shown(figure)).map(figure => figure.id),
      undrawn: all(document, "figure[data-chart] canvas").filter(c => !seen(c) || !drawn(c)).map(c => c.closest("figure").id),
      wide: wide.map(e => [(e.closest("figure") || e).id, e.tagName, right(e)]).slice(0, 3),
      closed: all(document, "details.notes:not([open])").length, n_charts: all(document, "figure[data-chart]").length}); })); })""" % SHRINK


def media(page, name, width):
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    page.call("Emulation.setEmulatedMedia", media=name, features=[{"name": "prefers-color-scheme", "value": "light"}])


def paper(page, path):
    """As the browser lays it out for paper, then on paper: a chart is an object of its own there."""
    name = os.path.basename(path)
    media(page, "print", PAPER_PX)
    seen = page.evaluate(PAPER)
    page.evaluate('dispatchEvent(new Event("afterprint"))')
    media(page, "", 1280)
    check(not seen["unseen"], "%s: paper: it lacks %s" % (name, seen["unseen"]))
    check(not seen["charts"] or (seen["paper"] and not seen["undrawn"]), "%s: paper: it lacks the charts %s" % (name, seen["undrawn"]))
    check(not seen["wide"], "%s: paper: it is %d px wide, and these reach to %s" % (name, seen["inner"], seen["wide"]))
    check(seen["closed"] == 0, "%s: paper: %d notes are closed" % (name, seen["closed"]))
    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        page.pdf(file.name)
        pdf = file.read()
    n_objects = len(re.findall(rb"/Subtype\s*/(?:Form|Image)\b", pdf))
    check(len(pdf) > 10000, "%s: on paper it has %d bytes" % (name, len(pdf)))
    check(not seen["charts"] or n_objects >= seen["n_charts"], "%s: paper: %d objects of %d charts" % (name, n_objects, seen["n_charts"]))
    check(not page.evaluate('document.documentElement.classList.contains("paper")'), "%s: stays as on paper" % path)


# --- what a reader does

CLICK_HEAD = """(() => { const figure = document.getElementById("%s"), th = figure.querySelectorAll("th")[%d];
  const number = td => (td.dataset.v === undefined ? null : Number(td.dataset.v));
  th.querySelector("button").click();
  return [...figure.querySelectorAll("tbody tr")].map(tr => [tr.id, number(tr.cells[th.cellIndex])]); })()"""


def ordered(rows, reverse):
    """By their numbers; what was not measured is last in both orders."""
    known = sorted((row for row in rows if row[1] is not None), key=lambda row: row[1], reverse=reverse)
    return known + [row for row in rows if row[1] is None]


def sort(page, seen):
    """Clicking a column's head sorts rows by its numbers, upwards and then downwards: a column that is in another order."""
    figure = next((figure for name, figure in seen["figures"].items() if name.endswith("-cells")), {"head": [], "rows": []})
    for at, title in enumerate(figure["head"]):
        rows = [[row["id"], row["values"][at][0]] for row in figure["rows"]]
        texts = [row["values"][at][1] for row in figure["rows"]]
        if rows != ordered(rows, False) and all(row[1] is not None or text == "-" for row, text in zip(rows, texts)):
            break
    else:
        check(len(figure["rows"]) < 5, "no column of %d rows is out of order" % len(figure["rows"]))
        return
    for reverse in (False, True):
        wanted, rows = ordered(rows, reverse), page.evaluate(CLICK_HEAD % (figure["id"], at))
        check(rows == wanted, "sorted by %s, %s: %s" % (title, "downwards" if reverse else "upwards", rows[:9]))


# Each link leads to a row of the table of cells; the last one is followed.
LINKS = """(async () => { const links = [...document.querySelectorAll("figure td a[href^='#r']")];
  const row = a => document.querySelector("figure[id$=-cells] tr" + a.hash);
  if (!links.length) return {n: 0, lost: [], opened: true};
  const last = links[links.length - 1];
  await new Promise(done => { addEventListener("hashchange", done, {once: true}); setTimeout(done, 2000); last.click(); });
  const target = document.querySelector(":target"), box = target ? target.getBoundingClientRect() : null;
  return {n: links.length, lost: links.filter(a => !row(a)).map(a => a.hash),
    opened: target !== null && target === row(last) && target.checkVisibility() && box.bottom > 0 && box.top < innerHeight}; })()"""

# Where a point or a bar is that leads to a cell.
POINT = """(() => { for (const canvas of document.querySelectorAll("figure[data-chart] canvas")) {
    const chart = Chart.getChart(canvas);
    if (!chart) continue;
    for (const [s, set] of chart.data.datasets.entries()) for (const [i, raw] of set.data.entries()) {
      const element = chart.getDatasetMeta(s).data[i];
      if (!raw || !raw.link || (element.base !== undefined && Math.abs(element.x - element.base) < 4)) continue;
      const at = element.getCenterPoint();
      scrollTo(0, scrollY + canvas.getBoundingClientRect().top + at.y - innerHeight / 2);
      location.hash = "none";
      const box = canvas.getBoundingClientRect();
      return {x: box.left + at.x, y: box.top + at.y};
    } }
  return null; })()"""

# The row of a cell that is opened, once what happened has been seen to.
TARGET = """new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
  const row = document.querySelector("figure[id$=-cells] tr:target"); done(row ? row.id : null); })))"""


def link(page, documents, seen):
    """What leads from a figure to a cell opens its row: a link in a table, and a click on a chart."""
    found = page.evaluate(LINKS)
    check(found["n"] or not any(ran(document) for document in documents), "links: no figure leads to a cell")
    check(not found["lost"], "links: these lead nowhere: %s" % found["lost"][:9])
    check(found["opened"], "links: one does not open the row of its cell")
    point = page.evaluate(POINT) if seen["charts"] else None
    check(point or not found["n"] or not seen["charts"], "links: no chart leads to a cell")
    if point:
        page.call("Input.dispatchMouseEvent", type="mouseMoved", **point)
        page.evaluate(TARGET) # the chart takes one event per frame
        for event in ("mousePressed", "mouseReleased"):
            page.call("Input.dispatchMouseEvent", type=event, button="left", clickCount=1, **point)
        check(page.evaluate(TARGET), "links: a click on a chart opens no row")


def save(page, documents):
    """The button gives the document, packed or not."""
    text = page.evaluate("""new Promise((done, failed) => { setTimeout(() => failed(new Error("no blob")), 20000);
      URL.createObjectURL = blob => { blob.text().then(done); return "#"; };
      document.querySelector("button[data-save]").click(); })""")
    check(same(json.loads(text), documents[0]), "the button saves another document")


def policy(page):
    """Scripts and styles that the build did not put there do nothing. Called last: the console says what was refused."""
    done = page.evaluate("""(() => { const add = (to, name, words) => {
        const e = document.createElement(name); e.textContent = words; document[to].append(e); };
      add("body", "script", "window.ran = 1");
      add("head", "style", "body { margin-left: 77px }");
      document.body.setAttribute("style", "padding-left: 77px");
      document.body.setAttribute("onclick", "window.ran = 2");
      document.body.click();
      const seen = getComputedStyle(document.body); return [window.ran || 0, seen.marginLeft, seen.paddingLeft]; })()""")
    check(done == [0, "0px", "0px"], "the policy lets others in: %s" % done)


def main(arguments):
    quick = arguments[:1] == ["--quick"]
    path, documents = arguments[quick], []
    for name in arguments[1 + quick:]:
        with open(name, encoding="utf-8") as file:
            documents.append(json.load(file))
    program = browser.find()
    if not program:
        print("skipped: no Chromium")
        return 77
    check(os.path.getsize(path) < MAX_BYTES, "%s has %d bytes" % (path, os.path.getsize(path)))
    with browser.Browser(program) as tab:
        tab.page(path).close()  # the first page also starts what the browser needs
        for width, dark in ((1280, False),) if quick else ((360, False), (360, True), (1280, False), (1280, True), (1920, False)):
            page, seen = look(tab, path, documents, width, dark)
            if width == 1280 and not dark:
                sort(page, seen)
                link(page, documents, seen)
                save(page, documents)
                if not quick:
                    paper(page, path)
                wrong.extend("%s, used and printed: %s" % (os.path.basename(path), error) for error in page.errors)
                policy(page)
            page.close()
    for words in wrong:
        print(words)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
