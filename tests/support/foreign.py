"""Makes data sets without dlbench, as tests/support/reader.py reads them, for tests/cli/test_reader.sh: what others write, and
what dlbench itself does not.

usage: foreign.py FOLDER
Prints a line for each: NAME FORMAT READ SET...; READ: what reader.py has to know (or "-"), SET: dlbench's settings. Exits 77 if a
library is missing.
"""
import gzip
import io
import random
import struct
import sys
import tarfile
from pathlib import Path

try:
    import h5py
    import lmdb
    import numpy as np
    import zstandard

    from reader import masked_crc32c
except ImportError as missing:
    print(f"skipped: {missing} ({sys.executable}): run scripts/deps --dev")
    sys.exit(77)

N = 24
DRAW = random.Random(14)
SIZES = [0, 1, 511, 512, 513, 4095, 4096, 4097, 70000] + [DRAW.randrange(1, 9000) for _ in range(N - 9)]


def payload(i, n=None):
    return random.Random(i).randbytes(SIZES[i] if n is None else n)


def tar(members, tar_format=tarfile.PAX_FORMAT):
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=tar_format) as file:
        for name, data in members:
            member = tarfile.TarInfo(name)
            if data is None:
                member.type = tarfile.DIRTYPE
            member.size = len(data or b"")
            file.addfile(member, io.BytesIO(data or b""))
    return whole.getvalue()


def labelled(i):
    return [(f"{i:03d}.bin", payload(i)), (f"{i:03d}.cls", b"%d" % (i % 3))]


def tars(folder):
    def shards(name, suffix, pack, parts, **how):
        (folder / name).mkdir()
        for number, members in enumerate(parts):
            (folder / name / f"part-{number}.tar{suffix}").write_bytes(pack(tar(members, **how)))
        print(name, "webdataset", "-")

    fields = [[m for i in range(a, a + 12) for m in ((f"{i:03d}.camera_front_left.jpg", payload(i)),
                                                     (f"{i:03d}.camera_front_right.seg.png", b'{"i": %d}' % i),
                                                     (f"{i:03d}.txt", b""))] for a in (0, 12)]
    shards("tar_fields", "", bytes, fields)
    with_labels = [[m for i in range(a, a + 8) for m in labelled(i)] for a in (0, 8, 16)]
    shards("tar_gz", ".gz", gzip.compress, with_labels, tar_format=tarfile.GNU_FORMAT)
    skipped = struct.pack("<II", 0x184D2A53, 5) + b"hello"
    shards("tar_zst", ".zst", lambda data: skipped + zstandard.compress(data[:700]) + skipped + zstandard.compress(data[700:]),
           with_labels, tar_format=tarfile.USTAR_FORMAT)
    shards("tar_empty", "", bytes, [[m for i in range(N) for m in ((f"{i}.bin", b""), (f"{i}.cls", b"%d\n" % (i % 3)))]])
    deep = "d" * 90 + "/" + "e" * 90
    names = [("top", None), *((f"{deep}.d/{i}/Kü.Bin", payload(i)) for i in range(N))]
    shards("tar_names", "", bytes, [names])
    shards("tar_long", "", bytes, [[(f"{i}.{'n' * 60}.jpg", payload(i)) for i in range(N)]])


def files(folder):
    for i in range(N):
        where = folder / "files" / ("a", "b b", "ä", "none")[i % 3] / ("deep" if i % 2 else "")
        where.mkdir(parents=True, exist_ok=True)
        (where / f"n.{i:03d}.bin").write_bytes(payload(i))
    (folder / "files" / "aa").mkdir()  # a class without samples
    (folder / "flat").mkdir()
    for i in range(N):
        (folder / "flat" / f"{i}.dat").write_bytes(payload(i))
    print("files files -")
    print("flat files -")


def hdf5(folder):
    def file(name, rows, dataset="data", labels=None, version="earliest", ragged=False, **how):
        with h5py.File(folder / f"{name}.h5", "w", libver=version) as out:
            if ragged:
                ends = np.cumsum([0] + [len(row) for row in rows]).astype("<u8")
                out.create_dataset(f"{dataset}_offsets", data=ends)
                rows = np.frombuffer(b"".join(rows), "u1")
            out.create_dataset(dataset, data=rows, **how)
            if labels:
                out.create_dataset(labels, data=np.arange(N, dtype="<i8") % 3)
        fields = {"dataset": dataset, **({"label": labels} if labels and "/" in labels else {})}
        print(f"{name}.h5", "hdf5", ",".join(f"{key}={value}" for key, value in fields.items()),
              *(f"hdf5.{key}={value}" for key, value in fields.items()))

    numbers = np.random.default_rng(1).integers(-30000, 30000, (N, 5, 7), "<i2")
    file("h5_contiguous", numbers)
    file("h5_big_endian", numbers.astype(">f4"), labels="of/classes", dataset="group/images")
    for name, how in {"gzip": {"compression": "gzip", "shuffle": True}, "lzf": {"compression": "lzf", "fletcher32": True}}.items():
        file(f"h5_{name}", numbers, labels="labels", chunks=(5, 2, 7), **how)
        file(f"h5_v110_{name}", numbers, labels="label", chunks=(7, 5, 7), version="v110", **how)
    whole = [payload(i) for i in range(N)]
    file("h5_ragged", whole, labels="label", ragged=True)
    file("h5_ragged_gzip", whole, ragged=True, chunks=(1000,), compression="gzip")


