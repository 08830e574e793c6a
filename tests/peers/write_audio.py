"""Clips of every kind of WAV and FLAC that soundfile writes, for tests/contract/test_audio_peers.c. Beside each NAME lies NAME.f32: its
frames and channels as little-endian u32, then soundfile's float32, channel after channel, and behind them the mean of the channels.
"list" has their names.

usage: write_audio.py FOLDER
Exits 77 where numpy or soundfile cannot be imported.
"""

import struct
import sys
from pathlib import Path

try:
    import numpy as np
    import soundfile
except (ImportError, OSError) as missing:  # OSError: without libsndfile
    print(f"skipped: {missing} ({sys.executable}); pip install numpy soundfile")
    sys.exit(77)

KINDS = {
    "WAV": ("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW", "ALAW", "IMA_ADPCM", "MS_ADPCM"),
    "WAVEX": ("PCM_16", "PCM_24", "FLOAT"),
    "FLAC": ("PCM_S8", "PCM_16", "PCM_24"),
}


def sound(n_frames, n_channels, rng):
    t = np.arange(n_frames) / 16000
    tones = [np.sin(2 * np.pi * (200 + 90 * c) * t) * 0.5 + rng.normal(0, 0.05, n_frames) for c in range(n_channels)]
    return np.clip(np.stack(tones, axis=1), -1, 1)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(5)
    names = []
    for major, subtypes in KINDS.items():
        for subtype in subtypes:
            for n_channels in (1, 2, 6):
                if subtype.endswith("ADPCM") and n_channels > 2:
                    continue
                for n_frames in (1, 777, 20000):
                    name = f"{major}-{subtype}-{n_channels}-{n_frames}".lower() + (".flac" if major == "FLAC" else ".wav")
                    soundfile.write(folder / name, sound(n_frames, n_channels, rng), 16000, subtype, format=major)
                    read, _ = soundfile.read(folder / name, dtype="float32", always_2d=True)
                    mean = read.T.mean(axis=0, dtype=np.float32)
                    (folder / f"{name}.f32").write_bytes(struct.pack("<2I", *read.shape) + read.T.tobytes() + mean.tobytes())
                    names.append(name)
    (folder / "list").write_text("".join(name + "\n" for name in names))


main()
