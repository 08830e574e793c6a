"""Rules that a compiler does not check. A floor is a layer, a room is a subfolder of a floor, and its doors are its public headers.
Checks which floor may include which, that only doors are included from outside a room, that includes between rooms form no cycle,
where third-party headers may appear, that module lists and files agree, and how long a file may grow.

usage: floors.py SOURCE_DIR      prints one line per offence; exits 1 when there are any
"""

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

BASE = {"core/base"}
MEASURE_AND_HOST = {"core/measure", "core/host"}
BELOW_LOADERS = BASE | MEASURE_AND_HOST | {"formats"}
BELOW_SCENARIOS = BELOW_LOADERS | {"loaders", "loaders/device"}
EVERYTHING = BELOW_SCENARIOS | {"scenarios", "reports"}

# Floor -> the other floors that it may include; itself always.
MAY_INCLUDE = {
    "core/base": set(),
    "core/measure": BASE,
    "core/host": BASE,
    "formats": BASE,
    "loaders/device": BELOW_LOADERS,
    "loaders": BELOW_LOADERS | {"loaders/device"},
    "scenarios": BELOW_SCENARIOS,
    "reports": BASE | {"core/measure"},
    "bench": EVERYTHING,
}

# A folder below a floor is a room. Its doors are the headers that other rooms, other floors and the floor's root may include; every
# other header is its own. What many rooms meet at lies at the floor's root and needs no row.
DOORS = {
    "bench/calibrate": {"calibrate.h"},
    "bench/cli": {"again.h", "args.h", "help.h", "installed.h", "libraries.h", "own_file.h", "print.h", "progress.h", "together.h", "verb.h"},
    "bench/live": {"rates.h", "restore.h", "screen.h", "terminal.h", "view.h"},
    "bench/experiment": {"compared.h", "experiment.h", "result.h", "rules.h", "watch.h"},
    "bench/trace": {"trace.h"},
    "formats/codecs": {"audio.h", "augment.h", "image.h", "image_data.h", "inflate.h", "jpeg.h"},
    "formats/convert": {"apart.h", "convert.h"},
    "formats/generate": {"file.h", "generate.h", "listed.h", "manifest.h", "mark.h", "names.h", "owned.h", "stays.h", "trailer.h", "verify.h"},
    "formats/memory": {"array_fill.h"},
    "formats/numpy": {"npy.h"},
    "formats/python": {"python.h"},
    "loaders/torch": {"ask.h"},
    "loaders/pool": {"forkserver.h", "limits.h"},
    "loaders/train": {"consumer.h"},
    "loaders/worker": {"report.h", "worker.h"},
    "reports/sheets": {"figures.h"},
    "scenarios/cell": {"cell.h", "cell_result.h"},
    "scenarios/compare": {"compare.h", "traceml.h"},
    "scenarios/gap": {"fit.h", "judge.h", "plan.h", "summary.h"},
    "scenarios/gap/rungs": {"array.h", "params.h", "rung.h", "rung_result.h"},
    "scenarios/gap/torch": {"python.h", "torch_rung.h"},
    "scenarios/judge": {"judge.h", "judged.h", "note.h", "summary.h"},
    "scenarios/plan": {"devices.h", "factors.h", "in_c.h", "plan.h", "preflight.h", "twin.h"},
    "scenarios/ranks": {"gpu.h", "launcher.h", "link.h", "merge.h", "module.h", "ranks.h", "speaker.h", "team.h", "team_convert.h", "team_gen.h"},
    "scenarios/rules": {"judge.h", "rule.h"},
    "scenarios/run": {"child.h", "kept.h", "runner.h", "task.h", "trace_path.h"},
    "scenarios/spec": {"axes.h", "embedded.h", "meaning.h", "own_code.h", "rounds.h", "spec.h", "workload.h"},
    "scenarios/storage": {"fio.h", "sizing.h", "write_speed.h"},
    "scenarios/sweep": {"confirm.h"},
}

