"""Which faults are planted in the interpreter of a cell of loader.kind = "torch", and what must follow.

A row is a run with the fault; with `sweep`, a sweep of two cells: one whose data set is sound, and one in which the fault is. The fault
is Python code at one point of a user's module:

  import  the module is imported
  make    its data set is made
  sample  a sample is read: in the training loop's process, or in a worker of torch if `workers` is not 0
  collate a batch is made
  count   python.count counts a batch
  start   the interpreter itself is another one (`interpreter`), or a system call of dlbench fails (`plant`: tests/support/faults.c)
  look    as sample, while dlbench asks what the data set is like, before it plans

`code`: of the cell's error, a regex, as `cause` is, which the message has beside a path. "" stands for a cell that must be right.
`real`: only torch itself has what the row is about; the others run with tests/support/torch_double.
"""

POINTS = ["start", "import", "make", "look", "sample", "collate", "count"]


class Row:
    def __init__(self, fault, point, name, code, source="", cause="", *, plant="", interpreter="", more=(), real=False,
                 workers=None, timeout_s=60, kills="", small_disk=False, sweep=False):
        self.fault, self.point, self.name, self.code, self.source, self.cause = fault, point, name, code, source, cause
        self.plant, self.interpreter, self.more, self.real = plant, interpreter, list(more), real
        self.workers = (2 if timeout_s < 60 else 0) if workers is None else workers  # without workers there is no timeout
        self.timeout_s, self.kills, self.small_disk, self.sweep = timeout_s, kills, small_disk, sweep

    def full_name(self):
        return f"torch/{self.fault}/{self.point}/{self.name}"


ROWS = []


def row(*args, **more):
    ROWS.append(Row(*args, **more))


RAISED, ENDED, GARBAGE, HANGS = "E_PYTHON_RAISED", "E_PYTHON_ENDED", "E_PYTHON_GARBAGE", "E_PYTHON_HANGS"
KILL, STOP, SEGV = (f"os.kill(os.getpid(), signal.{name})" for name in ("SIGKILL", "SIGSTOP", "SIGSEGV"))
FOREVER = "time.sleep(1000)"
NO_MEMORY = "limit_memory(); held = bytearray(1 << 30)"
THREADS = "[threading.Thread(target=time.sleep, args=(1000,)).start() for _ in range(4)]"

# It raises: the cause is what it says, and where; of a sample in a worker too.
for point in ["import", "make", "look", "sample", "collate", "count"]:
    row("raises", point, "error", RAISED, "raise ValueError('it is odd')", r"ValueError: it is odd at .*bad\.py:\d+",
        sweep=point == "sample")
row("raises", "sample", "worker", RAISED, "raise ValueError('sample %d is odd' % i)", r"sample 20 is odd at .*bad\.py:\d+",
    real=True, workers=2)
row("raises", "sample", "exit", RAISED, "raise SystemExit(4)", r"SystemExit: 4 at .*bad\.py:\d+")
row("raises", "sample", "interrupt", RAISED, "raise KeyboardInterrupt", r"KeyboardInterrupt.* at .*bad\.py:\d+")
row("raises", "sample", "long", RAISED, "raise ValueError('x' * 1000000)", r"ValueError: xxx.* at .*bad\.py:\d+")
row("raises", "sample", "deep", RAISED, "return self[i]", r"RecursionError.* at .*bad\.py:\d+")
row("raises", "sample", "no-text", RAISED, "raise Silent", r"Silent.* at .*bad\.py:\d+")
row("raises", "sample", "surrogate", RAISED, r"raise ValueError('\udcff\0\x1b[31m')", r"at .*bad\.py:\d+")
row("raises", "import", "package", "E_PYTHON_PACKAGE_MISSING", "import no_such_package", "no_such_package")
row("raises", "import", "syntax", RAISED, "import syntax", r"SyntaxError.*syntax\.py:1")

# It crashes or leaves.
for point in ["import", "make", "look", "sample", "collate"]:
    row("SIGSEGV", point, "self", ENDED, SEGV, "Segmentation fault", sweep=point == "sample")
    row("exit", point, "self", ENDED, "os._exit(3)", "exit code 3", sweep=point == "sample")
row("exit", "sample", "clean", ENDED, "os._exit(0)", "exit code 0")
for point in ["import", "sample", "look"]:
    row("SIGKILL", point, "self", ENDED, KILL, "Killed", sweep=point == "sample")