def databases(folder):
    for name, keys in {"lmdb_first": [f"{i:08}" for i in range(N)], "lmdb_keys": [f"img/{chr(97 + i)}" for i in range(N)]}.items():
        with lmdb.open(str(folder / name), map_size=1 << 24) as env, env.begin(write=True) as txn:
            for i, key in enumerate(keys):
                txn.put(key.encode(), payload(i))
            if name == "lmdb_first":
                txn.put(b"__labels__", struct.pack(f"<{N}I", *(i % 3 for i in range(N))))
            else:
                txn.put(b"__len__", b"24")
        print(name, "lmdb", *(["-"] if name == "lmdb_first" else ["prefix=img/", "lmdb.prefix=img/"]))


def arrays(folder):
    numbers = np.random.default_rng(2).standard_normal((N, 3, 11))
    np.savez_compressed(folder / "deflated.npz", images=numbers.astype("<f4"), other=np.arange(3))
    np.savez(folder / "stored.npz", numbers.astype("<f8"))
    np.savez(folder / "half.npz", numbers.astype("<f2"))
    np.savez(folder / "strings.npz", np.array([b"ab", b"", b"abcdefg"] * 8))
    for name in "deflated", "stored", "half", "strings":
        print(f"{name}.npz", "npz", "-")


def varint(n):
    return (bytes([n & 0x7F | 0x80]) + varint(n >> 7)) if n > 0x7F else bytes([n])


def inside(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(i):
    """Labels packed and not, an unknown feature first, and entries whose value comes before their name."""
    number = inside(3, inside(1, varint(i % 3))) if i % 2 else inside(3, varint(1 << 3) + varint(i % 3))
    entries = (inside(1, b"a/float") + inside(2, inside(2, inside(1, struct.pack("<f", 1.5)))),
               inside(1, b"label") + inside(2, number),
               inside(2, inside(1, inside(1, payload(i)))) + inside(1, b"image"))
    return inside(1, b"".join(inside(1, entry) for entry in entries))


def tfrecords(folder):
    for name, record in {"records": payload, "examples": example}.items():
        (folder / name).mkdir()
        for part in 0, 1:
            with open(folder / name / f"part-{part}.tfrecord", "wb") as out:
                for i in range(part * 12, part * 12 + 12):
                    data = record(i)
                    size = struct.pack("<Q", len(data))
                    out.write(size + struct.pack("<I", masked_crc32c(size)) + data + struct.pack("<I", masked_crc32c(data)))
    print("records", "tfrecord", "-")
    print("examples", "tfrecord", "feature=image,label=label", "tfrecord.feature=image", "tfrecord.label=label")


def tokens(folder):
    how = "seq_len=64", "tokens.seq_len=64"
    stream = np.random.default_rng(3).integers(0, 50257, 24 * 64 + 30)
    for name, kind in {"u16": "<u2", "u32": "<u4"}.items():
        np.save(folder / f"tokens_{name}.npy", stream.astype(kind))
        print(f"tokens_{name}.npy", "tokens", f"layout=npy,{how[0]}", how[1])
    sizes = [0, 1, 700, 0, 5, len(stream) - 706, 0]
    (folder / "megatron").mkdir()
    (folder / "megatron" / "text.bin").write_bytes(stream.astype("<i4").tobytes())
    starts = np.cumsum([0] + sizes[:-1]) * 4
    (folder / "megatron" / "text.idx").write_bytes(
        b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 4, len(sizes), len(sizes) + 1) + np.array(sizes, "<i4").tobytes() +
        starts.astype("<i8").tobytes() + np.arange(len(sizes) + 1, dtype="<i8").tobytes())
    print("megatron", "tokens", f"layout=megatron,{how[0]}", how[1])


def main():
    folder = Path(sys.argv[1])
    for make in tars, files, hdf5, databases, arrays, tfrecords, tokens:
        make(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