# Third-party header -> the only files that may include it.
WRAPPED_IN = {
    "jansson.h": ["*"],  # floor 0: JSON is what documents are
    "toml.hpp": ["core/base/config_toml.cpp"],
    "archive.h": ["formats/webdataset/tar.c", "formats/webdataset/tar_source.c", "formats/webdataset/tar_write.c"],
    "archive_entry.h": ["formats/webdataset/tar.c", "formats/webdataset/tar_source.c", "formats/webdataset/tar_write.c"],
    "jpeglib.h": ["formats/codecs/jpeg.c"],
    "jerror.h": ["formats/codecs/jpeg.c"],
    "png.h": ["formats/codecs/png.c"],
    "webp/decode.h": ["formats/codecs/webp.c"],
    "webp/encode.h": ["formats/codecs/webp.c"],
    "sndfile.h": ["formats/codecs/audio.c"],
    "cuda_runtime_api.h": ["loaders/device/cuda/*.c"],
    "cuda_runtime.h": ["loaders/device/cuda/step.cu"],
    "nvtx3/nvToolsExt.h": ["loaders/device/cuda/dev_cuda.c"],
    "hwloc.h": ["core/host/topo.c"],
    "zstd.h": ["formats/codecs/zstd.c"],
    "zlib.h": ["formats/codecs/inflate.c", "reports/html/packed.c"],
    "lzf.h": ["formats/hdf5/filters.c"],
    "hdf5.h": ["formats/hdf5/library*.c"],
    "lmdb.h": ["formats/lmdb/lmdb*.c"],
    "mpi.h": ["scenarios/ranks/mpi/module.c"],
    "xxhash.h": ["core/base/hash.c"],
    "seccomp.h": ["core/base/sandbox.c"],
    "liburing.h": ["loaders/uring.c"],
    "curses.h": ["bench/live/screen.c"],
    "term.h": ["bench/live/screen.c"],
    "cmocka.h": ["tests/*"],
}
# Tests and benchmarks may use a library directly: they compare dlbench with it.
UNWRAPPED = ["tests/*"]

LIBC = """
    alloca.h assert.h ctype.h dirent.h dlfcn.h elf.h endian.h errno.h fcntl.h fenv.h float.h fnmatch.h fts.h ftw.h getopt.h glob.h grp.h
    inttypes.h langinfo.h libgen.h limits.h link.h locale.h malloc.h math.h mntent.h netdb.h poll.h pthread.h pty.h pwd.h regex.h
    sched.h semaphore.h setjmp.h signal.h spawn.h stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h
    stdlib.h stdnoreturn.h string.h strings.h syscall.h termios.h threads.h time.h unistd.h wchar.h gnu/libc-version.h
    cpuid.h emmintrin.h immintrin.h tmmintrin.h x86intrin.h
""".split()
LIBC_FOLDERS = ("linux/", "sys/", "arpa/", "netinet/", "asm/")
CXX = re.compile(r"^[a-z_]+$")  # <string>, <vector>, ...

MAX_LINES = 500
TOPS = ("core", "formats", "loaders", "scenarios", "reports", "bench")
SOURCES = ("*.c", "*.h", "*.cpp", "*.cu")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
GENERATED = {"bench/cli/version.h", "formats/extra_formats.def"}

# .def list -> prefix of the files that its lines name.
MODULES = {
    "formats/formats.def": "fmt_",
    "formats/codecs.def": "codec_",
    "loaders/loaders.def": "ld_",
    "loaders/device/devices.def": "dev_",
    "scenarios/scenarios.def": "sc_",
    "reports/reports.def": "rp_",
    "bench/verbs/verbs.def": "verb_",
}


# Folders outside of the floors that hold formats (DLB_EXTRA_FORMATS of some presets): what lies there is judged as formats are.
EXTRA_FORMATS = ("tests/skeleton",)


def judged_as(name):
    """Where a file counts as lying: for extra formats, in a room of formats."""
    for folder in EXTRA_FORMATS:
        if name.startswith(folder + "/"):
            return f"formats/{folder.rpartition('/')[2]}/{name[len(folder) + 1:]}"
    return name


def room_of(name):
    return judged_as(name).rpartition("/")[0]


def floor_of(name):
    """The floor that a file lies on, however deep its room is."""
    room = room_of(name)
    while room and room not in MAY_INCLUDE:
        room = room_of(room)
    return room or room_of(name)


