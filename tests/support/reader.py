"""Reads data sets without dlbench, for tests/cli/test_reader.sh: by the formats' specifications, and by the libraries that define
them (h5py, lmdb, numpy, zstandard, and Python's own tarfile and zipfile). What the specifications leave open, such as labels in
LMDB, is as docs/formats.md has it.

usage: reader.py list DATA
       reader.py check JOBS

DATA is FORMAT:PATH, followed by ,KEY=VALUE for what a reader must be told: feature and label (tfrecord), dataset and label (hdf5),
prefix (lmdb), layout, dtype and seq_len (tokens). `list` prints a JSON line for each sample, in order: key (null where the format
has none), label (or null), and fields: name, SHA-256 and length of each. JOBS holds a check on each line:

    inspected DATA FILE    the samples agree with what `dlbench inspect --json` wrote to FILE
    generated DATA N C     N samples, whose labels are as `dlbench gen` makes them for C classes
    decodes DATA CODEC N   each payload is what the codec says, and where its size is exact, of N bytes
    same DATA DATA         both were generated, and hold the same payloads and labels
    converted DATA DATA FILE
                           the second holds the samples of the first, and `dlbench convert --json` wrote so to FILE
    differs ...            the check that follows fails

Prints each check that fails, and how many were made; exits 1 if one failed. Exits 77 if a library is missing.
"""
import ast
import gzip
import hashlib
import io
import itertools
import json
import os
import re
import struct
import sys
import tarfile
import zipfile
from pathlib import Path

try:
    import h5py
    import lmdb
    import numpy as np
    import zstandard
except ImportError as missing:
    print(f"skipped: {missing} ({sys.executable}): run scripts/deps --dev")
    sys.exit(77)


class Sample:
    """fields: name to bytes. The name is None where the format has no names."""

    def __init__(self, fields, label=None, key=None):
        self.fields, self.label, self.key = fields, label, key

    def payload(self):
        """The fields without the one that only repeats the label."""
        return {name: data for name, data in self.fields.items() if not (name == "cls" and self.label is not None)}

    def n_bytes(self):
        return sum(len(data) for data in self.fields.values())


def need(condition, what):
    if not condition:
        raise ValueError(what)


def listed(path, *suffixes):
    """The file itself, or the folder's files with one of these suffixes, in the order of their names."""
    path = Path(path)
    if path.is_file():
        return [path]
    found = sorted(entry for entry in path.iterdir() if entry.name.endswith(suffixes) and not entry.name.startswith("."))
    need(found, f"{path}: no {suffixes}")
    return found


# A folder for each class, as torchvision's ImageFolder has it: classes are numbered in the order of their names.
def read_files(path):
    root = Path(path)
    classes = sorted(entry for entry in root.iterdir() if entry.is_dir())
    for label, folder in enumerate(classes) if classes else [(None, root)]:
        for where, _, names in sorted(os.walk(folder)):
            for name in sorted(name for name in names if not name.startswith(".")):
                file = Path(where, name)
                yield Sample({name.rpartition(".")[2]: file.read_bytes()}, label, str(file.relative_to(root)))


def by_stem(samples):
    """`convert` makes a sample's fields files of one stem, which is the sample's number."""
    found = {}
    for sample in samples:
        folder, _, name = sample.key.rpartition("/")
        stem, _, field = name.partition(".")
        stem = stem.removeprefix("sample_")  # where there are no classes, and so no folders
        whole = found.setdefault(int(stem), Sample({}, sample.label, folder))
        need(whole.key == folder, f"sample {stem} lies in {folder} and in {whole.key}")
        need(field not in whole.fields, f"sample {stem} has two fields called {field}")
        whole.fields[field] = next(iter(sample.fields.values()))
    need(sorted(found) == list(range(len(found))), "the numbers of samples have gaps")
    return [found[number] for number in range(len(found))]


def unpacked(path):
    data = path.read_bytes()
    if path.name.endswith(".gz"):
        return gzip.decompress(data)
    if path.name.endswith(".zst"):
        return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True).read()
    return data


def label_of(text):
    text = text.strip()
    return int(text) if text.isdigit() else None


