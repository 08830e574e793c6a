"""Opens pages of dlbench in a headless Chromium and holds them against the documents they were made of.

usage: pages.py [--quick] PAGE SUMMARY.json...     the page, and the documents of its results in their order
Each width, light, dark and paper; with --quick one width. Exits 1, with a line for each thing that is wrong.
"""

import base64
import gzip
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser

MAX_LOAD_S = 2 # of CPU time
MAX_BYTES = 3e6

# What a page shows, as numbers and texts.
LOOK = """(() => {
  const figures = [...document.querySelectorAll("figure")].map(figure => ({
    id: figure.id, chart: figure.dataset.chart || null, rows: figure.querySelectorAll("tbody tr").length,
    plot: figure.dataset.chart ? figure.querySelector(".plot").getBoundingClientRect().height : 0,
    label: figure.dataset.chart ? figure.querySelector("canvas").getAttribute("aria-label") : null,
    drawn: figure.dataset.chart ? (() => { const c = figure.querySelector("canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
      for (let i = 3; i < d.length; i += 4) if (d[i]) return true; return false; })() : null}));
  const cells = [...document.querySelectorAll("tr[id]")].map(tr => ({id: tr.id, values: [...tr.cells].map(td => td.dataset.v === undefined ? td.textContent : Number(td.dataset.v))}));
  const heads = Object.fromEntries([...document.querySelectorAll("figure[id$=-cells]")].map(f => [f.id, [...f.querySelectorAll("th")].map(th => th.textContent)]));
  const outside = [...document.querySelectorAll("main *")].filter(e => !e.closest(".scroll") && e.getBoundingClientRect().right > innerWidth + 1)
    .map(e => e.tagName + "." + e.className).slice(0, 5);
  return {figures, cells, heads, outside, scroll: document.documentElement.scrollWidth, inner: innerWidth, title: document.title, alerted: window.alerted || 0,
    paper: document.documentElement.classList.contains("paper"), scripts: document.scripts.length, images: document.images.length,
    calls: [...document.querySelectorAll("pre[id$=-call]")].map(e => e.textContent), charts: typeof Chart !== "undefined",
    changes: [...document.querySelectorAll("figure[id$=-changes] tbody tr")].map(tr => [...tr.cells].map(td => td.dataset.v === undefined ? td.textContent : Number(td.dataset.v))),
    verdicts: [...document.querySelectorAll(".verdict strong")].map(e => e.textContent),
    documents: [...document.querySelectorAll('script[id$=-document]')].map(e => e.textContent),
    tiles: [...document.querySelectorAll(".tiles dd")].map(e => Number(e.dataset.v))};
})()"""

wrong = []


def check(holds, words):
    if not holds:
        wrong.append(words)


def close(a, b):
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b))


def check_cells(number, document, seen):
    """Each cell has a row with its rate, its repetitions and its place."""
    rate = document.get("ranked_by") or ""
    rate = rate if "samples_per_s" in rate else "samples_per_s"
    rows = {row["id"]: row["values"] for row in seen["cells"]}
    head = seen["heads"].get("r%d-cells" % number, [])
    for index, cell in enumerate(document["cells"]):
        row = rows.get("r%d-c%d" % (number, index))
        check(row is not None, "cell %d of result %d has no row" % (index, number))
        if row is None:
            continue
        check(row[0] == index, "row of cell %d begins with %r" % (index, row[0]))
        for key, column in (("median", "samples/s"), ("low", "low"), ("high", "high")):
            value, shown = (cell.get(rate) or {}).get(key), row[head.index(column)]
            if value is None or (key != "median" and cell[rate]["interval"] == "none"):
                check(shown == "-", "cell %d: %s shows %r where nothing was measured" % (index, column, shown))
            else:
                check(isinstance(shown, (int, float)) and close(shown, value), "cell %d: %s shows %r, is %r" % (index, column, shown, value))
        values = [value for value in (cell.get(rate) or {}).get("values", [])]
        check(len(values) == (0 if row[-1] == "-" else len(row[-1].split())), "cell %d has %d repetitions, shown: %s" % (index, len(values), row[-1]))


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


def check_comparison(compare, seen):
    """A row for each pair, with its change; the verdict first."""
    rows = [row for row in seen["changes"] if row[0] != "mean of all"]
    check(len(rows) == min(40, len(compare["cells"])), "%d rows for %d changes" % (len(rows), len(compare["cells"])))
    changes = {round(pair["change_frac"], 6) for pair in compare["cells"] if pair["change_frac"] is not None}
    check({round(row[4], 6) for row in rows if row[4] != "-"} <= changes, "changes are %s, shown: %s" % (changes, rows))
    check(compare["overall"]["verdict"] in seen["verdicts"][0], "the verdict is not first: %r" % seen["verdicts"])


