"""Spoken digits: strings of 3 to 7 digits of one speaker, wrong digits in per cent on takes never trained on.

    python -m benchmarks.quality.spoken_digits OUT [--threads 2] [--strings 3000] [training.updates=900 …]

Recordings of the Free Spoken Digit Dataset are joined at random into strings: takes 5 to 44 for training, 45
to 49 for validation, and the official test takes 0 to 4 for 300 test strings. An unfinished training is
resumed, a finished one is only scored.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import corpora
from benchmarks.quality.ctc_run import train_and_score
from benchmarks.results import add_record, record
from dragoman.data.signals.sound import write_sound

HERE = Path(__file__).resolve().parent
DATA = corpora.DATA / "fsdd"
RATE, FEWEST, MOST = 8000, 3, 7
FIRST_VALID_TAKE = 45


class Clip(NamedTuple):
    digit: str
    speaker: str
    take: int
    samples: NDArray[np.int16]


def clips(split: str) -> list[Clip]:
    with np.load(DATA / f"{split}.npz") as stored:
        audio, offsets = stored["audio"], stored["offsets"]
    with (DATA / f"{split}.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    return [
        Clip(digit, speaker, int(Path(name).stem.split("_")[2]), audio[offsets[n] : offsets[n + 1]])
        for n, (digit, speaker, name) in enumerate(rows)
    ]


def write_strings(folder: Path, name: str, found: list[Clip], count: int, seed: int) -> None:
    """Write `count` sounds of one speaker each, and the list of them."""
    draw = np.random.default_rng(seed)
    speakers = sorted({clip.speaker for clip in found})
    (folder / name).mkdir(parents=True)
    lines = []
    for number in range(count):
        own = [clip for clip in found if clip.speaker == speakers[draw.integers(len(speakers))]]
        string = [own[n] for n in draw.integers(len(own), size=draw.integers(FEWEST, MOST + 1))]
        sound = np.concatenate([clip.samples for clip in string]) / 2**15
        write_sound(folder / name / f"{number}.wav", sound.astype(np.float32), RATE)
        lines.append(f"{name}/{number}.wav\t{''.join(clip.digit for clip in string)}\n")
    (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")


def prepare(folder: Path, strings: int) -> None:
    recorded = clips("train")
    parts = {
        "valid": ([clip for clip in recorded if clip.take >= FIRST_VALID_TAKE], 200),
        "test": (clips("test"), 300),
        "train": ([clip for clip in recorded if clip.take < FIRST_VALID_TAKE], strings),
    }
    for seed, (name, (found, count)) in enumerate(parts.items()):
        write_strings(folder, name, found, count, seed)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("settings", nargs="*", help="such as training.updates=900")
    parser.add_argument("--threads", type=int, default=0, help="0 takes all")
    parser.add_argument("--strings", type=int, default=3000, help="of the training data")
    add_record(parser)
    args = parser.parse_args()
    data = args.out / "data"
    if not (data / "train.tsv").exists():
        prepare(data, args.strings)
    more = [f"training.threads={args.threads}", *args.settings]
    found = train_and_score(HERE / "ctc" / "spoken_digits.toml", data, args.out / "run", more)
    if args.record:
        note = f"beam of 8; {found['minutes']:.0f} minutes, one seed"
        record("spoken_digits", round(found["CER"]["test, beam 8"], 1), "%", note=note)
    print(json.dumps({"benchmark": "spoken_digits", "strings": args.strings, **found}))


if __name__ == "__main__":
    main()