def judge_quoted(root, name, target):
    here, there = floor_of(name), floor_of(target)
    if target.startswith(".") or (not (root / target).is_file() and target not in GENERATED and not target.endswith(".def")):
        return f'"{target}" is not a path from the root of the sources'
    if target.endswith(".def") and target not in GENERATED and not (root / target).is_file():
        return f'"{target}" is not there'
    if judged_as(name).startswith("tests/"):
        return None
    if here not in MAY_INCLUDE:
        return f"{here} is not a floor: give it a row in tests/lint/floors.py"
    if there != here and there not in MAY_INCLUDE[here]:
        return f'{here} may not include "{target}"'
    room = room_of(target)
    if room not in (room_of(name), there) and target.endswith(".h") and target not in GENERATED:
        if room_of(target) not in DOORS or target.rpartition("/")[2] not in DOORS[room]:
            return f'"{target}" is private to {room}: it is none of that room\'s doors'
    return None


def judge_angled(name, target):
    name = judged_as(name)
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
    extra = {f"{folder}/formats.def": "fmt_" for folder in EXTRA_FORMATS}
    for listing, prefix in (MODULES | extra).items():
        folder = listing.rpartition("/")[0]
        listed = re.findall(r"^X\(([a-z0-9_]+)", (root / listing).read_text(encoding="utf-8"), re.MULTILINE)
        present = {path.stem[len(prefix):] for path in (root / folder).rglob(f"{prefix}*.c")}
        for name in listed:
            if name not in present:
                yield f"{listing}: X({name}) has no {prefix}{name}.c below {folder}"
        for name in sorted(present - set(listed)):
            yield f"{prefix}{name}.c below {folder} has no line X({name}) in {listing}"
        if len(set(listed)) != len(listed):
            yield f"{listing}: a name is there twice"


def includes_between(root, name):
    """The units of dlbench that a file includes; a unit is a header and the source of the same name."""
    for line in (root / name).read_text(encoding="utf-8").splitlines():
        found = INCLUDE.match(line)
        if found and found.group(1) == '"' and (root / found.group(2)).is_file() and found.group(2).endswith(".h"):
            yield found.group(2)[:-2]


def reach(graph, start):
    seen, todo = set(), [start]
    while todo:
        for there in graph.get(todo.pop(), ()):
            if there not in seen:
                seen.add(there)
                todo.append(there)
    return seen


def check_cycles(root):
    """No unit comes back to itself through another room, and no room through another one."""
    units, rooms = {}, {}
    for top in TOPS:
        for pattern in SOURCES:
            for path in (root / top).rglob(pattern):
                name = path.relative_to(root).as_posix()
                unit = name.rpartition(".")[0]
                there = {target for target in includes_between(root, name) if target != unit}
                units.setdefault(unit, set()).update(there)
                if room_of(name) not in MAY_INCLUDE:  # what a floor's root includes binds no room
                    rooms.setdefault(room_of(name), set()).update(
                        room_of(target) for target in there
                        if room_of(target) != room_of(name) and room_of(target) not in MAY_INCLUDE)
    reached = {unit: reach(units, unit) for unit in units}
    for unit in sorted(units):
        round_trip = {other for other in reached[unit] if unit in reached.get(other, ())}
        away = sorted(other for other in round_trip if room_of(other) != room_of(unit))
        if away:
            yield f"{unit} comes back to itself through {away[0]}"
    for room in sorted(rooms):
        if room in reach(rooms, room):
            yield f"{room}: its includes come back to it through {' and '.join(sorted(r for r in reach(rooms, room) if room in reach(rooms, r) and r != room))}"


def main():
    root = Path(sys.argv[1])
    offences = []
    n_files = 0
    for top in (*TOPS, "tests"):
        for pattern in SOURCES:
            for path in sorted((root / top).rglob(pattern)):
                n_files += 1
                offences += check_file(root, path)
    offences += check_modules(root)
    offences += check_cycles(root)
    for offence in offences:
        print(offence)
    if n_files == 0:
        print(f"{root}: no sources found")
    print(f"{n_files} files, {len(offences)} offences")
    return 1 if offences or n_files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