def check_document(number, document, seen):
    check(same(unpacked(seen["documents"][number]), document), "the page holds another document %d" % number)
    if document.get("compare"):
        check_comparison(document["compare"], seen)
    if document.get("cells"):
        check_cells(number, document, seen)
    if document.get("pytorch", "").isprintable() and document.get("pytorch") and seen["calls"] and len(seen["documents"]) == 1:
        check(document["pytorch"] in seen["calls"], "the settings to paste are not shown")
    if "storage" in document and len(seen["documents"]) == 1:
        check(any(f["id"] == "r0-curve" for f in seen["figures"]), "no curve")


def look(tab, path, documents, width, dark):
    page = tab.page(path, width=width, dark=dark)
    where = "%s, %d px%s: " % (os.path.basename(path), width, ", dark" if dark else "")
    seen = page.evaluate(LOOK)
    for error in page.errors:
        wrong.append(where + error)
    before = len(wrong)
    check(seen["scroll"] <= seen["inner"], "is %d px wide: %s" % (seen["scroll"], seen["outside"]))
    check(seen["alerted"] == 0 and seen["images"] == 0, "a name has become markup")
    check(seen["scripts"] == len(documents) + 2, "has %d scripts" % seen["scripts"])
    for figure in seen["figures"]:
        if figure["chart"] and seen["charts"]:
            check(figure["drawn"] and figure["plot"] >= 100, "%s is not drawn" % figure["id"])
            check(figure["label"] and figure["rows"] > 0, "%s has no words or no table" % figure["id"])
    check(0 < page.load_s < MAX_LOAD_S, "took %.2f s to open" % page.load_s)
    for number, document in enumerate(documents):
        check_document(number, document, seen)
    wrong[before:] = [where + words for words in wrong[before:]]
    return page, seen


def paper(page, path):
    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        page.pdf(file.name)
        size = os.path.getsize(file.name)
    check(size > 10000, "%s: on paper it has %d bytes" % (os.path.basename(path), size))
    check(not page.evaluate('document.documentElement.classList.contains("paper")'), "%s: stays as on paper" % path)
    for error in page.errors:
        wrong.append("%s, on paper: %s" % (path, error))


def sort(page):
    """Clicking a column's head sorts by its numbers."""
    rates = """(() => { const f = document.querySelector("figure[id$=-cells]"); if (!f) return [];
      const th = [...f.querySelectorAll("th")].find(th => th.textContent === "samples/s");
      th.querySelector("button").click();
      return [...f.querySelectorAll("tbody tr")].map(tr => tr.cells[th.cellIndex].dataset.v).filter(v => v !== undefined).map(Number); })()"""
    values = page.evaluate(rates)
    check(values == sorted(values), "sorting gives %s" % values[:9])


def link(page):
    """A click on a chart's table, and an address with a cell, open the row."""
    at = page.evaluate("""(() => { const a = document.querySelector("figure td a[href^='#r']"); if (!a) return null; location.hash = a.getAttribute("href");
      const row = document.querySelector(":target"); return row ? row.id : "none"; })()""")
    check(at is None or at.startswith("r"), "a link to a cell leads nowhere")


def save(page, documents):
    """The button gives the document, packed or not."""
    text = page.evaluate("""new Promise((done, failed) => { setTimeout(() => failed(new Error("no blob")), 20000);
      URL.createObjectURL = blob => { blob.text().then(done); return "#"; };
      document.querySelector("button[data-save]").click(); })""")
    check(same(json.loads(text), documents[0]), "the button saves another document")


def policy(page):
    """Scripts and styles that the build did not put there do nothing. Called last: the console says what was refused."""
    done = page.evaluate("""(() => { const script = document.createElement("script"); script.textContent = "window.ran = 1"; document.body.append(script);
      const style = document.createElement("style"); style.textContent = "body { margin-left: 77px }"; document.head.append(style);
      document.body.setAttribute("style", "padding-left: 77px"); document.body.setAttribute("onclick", "window.ran = 2"); document.body.click();
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
            page, _ = look(tab, path, documents, width, dark)
            if width == 1280 and not dark:
                sort(page)
                link(page)
                save(page, documents)
                if not quick:
                    paper(page, path)
                policy(page)
            page.close()
    for words in wrong:
        print(words)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
