# Shared by the tests of cells with a stand-in for torch; sourced after lib.sh: train.py, the options that name it, and checks.
command -v python3 >/dev/null || skip "no python3"
unset VIRTUAL_ENV CONDA_PREFIX
export PYTHONDONTWRITEBYTECODE=1
cat >train.py <<'PY'
import multiprocessing, os, signal, time
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

with open("%(pids)s", "a") as file:
    file.write("%%d\n" %% os.getpid())


class Mine(Dataset):
    def __init__(self, n=64, at=-1, what="nothing", wide=8):
        self.n, self.at, self.what, self.wide = n, at, what, wide

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i == self.at:
            getattr(self, self.what)(i)
        return torch.zeros(self.wide)

    def fails(self, i):
        raise ValueError("sample %%d" %% i)

    def crashes(self, i):
        os.kill(os.getpid(), signal.SIGSEGV)

    def leaves(self, i):
        os._exit(3)

    def hangs(self, i):
        time.sleep(1000)

    def babbles(self, i):
        os.write(3, b"garbage")
        time.sleep(1000)

    def lies(self, i):
        os.write(3, (4).to_bytes(8, "little") * 2)
        time.sleep(1000)

    def closes(self, i):
        os.closerange(3, 256)

    def moves(self, i):
        multiprocessing.current_process()._config["tempdir"] = os.path.dirname("%(pids)s") + "/users"
        os.chdir("/")
        print("\x1b[31mmoved")


class Stream(IterableDataset):
    def __iter__(self):
        return (torch.zeros(8) for _ in range(60))


class Halve:
    def __call__(self, sample):
        return sample


class Compose:
    transforms = None

    def __init__(self):
        self.transforms = [Halve()]

    def __call__(self, sample):
        for one in self.transforms:
            sample = one(sample)
        return sample


class Named(Mine):
    def __init__(self):
        super().__init__()
        self.transform = Compose()

    def __getitem__(self, i):
        return self.transform(super().__getitem__(i))


def named():
    return Named()


class Sleep:
    def __call__(self, sample):
        time.sleep(0.003)
        return sample


def slow():
    data = Named()
    data.transform.transforms.append(Sleep())
    return data


def make(**args):
    return Mine(**args)


def stream():
    return Stream()


def loader(batch_size, samples):
    return [torch.zeros(batch_size, 4) for _ in range(samples // batch_size)]


def endless():
    data = Stream()
    Stream.__iter__ = lambda self: (torch.zeros(8) for _ in iter(int, 1))
    return data


def others(samples, **more):
    return loader(more.pop("batch_size"), samples) if set(more) < set(DataLoader.__init__.__code__.co_varnames) else None


def strict(batch_size, seed, prefetch_factor, persistent_workers, timeout, samples):
    return loader(batch_size, samples) if not prefetch_factor and not persistent_workers and timeout == 0 else None


def words():
    return [["a"], ["b"]]


def count(batch):
    return 7
PY
sed -i "s|%(pids)s|$tmp/pids|; s|%%|%|g" train.py

torch=(--set loader.kind=torch --set dataset.format=python --set python.interpreter=python3 --set loader.batch_size=8
    --set loader.num_workers=0 --set device.step_ms=1 --set device.prefetch=1 --set run.warmup_batches=0 --set run.repeats=1
    --set loader.shuffle=false --results results)
own=("${torch[@]}" --set python.dataset=train.py:make)

# Each process that ran the module is gone, and so are those that it started: they have no other group to hide in.
expect_no_process() {
    local pid
    while read -r pid; do
        for _ in $(seq 40); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
        kill -0 "$pid" 2>/dev/null && failed "process $pid should be gone"
    done <pids
    : >pids
    for _ in $(seq 40); do pgrep -f "$tmp/results.*/dlbench_serve.py" >/dev/null || break; sleep 0.05; done
    pgrep -f "$tmp/results.*/dlbench_serve.py" >/dev/null && failed "no interpreter should be left"
}

refused() { # CODE OPTIONS...
    local wanted=$1
    shift
    run "$dlbench" run "$@" --run-name refused --overwrite
    expect_code "$wanted"
    expect_no_process
}
