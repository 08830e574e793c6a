"""The data set of a configuration as users of PyTorch write it: torchvision's ImageFolder, soundfile, webdataset, h5py, numpy.memmap, lmdb,
arrays.
Part of loaders/torch/dlbench_serve.py.

Nothing here is faster or slower than usual: no caches, no tricks. Classes and functions are at the top of the module, so that they can
be pickled for workers that are spawned. Files are opened by each worker at its first sample.
"""

import array
import glob
import os

import torch
from torch.utils.data import ConcatDataset, Dataset, TensorDataset

COMPOSED = []  # what image_transform made
OPENERS = []  # what opens and decodes samples, where the data set does not show it
IMAGES = ("jpeg", "image")  # codecs that decode images
DECODED = IMAGES + ("audio",)  # ... and others that crop
EXTENSIONS = {"jpeg": (".jpg", ".jpeg"), "image": (".jpg", ".jpeg", ".png", ".webp"), "audio": (".wav", ".flac")}
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def image_transform(get):
    """What the section `transform` asks for, in torchvision's words."""
    from torchvision import transforms

    size, crop = get("transform.size") or 224, get("transform.crop")
    short = size * 256 // 224
    on_device = get("transform.where") == "gpu"  # the device crops the resized image, flips and normalises
    steps = []
    if crop == "random-resized":
        steps.append(transforms.RandomResizedCrop(size))
    elif crop in ("center", "random"):
        steps.append(transforms.Resize(short))
        if on_device:
            steps.append(transforms.CenterCrop(short))
        else:
            steps.append(transforms.CenterCrop(size) if crop == "center" else transforms.RandomCrop(size))
    if get("transform.flip") and crop in ("random-resized", "random") and not on_device:
        steps.append(transforms.RandomHorizontalFlip())
    if get("transform.pixels") == "f32" and not on_device:
        steps += [transforms.ToTensor(), transforms.Normalize(MEAN, DEVIATION)]
    else:
        steps.append(transforms.PILToTensor())
    COMPOSED.append(transforms.Compose(steps))
    return COMPOSED[-1]


def as_bytes(data):
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


class Opener:
    """A function that can be given a stamp later."""

    def __init__(self, function):
        self.function = function
        OPENERS.append(self)

    def __call__(self, *args):
        return self.function(*args)


def image_of(data):
    import io

    from PIL import Image

    return Image.open(io.BytesIO(data)).convert("RGB")