row("SIGKILL", "sample", "keeper", ENDED, "os.kill(os.getppid(), signal.SIGKILL); " + FOREVER, "Killed")
row("SIGKILL", "count", "keeper", ENDED, "os.kill(os.getppid(), signal.SIGKILL); " + FOREVER, "Killed", workers=2, real=True)
row("SIGKILL", "sample", "cell", "E_CELL_KILLED", "os.kill(cell(), signal.SIGKILL); " + FOREVER, "SIGKILL", workers=2, sweep=True)
row("SIGKILL", "sample", "program", "", FOREVER, workers=2, kills="SIGKILL")
row("SIGKILL", "look", "program", "", FOREVER, workers=2, kills="SIGKILL")
row("SIGSEGV", "sample", "worker", RAISED, SEGV, "killed by signal: Segmentation fault", real=True, workers=2)
row("SIGKILL", "sample", "worker", RAISED, KILL, "killed by signal: Killed", real=True, workers=2)
row("exit", "sample", "worker", RAISED, "os._exit(3)", "exited unexpectedly", real=True, workers=2)

# It is silent.
row("hang", "sample", "self", HANGS, FOREVER, timeout_s=1, sweep=True)
row("hang", "sample", "worker", HANGS, FOREVER, real=True, workers=2, timeout_s=1)
row("hang", "collate", "self", HANGS, FOREVER, timeout_s=1)
row("hang", "count", "self", HANGS, FOREVER, timeout_s=1)
row("hang", "sample", "deaf", HANGS, "[signal.signal(n, signal.SIG_IGN) for n in (2, 13, 15)]; " + FOREVER, timeout_s=1)
row("hang", "sample", "busy", HANGS, "while True: pass", timeout_s=1)
for point in ["import", "make", "look", "sample"]:
    row("hang", point, "interrupted", "", FOREVER, kills="SIGINT")
row("SIGSTOP", "sample", "self", HANGS, STOP, timeout_s=1, sweep=True)
row("SIGSTOP", "sample", "keeper", HANGS, "os.kill(os.getppid(), signal.SIGSTOP); " + FOREVER, workers=2, timeout_s=1)
row("SIGSTOP", "sample", "worker", HANGS, STOP, real=True, workers=2, timeout_s=1)

# Processes and threads.
row("threads", "import", "sleep", "", THREADS, workers=2)
row("threads", "import", "fork", "", THREADS, workers=2, real=True)
row("threads", "sample", "lock", HANGS, "held.acquire()", real=True, workers=2, timeout_s=1)
row("children", "import", "daemon", "", "daemon()", workers=2)
row("children", "sample", "daemon", ENDED, "daemon(); " + KILL, "Killed", workers=2)
row("fork", "start", "keeper", "E_IO", cause="Resource temporarily unavailable",
    plant="at=fork,in=cell,effect=EAGAIN")
row("fork", "start", "interpreter", "E_IO", cause="Resource temporarily unavailable",
    plant="at=fork,in=cell,after=1,effect=EAGAIN")
row("fork", "sample", "user", RAISED, "resource.setrlimit(resource.RLIMIT_NPROC, (0, 0)); os.setuid(65534); os.fork()",
    r"BlockingIOError.* at .*bad\.py:\d+")

# What it writes is no answer.
row("garbage", "import", "stdout", "", r"print('\x1b[31mgarbage\r\0' * 1000); os.write(1, bytes(range(256)) * 4000)")
row("garbage", "import", "closed", "", "os.close(0); os.close(1); os.close(2)")
for point in ["import", "sample"]:
    row("garbage", point, "text", GARBAGE, "os.write(3, b'garbage'); " + FOREVER)
    row("garbage", point, "lie", GARBAGE, "os.write(3, (4).to_bytes(8, 'little') * 2); " + FOREVER)
    row("garbage", point, "nothing", f"{GARBAGE}|{ENDED}", "os.write(3, b''); " + FOREVER)
    row("garbage", point, "huge", GARBAGE, "os.write(3, bytes(150000)); " + FOREVER)
    row("garbage", point, "json", GARBAGE, "os.write(3, (1).to_bytes(8, 'little') + b'{{{{'); " + FOREVER)
row("garbage", "sample", "batch", GARBAGE, "os.write(3, (4).to_bytes(8, 'little') + b'\\xff' * 48); " + FOREVER, sweep=True)

# What it gives is no batch.
for name, what in [("none", "None"), ("object", "object()"), ("empty", "[]"), ("number", "3.5"),
                   ("zero", "torch.zeros(0, 8)")]:
    row("batch", "collate", name, "E_PYTHON_BATCH_UNKNOWN", "return " + what, sweep=name == "none")
