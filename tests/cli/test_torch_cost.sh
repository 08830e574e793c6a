#!/usr/bin/env bash
# With torch itself: a transform of a known cost is named as the cause, and its cost is found, however workers start; each stage is timed.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

find_torch
"$python" -c 'import numpy, torchvision' 2>/dev/null || skip "no numpy and torchvision beside torch"
limit_s=300
cat >train.py <<'PY'
import os
import time

import numpy
import torch
from torchvision import transforms


class Crunch:
    """Work of numpy for 3 ms, and longer where the system lets it wait: what it took is in a file, by interpreter."""

    def __call__(self, sample):
        start_ns = time.monotonic_ns()
        end_ns = start_ns + 3000000
        noise = numpy.ones(500, dtype=numpy.float32)
        while time.monotonic_ns() < end_ns:
            noise = noise * noise
        file = os.open("took", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        run = os.getppid() if torch.utils.data.get_worker_info() else os.getpid()
        os.write(file, b"%d %d\n" % (run, time.monotonic_ns() - start_ns))
        os.close(file)
        return sample


class Flip:
    def __call__(self, sample):
        return sample.flip(0)


class Mine(torch.utils.data.Dataset):
    def __init__(self):
        self.transform = transforms.Compose([Flip(), Crunch()])

    def __len__(self):
        return 128

    def __getitem__(self, i):
        return self.transform(torch.zeros(64, 64)), i


class Alone(Mine):
    """In no Compose."""

    def __init__(self):
        self.transform = Crunch()
PY
own=(--set loader.kind=torch --set dataset.format=python --set "python.interpreter=$python"
    --set loader.batch_size=8 --set device.step_ms=1 --set device.prefetch=0 --set run.warmup_batches=4 --set run.epochs=2 --set run.repeats=1
    --set loader.pin_memory=false)
sum='(lambda name: [(s["sum_ns"], s["count"]) for s in d["cells"][0]["python"]["stages"] if s["name"] == name][0])'
for how in "fork 2 Mine" "forkserver 2 Mine" "spawn 2 Mine" "default 0 Mine" "fork 2 Alone" "spawn 2 Alone"; do
    read -r method workers data <<<"$how"
    rm -f took
    # Workers stay: where an epoch starts them anew, that takes longer than its 128 samples, and is the cause.
    stay=$([ "$workers" = 0 ] && echo false || echo true)
    run "$dlbench" run "${own[@]}" --set python.dataset="train.py:$data" --set loader.num_workers="$workers" \
        --set loader.persistent_workers="$stay" --set python.start_method="$method" --run-name "$data-$method" --json
    expect_exit 0
    expect_json 'd["cells"][0]["verdict"]["code"] == "INPUT_BOUND_TRANSFORM" and " Crunch " in d["cells"][0]["verdict"]["text"]'
    found=$(json_get "$out" "(lambda x: x[0] / x[1])($sum('Crunch'))")
    # A busy machine is measured again: the result is one of these interpreters.
    took=$(awk -v found="$found" '{ sum[$1] += $2; n[$1]++ }
        END { for (run in n) { far = log(sum[run] / n[run] / found); far = far < 0 ? -far : far
              if (best == "" || far < nearest) { nearest = far; best = sum[run] / n[run] } } print best }' took)
    expect_json "$sum('Crunch')[1] >= 64 and 3e6 <= $found and 0.9 < $found / $took < 1.1"
    names='{s["name"] for s in d["cells"][0]["python"]["stages"] if s["sum_ns"] > 0 and s["name"] not in ("gc", "loop_gc")}'
    expected="{'getitem', 'Crunch', 'collate', 'next'} | ({'Flip'} if '$data' == 'Mine' else set()) | ({'transport'} if $workers else set())"
    expect_json "$names == $expected"
    echo "$data, $method, $workers workers: $(json_get "$out" "'Crunch %.3f ms (by itself %.3f), a stamp %.0f ns, all stamps %.2f%% of the work, a round trip %.0f us' % ($sum('Crunch')[0] / $sum('Crunch')[1] / 1e6, $took / 1e6, d['cells'][0]['python']['stamp_ns'], 100 * d['cells'][0]['python']['stamps_frac'], d['cells'][0]['python']['round_trip_us'])")"
    [ "$workers" = 0 ] || json_get "$out" "['%s %.3f ms' % (s['name'], s['sum_ns'] / s['count'] / 1e6) for s in d['cells'][0]['python']['stages']]"
done

finish
