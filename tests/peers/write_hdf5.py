"""HDF5 files by h5py, for tests/contract/test_hdf5_peers.c. Beside each NAME.h5 lies NAME.want: the bytes of all samples in order, as
numpy has them, and for some NAME.label: their labels as u32. "list" names them, one line each: NAME, the data set to ask for (or -),
"maybe" where an older libhdf5 may refuse the file, and "outside" where other files must be allowed for.

usage: write_hdf5.py FOLDER
Exits 77 where h5py cannot be imported.
"""

import sys
from pathlib import Path

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing} ({sys.executable}); pip install h5py")
    sys.exit(77)

DRAW = np.random.default_rng(1)
LINES = []


def values(dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return DRAW.integers(0, 100, shape).astype(dtype)
    return DRAW.standard_normal(shape).astype(dtype)


def wrote(folder, name, array, dataset="-", label=None, how="must"):
    (folder / f"{name}.want").write_bytes(array.tobytes())
    if label is not None:
        (folder / f"{name}.label").write_bytes(label.astype("<u4").tobytes())
    LINES.append(f"{name} {dataset} {how}\n")


def simple(folder, name, array, libver="earliest", maybe=False, **how):
    with h5py.File(folder / f"{name}.h5", "w", libver=libver) as out:
        out.create_dataset("x", data=array, **how)
    wrote(folder, name, array, how="maybe" if maybe else "must")


def kinds(folder):
    filters = {
        "plain": {},
        "gzip": {"compression": "gzip"},
        "gzip9_shuffle": {"compression": "gzip", "compression_opts": 9, "shuffle": True},
        "lzf": {"compression": "lzf"},
        "lzf_shuffle": {"compression": "lzf", "shuffle": True},
        "shuffle": {"shuffle": True},
        "fletcher32": {"fletcher32": True},
        "all": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    }
    shapes = {
        1: ((101,), [(101,), (10,), (1,), (200,)]),
        2: ((50, 33), [(50, 33), (7, 33), (7, 10), (1, 33), (3, 1)]),
        3: ((23, 9, 14), [(5, 9, 14), (5, 4, 14), (5, 9, 5), (2, 4, 5), (1, 9, 14)]),
        4: ((17, 6, 5, 3), [(4, 6, 5, 3), (1, 6, 5, 3), (4, 4, 2, 3), (3, 6, 2, 2), (3, 6, 5, 2)]),
    }
    for rank, (shape, chunkings) in shapes.items():
        for dtype in "<i2", "<f4", "u1":
            simple(folder, f"contiguous_{rank}_{dtype[-2:]}", values(dtype, shape))
        for k, chunks in enumerate(chunkings):
            for j, (name, how) in enumerate(filters.items()):
                dtype = ["<i2", "<f4", "u1", "<f8", ">i4", "<f2", ">f4"][(k + j + rank) % 7]
                maxshape = (None, *chunks[1:]) if chunks[0] > shape[0] else None
                simple(folder, f"{name}_{rank}_{k}", values(dtype, shape), chunks=chunks,
                       **({"maxshape": maxshape} if maxshape else {}), **how)


def layouts(folder):
    data = values("<f4", (60, 7, 5))
    # Debian 12's h5py stands on HDF5 1.10, which cannot write as 1.12 does.
    newer = ("v112",) if h5py.version.hdf5_version_tuple >= (1, 12, 0) else ()
    for version in "v108", "v110", *newer, "latest":
        maybe = version in ("v112", "latest")
        simple(folder, f"{version}_contiguous", data, libver=version, maybe=maybe)
        simple(folder, f"{version}_fixed_array", data, libver=version, maybe=maybe, chunks=(8, 7, 5), compression="gzip")
        simple(folder, f"{version}_single", data, libver=version, maybe=maybe, chunks=(60, 7, 5), compression="gzip")
        simple(folder, f"{version}_implicit", data, libver=version, maybe=maybe, chunks=(8, 3, 5))
        simple(folder, f"{version}_extensible", data, libver=version, maybe=maybe, chunks=(8, 7, 5), maxshape=(None, 7, 5))
        simple(folder, f"{version}_btree2", data, libver=version, maybe=maybe, chunks=(8, 4, 5), maxshape=(None, None, 5),
               shuffle=True, compression="lzf")
    deep = values("u1", (20000, 3))  # more than one node, and more than one level
    simple(folder, "deep", deep, chunks=(4, 3))
    with h5py.File(folder / "early.h5", "w") as out:  # all space in advance
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((8, 7, 5))
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        space = h5py.h5s.create_simple(data.shape)
        h5py.h5d.create(out.id, b"x", h5py.h5t.IEEE_F32LE, space, plist).write(h5py.h5s.ALL, h5py.h5s.ALL, data)
    wrote(folder, "early", data)
    with h5py.File(folder / "compact.h5", "w") as out:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple(data.shape)
        h5py.h5d.create(out.id, b"x", h5py.h5t.IEEE_F32LE, space, plist).write(h5py.h5s.ALL, h5py.h5s.ALL, data)
    wrote(folder, "compact", data)
    for name, how in {"contiguous": {}, "chunked": {"chunks": (8, 4, 5), "compression": "gzip"}}.items():
        with h5py.File(folder / f"userblock_{name}.h5", "w", userblock_size=1024) as out:
            out.create_dataset("x", data=data, **how)
        wrote(folder, f"userblock_{name}", data)
    with h5py.File(folder / "userblock_v110.h5", "w", userblock_size=512, libver="v110") as out:
        out.create_dataset("x", data=data, chunks=(8, 7, 5))
    wrote(folder, "userblock_v110", data)
    for version in "earliest", "v110":  # more attributes than the header's first block holds
        with h5py.File(folder / f"attributes_{version}.h5", "w", libver=version) as out:
            x = out.create_dataset("x", data=data, chunks=(8, 7, 5))
            for i in range(40):
                x.attrs[f"attribute {i}"] = "long " * (10 + i)
        wrote(folder, f"attributes_{version}", data)


def holes(folder):
    for name, how in {"zeros": {}, "fill": {"fillvalue": -1.5}}.items():
        for chunks in (4, 6, 10), (4, 4, 4):
            whole = np.full((30, 6, 10), how.get("fillvalue", 0), "<f4")
            path = f"holes_{name}_{chunks[1]}"
            with h5py.File(folder / f"{path}.h5", "w") as out:
                x = out.create_dataset("x", shape=whole.shape, dtype="<f4", chunks=chunks, compression="gzip", **how)
                for at in 3, 17, 29:
                    whole[at] = x[at] = values("<f4", (6, 10))
            wrote(folder, path, whole)
    with h5py.File(folder / "nothing_written.h5", "w") as out:
        out.create_dataset("x", shape=(10, 5), dtype="<i4", fillvalue=7)
    wrote(folder, "nothing_written", np.full((10, 5), 7, "<i4"))
    with h5py.File(folder / "no_chunk_written.h5", "w") as out:
        out.create_dataset("x", shape=(10, 5), dtype="<i4", fillvalue=7, chunks=(3, 5))
    wrote(folder, "no_chunk_written", np.full((10, 5), 7, "<i4"))
    data = values("<i4", (50, 6))
    with h5py.File(folder / "shrunk.h5", "w") as out:
        x = out.create_dataset("x", data=data, chunks=(4, 6), maxshape=(None, 6), compression="gzip")
        x.resize((21, 6))
    wrote(folder, "shrunk", data[:21])
    with h5py.File(folder / "masked.h5", "w") as out:  # one chunk that skipped both filters
        x = out.create_dataset("x", data=data, chunks=(10, 6), shuffle=True, compression="gzip")
        x.id.write_direct_chunk((10, 0), data[10:20].tobytes(), filter_mask=3)
    wrote(folder, "masked", data)


def others(folder):
    images, classes = values("u1", (40, 8, 8, 3)), DRAW.integers(0, 10, 40)
    with h5py.File(folder / "labelled.h5", "w") as out:
        group = out.create_group("train")
        group.create_dataset("images", data=images, chunks=(4, 8, 8, 3), compression="gzip")
        group.create_dataset("labels", data=classes.astype("<i8"))
        out.create_dataset("small", data=np.zeros(3, "<f8"))
        out.create_dataset("names", data=np.array([b"abc", b"defg"], dtype=object), dtype=h5py.string_dtype())
    wrote(folder, "labelled", images, label=classes)
    with h5py.File(folder / "chosen.h5", "w") as out:
        out.create_dataset("large", data=np.zeros((100, 100), "<f8"))
        out.create_dataset("a/b/c", data=images)
        out["soft"] = h5py.SoftLink("/a/b/c")
    wrote(folder, "chosen", images, "a/b/c")
    LINES.append("chosen soft must\n")
    mixed = np.zeros(30, dtype=[("a", "<i4"), ("b", ">f8"), ("c", "S5")])
    mixed["a"], mixed["b"], mixed["c"] = np.arange(30), DRAW.standard_normal(30), b"hello"
    simple(folder, "compound", mixed, chunks=(7,), compression="gzip", shuffle=True)
    simple(folder, "flags", DRAW.integers(0, 2, (30, 5)).astype(bool), chunks=(7, 5))
    scaled = values("<i4", (64, 10))
    simple(folder, "scaleoffset", scaled, chunks=(8, 10), scaleoffset=0)  # left to the library
    sizes = DRAW.integers(0, 300, 50)
    data = values("u1", (int(sizes.sum()),))
    with h5py.File(folder / "ragged.h5", "w") as out:
        out.create_dataset("data", data=data, chunks=(1000,), compression="gzip")
        out.create_dataset("data_offsets", data=np.concatenate([[0], np.cumsum(sizes)]).astype("<u8"))
        out.create_dataset("label", data=np.arange(50, dtype="<u2"))
    wrote(folder, "ragged", data, label=np.arange(50))


def outside(folder):
    data = values("<f4", (20, 6))
    with h5py.File(folder / "elsewhere.bin", "w") as out:
        out.create_dataset("x", data=data, chunks=(3, 6))
    with h5py.File(folder / "link.h5", "w") as out:
        out["x"] = h5py.ExternalLink(str(folder / "elsewhere.bin"), "/x")
    wrote(folder, "link", data, "x", how="outside")
    (folder / "storage.bin").write_bytes(data.tobytes())
    with h5py.File(folder / "storage.h5", "w") as out:
        out.create_dataset("x", shape=data.shape, dtype="<f4", external=[(str(folder / "storage.bin"), 0, data.nbytes)])
    wrote(folder, "storage", data, how="outside")
    layout = h5py.VirtualLayout(shape=data.shape, dtype="<f4")
    layout[:] = h5py.VirtualSource(str(folder / "elsewhere.bin"), "x", shape=data.shape)
    with h5py.File(folder / "virtual.h5", "w", libver="v110") as out:
        out.create_virtual_dataset("x", layout)
    wrote(folder, "virtual", data, how="outside")


def main():
    folder = Path(sys.argv[1])
    outside(folder)
    kinds(folder)
    layouts(folder)
    holes(folder)
    others(folder)
    (folder / "list").write_text("".join(LINES), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
