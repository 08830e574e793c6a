#!/usr/bin/env python3
"""Finds tests that look for three plain words or more in a message: messages change, codes and figures do not.

C: string literals among the arguments of a call that compares or searches texts, adjacent literals joined, over several
lines. Shell: the pattern behind expect_out, expect_err and their opposites. Prints FILE:LINE: LITERAL; exits 1 if it
finds any.

usage: prose.py FILE...
"""
import re
import sys

MATCHERS = r"\b(?:strstr|error_is|refused|says|assert_has|opened_refused(?:_as)?|tells)\s*\("
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
SHELL = re.compile(r"""\bexpect_(?:no_)?(?:out|err)\s+('[^']*'|"(?:[^"\\]|\\.)*")""")
WORD = r"[A-Za-z]{2,}"
GAP = r"(?: ?\.[*+] ?| )"
NAME = r"[-./_=$\w\\]"  # beside a word: it is part of a name, a path, an option or an escape
PROSE = re.compile(rf"(?<!{NAME}){WORD}{GAP}{WORD}{GAP}{WORD}(?!{NAME}|\()")


def without_comments(text):
    """The same text, comments blanked, so that places keep their numbers."""
    pattern = re.compile(rf"/\*.*?\*/|//[^\n]*|{LITERAL}|'(?:[^'\\\n]|\\.)'", re.S)
    blank = lambda m: re.sub(r"[^\n]", " ", m[0]) if m[0].startswith("/") else m[0]
    return pattern.sub(blank, text)


def arguments(text, start):
    """From behind the opening bracket to its end."""
    depth, at = 1, start
    while at < len(text) and depth:
        literal = re.compile(rf"{LITERAL}|'(?:[^'\\\n]|\\.)'").match(text, at)
        if literal:
            at = literal.end()
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return text[start:at]


def in_c(text):  # a call inside another gives its literals twice
    text = without_comments(text)
    for call in re.finditer(MATCHERS, text):
        inside = arguments(text, call.end())
        for run in re.finditer(rf"{LITERAL}(?:\s*{LITERAL})*", inside):
            joined = "".join(part[1:-1] for part in re.findall(LITERAL, run[0]))
            yield text.count("\n", 0, call.end() + run.start()) + 1, joined


def in_shell(text):
    for number, line in enumerate(text.split("\n"), 1):
        if not line.lstrip().startswith("#"):
            yield from ((number, m[1][1:-1]) for m in SHELL.finditer(line))


def main():
    found = False
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for number, literal in sorted(set((in_shell if path.endswith(".sh") else in_c)(text))):
            if PROSE.search(literal.replace("\\n", "\n")):
                print(f"{path}:{number}: {literal}")
                found = True
    sys.exit(found)


main()
