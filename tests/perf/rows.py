"""What scripts/perf makes of the comparisons of benchmarks, which each appended as a line of JSON (tests/perf/row.h).

usage: rows.py json|against FOLDER NAME...   FOLDER has NAME.now, NAME.then and `stat`, /proc/stat of the beginning
       rows.py table FILE...                 documents of `json`, as Markdown
"""

import json
import pathlib
import platform
import statistics
import subprocess
import sys
import time


def rows_of(folder, names, which):
    """Row after row, with the benchmark that it is of."""
    for name in names:
        path = pathlib.Path(folder) / f"{name}.{which}"
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            yield {"benchmark": name, **json.loads(line)}


def cpu():
    """The processor as /proc/cpuinfo tells it."""
    fields = dict(line.split(":", 1) for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if ":" in line)
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    return {"model": fields.get("model name", platform.machine()), "family": fields.get("cpu family"),
            "model_number": fields.get("model"), "n": int(fields.get("processor", 0)) + 1,
            "virtual": "hypervisor" in fields.get("flags", "").split()}


def ticks(text):
    return [int(word) for word in text.splitlines()[0].split()[1:9]]


def stolen_frac(folder):
    before = ticks((pathlib.Path(folder) / "stat").read_text(encoding="ascii"))
    took = [now - then for now, then in zip(ticks(pathlib.Path("/proc/stat").read_text(encoding="ascii")), before)]
    return took[7] / max(sum(took), 1)


def git(*words):
    return subprocess.run(["git", *words], capture_output=True, text=True, check=False).stdout.strip()


def machine(folder):
    return {"cpu": cpu(), "kernel": platform.release(), "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "commit": git("rev-parse", "--short", "HEAD") + ("" if not git("status", "--porcelain") else ", changed"),
            "stolen_frac": round(stolen_frac(folder), 4)}


def document(folder, names):
    rows = list(rows_of(folder, names, "now"))
    print(json.dumps({**machine(folder), "rows": rows}, indent=1))


def named(cpu_of):
    """A name that tells generations apart, where a guest is told none."""
    numbers = f"family {cpu_of['family']}, model {cpu_of['model_number']}"
    return f"{cpu_of['model']} ({numbers}), {cpu_of['n']} CPUs{' of a virtual machine' if cpu_of['virtual'] else ''}"


def verdict(row):
    if row["should_reach"] is None:
        return "-"
    word = "yes" if row["ratio"]["median"] >= row["should_reach"] else "**no**"
    return f"{row['should_reach']:.2f}: {word}"


def each_text(each):
    return f"{(each['user_ns'] + each['system_ns']) / 1e3:,.2f} µs, {each['faults']:.2g}, {each['sleeps'] + each['preempted']:.2g}"


def table(paths):
    for path in paths:
        doc = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        print(f"## {named(doc['cpu'])}\n\n{doc['date']}, commit {doc['commit']}; {doc['stolen_frac']:.1%} of the CPU time was stolen.\n")
        print("| benchmark | what | against | ratio | should reach | dlbench: CPU, faults, switches | the other |")
        print("|---|---|---|---|---|---|---|")
        for row in doc["rows"]:
            ratio = row["ratio"]
            print(f"| {row['benchmark']} | {row['name']} | {row['base']['name']} | {ratio['median']:.2f} ({ratio['low']:.2f} to "
                  f"{ratio['high']:.2f}) | {verdict(row)} | {each_text(row['ours']['each'])} | {each_text(row['base']['each'])} |")
        print()


def ratios(folder, names, which):
    found = {}
    for row in rows_of(folder, names, which):
        found.setdefault((row["benchmark"], row["name"]), []).append(row["ratio"]["median"])
    return found


def against(folder, names):
    """The ratio to the baseline, which both builds measured beside it, now and then."""
    now, then = (ratios(folder, names, which) for which in ("now", "then"))
    where = machine(folder)
    print(f"{named(where['cpu'])}; {where['stolen_frac']:.1%} of the CPU time was stolen\n")
    print("| benchmark | what | then | now | change |\n|---|---|---|---|---|")
    for key, values in now.items():
        before = then.get(key)
        if not before:
            print(f"| {key[0]} | {key[1]} | - | {statistics.median(values):.3f} | it was not measured then |")
            continue
        change = [100 * (a / b - 1) for a, b in zip(values, before)]
        print(f"| {key[0]} | {key[1]} | {statistics.median(before):.3f} | {statistics.median(values):.3f} | "
              f"{statistics.median(change):+.1f}% ({min(change):+.1f}% to {max(change):+.1f}%) |")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    if sys.argv[1] == "table":
        table(sys.argv[2:])
    else:
        {"json": document, "against": against}[sys.argv[1]](sys.argv[2], sys.argv[3:])


if __name__ == "__main__":
    main()