class ReadClip:
    """A crop of a WAV or a FLAC, by its path or its bytes: float32, frames x channels. The start is random, as crops of images are."""

    def __init__(self, get):
        self.crop, self.n = get("transform.crop"), get("transform.num_frames")

    def __call__(self, source):
        import io

        import soundfile

        with soundfile.SoundFile(io.BytesIO(source) if isinstance(source, bytes) else source) as clip:
            more = clip.frames - self.n
            if self.crop == "none" or more <= 0:
                return clip.read(dtype="float32", always_2d=True)
            clip.seek(more // 2 if self.crop == "center" else int(torch.randint(more + 1, ())))
            return clip.read(self.n, dtype="float32", always_2d=True)


class ClipToTensor:
    """Channels x frames, as torchaudio has it; mono where it is asked for; zeros behind a clip that is shorter than the crop."""

    def __init__(self, get):
        self.crop, self.n, self.channels = get("transform.crop"), get("transform.num_frames"), get("transform.num_channels")

    def __call__(self, frames):
        clip = torch.from_numpy(frames.T)
        if self.channels == 1 and len(clip) > 1:
            clip = clip.mean(0, keepdim=True)
        if self.crop != "none" and clip.shape[1] < self.n:
            clip = torch.nn.functional.pad(clip, (0, self.n - clip.shape[1]))
        return clip


class Opened:
    """A path or bytes to what the transform makes of what was opened."""

    def __init__(self, function, transform):
        self.open, self.transform = Opener(function), transform

    def __call__(self, source):
        return self.transform(self.open(source))


def load_bytes(get):
    """A stored sample to what the codec makes of it."""
    if get("dataset.codec") == "audio":
        return Opened(ReadClip(get), ClipToTensor(get))
    return Opened(image_of, image_transform(get)) if get("dataset.codec") in IMAGES else as_bytes


def is_ragged(get):
    return get("dataset.codec") not in DECODED or get("transform.crop") == "none"


def paths_of(setup, refused, *patterns):
    """The file that dataset.path names, or the files of its folder that one of the patterns fits."""
    path = setup["settings"].get("dataset.path")
    if not os.path.isdir(path):
        return [path]
    paths = sorted(one for pattern in patterns for one in glob.glob(os.path.join(glob.escape(path), pattern)))
    if not paths:
        raise refused("DATASET_EMPTY", "%s holds no file named %s" % (path, " or ".join(patterns)))
    return paths


def joined(sets):
    return sets[0] if len(sets) == 1 else ConcatDataset(sets)


def keep_ragged(samples):
    """Collates samples of different sizes, as detection models do: tensors in a list, labels in one tensor. What users paste has this
    function, too (scenarios/judge/pytorch.c)."""
    return [one[0] for one in samples], torch.tensor([one[1] for one in samples])


def count_ragged(batch):
    """The samples of such a batch: no tensor in it has them as its first dimension."""
    return len(batch[0])


def whole_file(path):
    with open(path, "rb") as file:
        return as_bytes(file.read())


class Files(Dataset):
    """A folder of files without folders for classes."""

    def __init__(self, paths, load):
        self.paths, self.load = paths, load

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return self.load(self.paths[i]), 0


def files(setup, refused):
    from torchvision import datasets

    get = setup["settings"].get
    root, codec = get("dataset.path"), get("dataset.codec")
    ragged = {"collate_fn": keep_ragged} if is_ragged(get) else {}
    if any(entry.is_dir() for entry in os.scandir(root)):
        if codec in IMAGES:
            return datasets.ImageFolder(root, image_transform(get)), ragged
        if codec == "audio":
            return datasets.DatasetFolder(root, ReadClip(get), EXTENSIONS[codec], ClipToTensor(get)), ragged
        return datasets.DatasetFolder(root, whole_file, is_valid_file=os.path.isfile), ragged
    takes_hidden = codec in EXTENSIONS  # as in folders of classes
    paths = sorted(entry.path for entry in os.scandir(root) if entry.is_file() and (takes_hidden or not entry.name.startswith(".")))
    if codec not in DECODED:
        return Files(paths, whole_file), ragged
    paths = [one for one in paths if one.lower().endswith(EXTENSIONS[codec])]
    if codec == "audio":
        return Files(paths, Opened(ReadClip(get), ClipToTensor(get))), ragged
    return Files(paths, Opened(datasets.folder.default_loader, image_transform(get))), ragged


def same(value):
    return value


def fields_of(path):
    """The names of the fields of a shard's first sample."""
    import tarfile

    found, first = [], None
    with tarfile.open(path) as shard:
        for member in shard:
            if not member.isfile():
                continue
            stem, _, field = os.path.basename(member.name).partition(".")
            if first is not None and stem != first:
                break
            first = stem
            found.append(field.lower())
    return found


def split_and_shuffle(shards):
    """By worker, in a new order in each epoch: shardshuffle has the same order in all epochs, and detshuffle in those of new workers."""
    import webdataset as wds

    mine = list(wds.split_by_worker(shards))
    return (mine[i] for i in torch.randperm(len(mine)).tolist())


def webdataset(setup, refused):
    import webdataset as wds

    get = setup["settings"].get
    shards = paths_of(setup, refused, "*.tar*")
    fields = fields_of(shards[0])
    codec = get("dataset.codec")
    ends = [one[1:] for one in EXTENSIONS.get("image" if codec in IMAGES else codec, ())]
    payload = [one for one in fields if one in ends] if ends else fields[:1]
    if payload and codec in ("image", "audio"):  # a shard may mix them
        payload = [";".join(ends)]
    if not payload:
        raise refused("PYTHON_NO_TWIN", "%s: the first sample has nothing for codec %s: give python.dataset" % (shards[0], codec))
    shuffle = bool(get("loader.shuffle"))
    buffer = get("loader.shuffle_buffer") or 0
    if setup["world"] > 1:
        os.environ["RANK"], os.environ["WORLD_SIZE"] = str(setup["rank"]), str(setup["world"])
    # Without a shard a worker has no sample, which is no error: it idles.
    data = wds.WebDataset(
        shards,
        shardshuffle=False,
        nodesplitter=wds.split_by_node if setup["world"] > 1 else wds.shardlists.single_node_only,
        workersplitter=split_and_shuffle if shuffle else wds.split_by_worker,
        empty_check=False,
    )
    if shuffle and buffer > 0:
        data = data.shuffle(buffer)
    images = codec in IMAGES
    if images:
        data = data.decode(Opener(wds.imagehandler("pil")))
    change = image_transform(get) if images else load_bytes(get)
    if "cls" in fields:
        data = data.to_tuple(payload[0], "cls").map_tuple(change, same if images else label_of)
    else:
        data = data.to_tuple(payload[0]).map_tuple(change)
    return data, {"collate_fn": keep_ragged} if is_ragged(get) and "cls" in fields else {}


def label_of(data):
    return int(data)


def hdf5_names(path, get):
    """The data set that is asked for, or the largest one, and its labels."""
    import h5py

    name, label = get("hdf5.dataset"), get("hdf5.label")
    with h5py.File(path, "r") as file:
        if not name:
            sizes = {}
            file.visititems(lambda at, one: sizes.update({at: one.nbytes}) if isinstance(one, h5py.Dataset) and one.shape else None)
            name = max(sizes, key=sizes.get)
        beside = name.rpartition("/")[0]
        for one in ("label", "labels"):
            at = beside + "/" + one if beside else one
            if not label and at in file and len(file[at]) == len(file[name]):
                label = at
        return name, label or None, len(file[name])


class Hdf5(Dataset):
    def __init__(self, path, get):
        self.path, self.file = path, None
        self.name, self.label, self.n = hdf5_names(path, get)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.file is None:  # in the worker: a handle that was opened before a fork gives wrong data
            import h5py

            self.file = h5py.File(self.path, "r")
            self.data = self.file[self.name]
            self.labels = self.file[self.label] if self.label else None
        sample = torch.from_numpy(self.data[i])
        return (sample, int(self.labels[i])) if self.labels is not None else sample


def hdf5(setup, refused):
    get = setup["settings"].get
    paths = paths_of(setup, refused, "*.h5", "*.hdf5")
    if get("dataset.codec") != "raw":
        raise refused("PYTHON_NO_TWIN", "what HDF5 files hold is decoded by code of your own: give python.dataset")
    return joined([Hdf5(one, get) for one in paths]), {}


NPY_MAGIC = b"\x93NUMPY"
TOKEN_TYPES = {"u8": "u1", "u16": "<u2", "u32": "<u4", "i32": "<i4", "i64": "<i8"}  # of tokens.dtype
LLMC_BYTES = 1024  # llm.c's header
LLMC_TYPES = {20240520: "<u2", 20240801: "<u4"}  # by the number that it begins with


def layout_of(head, get):
    """Of a file of tokens that begins with `head`."""
    if get("tokens.layout") not in (None, "auto"):
        return get("tokens.layout")
    if head.startswith(NPY_MAGIC):
        return "npy"
    return "llmc" if int.from_bytes(head[:4], "little") in LLMC_TYPES else "raw"


def stored_tokens(path, get):
    """The tokens of a file, mapped; how many make a row of its array, 0: it has no rows; its layout."""
    import numpy

    with open(path, "rb") as file:
        head = file.read(8)
    layout = layout_of(head, get)
    if layout == "npy":
        data = numpy.load(path, mmap_mode="r")
        return data.reshape(-1), data.shape[1] if data.ndim == 2 else 0, layout
    if layout == "llmc":
        dtype = LLMC_TYPES[int.from_bytes(head[:4], "little")]
        return numpy.memmap(path, dtype=dtype, mode="r", offset=LLMC_BYTES), 0, layout
    return numpy.memmap(path, dtype=TOKEN_TYPES.get(get("tokens.dtype"), "<u2"), mode="r"), 0, layout


class Tokens(Dataset):
    """Rows of a memory-mapped file, or windows of seq_len tokens of a memory-mapped file, and the same one token on: nanoGPT's get_batch, as a Dataset."""

    def __init__(self, path, get, seed):
        import numpy

        self.data, row, layout = stored_tokens(path, get)
        self.length = row - 1 if row else get("tokens.seq_len")
        self.widen = get("dataset.codec") == "tokens" and get("transform.where") != "gpu"
        step = row or self.length
        n = (len(self.data) - (0 if row else 1)) // step
        random = get("tokens.sampling") == "random" or (get("tokens.sampling") == "auto" and layout == "raw")
        if random and n > 0:  # a short file has no window
            starts = numpy.random.RandomState(seed & 0xFFFFFFFF).randint(0, len(self.data) - self.length, n)
            self.start = array.array("q", starts.tolist())  # four slices at a numpy integer would take 0.5 us of 10 more
        else:
            self.start = range(0, n * step, step)
        self.int64, self.stored = numpy.int64, numpy.dtype("i%d" % self.data.dtype.itemsize)

    def __len__(self):
        return len(self.start)

    def __getitem__(self, i):
        data, at, n = self.data, self.start[i], self.length
        if not self.widen:
            return torch.from_numpy(data[at : at + n + 1].view(self.stored).copy())
        x = torch.from_numpy(data[at : at + n].astype(self.int64))
        y = torch.from_numpy(data[at + 1 : at + 1 + n].astype(self.int64))
        return x, y


def tokens(setup, refused):
    get = setup["settings"].get
    paths = paths_of(setup, refused, "*.bin", "*.npy")
    indexed = (one for one in paths if one.endswith(".bin") and os.path.exists(one[:-4] + ".idx"))
    if get("tokens.layout") == "megatron" or (get("tokens.layout") in (None, "auto") and any(indexed)):
        raise refused("PYTHON_NO_TWIN", "Megatron's files are read by Megatron's own code: give python.dataset")
    return joined([Tokens(one, get, get("tokens.seed") or 0) for one in paths]), {}


class Lmdb(Dataset):
    """A sample a key, opened by each worker, as in timm and many others."""

    def __init__(self, path, prefix, load):
        import lmdb

        self.path, self.load, self.env = path, load, None
        with self.open() as env, env.begin() as read:
            keys = [bytes(key) for key in read.cursor().iternext(values=False)]
        named = prefix.encode() if prefix else b""
        self.keys = [key for key in keys if (key.startswith(named) if named else not key.startswith(b"__"))]
        del lmdb

    def open(self):
        import lmdb

        return lmdb.open(self.path, subdir=os.path.isdir(self.path), readonly=True, lock=False, readahead=False, meminit=False)

    def __len__(self):
        return len(self.keys)

    def __getitem__(self, i):
        if self.env is None:
            self.env = self.open()
        with self.env.begin() as read:
            return self.load(read.get(self.keys[i])), 0


def lmdb(setup, refused):
    get = setup["settings"].get
    return Lmdb(get("dataset.path"), get("lmdb.prefix"), load_bytes(get)), {"collate_fn": keep_ragged} if is_ragged(get) else {}


class Rows(Dataset):
    """The rows of an array of numpy."""

    def __init__(self, array):
        self.array = array

    def __len__(self):
        return len(self.array)

    def __getitem__(self, i):
        return self.array[i]


def npz(setup, refused):
    import numpy

    get = setup["settings"].get
    arrays = []
    for one in paths_of(setup, refused, "*.npz"):
        found = numpy.load(one, mmap_mode="r") # a map of a .npy file; ignored for .npz
        if isinstance(found, numpy.ndarray):
            arrays.append(Rows(found))
        else:
            arrays.append(Rows(found[get("npz.array") or found.files[0]]))
    return joined(arrays), {}


def memory(setup, refused):
    get = setup["settings"].get
    columns = get("memory.columns") or (get("generate.sample_bytes") or 0) // 4 or 1
    return TensorDataset(torch.rand(setup["samples"], columns)), {}


class Made(Dataset):
    """A sample that is made up when it is asked for."""

    def __init__(self, n, n_bytes):
        self.n, self.n_bytes = n, n_bytes

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.zeros(self.n_bytes, dtype=torch.uint8)


def synthetic(setup, refused):
    return Made(setup["samples"], setup["settings"].get("generate.sample_bytes") or 1), {}


TWINS = {
    "files": files,
    "webdataset": webdataset,
    "hdf5": hdf5,
    "tokens": tokens,
    "lmdb": lmdb,
    "npz": npz,
    "memory": memory,
    "synthetic": synthetic,
}


def make(setup, refused):
    """The data set, and further arguments of DataLoader. `refused` is the exception for what has no twin."""
    name = setup["settings"].get("dataset.format")
    if name not in TWINS:
        raise refused("PYTHON_NO_TWIN", "data of format %s are read by code of your own: give python.dataset" % name)
    return TWINS[name](setup, refused)
