"""Token files by their own tools, for tests/contract/test_tokens_peers.c: numpy writes .npy and .bin, and an index as Megatron's
IndexedDatasetBuilder lays it out. Beside each NAME lies NAME.want: the bytes of its samples of T + 1 tokens, as numpy slices them.
"list" names them, one line each.

usage: write_tokens.py FOLDER SEQ_LEN
Exits 77 where numpy cannot be imported.
"""

import struct
import sys
from pathlib import Path

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing} ({sys.executable}); pip install numpy")
    sys.exit(77)

MEGATRON_CODES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint16": 8}


def windows(stream, seq_len):
    n = (len(stream) - 1) // seq_len
    return b"".join(stream[i * seq_len:i * seq_len + seq_len + 1].tobytes() for i in range(n))


def write_megatron(folder, name, documents):
    dtype = documents[0].dtype
    lengths = np.array([len(document) for document in documents], dtype=np.int32)
    ends = np.cumsum(lengths, dtype=np.int64) * dtype.itemsize
    pointers = np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]])
    (folder / f"{name}.bin").write_bytes(b"".join(document.tobytes(order="C") for document in documents))
    with open(folder / f"{name}.idx", "wb") as out:
        out.write(b"MMIDIDX\x00\x00")
        out.write(struct.pack("<Q", 1))
        out.write(struct.pack("<B", MEGATRON_CODES[dtype.name]))
        out.write(struct.pack("<Q", len(lengths)))
        out.write(struct.pack("<Q", len(lengths) + 1))
        out.write(lengths.tobytes(order="C"))
        out.write(pointers.tobytes(order="C"))
        out.write(np.arange(len(lengths) + 1, dtype=np.int64).tobytes(order="C"))


def main():
    folder, seq_len = Path(sys.argv[1]), int(sys.argv[2])
    draw = np.random.default_rng(1)
    names = []

    def wrote(name, want):
        (folder / f"{name}.want").write_bytes(want)
        names.append(name)

    for dtype in "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64":
        info = np.iinfo(dtype)
        stream = draw.integers(info.min, info.max, 5000, dtype=dtype, endpoint=True)
        np.save(folder / f"{dtype}.npy", stream)
        wrote(f"{dtype}.npy", windows(stream, seq_len))
        rows = stream.reshape(100, 50)
        np.save(folder / f"{dtype}_rows.npy", rows)
        wrote(f"{dtype}_rows.npy", rows.tobytes())
        if dtype in MEGATRON_CODES:
            cuts = np.sort(draw.integers(0, len(stream), 40))
            write_megatron(folder, f"megatron_{dtype}", np.split(stream, cuts))
            wrote(f"megatron_{dtype}.bin", windows(stream, seq_len))
    with open(folder / "version2.npy", "wb") as out:
        stream = np.arange(1000, dtype=np.uint16)
        np.lib.format.write_array(out, stream, version=(2, 0))
    wrote("version2.npy", windows(stream, seq_len))
    stream = draw.integers(0, 50257, 5000).astype(np.uint16)
    stream.tofile(folder / "nanogpt.bin")
    wrote("nanogpt.bin", windows(stream, seq_len))
    header = np.zeros(256, dtype=np.int32)
    header[:3] = 20240520, 1, len(stream)
    (folder / "llmc.bin").write_bytes(header.tobytes() + stream.tobytes())
    wrote("llmc.bin", windows(stream, seq_len))
    (folder / "list").write_text("".join(f"{name}\n" for name in names), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
