"""What went wrong in the user's code, as loaders/torch/dlbench_serve.py tells it to the cell."""

import multiprocessing
import os
import re
import sys
import traceback

LONGEST_TEXT = 16000
FRAMES = 3
LONGEST_FRAME = 1000
MOST_SHOWN = 8  # samples of a batch
BEGINS = re.compile(r"^(?:Original )?Traceback \(most recent call last\):$", re.MULTILINE)
RAISED_FROM = "\nThe above exception was the direct cause of the following exception:\n"
SAID = re.compile(r"^([\w.<>]+)(?:: (.*))?$", re.DOTALL)
FRAME = re.compile(r'^  File "(.*)", line (\d+), in (.*)$', re.MULTILINE)


class Refused(Exception):
    """The cell cannot be set up; `code` is a name of core/base/errors.def."""

    def __init__(self, code, reason):
        super().__init__(reason)
        self.code = code


class AtSample(Exception):
    """Raised from what a sample raised, with the sample's index. No name of Python's own: torch takes a StopIteration for the end of
    the epoch, and a SystemExit ends a worker."""


def at_samples(indices):
    """Of a batch that was asked for at once: one of these."""
    shown = ", ".join(map(str, indices[:MOST_SHOWN]))
    return AtSample("one of samples %s%s" % (shown, ", ..." if len(indices) > MOST_SHOWN else ""))


def cut(text, n):
    return text if len(text) <= n else text[: n - 3] + "..."


def words_of(why):
    try:
        return str(why).strip()
    except Exception:  # of the user's class
        return ""


def words_of_command_line(why):
    """What argparse wrote before it ended the process, and what to do; None where it did not."""
    for frame, _ in traceback.walk_tb(why.__traceback__):
        if frame.f_globals.get("__name__") == "argparse" and frame.f_code.co_name == "error":
            said = cut(words_of(frame.f_locals.get("message")), LONGEST_FRAME)
            return '%s: there is no command line here; read it below `if __name__ == "__main__":`, not where the file is imported' % said
    return None


def in_line(text):
    """A message of several lines, as one."""
    return " | ".join(line.strip() for line in text.splitlines() if line.strip())


def describe(why):
    """An exception as the cell reports it: at which sample, what it says, and the last frames of the user's code in its traceback."""
    sample = None
    if isinstance(why, AtSample) and why.__cause__ is not None:
        sample, why = words_of(why), why.__cause__
    if isinstance(why, Refused):
        return {"code": why.code, "reason": cut(words_of(why), LONGEST_TEXT // 4), "frames": []}
    if type(why) is ModuleNotFoundError and why.name and why.name.split(".")[0] not in sys.modules:
        return {
            "code": "PYTHON_PACKAGE_MISSING",
            "reason": cut(words_of(why), LONGEST_TEXT // 4),
            "package": cut(why.name, 200),
            "frames": [],
        }
    name, text, frames = type(why).__name__, words_of_command_line(why) or words_of(why), frames_of(why)
    if "Original Traceback" in text:  # of a worker: torch hands it on as text
        at, name, text, found = of_worker(text, name)
        sample = sample or at
        frames = found or frames
    if why.__cause__:  # of a worker that died: torch tells the signal there
        text = "%s (from %s: %s)" % (text, type(why.__cause__).__name__, words_of(why.__cause__))
    code = "PYTHON_HANGS" if text.startswith("DataLoader timed out") else "PYTHON_RAISED"
    reason = "%s%s%s" % (sample + ": " if sample else "", name, ": " + in_line(text) if text else "")
    return {"code": code, "reason": cut(reason, LONGEST_TEXT // 2), "frames": [cut(one, LONGEST_FRAME) for one in frames]}


def of_worker(text, name):
    """Of the text of a traceback: the sample, the exception's name, its message, the frames."""
    sample = None
    text, _, behind = text.rpartition(RAISED_FROM) if RAISED_FROM in text else (text, "", "")
    if AtSample.__name__ in last_words(behind)[0]:
        sample = last_words(behind)[1]
    else:
        text += behind
    frames = users([(path, line, where) for path, line, where in FRAME.findall(text)])
    raised, said = last_words(text)
    return sample, raised.rpartition(".")[2] or name, said, frames


def last_words(text):
    """The name of a traceback's exception and what it says: from the first line that is not indented, behind the last traceback."""
    starts = [found.end() + 1 for found in BEGINS.finditer(text)]
    lines = text[starts[-1] :].rstrip().splitlines() if starts else []
    while lines and (not lines[0] or lines[0][0] == " "):
        lines.pop(0)
    found = SAID.match("\n".join(lines))
    if found:
        return found.group(1), found.group(2) or ""
    return "", "\n".join(lines) or text.rstrip().rpartition("\n")[2]


def is_ours(path):
    """Whether it is a file of dlbench's or a part of the interpreter."""
    return os.path.dirname(path) == os.path.dirname(__file__) or path.startswith("<frozen ")


def is_loaders(path):
    """Whether it is one of torch or multiprocessing, which call the user's code and are called by it."""
    modules = (sys.modules.get("torch"), multiprocessing)
    folders = [os.path.dirname(module.__file__) for module in modules if getattr(module, "__file__", None)]
    return any(path.startswith(folder + os.sep) for folder in folders)


def is_library(path):
    """Whether it is Python's own or an installed package's."""
    folders = path.split(os.sep)
    return "site-packages" in folders or "dist-packages" in folders or path.startswith(os.path.dirname(os.__file__) + os.sep)


def users(frames):
    """The last ones of the user's code, as texts, and the one of a library that they led to; torch's where there are no others."""
    frames = [frame for frame in frames if not is_ours(frame[0])]
    frames = [frame for frame in frames if not is_loaders(frame[0])] or frames
    own = [frame for frame in frames if not is_library(frame[0])]
    if own and frames[-1] != own[-1]:
        own = own[1 - FRAMES :] + frames[-1:]
    return ["%s:%s in %s" % frame for frame in own or frames][-FRAMES:]


def frames_of(why):
    found = [(frame.filename, frame.lineno, frame.name) for frame in traceback.extract_tb(why.__traceback__)]
    if isinstance(why, SyntaxError) and why.filename:  # nothing of that file has run
        found.append((why.filename, why.lineno or 0, "its text"))
    return users(found)
