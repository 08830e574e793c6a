"""The house's rules that a compiler does not check: who may include whom, where third-party headers may appear, that every
module has its line and every line its module, and how long a file may grow.

usage: floors.py SOURCE_DIR      prints one line per offence; exits 1 when there are any
"""

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

BASE = {"bench/base"}
MEASURE_AND_HOST = {"bench/measure", "bench/host"}
BELOW_LOADERS = BASE | MEASURE_AND_HOST | {"formats"}
BELOW_SCENARIOS = BELOW_LOADERS | {"loaders", "loaders/device"}
EVERYTHING = BELOW_SCENARIOS | {"scenarios", "reports", "bench/cli"}

# Folder -> the other folders that it may include; itself always.
MAY_INCLUDE = {
    "bench/base": set(),
    "bench/measure": BASE,
    "bench/host": BASE,
    "formats": BASE,
    "loaders/device": BELOW_LOADERS,
    "loaders": BELOW_LOADERS | {"loaders/device"},
    "scenarios": BELOW_SCENARIOS,
    "reports": BASE | {"bench/measure"},
    "bench/cli": EVERYTHING,
}

# Third-party header -> the only files of the house that may see it.
WRAPPED_IN = {
    "jansson.h": ["*"],  # floor 0: JSON is what documents are
    "toml.hpp": ["bench/base/config_toml.cpp"],
    "archive.h": ["formats/tar.c", "formats/tar_write.c"],
    "archive_entry.h": ["formats/tar.c", "formats/tar_write.c"],
    "jpeglib.h": ["formats/jpeg.c"],
    "jerror.h": ["formats/jpeg.c"],
    "cuda_runtime_api.h": ["loaders/device/dev_cuda.c", "loaders/device/cuda_*.c"],
    "cuda_runtime.h": ["loaders/device/cuda_step.cu"],
    "nvtx3/nvToolsExt.h": ["loaders/device/dev_cuda.c"],
    "hwloc.h": ["bench/host/topo.c"],
    "zstd.h": ["formats/zstd.c"],
    "zlib.h": ["formats/inflate.c"],
    "lzf.h": ["formats/hdf5_filters.c"],
    "hdf5.h": ["formats/hdf5_library*.c"],
    "lmdb.h": ["formats/lmdb.c"],
    "cuda_runtime_api.h": ["loaders/device/dev_cuda.c", "loaders/device/cuda_*.c"],
    "cuda_runtime.h": ["loaders/device/cuda_step.cu"],
    "liburing.h": ["loaders/uring.c"],
    "cmocka.h": ["tests/*"],
}
# Tests and benchmarks may talk to a library directly: they compare the house with it.
UNWRAPPED = ["tests/*"]

LIBC = """
    alloca.h assert.h ctype.h dirent.h dlfcn.h elf.h endian.h errno.h fcntl.h fenv.h float.h fnmatch.h fts.h ftw.h getopt.h glob.h grp.h
    inttypes.h langinfo.h libgen.h limits.h link.h locale.h malloc.h math.h mntent.h netdb.h poll.h pthread.h pwd.h regex.h
    sched.h semaphore.h setjmp.h signal.h spawn.h stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h
    stdlib.h stdnoreturn.h string.h strings.h syscall.h termios.h threads.h time.h unistd.h wchar.h gnu/libc-version.h
    cpuid.h emmintrin.h immintrin.h tmmintrin.h x86intrin.h
""".split()
LIBC_FOLDERS = ("linux/", "sys/", "arpa/", "netinet/", "asm/")
CXX = re.compile(r"^[a-z_]+$")  # <string>, <vector>, ...

MAX_LINES = 500
SOURCES = ("*.c", "*.h", "*.cpp", "*.cu")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
GENERATED = {"bench/cli/version.h"}

# .def list -> prefix of the files that its lines name.
MODULES = {
    "formats/formats.def": "fmt_",
    "formats/codecs.def": "codec_",
    "loaders/loaders.def": "ld_",
    "loaders/device/devices.def": "dev_",
    "scenarios/scenarios.def": "sc_",
    "reports/reports.def": "rp_",
    "bench/cli/verbs.def": "verb_",
}


def floor_of(name):
    return name.rpartition("/")[0]


def judge_quoted(root, name, target):
    here, there = floor_of(name), floor_of(target)
    if target.startswith(".") or (not (root / target).is_file() and target not in GENERATED and not target.endswith(".def")):
        return f'"{target}" is not a path from the root of the sources'
    if target.endswith(".def") and not (root / target).is_file():
        return f'"{target}" is not there'
    if name.startswith("tests/"):
        return None
    if here not in MAY_INCLUDE:
        return f"{here} is no floor of the house: give it a row in tests/lint/floors.py"
    if there != here and there not in MAY_INCLUDE[here]:
        return f'{here} may not include "{target}"'
    return None


def judge_angled(name, target):
    if target in WRAPPED_IN:
        if any(fnmatch(name, pattern) for pattern in WRAPPED_IN[target] + UNWRAPPED):
            return None
        return f"<{target}> belongs to {' and '.join(WRAPPED_IN[target])}"
    if target in LIBC or target.startswith(LIBC_FOLDERS):
        return None
    if name.endswith(".cpp") and CXX.match(target):
        return None
    return f"<{target}> is unknown: name it in tests/lint/floors.py, with the one file that wraps it"


def check_file(root, path):
    name = path.relative_to(root).as_posix()
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    if len(lines) > MAX_LINES:
        yield f"{name}: {len(lines)} lines; {MAX_LINES} are the most"
    if not text.endswith("\n"):
        yield f"{name}: no newline at the end"
    for number, line in enumerate(lines, 1):
        found = INCLUDE.match(line)
        if found:
            quoted, target = found.group(1) == '"', found.group(2)
            why = judge_quoted(root, name, target) if quoted else judge_angled(name, target)
            if why:
                yield f"{name}:{number}: {why}"


def check_modules(root):
    for listing, prefix in MODULES.items():
        folder = floor_of(listing)
        listed = re.findall(r"^X\(([a-z0-9_]+)", (root / listing).read_text(encoding="utf-8"), re.MULTILINE)
        present = {path.stem[len(prefix):] for path in (root / folder).glob(f"{prefix}*.c")}
        for name in listed:
            if name not in present:
                yield f"{listing}: X({name}) has no {folder}/{prefix}{name}.c"
        for name in sorted(present - set(listed)):
            yield f"{folder}/{prefix}{name}.c has no line X({name}) in {listing}"
        if len(set(listed)) != len(listed):
            yield f"{listing}: a name is there twice"


def main():
    root = Path(sys.argv[1])
    offences = []
    n_files = 0
    for top in ("bench", "formats", "loaders", "scenarios", "reports", "tests"):
        for pattern in SOURCES:
            for path in sorted((root / top).rglob(pattern)):
                n_files += 1
                offences += check_file(root, path)
    offences += check_modules(root)
    for offence in offences:
        print(offence)
    if n_files == 0:
        print(f"{root}: no sources found")
    print(f"{n_files} files, {len(offences)} offences")
    return 1 if offences or n_files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
