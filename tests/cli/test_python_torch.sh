#!/usr/bin/env bash
# calibrate and dlbench.watch with a real PyTorch: a CPU step; a DataLoader with workers, wrapped.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

find_torch
export PYTHONPATH=$DLB_SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=1

cat >train.py <<'EOF'
import time, torch
from torch.utils.data import DataLoader, Dataset
class Slow(Dataset):
    def __len__(self): return 400
    def __getitem__(self, i):
        time.sleep(0.001)
        return torch.full((8,), float(i)), i
def make_step():
    x, net = torch.randn(64, 256), torch.nn.Linear(256, 256)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    def step():
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
        time.sleep(0.01)
    return step
if __name__ == "__main__":
    import sys
    import dlbench
    sys.modules["train"] = sys.modules["__main__"]
    for name, replay in (("live", False), ("replay", True)):
        loader = dlbench.watch(DataLoader(Slow(), 10, num_workers=2, shuffle=True), replay=replay, run_name=name)
        assert len(loader) == 40 and isinstance(loader.dataset, Slow)
        for epoch in range(2):
            seen = sorted(int(i) for _, labels in loader for i in labels)
            assert replay or seen == list(range(400))
    import multiprocessing
    kept = dlbench.watch(DataLoader(Slow(), 10, num_workers=2, persistent_workers=True), replay=3, run_name="kept")
    assert sum(1 for _ in kept) == 3 and multiprocessing.active_children() == []
EOF

run "$dlbench" calibrate --python train.py:make_step --interpreter "$python" --seconds 5 --json
expect_exit 0
expect_json '10 <= d["median_ms"] < 100 and d["steps"] >= 5 and d["torch"] and d["clock"] == "wall clock"'
run "$dlbench" calibrate --python train.py:absent --interpreter "$python"
expect_code E_STEP_NOT_FOUND

run "$python" train.py
expect_exit 0
for name in live replay; do
    valid_summary results/$name/summary.json
    run cat results/$name/summary.json
    expect_json 'd["watch"]["steps"] == 80 and d["watch"]["samples"] == 800 and d["environment"]["torch"] and d["watch"]["settings"]["num_workers"] == 2'
done
# Two workers need 400 ms of planted time for an epoch; a batch that is kept needs none.
run cat results/live/summary.json
expect_json 'd["watch"]["wall_ns"] >= 2 * 2 * 10**8 and all(e["ended"] == "exhausted" for e in d["watch"]["epochs"])'
run "$dlbench" report results/live results/replay
expect_exit 0
expect_out ' [0-9]+\.[0-9][0-9] times '

finish
