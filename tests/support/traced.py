"""Holds a file of `dlbench run --trace` against the result.

usage: traced.py TRACE SUMMARY

Spans of a track nest, each stage's measured spans sum up to what summary.json says within 1%, and each measured step has a flow from
the read of each sample of its batch. Prints one line per offence; exits 1 when there are any."""

import json
import sys
from collections import defaultdict

SHARE = 0.01


def spans_that_cross(spans):
    """Of one track: pairs that overlap without one being within the other."""
    open_ends = []
    for start, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        if open_ends and end > open_ends[-1]:
            yield name, start, end, open_ends[-1]
        open_ends.append(end)


def nanoseconds(text):
    """Exact: a float of seconds would lose digits."""
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


def sums_of(document):
    """(table, stage) -> nanoseconds of the repetition that is shown."""
    cell = document["cells"][0]
    out = {}
    stages = (cell["python"] or {}).get("stages") or []
    for table, key in (("worker", "worker_stages"), ("loop", "consumer_stages"), ("device", "device_stages")):
        if table == "worker" and stages:
            continue  # of these it is a view
        for stage, figures in (cell[key] or {}).items():
            out[table, stage] = figures["sum_ns"]
    for figures in stages:
        out["python", figures["name"]] = figures["sum_ns"]
    return {key: ns for key, ns in out.items() if ns is not None}


def check(trace, document):
    events = trace["traceEvents"]
    tracks, sums, reads, flows = defaultdict(list), defaultdict(int), defaultdict(set), {}
    steps = defaultdict(list)  # loaders of several accelerators each have a batch of a number
    for event in events:
        if event["ph"] == "X":
            start, length = nanoseconds(event["ts"]), nanoseconds(event["dur"])
            tracks[event["pid"], event["tid"]].append((start, start + length, event["name"]))
            args = event.get("args", {})
            if "stage" in args and args["measured"]:
                sums[event["cat"], args["stage"]] += length
            if event["name"] == "read":
                reads[args.get("epoch"), args.get("batch")].add((event["pid"], event["tid"], start))
            if event["name"] == "step":
                steps[args["epoch"], args["batch"]].append(((event["pid"], event["tid"], start), args["measured"]))
        elif event["ph"] in "sf":
            flows.setdefault(event["id"], {})[event["ph"]] = event["pid"], event["tid"], nanoseconds(event["ts"])
    for (pid, tid), spans in tracks.items():
        for offence in spans_that_cross(spans):
            yield "track %d/%d: %s crosses another span: %s" % (pid, tid, offence[0], offence[1:])
    for key, ns in sums_of(document).items():
        if abs(sums[key] - ns) > SHARE * ns:
            yield "%s: spans of %d ns, summary.json has %d" % (key, sums[key], ns)
    linked = defaultdict(set)
    for flow in flows.values():
        linked[flow["f"]].add(flow["s"])
    for (epoch, batch), some in steps.items() if reads else ():
        found = set().union(*(linked[place] for place, _ in some))
        if found != reads[epoch, batch] or not all(linked[place] for place, _ in some):
            yield "step of batch %d/%d: flows from %d reads of %d" % (epoch, batch, len(found), len(reads[epoch, batch]))
    if not any(measured for some in steps.values() for _, measured in some):
        yield "no step was measured"


def main():
    with open(sys.argv[1]) as file:
        trace = json.load(file, parse_float=str, parse_int=str)
    for event in trace["traceEvents"]:
        for key in ("measured", "batch", "epoch", "sample"):
            if key in event.get("args", {}):
                event["args"][key] = int(event["args"][key])
        event["pid"] = int(event["pid"])
        event["tid"] = int(event.get("tid", 0))
    with open(sys.argv[2]) as file:
        document = json.load(file)
    offences = list(check(trace, document))
    print("\n".join(offences[:20]))
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
