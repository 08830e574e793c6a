"""Shards by webdataset's ShardWriter and by Python's tarfile, plain and compressed, for tests/contract/test_webdataset_peers.c.
Beside each NAME lies NAME.want, which is what webdataset itself reads from it: for each sample, in order, a line "sample", then for
each field a line "FIELD BYTES" and its bytes; "list" names the files, one line each. "splits" has the shards that webdataset gives
to a worker of a node: a line "RANK WORLD WORKER WORKERS : SHARD ...".

usage: write_webdataset.py FOLDER
Exits 77 where webdataset (or zstandard) cannot be imported.
"""

import gzip
import io
import os
import random
import sys
import tarfile
from pathlib import Path

try:
    import webdataset
    import zstandard
except ImportError as missing:
    print(f"skipped: {missing} ({sys.executable}); pip install webdataset zstandard")
    sys.exit(77)

N_SHARDS = 13


def samples(draw, n):
    """Images with class and description; sizes from nothing to several blocks of libarchive's."""
    for i in range(n):
        sample = {
            "__key__": f"{i:06d}",
            "jpg": draw.randbytes(draw.choice([0, 1, 511, 512, 513, 10000, 300000])),
            "cls": str(i % 7).encode(),
            "json": b'{"i": %d}' % i,
        }
        if i % 3 == 0:
            sample["left.seg.png"] = draw.randbytes(700)
        yield sample


def read_back(path):
    """What webdataset makes of the file (uncompressed: its own way of opening .zst needs a program)."""
    with open(path, "rb") as raw:
        data = raw.read()
    if path.name.endswith(".gz"):
        data = gzip.decompress(data)
    elif path.name.endswith(".zst"):
        data = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True).read()
    stream = [{"url": str(path), "stream": io.BytesIO(data)}]
    for sample in webdataset.tariterators.group_by_keys(webdataset.tariterators.tar_file_expander(stream)):
        yield {field: value for field, value in sample.items() if not field.startswith("__")}


def write_tar(data, members, tar_format):
    with tarfile.open(fileobj=data, mode="w", format=tar_format) as tar:
        folder = tarfile.TarInfo("some/folder")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mtime = 1700000000.25 if tar_format == tarfile.PAX_FORMAT else 1700000000
            member.uname = "käthe" if tar_format == tarfile.PAX_FORMAT else "kathe"
            tar.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("a link.jpg")
        link.type, link.linkname = tarfile.SYMTYPE, "elsewhere"
        tar.addfile(link)


def main():
    folder = Path(sys.argv[1])
    draw = random.Random(1)
    names = []

    def wrote(name):
        with open(folder / f"{name}.want", "wb") as want:
            for sample in read_back(folder / name):
                want.write(b"sample\n")
                for field, value in sample.items():
                    want.write(f"{field} {len(value)}\n".encode())
                    want.write(value)
                    want.write(b"\n")
        names.append(name)

    def pack(name):
        """The same shard compressed by others: gzip, and zstd with and without its size, checksum and several frames."""
        data = (folder / name).read_bytes()
        (folder / f"{name}.gz").write_bytes(gzip.compress(data, 6, mtime=0))
        wrote(f"{name}.gz")
        half = len(data) // 2
        for kind, frames in {
            "size": zstandard.ZstdCompressor(level=3, write_checksum=True).compress(data),
            "stream": zstandard.ZstdCompressor(level=1, write_content_size=False).compress(data),
            "long": zstandard.ZstdCompressor(
                compression_params=zstandard.ZstdCompressionParameters.from_level(3, window_log=27, enable_ldm=True)).compress(data),
            "two": zstandard.ZstdCompressor().compress(data[:half]) + zstandard.ZstdCompressor().compress(data[half:]),
        }.items():
            (folder / f"{kind}-{name}.zst").write_bytes(frames)
            wrote(f"{kind}-{name}.zst")

    with webdataset.ShardWriter(str(folder / "writer-%03d.tar"), maxcount=10, verbose=0) as sink:
        for sample in samples(draw, 25):
            sink.write(sample)
    for i in range(3):
        wrote(f"writer-{i:03d}.tar")
    pack("writer-000.tar")
    with webdataset.ShardWriter(str(folder / "writer-gz-%03d.tar.gz"), maxcount=10, compress=True, verbose=0) as sink:
        for sample in samples(draw, 10):
            sink.write(sample)
    wrote("writer-gz-000.tar.gz")

    deep = "/".join(["d" * 40] * 4)
    members = []
    for i, sample in enumerate(samples(draw, 12)):
        for field, value in sample.items():
            if field != "__key__":
                members.append((f"{deep if i % 2 else 'short'}/{sample['__key__']}.{field}", value))
    long_names = members + [(f"{'l' * 90}/{'k' * 150}.jpg", b"long"), (f"{'l' * 90}/{'k' * 150}.cls", b"3")]
    odd_names = long_names + [("ümläut/ß.jpg", b"sharp"), ("ümläut/ß.cls", b"4")]
    for name, what, tar_format in (("ustar", members, tarfile.USTAR_FORMAT), ("gnu", long_names, tarfile.GNU_FORMAT),
                                   ("pax", odd_names, tarfile.PAX_FORMAT)):
        data = io.BytesIO()
        write_tar(data, what, tar_format)
        (folder / f"{name}.tar").write_bytes(data.getvalue())
        wrote(f"{name}.tar")
        pack(f"{name}.tar")

    with open(folder / "splits", "w", encoding="ascii") as out:
        for world in 1, 2, 3:
            for workers in 1, 2, 4:
                for rank in range(world):
                    for worker in range(workers):
                        os.environ.update(RANK=str(rank), WORLD_SIZE=str(world), WORKER=str(worker), NUM_WORKERS=str(workers))
                        mine = webdataset.split_by_worker(webdataset.split_by_node(iter(range(N_SHARDS))))
                        out.write(f"{rank} {world} {worker} {workers} : {' '.join(str(s) for s in mine)}\n")
    (folder / "list").write_text("".join(f"{name}\n" for name in names), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
