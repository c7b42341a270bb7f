"""Captions: the English names of emoji, whose pictures are recombinations of those in the training data.

    python -m benchmarks.quality.captions OUT [--threads 0]

Trains captions/attention.toml and prints BLEU and exact match on the test set. `nearest picture`
is the name of the training picture with the smallest squared difference of its pixels. OUT keeps what is
done; then

    dragoman show OUT/model OUT/test/NAME.png -o caption.svg

draws what the caption attends to.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import corpora, typed
from benchmarks.results import add_record, record
from benchmarks.run_log import RunLog
from dragoman.data.signals.picture import write_picture

HERE = Path(__file__).resolve().parent
DATA = corpora.DATA / "emoji-captions"


def read(part: str) -> tuple[NDArray[np.uint8], list[str], list[str]]:
    """Return the pictures in grey, the names of their files, and their captions."""
    rows = [line.split("\t") for line in typed.lines(DATA / f"{part}.tsv")]
    grey = np.load(DATA / f"{part}.npz")["images"].mean(axis=-1).round().astype(np.uint8)
    return grey, [row[0] for row in rows], [row[1] for row in rows]


def write(home: Path, part: str) -> Path:
    pictures, names, captions = read(part)
    (home / part).mkdir(parents=True, exist_ok=True)
    for picture, name in zip(pictures, names, strict=True):
        write_picture(home / part / name, picture)
    paths = [f"{part}/{name}" for name in names]
    return typed.write_pairs(home / f"{part}.tsv", zip(paths, captions, strict=True))


def nearest_captions() -> list[str]:
    (train, _, captions), (test, _, _) = read("train"), read("test")
    known = train.reshape(len(train), -1).astype(np.float32)
    return [
        captions[int(((known - picture.reshape(1, -1).astype(np.float32)) ** 2).sum(axis=1).argmin())]
        for picture in test
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--threads", type=int, default=0, help="of the training; 0 takes all")
    add_record(parser)
    args = parser.parse_args()
    files = {part: write(args.out, part) for part in ("train", "dev", "test")}
    model, settings = args.out / "model", HERE / "captions" / "attention.toml"
    threads = f"training.threads={args.threads}"
    typed.train(model, settings, files["train"], "--valid", files["dev"], threads)
    captions = [caption for _, caption in typed.pairs(files["test"])]
    wanted = typed.write(args.out / "test.captions", captions)
    nearest = typed.write(args.out / "test.nearest", nearest_captions())
    rows = []
    for name, words, minutes in (
        ("nearest picture", [wanted, wanted, "--hyp", nearest], 0.0),
        ("attention", [model, files["test"]], RunLog(model).minutes),
    ):
        found = typed.score(*words, "--metrics", "bleu", "exact_match")
        rows.append([name, f"{minutes:.1f}", f"{found['bleu']:.1f}", f"{found['exact_match']:.1f}"])
    if args.record:  # those of the model, which is scored last
        record("captions.exact", round(found["exact_match"], 1), "%")
        record("captions.bleu", round(found["bleu"], 1), "BLEU")
    typed.table(["caption by", "minutes", "BLEU", "exactly right, %"], rows)


if __name__ == "__main__":
    main()
