"""No two files of one room call each other, straight or through others of the room: one is below the other. Only functions count,
because a list of modules names its modules' tables, and these may call what lies beside the list.

usage: calls.py SOURCE_DIR BUILD_DIR      prints one line per circle; exits 1 when there are any
"""

import subprocess
import sys
from pathlib import Path

TOPS = ("core/", "formats/", "loaders/", "scenarios/", "reports/", "bench/")


def objects(root, build):
    """The sources of object files, <target>.dir/<source>.o. A build keeps the objects of sources that are gone."""
    for path in sorted(build.rglob("*.o")):
        source = path.as_posix().rpartition(".dir/")[2][:-2]
        if source.startswith(TOPS) and (root / source).is_file():
            yield str(path), source


def tables_of(sources):
    """Of each source: the functions that it defines, and the names that it takes from others."""
    tables = {source: (set(), set()) for source in sources.values()}
    said = subprocess.run(["nm", "-A", "-g", *sources], check=True, capture_output=True, text=True).stdout if sources else ""
    for line in said.splitlines():
        path, _, entry = line.rpartition(":")
        kind, name = entry.split()[-2:]
        if kind == "T":
            tables[sources[path]][0].add(name)
        elif kind == "U":
            tables[sources[path]][1].add(name)
    return tables


def reach(calls, start):
    seen, todo = set(), [start]
    while todo:
        for there in calls[todo.pop()] - seen:
            seen.add(there)
            todo.append(there)
    return seen


def circles(root, build):
    tables = tables_of(dict(objects(root, build)))
    home = {name: source for source, (defined, _) in tables.items() for name in defined}
    calls = {source: {home[name] for name in wanted
                      if name in home and Path(home[name]).parent == Path(source).parent and home[name] != source}
             for source, (_, wanted) in tables.items()}
    told = set()
    for source in sorted(calls):
        circle = {other for other in reach(calls, source) if source in reach(calls, other)}
        if circle and source not in told:
            told |= circle
            yield f"these call each other: {', '.join(sorted(circle))}"
    if not tables:
        yield f"{build}: no object files of {root} found"


def main():
    offences = list(circles(Path(sys.argv[1]), Path(sys.argv[2])))
    for offence in offences:
        print(offence)
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
