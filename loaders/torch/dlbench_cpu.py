"""What a thread did with its time: computed, or something else. Part of loaders/torch/dlbench_serve.py.

Computing is the CPU time of the program itself. The kernel's share of it is reading: system calls, and copies from the page cache.
"""

import os
import resource
import threading
import time

_queues = {}  # thread -> a descriptor of its run queue's account; or -1
os.register_at_fork(after_in_child=_queues.clear)


def queued_ns():
    """How long this thread was ready and had no core; 0 where the kernel does not tell."""
    thread = threading.get_ident()
    if thread not in _queues:
        try:
            _queues[thread] = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            _queues[thread] = -1
    if _queues[thread] < 0:
        return 0
    try:
        return int(os.pread(_queues[thread], 100, 0).split()[1])
    except (OSError, ValueError, IndexError):  # the user's code closed it
        _queues[thread] = -1
        return 0


def knows_queue():
    """Whether the kernel has told, so that waiting for a core is told from waiting for something else."""
    return _queues.get(threading.get_ident(), -1) >= 0


def used():
    """This thread's nanoseconds: computing, and waiting for a core; and what all threads of the process had of a CPU, the kernel's share
    included: what is left of the time is waiting. Three system calls."""
    return int(resource.getrusage(resource.RUSAGE_THREAD).ru_utime * 1e9), queued_ns(), time.process_time_ns()