# WebDataset: members whose names are equal up to the first dot of the base name are the fields of one sample. Others are skipped.
MEMBER = re.compile(r"((?:.*/|)[^.]+)[.]([^/]*)")


def read_webdataset(path):
    for shard in listed(path, ".tar", ".tar.gz", ".tar.zst"):
        data = unpacked(shard)
        need(len(data) % 512 == 0 and data[-1024:] == bytes(1024), f"{shard}: not ended by two blocks of zeros")
        key, fields = None, {}
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for member in itertools.chain(tar, [None]):
                match = MEMBER.fullmatch(member.name) if member and member.isreg() else None
                if member and not match:
                    continue
                here, field = match.groups() if match else (None, None)
                if here != key:
                    if fields:
                        yield Sample(fields, label_of(fields["cls"]) if "cls" in fields else None, key)
                    key, fields = here, {}
                if member:
                    need(field.lower() not in fields, f"{shard}: {member.name} twice")
                    fields[field.lower()] = tar.extractfile(member).read()


def crc32c_table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        yield byte


CRC32C = list(crc32c_table())


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC32C[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return (crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8 & 0xFFFFFFFF


def records(path):
    data, at = path.read_bytes(), 0
    while at < len(data):
        length, crc = struct.unpack_from("<QI", data, at)
        need(crc == masked_crc32c(data[at:at + 8]), f"{path}: CRC of the length at {at}")
        record = data[at + 12:at + 12 + length]
        at += 12 + length + 4
        need(at <= len(data), f"{path}: cut short")
        need(struct.unpack_from("<I", data, at - 4)[0] == masked_crc32c(record), f"{path}: CRC of the data before {at}")
        yield record


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            return value, at


def message(data):
    """The number and value of each field of a protocol buffer: bytes, or an integer."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if tag & 7 == 2 else ({1: 8, 5: 4}[tag & 7], at)
            value, at = data[at:at + size], at + size
            need(at <= len(data), "a protocol buffer that is cut short")
        yield tag >> 3, value


def integers(values):
    """A repeated int64: each alone, or packed."""
    for _, value in message(values):
        at = 0
        while isinstance(value, bytes) and at < len(value):
            number, at = varint(value, at)
            yield number
        if isinstance(value, int):
            yield value


def features(record):
    """tf.train.Example: Example.features (1), a map (1) of names (1) to Feature (2): bytes_list (1), int64_list (3)."""
    for _, whole in message(record):
        for _, entry in message(whole):
            name, feature = (value for _, value in sorted(message(entry)))
            for kind, values in message(feature):
                yield name.decode(), [value for _, value in message(values)] if kind == 1 else list(integers(values))


def read_tfrecord(path, feature=None, label="image/class/label"):
    for shard in listed(path, ".tfrecord"):
        for record in records(shard):
            if feature:
                found = dict(features(record))
                yield Sample({None: found[feature][0]}, found[label][0] if label in found else None)
            else:
                yield Sample({None: record})


def rows_of(array):
    """The bytes of each row; numpy itself would strip zeros from the end of strings."""
    return [array[i:i + 1].tobytes() for i in range(len(array))]


def read_npz(path):
    (file,) = listed(path, ".npz")
    with zipfile.ZipFile(file) as archive:
        need(archive.testzip() is None, f"{file}: CRC-32")
        first = archive.namelist()[0].removesuffix(".npy")
    with np.load(file) as arrays:
        yield from (Sample({None: row}) for row in rows_of(arrays[first]))


# Rows of a data set, or between two entries of NAME_offsets; labels are beside it, in `label` or `labels`, or where `label` says.
def read_hdf5(path, dataset="data", label=None):
    (file,) = listed(path, ".h5", ".hdf5")
    with h5py.File(file) as whole:
        data, above = whole[dataset], whole[dataset].parent
        name = dataset.rpartition("/")[2]
        labels = whole[label][:] if label else next((above[name][:] for name in ("label", "labels") if name in above), None)
        if f"{name}_offsets" in above:
            ends, stored = above[f"{name}_offsets"][:], data[:]
            need(ends[0] == 0 and ends[-1] == len(stored), f"{file}: offsets that leave data out")
            rows = [stored[int(a):int(b)].tobytes() for a, b in zip(ends, ends[1:])]
        else:
            rows = rows_of(data[:])
        if labels is None:
            labels = [None] * len(rows)
        need(len(labels) == len(rows), f"{file}: {len(rows)} samples and {len(labels)} labels")
        for row, label in zip(rows, labels):
            yield Sample({None: row}, None if label is None else int(label))


# Values in the order of their keys. Keys named __...__ are no samples, and __labels__ holds a label (u32) for each sample.
def read_lmdb(path, prefix=""):
    labels, samples = None, []
    with lmdb.open(str(path), readonly=True, lock=False, subdir=Path(path).is_dir()) as env, env.begin() as txn:
        for key, value in txn.cursor():
            if key == b"__labels__":
                labels = [label for (label,) in struct.iter_unpack("<I", value)]
            elif key.startswith(prefix.encode()) and not (key.startswith(b"__") and key.endswith(b"__")):
                samples.append(Sample({None: bytes(value)}, None, key.decode()))
    need(labels is None or len(labels) == len(samples), f"{path}: {len(samples)} samples, and another number of labels")
    for sample, label in zip(samples, labels or []):
        sample.label = label
    return samples


WIDTH = {"u1": 1, "u8": 1, "u2": 2, "u16": 2, "i4": 4, "i32": 4, "u4": 4, "u32": 4, "i8": 8, "i64": 8}
MEGATRON_WIDTH = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 8: 2}


def npy_stream(data):
    (n,) = struct.unpack_from("<H", data, 8)
    head = ast.literal_eval(data[10:10 + n].decode("latin-1"))
    width, (count,) = WIDTH[head["descr"][1:]], head["shape"]
    need(data[:8] == b"\x93NUMPY\x01\0" and len(data) == 10 + n + width * count, "a .npy file of another length")
    return data[10 + n:], width


def megatron_stream(data, index):
    magic, version, code, n, n_documents = struct.unpack_from("<9sQBQQ", index)
    need((magic, version) == (b"MMIDIDX\0\0", 1), "Megatron's index")
    width = MEGATRON_WIDTH[code]
    sizes, at = struct.unpack_from(f"<{n}i", index, 34), 34 + 4 * n
    pointers, documents = struct.unpack_from(f"<{n}q", index, at), struct.unpack_from(f"<{n_documents}q", index, at + 8 * n)
    need(len(index) == at + 8 * (n + n_documents), "Megatron's index is of another length")
    need(documents[0] == 0 and documents[-1] == n and sum(sizes) * width == len(data), "Megatron's documents leave tokens out")
    return b"".join(data[pointer:pointer + size * width] for pointer, size in zip(pointers, sizes)), width


def llmc_stream(data):
    magic, version, n = struct.unpack_from("<3i", data)
    width = {20240520: 2, 20240801: 4}[magic]
    need(version in (1, 7) and len(data) == 1024 + n * width, "llm.c's header")
    return data[1024:], width


# Samples are windows of seq_len + 1 tokens, each begins at the last token of the one before.
def read_tokens(path, layout, dtype="u16", seq_len="1024"):
    for file in listed(path, ".bin", ".npy"):
        data, width = file.read_bytes(), WIDTH[dtype]
        if layout == "npy":
            data, width = npy_stream(data)
        elif layout == "megatron":
            data, width = megatron_stream(data, file.with_suffix(".idx").read_bytes())
        elif layout == "llmc":
            data, width = llmc_stream(data)
        step = int(seq_len) * width
        for at in range(0, len(data) - step - width + 1, step):
            yield Sample({None: data[at:at + step + width]})


READERS = {name[5:]: function for name, function in list(globals().items()) if name.startswith("read_")}
NAMED = ("files", "webdataset")  # formats that keep the names of fields, and several of them
known = {}


def load(data):
    if data not in known:
        where, *options = data.split(",")
        name, path = where.split(":")
        known[data] = name, list(READERS[name](path, **dict(option.split("=") for option in options)))
    return known[data]


def payloads(samples):
    return [sorted(sample.payload().values()) for sample in samples]


def equal(what, a, b):
    need(len(a) == len(b), f"{len(a)} samples, and {len(b)}")
    number = next((i for i, pair in enumerate(zip(a, b)) if pair[0] != pair[1]), None)
    need(number is None, f"sample {number} has another {what}")


def decodes(data, codec, n):
    for sample in load(data)[1]:
        (value,) = sample.payload().values()
        if codec == "zstd":
            need(len(zstandard.ZstdDecompressor().decompress(value)) == int(n), "another size when unpacked")
        elif codec == "npy":
            whole = io.BytesIO(value)
            need(len(np.load(whole)) > 0 and whole.tell() == len(value), "bytes behind the array")
        elif codec == "jpeg":
            need(value[:3] == b"\xff\xd8\xff" and value[-2:] == b"\xff\xd9", "no JPEG")
        else:
            need(len(value) == int(n), "another size")


def in_number_order(data):
    name, samples = load(data)
    return by_stem(samples) if name == "files" else samples


def same(data, other):
    a, b = in_number_order(data), in_number_order(other)
    equal("payload", payloads(a), payloads(b))
    if None not in (a[0].label, b[0].label):
        equal("label", [sample.label for sample in a], [sample.label for sample in b])


def inspected(data, said):
    name, samples = load(data)
    with open(said, encoding="utf-8") as file:
        said = json.load(file)
    labels = [sample.label for sample in samples if sample.label is not None]
    n_classes = 1 + max(labels) if labels else 1  # a folder without folders is one class, and so is a copy of it
    for key, value in {
            "format": name,
            "samples": len(samples),
            "bytes": sum(sample.n_bytes() for sample in samples),
            "max_sample_bytes": max(sample.n_bytes() for sample in samples),
    }.items():
        need(said[key] == value, f"{key}: inspect says {said[key]}, and the data say {value}")
    # Formats that list their labels when they open know the number of classes; the others say 0.
    need(said["classes"] in (0, n_classes), f"classes: inspect says {said['classes']}, and the data say {n_classes}")
    need(said["looked_at"]["bad"] == 0, "inspect found a bad sample")


def generated(data, n, classes):
    labels = [sample.label for sample in in_number_order(data)]
    need(len(labels) == int(n), f"{len(labels)} samples")
    if set(labels) != {None}:  # each run of as many samples as there are classes has every class once
        runs = [labels[i:i + int(classes)] for i in range(0, int(n), int(classes))]
        need(all(sorted(run) == list(range(int(classes))) for run in runs), f"labels {labels}")


def converted(source, target, said):
    (source_format, samples), target_format, made = load(source), load(target)[0], in_number_order(target)
    equal("payload", payloads(samples), payloads(made))
    with open(said, encoding="utf-8") as file:
        said = json.load(file)
    told = said["samples"], said["verified"], said["skipped_samples"], said["cut_shards"]
    need(told == (len(samples), len(samples), 0, 0), f"convert says {told}, and the source has {len(samples)}")
    equal("label", [sample.label for sample in samples], [sample.label for sample in made])
    if target_format in NAMED:
        named = source_format in NAMED
        equal("field", [sorted(sample.payload()) if named else ["bin"] for sample in samples],
              [sorted(sample.payload()) for sample in made])
    keys = [sample.key for sample in made]
    need(target_format not in ("webdataset", "lmdb") or len(set(keys)) == len(keys), "two samples of one key")


def differs(name, *arguments):
    try:
        CHECKS[name](*arguments)
    except (ValueError, struct.error, zipfile.BadZipFile):
        return
    raise ValueError("the check passed")


CHECKS = {function.__name__: function for function in (inspected, generated, decodes, same, converted, differs)}


def line_of(sample):
    fields = {name or "": [hashlib.sha256(data).hexdigest(), len(data)] for name, data in sample.fields.items()}
    return json.dumps({"key": sample.key, "label": sample.label, "fields": fields})


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("list", "check"):
        sys.exit(__doc__)
    if sys.argv[1] == "list":
        for sample in load(sys.argv[2])[1]:
            print(line_of(sample))
        return 0
    jobs = [line.split() for line in Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()]
    n_failed = 0
    for name, *arguments in jobs:
        try:
            CHECKS[name](*arguments)
        except Exception as error:  # of any library: the data are wrong
            n_failed += 1
            print(f"FAILED: {name} {' '.join(arguments)}: {type(error).__name__}: {error}")
    print(f"{len(jobs)} checks, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
