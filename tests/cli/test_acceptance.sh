#!/usr/bin/env bash
# tests/gpu/acceptance itself: every check's twin runs on the emulated accelerator, out of an archive laid out as scripts/bundle's, and
# its results are written down unchanged. Rates and times of a busy machine are not judged here; content and errors are. A real
# bundle goes through it in test_bundle.sh.
. "$(dirname "$0")/lib.sh"

[ -z "$DLB_SANITIZE" ] || skip "bundles hold no sanitizers"
acceptance=$DLB_SOURCE_DIR/tests/gpu/acceptance
limit_s=280

mkdir -p dist/dlbench/bin dist/dlbench/tests
cp "$dlbench" dist/dlbench/bin/
cp -r "$DLB_SOURCE_DIR/configs" dist/dlbench/
cp -r "$DLB_SOURCE_DIR/tests/gpu" "$DLB_SOURCE_DIR/tests/fidelity" dist/dlbench/tests/
archive=$tmp/dist/bundle.tar.gz
tar -C dist -I 'gzip -1' -cf "$archive" dlbench

# --- every check's twin
run python3 "$acceptance" "$archive" --rehearse --quick --out results
summary=$(cat "$out")
expect [ "$code" -eq 0 -o "$code" -eq 1 ]
result=$(echo results/rehearsal-*.json)
expect_file "$result"
cp "$result" "$out"
expect_json 'd["emulated"] and d["quick"] and d["device"]["kind"] == "emulated" and len(d["bundle"]["sha256"]) == 64 and d["date"]'
expect_json '{r["check"] for r in d["rows"]} == {"h2d", "overlap", "idle", "steps", "model", "checksums", "augment", "imagenet", "sanitizer", "errors"}'
expect_json '[r["name"] for r in d["rows"] if r["measured"] == "could not be run"] == []'
expect_json 'all(r["detail"] for r in d["rows"] if r["measured"] == "not run")'
expect_json 'all(r["held"] for r in d["rows"] if r["check"] in ("checksums", "augment", "errors") and r["held"] is not None)'
# What the emulated accelerator's own timeline says, whatever the machine's clock does; PyTorch is beside it, and judges nothing.
expect_json 'd["ended"] == "complete"'
expect_json '[r["held"] for r in d["rows"] if r["name"].endswith("while copying")] == [True]'
expect_json '[r["held"] for r in d["rows"] if r["check"] == "steps" and "steps of" in r["name"]] == [True, True, True]'
expect_json '[r["held"] for r in d["rows"] if r["check"] == "imagenet"] == [True]'
expect_json '[r["held"] for r in d["rows"] if r["check"] == "sanitizer"] == [None, None]'
expect_json '[r["held"] for r in d["rows"] if "PyTorch" in r["name"]] == [None, None]'
expect_json '{r["name"].split(",")[0] for r in d["rows"] if r["check"] in ("overlap", "idle", "model")} > {"overlap with prefetch 1", "duty cycle of 50%"}'
expect_json 'sum(r["check"] == "checksums" and r["held"] is True for r in d["rows"]) >= 5'
expect_json 'all(r["held"] for r in d["rows"] if "forked anew" in r["name"]) and any("forked anew" in r["name"] for r in d["rows"])'
[ "$(json_get "$result" 'any(r["held"] is False for r in d["rows"])')" = "$([ "$code" -eq 1 ] && echo True || echo False)" ] ||
    failed "the exit code should follow the table"
plan=$(grep '^plan: ' "$err")
expect [ "$(echo "$plan" | sed -nE 's/.*; ([0-9]+) s, and .*/\1/p')" -le "$(echo "$plan" | sed -nE 's/.* and ([0-9]+) s are the most/\1/p')" ]
expect [ "$(echo "$plan" | sed -nE 's/.* and ([0-9]+) s are the most/\1/p')" -lt 540 ]
echo "$summary" | grep -Eq '^held +what +wanted +measured +detail' || failed "the table should be printed"

