"""What went wrong in the user's code, as loaders/torch/serve.py tells it to the cell."""

import os
import re
import sys
import traceback

LONGEST_TEXT = 16000
FRAMES = 3
LONGEST_FRAME = 1000
FRAME = re.compile(r'^  File "(.*)", line (\d+), in (.*)$', re.MULTILINE)


class Refused(Exception):
    """The cell cannot be set up; `code` is a name of core/base/errors.def."""

    def __init__(self, code, reason):
        super().__init__(reason)
        self.code = code


def cut(text, n):
    return text if len(text) <= n else text[: n - 3] + "..."


def words_of(why):
    try:
        return str(why).strip()
    except Exception:  # of the user's class
        return ""


def describe(why):
    """An exception as the cell reports it: what it says, and the last frames of its traceback, without those of dlbench."""
    text = words_of(why)
    name = type(why).__name__
    if isinstance(why, Refused):
        return {"code": why.code, "reason": cut(text, LONGEST_TEXT // 4), "frames": []}
    if type(why) is ModuleNotFoundError and why.name and why.name.split(".")[0] not in sys.modules:
        return {"code": "PYTHON_PACKAGE_MISSING", "reason": cut(text, LONGEST_TEXT // 4), "package": cut(why.name, 200), "frames": []}
    frames = frames_of(why)
    if "Original Traceback" in text:  # of a worker: torch hands it on as text
        frames = ["%s:%s in %s" % found for found in FRAME.findall(text) if is_users(found[0])][-FRAMES:] or frames
        name, text = why.__class__.__name__, text.rstrip().splitlines()[-1]
        text = text[len(name) + 2 :] if text.startswith(name + ": ") else text
    if why.__cause__:  # of a worker that died: torch tells the signal there
        text = "%s (from %s: %s)" % (text, type(why.__cause__).__name__, words_of(why.__cause__))
    code = "PYTHON_HANGS" if text.startswith("DataLoader timed out") else "PYTHON_RAISED"
    return {"code": code, "reason": cut("%s: %s" % (name, text), LONGEST_TEXT // 2), "frames": [cut(one, LONGEST_FRAME) for one in frames]}


def is_users(path):
    """Whether it is no file of dlbench's and no part of the interpreter."""
    return os.path.dirname(path) != os.path.dirname(__file__) and not path.startswith("<frozen ")


def frames_of(why):
    found = [(frame.filename, frame.lineno, frame.name) for frame in traceback.extract_tb(why.__traceback__)]
    if isinstance(why, SyntaxError) and why.filename:  # nothing of that file has run
        found.append((why.filename, why.lineno or 0, "its text"))
    return ["%s:%d in %s" % frame for frame in found if is_users(frame[0])][-FRAMES:]
