"""Arrays, databases and records by their own tools, for tests/contract/test_kv_peers.c: numpy's savez and savez_compressed, Python's
lmdb, and TFRecord as its documentation lays it out (TensorFlow itself is not needed). Beside each NAME lies NAME.want: the samples'
bytes, one after the other. "list" has lines of FORMAT NAME OPTION, where the option is npz.array, lmdb.prefix or tfrecord.feature,
or "-".

usage: write_arrays.py FOLDER
Exits 77 where numpy or lmdb cannot be imported.
"""

import io
import struct
import sys
from pathlib import Path

try:
    import lmdb
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing} ({sys.executable}); pip install numpy lmdb")
    sys.exit(77)

CRC_TABLE = []
for byte in range(256):
    crc = byte
    for _ in range(8):
        crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    CRC_TABLE.append(crc)


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def framed(data):
    length = struct.pack("<Q", len(data))
    return b"".join([length, struct.pack("<I", masked_crc32c(length)), data, struct.pack("<I", masked_crc32c(data))])


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(features):
    """{"name": bytes, int or float}, in the order given, as protobuf serialises a tf.train.Example."""
    entries = []
    for name, value in features.items():
        if isinstance(value, bytes):
            feature = field(1, field(1, value))
        elif isinstance(value, int):
            feature = field(3, field(1, varint(value)))
        else:
            feature = field(2, field(1, struct.pack("<f", value)))
        entries.append(field(1, field(1, name.encode()) + field(2, feature)))
    return field(1, b"".join(entries))


def main():
    folder = Path(sys.argv[1])
    draw = np.random.default_rng(2)
    lines = []

    def wrote(format_name, name, option, samples):
        (folder / f"{name}.want").write_bytes(b"".join(samples))
        lines.append(f"{format_name} {name} {option}\n")

    arrays = {
        "float32": draw.random((50, 7, 3), dtype=np.float32),
        "int64": draw.integers(-9, 9, (40,)),
        "bool": draw.random((30, 5)) < 0.5,
        "complex": (draw.random((20, 2)) + 1j).astype(np.complex128),
        "big_endian": np.arange(60).astype(">u2").reshape(20, 3),
        "text": np.array([["ab", "c"], ["", "äöü"]]),
        "dates": np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[ns]"),
        "wide": draw.integers(0, 256, (3, 300000), dtype=np.uint8),
    }
    for save in np.savez, np.savez_compressed:
        name = f"{save.__name__}.npz"
        save(folder / name, **arrays)
        for key, array in arrays.items():
            (folder / f"{name}.{key}").symlink_to(folder / name)
            wrote("npz", f"{name}.{key}", key, [row.tobytes() for row in array])
    save_buffer = io.BytesIO()
    np.savez(save_buffer, arrays["float32"])
    (folder / "unnamed.npz").write_bytes(save_buffer.getvalue())
    wrote("npz", "unnamed.npz", "-", [row.tobytes() for row in arrays["float32"]])

    values = [draw.bytes(int(n)) for n in [0, 1, 100, 2000, 4000, 5000, 100000, *draw.integers(0, 9000, 300)]]
    keys = {
        "plain": [f"{i:08}".encode() for i in range(len(values))],
        "scattered": sorted({draw.bytes(int(n)) for n in draw.integers(1, 500, 2 * len(values))})[:len(values)],
        "noted": [f"{i}".encode() for i in range(len(values))],
    }
    for name, names in keys.items():
        with lmdb.open(str(folder / name), map_size=1 << 28) as env, env.begin(write=True) as txn:
            for key, value in zip(names, values):
                txn.put(key, value)
            if name == "noted":
                txn.put(b"__len__", b"307")
                txn.put(b"__keys__", b"\x80\x04]")
        wrote("lmdb", name, "-", [value for _, value in sorted(zip(names, values))])
    with lmdb.open(str(folder / "one_file.lmdb"), subdir=False, map_size=1 << 40) as env:
        # Rewritten and deleted: pages are free within the file, and some are used again.
        for value in values[::-1], values:
            with env.begin(write=True) as txn:
                for i in range(300):
                    txn.put(f"image-{i:04}".encode(), value[i])
                    txn.put(f"label-{i:04}".encode(), b"%d" % i)
        with env.begin(write=True) as txn:
            for i in range(0, 300, 3):
                txn.delete(f"image-{i:04}".encode())
    wrote("lmdb", "one_file.lmdb", "image-", [values[i] for i in range(300) if i % 3])
    (folder / "raw.tfrecord").write_bytes(b"".join(framed(value) for value in values))
    wrote("tfrecord", "raw.tfrecord", "-", values)
    examples = [
        example({"image/class/label": i - 5, "image/encoded": value, "image/height": 5, "weight": 0.5})
        for i, value in enumerate(values)
    ]
    (folder / "train-00000-of-00001").write_bytes(b"".join(framed(each) for each in examples))
    wrote("tfrecord", "train-00000-of-00001", "image/encoded", values)
    (folder / "list").write_text("".join(lines), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
