"""Writes folders of TFRecords, for tests/cli/test_convert_lost.sh, to the working folder: three tf.train.Examples each, of which the
second has what a class and one image do not hold."""
import os
import struct


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked_crc32c(data):
    crc = crc32c(data)
    return (crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8 & 0xFFFFFFFF


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def part(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def feature(values):
    """bytes_list (1), float_list (2) or int64_list (3), by the type of the first value. A tuple: in pieces."""
    if isinstance(values, tuple):
        return b"".join(feature(piece) for piece in values)
    if isinstance(values[0], bytes):
        return part(1, b"".join(part(1, value) for value in values))
    if isinstance(values[0], float):
        return part(2, part(1, struct.pack(f"<{len(values)}f", *values)))
    return part(3, part(1, b"".join(varint(value) for value in values)))


def example(features):
    return part(1, b"".join(part(1, part(1, name.encode()) + part(2, feature(values))) for name, values in features.items()))


def folder(name, second, all_of_them=False):
    os.mkdir(name)
    with open(f"{name}/a.tfrecord", "wb") as file:
        for i in range(3):
            features = {"image/encoded": [b"image %d" % i], "image/class/label": [i]}
            features.update(second if i == 1 or all_of_them else {})
            data = example({key: values for key, values in features.items() if values})
            head = struct.pack("<Q", len(data))
            file.write(head + struct.pack("<I", masked_crc32c(head)) + data + struct.pack("<I", masked_crc32c(data)))


LABEL = "image/class/label"
folder("plain", {})
folder("more", {"text": [b"caption"]}, True)
folder("negative", {LABEL: [-1]})
folder("large", {LABEL: [1 << 32]})
folder("several", {LABEL: [1, 2]})
folder("text", {LABEL: [b"cat"]})
folder("fraction", {LABEL: [0.5]})
folder("images", {"image/encoded": [b"one", b"two"]})
folder("some", {LABEL: []})
folder("label_pieces", {LABEL: ([1], [2])})
folder("image_pieces", {"image/encoded": ([b"one"], [b"two"])})
folder("kind_after", {LABEL: ([1], [0.5])})
folder("kind_before", {LABEL: ([0.5], [1]), "image/encoded": ([1], [b"image 1"])})
