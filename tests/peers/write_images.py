"""Images of every kind that PNG and WebP have, for tests/contract/test_image_peers.c. Beside each NAME lies NAME.rgb: its width and
height as little-endian u32, then the bytes of Pillow's convert("RGB"). "list" has their names.

usage: write_images.py FOLDER
Exits 77 where numpy or Pillow cannot be imported.
"""

import struct
import sys
import warnings
import zlib
from pathlib import Path

try:
    import numpy as np
    from PIL import Image, features
except ImportError as missing:
    print(f"skipped: {missing} ({sys.executable}); pip install numpy pillow")
    sys.exit(77)

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def packed(rows, depth):
    """Rows of samples with a filter byte before each."""
    out = b""
    for number, row in enumerate(rows):
        if depth == 16:
            data = row.astype(">u2").tobytes()
        elif depth == 8:
            data = row.astype("u1").tobytes()
        else:
            bits = np.unpackbits(row.astype("u1").reshape(-1, 1), axis=1)[:, 8 - depth :]
            data = np.packbits(bits.reshape(-1)).tobytes()
        if number % 2:  # filter Sub
            step = max(1, depth * (row.size // max(1, row.shape[0])) // 8)
            data = b"\1" + bytes((data[i] - (data[i - step] if i >= step else 0)) & 255 for i in range(len(data)))
        else:
            data = b"\0" + data
        out += data
    return out


def png(samples, colour, depth, interlaced, more=b""):
    """A PNG of (height, width, channels)."""
    height, width = samples.shape[:2]
    if interlaced:
        data = b""
        for x, y, dx, dy in ADAM7:
            part = samples[y::dy, x::dx]
            data += packed(part, depth) if part.size else b""
    else:
        data = packed(samples, depth)
    head = struct.pack(">2I5B", width, height, depth, colour, 0, 0, int(interlaced))
    data = zlib.compress(data)
    return b"".join(
        [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", head), more, chunk(b"IDAT", data[:50]), chunk(b"IDAT", data[50:]), chunk(b"IEND", b"")]
    )


def scene(width, height, channels, most, rng):
    """Smooth, with noise."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [(np.sin(x / (5 + c)) + np.cos(y / (7 + c)) + 2) / 4 + rng.normal(0, 0.05, (height, width)) for c in range(channels)]
    return np.clip(np.stack(planes, axis=2) * most, 0, most).astype(np.int64)


def pngs(rng):
    for colour, depths in {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}.items():
        for depth in depths:
            for interlaced in (False, True):
                for width, height in ((61, 37), (1, 1), (7, 130)):
                    samples = scene(width, height, CHANNELS[colour], 2**depth - 1, rng)
                    if depth == 16 and colour == 0:
                        samples //= 64  # some above 255, most below
                    yield f"c{colour}-d{depth}-i{int(interlaced)}-{width}.png", palette_of(samples, colour, depth, interlaced, rng)


def palette_of(samples, colour, depth, interlaced, rng):
    more = b""
    if colour == 3:
        more = chunk(b"PLTE", rng.integers(0, 256, 3 * 2**depth, dtype=np.uint8).tobytes())
        more += chunk(b"tRNS", bytes(range(2**depth)))
    elif colour in (0, 2):
        more = chunk(b"gAMA", struct.pack(">I", 100000)) + chunk(b"tRNS", struct.pack(">H", 1) * CHANNELS[colour])
    more += chunk(b"tEXt", b"Comment\0a text")
    return png(samples, colour, depth, interlaced, more)


def webps(folder, rng):
    for mode, channels in (("RGB", 3), ("RGBA", 4)):
        for width, height in ((61, 37), (1, 1), (2, 3), (350, 233)):
            image = Image.fromarray(scene(width, height, channels, 255, rng).astype(np.uint8), mode)
            for name, how in (("lossy", {"quality": 70}), ("lossless", {"lossless": True, "exact": True})):
                path = f"{mode}-{name}-{width}.webp"
                image.save(folder / path, **how)
                yield path


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(5)
    warnings.simplefilter("ignore")  # of palettes with alpha
    names = []
    for name, data in pngs(rng):
        (folder / name).write_bytes(data)
        names.append(name)
    if features.check("webp"):
        names += webps(folder, rng)
    for name in names:
        with Image.open(folder / name) as image:
            rgb = image.convert("RGB")
        (folder / f"{name}.rgb").write_bytes(struct.pack("<2I", *rgb.size) + rgb.tobytes())
    (folder / "list").write_text("".join(name + "\n" for name in names))


main()
