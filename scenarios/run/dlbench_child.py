"""A script that dlb_child_run starts (scenarios/run/child.h): its specification, its signs of life, its result.

    SCRIPT.py --spec FILE --result FILE [--heartbeat-fd N]
"""

import argparse
import contextlib
import errno
import json
import mmap
import os
import struct
import sys
import time


BATCHES, SAMPLES = 0, 64  # struct dlb_pulse of core/base/pulse.h: batches; samples, and when the last of them came
NO_SPACE = 28  # DLB_CHILD_EXIT_NO_SPACE of child.h


def escaped(value):
    """Texts as core/base/escape.h has them in JSON: what may name a path or a library is read back as it is."""
    if isinstance(value, dict):
        return {key: escaped(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [escaped(item) for item in value]
    if not isinstance(value, str):
        return value
    try:
        raw = value.replace("\\x", "\\x5cx").encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a character, which no path gives
        raw = value.encode("utf-8", "replace")
    return raw.decode("utf-8", "backslashreplace")


def heartbeat(fd):
    if fd is None:
        return lambda more=0: None
    memory, batches, samples = mmap.mmap(fd, SAMPLES + 16), 0, 0

    def beat(more=0):
        nonlocal batches, samples
        batches, samples = batches + 1, samples + more
        memory[BATCHES : BATCHES + 8] = struct.pack("=Q", batches)
        if more:
            memory[SAMPLES : SAMPLES + 16] = struct.pack("=2Q", samples, time.monotonic_ns())

    return beat


def run(answer):
    """Writes what answer(spec, beat) returns as the result, and ends the process. The specification's own path is spec["path"]."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--spec", required=True)
    parser.add_argument("--result", required=True)
    parser.add_argument("--heartbeat-fd", type=int)
    args = parser.parse_args()
    with open(args.spec, encoding="utf-8") as file:
        spec = dict(json.load(file), path=args.spec)
    try:
        doc = answer(spec, heartbeat(args.heartbeat_fd))
    except KeyboardInterrupt:
        doc = {"status": "cancelled", "reason": "interrupted"}
    try:
        with open(args.result + ".part", "w", encoding="utf-8") as file:
            json.dump(escaped(doc), file)
        os.rename(args.result + ".part", args.result)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        os._exit(NO_SPACE)
    with contextlib.suppress(Exception):  # what answer() ran may have closed it
        sys.stdout.flush()
    os._exit(0)  # threads and workers of torch or of the user's program cannot delay the exit
