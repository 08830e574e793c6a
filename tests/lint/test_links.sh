#!/usr/bin/env bash
# Each relative link of the documents leads to a file or folder that is there, each #anchor to a heading, and the site's navigation
# names every page (links.py). The checker is checked first: of the planted pages it finds each line with DEAD, and no other.
set -euo pipefail
. "${DLB_SOURCE_DIR:?}/tests/lint/lib.sh"
need python3

planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
mkdir -p "$planted/root/docs/guides"
cat >"$planted/root/README.md" <<'MD'
# Planted
[page](docs/formats.md) [folder](docs) [self](#planted) [title](docs/formats.md "a title") [angle](<docs/formats.md>)
[elsewhere](https://example.org/gone.md#x) [mail](mailto:a@example.org) `[code](gone.md)` and ``[`more` code](gone.md)``
[punctuation](docs/formats.md#two-words-and-scriptsfuzz) [the second](#twice-1) [a link
over two lines](docs/gap.md#gap)
[gone](docs/NAME.md) DEAD
![picture](gone.png) DEAD
[no such heading](docs/formats.md#two-words) DEAD
[a third](#twice-2) DEAD
[text over
two lines](gone.md#a) DEAD
[a folder has no headings](docs#formats) DEAD
[outside](../root.md) DEAD
[absolute](/docs/formats.md) DEAD
<a href="gone.html">tag</a> DEAD

[name]: gone.md "DEAD"
[^1]: gone.md
## Twice
## Twice
MD
printf '# Map\n' >"$planted/root/ARCHITECTURE.md"
printf '# Work\n' >"$planted/root/CONTRIBUTING.md"
cat >"$planted/root/docs/formats.md" <<'MD'
# Formats
## Two words, and `scripts/fuzz`
### Again
### Again
## Site - differs
```sh
# In code
[x](gone.md)
```
~~~
``` [x](gone.md)
~~~
[code has no headings](#in-code) DEAD
[beside](gap.md#gap) [below](guides/found.md)
MD
cat >"$planted/root/docs/gap.md" <<'MD'
# Gap
[not on the site](../README.md) DEAD
[no page](guides) DEAD
[letters](Formats.md) DEAD
[another name there](formats.md#site---differs) DEAD
[and there](formats.md#again-1) DEAD
MD
printf '# Found\n[up](../formats.md#formats)\n[of the root](docs/formats.md) DEAD\n' >"$planted/root/docs/guides/found.md"
printf '# Lost DEAD\n' >"$planted/root/docs/guides/lost.md"
cat >"$planted/root/mkdocs.yml" <<'YML'
nav:
  - Start: formats.md
  - More:
      - gap.md
      - "A guide": guides/found.md
      - Gone: gone.md    # DEAD
      - Again: formats.md    # DEAD
YML

(cd "$planted/root" && grep -rn DEAD .) | sed -E 's#^\./##; s/^([^:]*:[0-9]*):.*/\1/' | sort >"$planted/wanted"
python3 tests/lint/links.py "$planted/root" 2>/dev/null | cut -d: -f1,2 | sort >"$planted/found" || true
diff "$planted/wanted" "$planted/found" || { echo "links.py finds other lines (>) than those that are planted (<)"; exit 1; }

python3 tests/lint/links.py "$PWD"