# --- an unpacked folder; a program that ends wrong is a failed row, and never a held one
mkdir unpacked broken
tar -C unpacked -xf "$archive"
folder=$(echo unpacked/*)
cp -r "$folder/." broken
mv broken/bin/dlbench broken/bin/really
cat >broken/bin/dlbench <<SH
#!/bin/sh
case "\$*" in
*run.checksum=true*) echo "planted failure" >&2; exit 3 ;;
esac
exec "$tmp/broken/bin/really" "\$@"
SH
chmod 755 broken/bin/dlbench
run python3 "$acceptance" broken --rehearse --quick --only augment --out results
expect_exit 1
expect_out '^NO .*planted'

# --- a training that cannot be run is shown as that, and is nobody's failure
run env PYTHON=/no/such/python python3 "$acceptance" "$folder" --rehearse --quick --only resnet-128 --out training
expect_exit 0
expect_out 'FileNotFoundError'

# --- a budget that is too small: what was not judged is named, and is no success
cp -r "$folder" hurried
sed -i 's/^BUDGET_S = .*/BUDGET_S = 6/' hurried/tests/gpu/program.py
run python3 "$acceptance" hurried --rehearse --only steps,idle --out results
expect_exit 4
expect_out '; 2 not judged: .*steps.*idle'

# --- stopped half-way: what was found until then is there
python3 "$acceptance" "$folder" --rehearse --only steps --out stopped >stopped.out 2>stopped.err &
pid=$!
for _ in $(seq 300); do
    if grep -q '^yes  fma steps' stopped.err; then break; fi
    sleep 0.1
done
[ "$(json_get "$(echo stopped/*.json)" 'd["ended"] == "cut off" and d["rows"][0]["held"]')" = True ] ||
    failed "what was found should be written at once"
kill -TERM "$pid"
code=0 && wait "$pid" || code=$?
expect [ "$code" -eq 130 ]
expect grep -q '^yes .*fma steps of 0.05 ms' stopped.out
result=$(echo stopped/*.json)
expect_file "$result"
[ "$(json_get "$result" 'd["ended"] == "interrupted" and d["rows"][0]["held"]')" = True ] || failed "what was found should be written"

# --- what goes wrong within a check stays there, and what was not run is not judged
cat >parts.py <<'PY'
import argparse, json, os, sys, time
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(sys.argv[1], "tests", "gpu"))
import checks, program
b = program.Bench(sys.argv[1], ".", argparse.Namespace(emulated=True, quick=False))
def broken(b):
    "breaks"
    b.row("before", "", "", True)
    raise AttributeError("planted")
def slow(b):
    "takes too long"
    b.row("before", "", "", True)
    b.command(["sh", "-c", "sleep 60 & echo $! >sleeper; wait"])
assert sum(checks.CHECKS[name][1] for name in checks.USUAL) <= program.BUDGET_S
checks.CHECKS = {"broken": (broken, 1), "slow": (slow, 1)}
b.end = time.monotonic() + 2
checks.run(b, ["broken", "slow"])
assert [(r["check"], r["held"], r["measured"]) for r in b.rows] == [
    ("broken", True, ""), ("broken", False, "could not be run"), ("slow", True, ""), ("slow", None, "out of time")], b.rows
with open("sleeper") as file:
    sleeper = f"/proc/{int(file.read())}/cmdline"
for _ in range(50):  # ended with the one that started it
    if not os.path.exists(sleeper) or not open(sleeper, "rb").read():
        break
    time.sleep(0.1)
else:
    raise AssertionError("what a command started should end with it")
b.end = time.monotonic() - 1
assert checks.torch_peer(b, "copy")[0] == {}

clean, found = "========= ERROR SUMMARY: 0 errors\n", "========= RACECHECK SUMMARY: 3 hazards displayed (3 errors, 0 warnings)\n"
refused = "========= Error: Device not supported. Please refer to the documentation\n"
watched, preloaded = {2: {"libsanitizer-collection.so", "libInterceptorInjectionTarget.so"}}, {2: {"libInterceptorInjectionTarget.so"}}
assert checks.judge_watched(0, "", {1: clean}, watched) == ("0 errors", True, "")
assert checks.judge_watched(9, "", {1: clean, 2: found}, watched)[:2] == ("3 errors", False)
assert checks.judge_watched(3, "it failed", {1: clean}, watched)[1:] == (False, "exit code 3: it failed")
assert checks.judge_watched(0, "", {1: clean, 2: clean}, watched)[1] is True
assert checks.judge_watched(0, "", {1: clean, 3: clean}, watched)[1] is False  # a log for each, and none of the measuring process
for cells in ({}, {2: set()}, preloaded):  # the measuring process was not watched
    assert checks.judge_watched(0, "", {1: clean}, cells)[1] is False
assert checks.judge_watched(1, "planted", {}, watched)[1] is False
assert checks.judge_watched(1, "permission denied", {2: "a permission that the program lacks\n"}, watched)[1] is False
assert checks.judge_watched(1, "", {2: refused + clean}, watched)[:2] == ("not run", None)
for pid, words, maps in ((7, "dlbench cell --spec a --result b", "7f00 r-xp 1 08:01 5 /opt/compute-sanitizer/libsanitizer-collection.so\n"),
                         (8, "dlbench cell --spec a --result b", "7f00 r-xp 1 08:01 5 /opt/compute-sanitizer/bin/other.so\n"),
                         (9, "dlbench run --result b", "7f00 r-xp 1 08:01 5 /opt/libsanitizer-collection.so\n")):
    os.makedirs(f"proc/{pid}")
    with open(f"proc/{pid}/cmdline", "wb") as file:
        file.write(words.replace(" ", "\0").encode() + b"\0")
    with open(f"proc/{pid}/maps", "w") as file:
        file.write(maps)
assert program.watchers_of_cells("proc") == {7: {"libsanitizer-collection.so"}, 8: set()}

# In compute mode "exclusive process" one process at a time has the GPU.
class Planted(program.Bench):
    "answers for a machine with a GPU"
    def dlbench(self, verb, options, **how):
        return (3, None, "no GPU") if verb == "gen" or "CUDA_VISIBLE_DEVICES" in str(how) else (
            0, {"device": {"kind": "cuda"}, "dlbench": {}, "environment": {"kernel": "", "cpu": ""}}, "")
    def bare_copy(self, word):
        return {"one_process": self.one}
    def command(self, argv, **how):
        formats = [{"kind": "format", "name": n, "available": True} for n in "abcd"]
        return argparse.Namespace(stdout=json.dumps({"modules": formats}))
def counted(b, *rest):
    running.append(1)
    most.append(len(running))
    time.sleep(0.2)
    running.pop()
    return "formats", "", "", None
checks.checksums_of = counted
for one in (True, False):
    p, running, most = Planted(sys.argv[1], ".", argparse.Namespace(emulated=False, quick=True)), [], []
    p.one, p.bare = one, "/bin/false"
    checks.identify(p)
    try:
        checks.checksums(p)
    except program.CannotRun:
        pass
    assert max(most) == (1 if one else 4), most
    checks.errors(p)
    assert sum(r["detail"] == "the GPU takes one process" and r["measured"] == "not run" for r in p.rows) == (2 if one else 0), p.rows
program.glob.glob = lambda pattern: ["/dev/null", "/dev/nowhere"]
assert len(program.hold_drivers()) == 1
print("parts hold")
PY
run python3 parts.py "$folder"
expect_exit 0
expect_out '^parts hold$'

# --- damaged, or nowhere to write: before anything is run
head -c 100000 "$archive" >damaged.tar.gz
run python3 "$acceptance" damaged.tar.gz --rehearse
expect_exit 3
expect_err 'damaged\.tar\.gz'
echo nothing >damaged.tar.zst
run python3 "$acceptance" damaged.tar.zst --rehearse
expect_exit 3
expect_err 'damaged'
run python3 "$acceptance" "$folder" --rehearse --out "$archive/results"
expect_exit 3
expect_err '--out .*Not a directory'

# --- where nothing may be executed
chmod 644 hurried/bin/dlbench
run python3 "$acceptance" hurried --rehearse
expect_exit 3
expect_err 'bin/dlbench.*TMPDIR'

# --- wrong usage, no bundle, no GPU
run python3 "$acceptance" "$folder" --only nonsense
expect_exit 2
expect_err '"nonsense"'
run python3 "$acceptance" "$tmp" --rehearse
expect_exit 3
expect_err 'bin/dlbench'
if [ ! -e /dev/nvidiactl ]; then
    run python3 "$acceptance" "$folder" --out results
    expect_exit 77
    expect_err 'GPU'
fi
finish
