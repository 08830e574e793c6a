"""Can the colours of the page's series be told apart, by people without red or green cones, too?

usage: colours.py PAGE.CSS

Each pair must be LEAST apart in CIE 1976 L*a*b*, as seen with all cones, without those for red and without those for green (Machado,
Oliveira and Fernandes, IEEE TVCG 15, 2009, severity 1), and each colour must stand out from the card below it by a contrast of 3 (WCAG
2.1, 1.4.11). In light and in dark. Prints the least distance of each palette, and a line per offence; exits 1 when there are any."""

import itertools
import math
import re
import sys

LEAST, CONTRAST = 12, 3
SERIES = [f"c{i}" for i in range(8)] + ["host"]
SEEN = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}
TO_XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
WHITE = (0.95047, 1, 1.08883)


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def linear(colour):
    """sRGB, as #rrggbb, without its gamma (IEC 61966-2-1)."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def lab(rgb):
    x, y, z = ((part / white) ** (1 / 3) if part / white > 0.008856 else 7.787 * part / white + 16 / 116
               for part, white in zip(times(TO_XYZ, rgb), WHITE))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def seen(colour, eyes):
    return lab([min(max(part, 0), 1) for part in times(SEEN[eyes], linear(colour))])


def luminance(colour):
    return times(TO_XYZ, linear(colour))[1]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def offences(where, palette):
    nearest = math.inf
    for (a, b), eyes in itertools.product(itertools.combinations(SERIES, 2), SEEN):
        apart = math.dist(seen(palette[a], eyes), seen(palette[b], eyes))
        nearest = min(nearest, apart)
        if apart < LEAST:
            yield f"{where}: --{a} and --{b} are {apart:.1f} apart, {eyes}"
    for name in SERIES:
        if contrast(palette[name], palette["card"]) < CONTRAST:
            yield f"{where}: --{name} has a contrast of {contrast(palette[name], palette['card']):.2f} to the card"
    print(f"{where}: the nearest two are {nearest:.1f} apart")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        blocks = re.findall(r":root[^{]*\{([^}]*)\}", file.read())
    palettes = [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block)) for block in blocks]
    wrong = [offence for where, palette in zip(("light", "dark"), palettes) for offence in offences(where, palette)]
    print("\n".join(wrong))
    return 1 if wrong or len(palettes) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
