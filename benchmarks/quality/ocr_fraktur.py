"""OCR of Fraktur: lines of German books of the 19th century, character error rate on books never trained on.

    python -m benchmarks.quality.ocr_fraktur OUT [--threads 2] [training.updates=4000 …]

OCR engines with models for Fraktur reach about 1 to 3 % on such print. An unfinished training is resumed, a
finished one is only scored.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks import corpora
from benchmarks.quality.ctc_run import train_and_score
from benchmarks.results import add_record, record
from dragoman.data.signals.picture import write_picture

HERE = Path(__file__).resolve().parent
DATA = corpora.DATA / "ocr-fraktur"
SPLITS = {"train": "train", "dev": "valid", "test": "test"}
PAPER = 14  # the lightest of the grey levels


def write_lines(folder: Path, split: str, name: str) -> None:
    """Write the lines of a split as pictures, and the list of them."""
    with np.load(DATA / f"{split}.npz") as stored:
        rows, offsets = stored["rows"], stored["offsets"]
    texts = (DATA / f"{split}.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
    (folder / name).mkdir(parents=True)
    lines = []
    for number, text in enumerate(texts):
        packed = rows[offsets[number] : offsets[number + 1]].T
        picture = np.empty((2 * len(packed), packed.shape[1]), np.uint8)
        picture[0::2], picture[1::2] = packed >> 4, packed & 15
        write_picture(
            folder / name / f"{number}.png", (picture.astype(np.uint16) * 255 // PAPER).astype(np.uint8)
        )
        lines.append(f"{name}/{number}.png\t{text}\n")
    (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("settings", nargs="*", help="such as training.updates=4000")
    parser.add_argument("--threads", type=int, default=0, help="0 takes all")
    add_record(parser)
    args = parser.parse_args()
    data = args.out / "data"
    if not (data / "test.tsv").exists():
        for split, name in SPLITS.items():
            write_lines(data, split, name)
    more = [f"training.threads={args.threads}", *args.settings]
    found = train_and_score(HERE / "ctc" / "ocr_fraktur.toml", data, args.out / "run", more)
    if args.record:
        note = f"beam of 8; {found['minutes']:.0f} minutes, one seed"
        record("ocr_fraktur", round(found["CER"]["test, beam 8"], 1), "%", note=note)
    print(json.dumps({"benchmark": "ocr_fraktur", **found}))


if __name__ == "__main__":
    main()
