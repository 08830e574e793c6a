#!/usr/bin/env python3
"""Do generated images behave like photographs when they are decoded?

Takes photographs that packages ship (scikit-learn, scikit-image, Debian's backgrounds; or a folder given as argument), scales
them to the size of generated ones, saves them at the same quality, and compares bytes per pixel, their spread, and the time
that Pillow takes to decode a pixel. Decode time depends on bytes per pixel, so both sets are fitted by a line and compared
where each has its mean. Prints; exits 77 when Pillow, photographs or the program are missing.

usage: compare_photos.py [--bytes 110000] [--images 60] [folder of photographs ...]
"""
import argparse
import glob
import importlib.util
import io
import os
import statistics
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
NAMES = ("china.jpg", "flower.jpg", "rocket.jpg", "coffee.png", "astronaut.png", "chelsea.png", "motorcycle_left.png")


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


def photographs(folders):
    found = []
    for package in ("sklearn", "skimage"):
        spec = importlib.util.find_spec(package)
        if spec and spec.origin:
            folders = folders + [os.path.dirname(spec.origin)]
    for folder in folders + ["/usr/share/backgrounds"]:
        for path in glob.glob(os.path.join(folder, "**", "*"), recursive=True):
            name = os.path.basename(path)
            photo = "/nature/" in path and name.lower().endswith((".jpg", ".jpeg"))
            if name in NAMES or photo:
                found.append(path)
    return sorted(set(found))


def quality_of(image):
    """From the luma table, as libjpeg scales it: its first entry is 16 at quality 50."""
    step = image.quantization[0]
    total = sum(step)
    return min(range(1, 101), key=lambda q: abs(scaled_sum(q) - total))


BASE = (16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51,
        87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101,
        72, 92, 95, 98, 112, 100, 103, 99)


def scaled_sum(quality):
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    return sum(min(255, max(1, (value * scale + 50) // 100)) for value in BASE)


def measure(Image, coded, rounds=15):
    """(bytes per pixel, ns per pixel): the best of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        image = Image.open(io.BytesIO(coded))
        start = time.process_time_ns()
        image.load()
        best = min(best, time.process_time_ns() - start)
    n_pixels = image.size[0] * image.size[1]
    return len(coded) / n_pixels, best / n_pixels


def line(points):
    slope, start = statistics.linear_regression([p[0] for p in points], [p[1] for p in points])
    return lambda x: start + slope * x


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bytes", type=int, default=110000)
    parser.add_argument("--images", type=int, default=60)
    parser.add_argument("folders", nargs="*")
    args = parser.parse_args()
    try:
        from PIL import Image
    except ImportError:
        skip("no Pillow")
    photos = photographs(args.folders)
    if len(photos) < 4:
        skip("fewer than 4 photographs: pip install scikit-image scikit-learn, or name a folder")
    here = os.path.dirname(os.path.abspath(__file__))
    program = os.environ.get("DLB_BIN", os.path.join(here, "../../build/release/dlbench"))
    if not os.access(program, os.X_OK):
        skip("no program at " + program)

    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "data")
        settings = {"dataset.format": "files", "dataset.codec": "jpeg", "dataset.path": target,
                    "generate.samples": args.images, "generate.sample_bytes": args.bytes}
        command = [program, "gen"] + [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        made = [open(path, "rb").read() for path in sorted(glob.glob(target + "/*/*.jpg"))]
    first = Image.open(io.BytesIO(made[0]))
    quality = quality_of(first)
    long_side = statistics.median(max(Image.open(io.BytesIO(coded)).size) for coded in made)
    real = []
    for path in photos:
        image = Image.open(path).convert("RGB")
        scale = min(1.0, long_side / max(image.size))
        image = image.resize([max(1, round(side * scale)) for side in image.size], Image.LANCZOS)
        coded = io.BytesIO()
        image.save(coded, "JPEG", quality=quality, subsampling=2)
        real.append(coded.getvalue())

    sets = {"photographs": [measure(Image, c) for c in real], "generated": [measure(Image, c) for c in made]}
    print(f"quality {quality}, long side {long_side:.0f}, mean of generated "
          f"{statistics.mean(len(c) for c in made):,.0f} bytes (asked: {args.bytes:,})")
    for name, points in sets.items():
        sizes = [p[0] for p in points]
        print(f"{name:12} {len(points):3}  {statistics.mean(sizes):.3f} bytes/pixel, spread "
              f"{statistics.stdev(sizes) / statistics.mean(sizes):.2f} of it, "
              f"{statistics.mean(p[1] for p in points):.2f} ns/pixel to decode")
    fits = {name: line(points) for name, points in sets.items()}
    for name, points in sets.items():
        at = statistics.mean(p[0] for p in points)
        ratio = fits["generated"](at) / fits["photographs"](at)
        print(f"at {at:.3f} bytes/pixel (mean of {name}): {fits['photographs'](at):.2f} and "
              f"{fits['generated'](at):.2f} ns/pixel, ratio {ratio:.3f}; should be within 20%: "
              f"{'yes' if 0.8 <= ratio <= 1.2 else 'NO'}")


if __name__ == "__main__":
    main()
