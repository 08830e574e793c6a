"""Finds links that lead nowhere in README.md, ARCHITECTURE.md, CONTRIBUTING.md and docs/**/*.md below ROOT.

A relative link must name a file or a folder that is there, and behind a # a heading of that page, by the name that GitHub makes of it.
The site (mkdocs.yml) holds the pages of docs and nothing else. So these link to each other only, headings that they link to must have
the same name on the site, and the site's navigation names each page once.

usage: links.py ROOT
Prints PAGE:LINE: what is wrong, and exits with 1 if anything is.
"""

import pathlib
import re
import sys
import unicodedata
from urllib.parse import unquote

PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
CODE = re.compile(r"(?<!`)(`+)(?!`)((?:(?!\n[ \t]*\n).)+?)(?<!`)\1(?!`)", re.DOTALL)
LINKS = (
    re.compile(r"\]\(\s*(?:<([^<>\n]*)>|([^\s()<>]+))(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)"),
    re.compile(r"^ {0,3}\[(?!\^)[^\]\n]+\]:[ \t]*(\S+)", re.MULTILINE),
    re.compile(r"<(?:a|img)\b[^>]*\b(?:href|src)=\"([^\"]*)\""),
)
OUTSIDE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
NAV = re.compile(r"^\s*-\s+(?:[^#\n]*?:\s+)?(\S+\.md)\s*(?:#.*)?$")


def without_fences(text):
    """The lines of a page; those of fenced code are empty."""
    lines, fence = [], None
    for line in text.split("\n"):
        mark = FENCE.match(line)
        if fence is None and mark:
            fence = mark[1]
            line = ""
        elif fence is not None:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = None
            line = ""
        lines.append(line)
    return lines


def targets(text):
    """(line, target) of each link that is not code."""
    prose = CODE.sub(lambda code: re.sub(r"[^\n]", "x", code[0]), "\n".join(without_fences(text)))
    for kind in LINKS:
        for link in kind.finditer(prose):
            yield prose.count("\n", 0, link.start()) + 1, next(group for group in link.groups() if group is not None)


def first_free(name, taken, between):
    n, found = 0, name
    while found in taken:
        n += 1
        found = f"{name}{between}{n}"
    return found


def headings(text):
    """The name of each heading on GitHub, and its name on the site."""
    names, on_site = {}, set()
    for line in without_fences(text):
        heading = HEADING.match(line)
        if not heading:
            continue
        title = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
        github = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        ascii_only = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode("ascii")
        site = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())
        site = first_free(site, on_site, "_")
        on_site.add(site)
        names[first_free(github, names, "-")] = site
    return names


class Checker:
    def __init__(self, root):
        self.root = root
        self.docs = root / "docs"
        self.pages = [root / name for name in PAGES] + sorted(self.docs.rglob("*.md"))
        self.names = {}
        self.n_links = 0
        self.found = []

    def say(self, page, line, what):
        self.found.append(f"{page.relative_to(self.root)}:{line}: {what}")

    def headings_of(self, page):
        if page not in self.names:
            self.names[page] = headings(page.read_text(encoding="utf-8"))
        return self.names[page]

    def in_docs(self, path):
        return path.is_relative_to(self.docs)

    def wrong_with(self, page, target):
        """What is wrong with a link of a page; None: nothing."""
        path, _, anchor = target.partition("#")
        if path.startswith("/"):
            return f"{target} is no relative link"
        end = (page.parent / unquote(path)).resolve() if path else page
        if not end.is_relative_to(self.root):
            return f"{target} leads out of the repository"
        if not end.exists():
            return f"{target}: there is no {end.relative_to(self.root)}"
        if self.in_docs(page) and not (self.in_docs(end) and end.is_file()):
            return f"{target} is no page of docs, so the site lacks it: name it without a link"
        if not anchor:
            return None
        names = self.headings_of(end) if end.suffix == ".md" and end.is_file() else {}
        if unquote(anchor) not in names:
            return f"{target}: {end.relative_to(self.root)} has no such heading"
        if self.in_docs(end) and names[unquote(anchor)] != unquote(anchor):
            return f"{target}: on the site that heading is called #{names[unquote(anchor)]}; word it more simply"
        return None

    def check_page(self, page):
        if not page.is_file():
            self.say(page, 1, "there is no such page")
            return
        for line, target in targets(page.read_text(encoding="utf-8")):
            self.n_links += 1
            wrong = None if OUTSIDE.match(target) else self.wrong_with(page, target)
            if wrong:
                self.say(page, line, wrong)

    def check_site(self):
        config, named = self.root / "mkdocs.yml", set()
        for number, line in enumerate(config.read_text(encoding="utf-8").split("\n"), 1):
            entry = NAV.match(line)
            page = self.docs / entry[1] if entry else None
            if page is None:
                continue
            if page in named or not page.is_file():
                self.say(config, number, f"{entry[1]} {'stands here twice' if page in named else 'is not in docs'}")
            named.add(page)
        for page in self.pages:
            if self.in_docs(page) and page not in named:
                self.say(page, 1, "the navigation of mkdocs.yml lacks this page")

    def run(self):
        for page in self.pages:
            self.check_page(page)
        self.check_site()
        for one in self.found:
            print(one)
        print(f"{len(self.pages)} pages, {self.n_links} links, {len(self.found)} wrong", file=sys.stderr)
        return 1 if self.found else 0


if __name__ == "__main__":
    sys.exit(Checker(pathlib.Path(sys.argv[1]).resolve()).run())