row("batch", "collate", "text", "", "return ['a', 'b']")
row("batch", "collate", "number-first", "", "return 8, torch.zeros(8, 8), 'text', torch.zeros(8, 2)")
row("batch", "collate", "large", "", "return torch.zeros(8, 1 << 22)", more=["--set", "run.max_batches=8"])
row("batch", "collate", "shapes", "", "return torch.zeros(8, 1 + next(steps) % 5)")
for name, what in [("negative", "-1"), ("zero", "0"), ("none", "None"), ("text", "'a'"), ("huge", "1 << 40"), ("larger", "1 << 70")]:
    row("batch", "count", name, "E_PYTHON_BATCH_UNKNOWN", "return " + what)

# What it does to its own process.
row("folder", "import", "chdir", "", "os.chdir('/')")
row("folder", "make", "before-count", "", "os.chdir('/')", more=["--set", "python.count=good.py:count"])
row("folder", "sample", "chdir", "", "os.chdir('/')", workers=2)
row("folder", "sample", "gone", "", "os.chdir(gone())")
row("descriptors", "import", "closerange", ENDED, "os.closerange(3, 4096)")
row("descriptors", "sample", "closerange", ENDED, "os.closerange(3, 4096)", sweep=True)
row("descriptors", "sample", "reused", ENDED, "os.close(3); mine()", "")
row("descriptors", "sample", "worker", f"{RAISED}|{HANGS}", "os.closerange(3, 4096)", real=True, workers=2, timeout_s=1)
row("descriptors", "sample", "none-left", RAISED, "[os.open('/dev/null', 0) for _ in range(1 << 21)]",
    r"Too many open files.* at .*bad\.py:\d+")

# Memory.
row("nomem", "import", "limit", RAISED, NO_MEMORY, "MemoryError")
row("nomem", "sample", "limit", RAISED, NO_MEMORY, r"MemoryError.* at .*bad\.py:\d+")
row("nomem", "sample", "raised", RAISED, "raise MemoryError", r"MemoryError.* at .*bad\.py:\d+", sweep=True)
row("nomem", "collate", "tensor", RAISED, "return torch.zeros(8, 1 << 50)", r"at .*bad\.py:\d+")
row("nomem", "sample", "worker", RAISED, NO_MEMORY, r"MemoryError.* at .*bad\.py:\d+", real=True, workers=2)

# The interpreter is none.
row("interpreter", "start", "absent", "E_PYTHON_NO_TORCH", interpreter="/nowhere/python3", sweep=True)
row("interpreter", "start", "no-torch", "E_PYTHON_NO_TORCH", interpreter="{work}/no_torch")
row("interpreter", "start", "not-executable", "E_PYTHON_NO_TORCH", interpreter="{work}/good.py")
row("interpreter", "start", "folder", "E_PYTHON_NO_TORCH", interpreter="{work}")
row("interpreter", "start", "no-program", "E_PYTHON_NOT_FOUND", interpreter="{work}/no_program", cause="Exec format error")
row("interpreter", "start", "no-shebang", "E_PYTHON_NOT_FOUND", interpreter="{work}/no_shebang",
    cause="No such file or directory")
row("interpreter", "start", "other", ENDED, interpreter="/bin/true", cause="exit code 0")
row("interpreter", "start", "failing", ENDED, interpreter="/bin/false", cause="exit code 1")
row("interpreter", "start", "broken-torch", "E_PYTHON_NO_TORCH", interpreter="{work}/broken_torch", cause="libc10.so")
row("interpreter", "start", "crashing-torch", ENDED, interpreter="{work}/crashing_torch", cause="Segmentation fault")

# The folder of its scripts.
for place in ["look", "cell"]:
    for error, code, cause in [("ENOSPC", "E_NO_SPACE", "No space left"), ("EIO", "E_IO", "Input/output error")]:
        row(error, "start", f"write-{place}", code, cause=cause, plant=f"at=write,in={place},path=/python-,effect={error}")
    row("EMFILE", "start", f"open-{place}", "E_TOO_MANY_FILES", cause="Too many open files",
        plant=f"at=open,in={place},path=/python-,effect=EMFILE")
    row("EINTR", "start", f"write-{place}", "", plant=f"at=write,in={place},path=/python-,effect=storm")
    row("short", "start", f"write-{place}", "", plant=f"at=write,in={place},path=/python-,effect=short")
row("ENOSPC", "make", "stamps", "E_NO_SPACE", "fill()", r"stamps: No space left on device", small_disk=True)
