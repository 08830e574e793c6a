"""Evaluates expressions over JSON documents for tests/cli/lib.sh: a start of Python for each takes longer than most commands.

usage: documents.py QUESTIONS PID

QUESTIONS is a FIFO. A question is four texts, each with a zero byte behind it: the FIFO of the answer, the folder that names are
relative to, the file of the document, and the expression over `d`. The answer, with a zero byte behind it, is "=" and the value as
text, or "!" and what is wrong. It ends when the process PID has ended, or the FIFO was removed.
"""

import json
import os
import re
import select
import sys

LOOK_S = 0.5


def answer(folder, path, expression):
    try:
        os.chdir(folder)
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        return b"=" + str(eval(expression, {"d": document, "json": json, "re": re, "sys": sys})).encode(errors="surrogateescape")
    except BaseException as why:  # an expression may raise anything
        return ("!%s: %s" % (type(why).__name__, why)).encode(errors="surrogateescape")


def main():
    questions, shell = os.path.abspath(sys.argv[1]), sys.argv[2]
    fd = os.open(questions, os.O_RDWR)  # for writing too: it has no end
    pending = b""
    while os.path.exists(questions) and os.path.exists("/proc/" + shell):
        if not select.select([fd], [], [], LOOK_S)[0]:
            continue
        pending += os.read(fd, 1 << 16)
        while pending.count(b"\0") >= 4:
            *asked, pending = pending.split(b"\0", 4)
            to, folder, path, expression = (os.fsdecode(one) for one in asked)
            said = answer(folder, path, expression).replace(b"\0", b"\\0") + b"\0"
            try:
                with open(os.open(to, os.O_WRONLY | os.O_NONBLOCK), "wb") as file:
                    os.set_blocking(file.fileno(), True)
                    file.write(said)
            except OSError:
                pass  # the shell that asked has ended


main()
