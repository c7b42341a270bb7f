"""Constant memory: `dragoman train` on ten times as many pairs must not need more of it, nor slow down.

    python -m benchmarks.scale.constant_memory FOLDER [--pairs 1000000 10000000] [--updates 500] [--hold-out]

Made-up pairs of about twelve words a side are written below FOLDER (corpus and store: some 300 bytes a
pair) and deleted again. Each size is trained on in a process of its own; the peak of its resident memory is
read for each phase apart: learning the vocabulary, building the store, training. Beside the rate of
building stands what the tokeniser alone does with the same lines, threads and machine. Passes where the
larger corpus needs at most 10 % more memory, all stays below 1.5 GB beyond the model, and building does
50,000 pairs/s a core, or 90 % of what the tokeniser can.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.results import add_record, record
from dragoman.data.gc_pause import gc_paused
from dragoman.data.pair import blocks
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.text.build import load as load_text

WORDS = 20_000
LONGEST = 40
CHUNK = 100_000  # pairs written at a time
TIMED = 200_000  # pairs the tokeniser alone is timed on
VALID = 500
COPIES = 5  # of the parameters, 4 bytes each: weights, working copy, gradient and Adam's two
MOST_GROWTH = 1.10
MOST_BYTES = 1.5e9
PER_CORE = 50_000
OF_TOKENISER = 0.90
SETTINGS = (
    "model.preset=transformer-tiny",
    "text.size=8000",
    "text.sample_lines=200000",
    "training.batch_tokens=1024",
    "training.valid_decode=20",
    "training.validate_every=250",
    "training.checkpoint_every=250",
)


@dataclass
class Process:
    """A running process as Linux sees it."""

    pid: int

    def peak(self) -> int:
        """The most bytes resident since `forget_peak`."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    def forget_peak(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5", encoding="ascii")

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Rate:
    """Pairs by the clock and by the processor, between the first and the last note."""

    notes: list[tuple[int, float, float]] = field(default_factory=list)  # pairs, wall and processor seconds

    def note(self, pairs: int, cpu_seconds: float) -> None:
        self.notes = [*self.notes[:1], (pairs, time.perf_counter(), cpu_seconds)]

    @property
    def per_second(self) -> float:
        return (self.notes[-1][0] - self.notes[0][0]) / (self.notes[-1][1] - self.notes[0][1])

    @property
    def per_core(self) -> float:
        """Pairs in a second of one core's work."""
        return (self.notes[-1][0] - self.notes[0][0]) / (self.notes[-1][2] - self.notes[0][2])


@dataclass
class Measured:
    pairs: int
    peaks: dict[str, int] = field(default_factory=dict)
    build: Rate = field(default_factory=Rate)
    tokeniser: Rate = field(default_factory=Rate)
    parameters: int = 0
    seconds: float = 0.0

    @property
    def beyond_model(self) -> int:
        return max(self.peaks.values()) - self.parameters * 4 * COPIES


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the corpora and runs are written, then deleted")
    parser.add_argument(
        "--pairs", type=int, nargs=2, default=[1_000_000, 10_000_000], metavar=("FEW", "MANY")
    )
    parser.add_argument("--updates", type=int, default=500)
    parser.add_argument("--hold-out", action="store_true", help="give no validation files")
    add_record(parser)
    args = parser.parse_args()
    measured = []
    for pairs in args.pairs:
        folder = args.folder / f"constant-memory-{pairs}"
        try:
            measured.append(measure(folder, pairs, args.updates, args.hold_out))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(row(measured[-1]), file=sys.stderr)
    verdict = judge(*measured)
    print(json.dumps(verdict))
    if args.record:
        for key, each in zip(("million", "ten"), measured, strict=True):
            record(f"constant_memory.{key}", round(max(each.peaks.values()) / 1e9, 2), "GB")
        record("constant_memory.store", round(measured[-1].build.per_second), "pairs/s")
    return 0 if verdict["passed"] else 1


def measure(folder: Path, pairs: int, updates: int, hold_out: bool) -> Measured:
    files = write_corpus(folder, "train", pairs, seed=1)
    valid = [] if hold_out else ["--valid", *map(str, write_corpus(folder, "valid", VALID, seed=2))]
    command = [sys.executable, "-m", "dragoman", "train", "--json", "--yes", "-o", str(folder / "run")]
    command += [*SETTINGS, f"training.updates={updates}", *valid, "--", *map(str, files)]
    measured = watch(command, folder / "log", pairs)
    measured.tokeniser = tokeniser_rate(files, folder / "run" / "store" / "text")
    return measured


def watch(command: list[str], log: Path, pairs: int) -> Measured:
    """Follow the events of a run, and read its memory where one phase ends and the next begins."""
    measured = Measured(pairs)
    start = time.perf_counter()
    with log.open("w") as stderr, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr) as child:
        process = Process(child.pid)

        def end_of(phase: str) -> None:
            measured.peaks[phase] = process.peak()
            process.forget_peak()

        for line in child.stdout or ():
            event = json.loads(line)
            match event["event"]:
                case "prepare":
                    if not measured.build.notes:
                        end_of("learn")
                    measured.build.note(event["pairs"], process.cpu_seconds())
                    if event["pairs"] == pairs:
                        end_of("build")
                case "start":
                    measured.parameters = event["parameters"]
                case "finished":
                    end_of("train")
    if child.returncode:
        raise SystemExit(f"{' '.join(command)}\n{log.read_text()[-2000:]}")
    measured.seconds = time.perf_counter() - start
    return measured


def tokeniser_rate(files: list[Path], text: Path) -> Rate:
    """What encoding alone would do, the lines being there already."""
    pair = load_text(text)
    lines = list(blocks(islice(open_pairs(files), TIMED)))
    sides = [([p.src for p in block], [p.tgt for p in block]) for block in lines]
    rate = Rate()
    with gc_paused():
        rate.note(0, time.process_time())
        for src, tgt in sides:
            pair.src.encode_batch(src)
            pair.tgt.encode_batch(tgt)
        rate.note(sum(len(block) for block in lines), time.process_time())
    return rate


def write_corpus(folder: Path, name: str, pairs: int, seed: int) -> list[Path]:
    """`pairs` random sentences, and each again in the words of another language."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}.src", folder / f"{name}.tgt"]
    rng = np.random.default_rng(seed)
    tables = [vocabulary(language) for language in (1, 2)]
    with files[0].open("wb") as src, files[1].open("wb") as tgt:
        for start in range(0, pairs, CHUNK):
            words = sentences(rng, min(CHUNK, pairs - start)).tolist()
            for file, table in zip((src, tgt), tables, strict=True):
                file.write(b"".join(map(table.__getitem__, words)))
    return files


def sentences(rng: np.random.Generator, count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Word numbers by Zipf's law, sentence after sentence; one with WORDS added ends its sentence."""
    lengths = np.clip(rng.normal(12, 4, count).round().astype(np.int64), 2, LONGEST)
    words = (WORDS ** rng.random(int(lengths.sum()))).astype(np.int64) - 1
    words[np.cumsum(lengths) - 1] += WORDS
    return words


def vocabulary(language: int) -> list[bytes]:
    """Words of one to five syllables, short ones first: each with a space, then each with a newline."""
    rng = np.random.default_rng(language)
    letters = rng.permutation(list("bcdfghjklmnprstvwz")), rng.permutation(list("aeiouäöü"))
    syllables = [c + v for c in letters[0] for v in letters[1]] + [
        c + v + "n" for c in letters[0] for v in "aei"
    ]
    words: dict[str, None] = {}
    while len(words) < WORDS:
        size = 1 + min(4, 5 * len(words) // WORDS + int(rng.integers(2)))
        words["".join(rng.choice(syllables, size))] = None
    return [word.encode() + b" " for word in words] + [word.encode() + b"\n" for word in words]


def row(m: Measured) -> str:
    peaks = "  ".join(f"{phase} {peak / 1e6:,.0f} MB" for phase, peak in m.peaks.items())
    return (
        f"{m.pairs:>12,} pairs  {peaks}  beyond the model {m.beyond_model / 1e6:,.0f} MB  "
        f"build {m.build.per_second:,.0f}/s ({m.build.per_core:,.0f}/s a core)  "
        f"tokeniser alone {m.tokeniser.per_second:,.0f}/s ({m.tokeniser.per_core:,.0f}/s a core)  "
        f"{m.seconds:,.0f} s in all"
    )


def judge(few: Measured, many: Measured) -> dict[str, object]:
    growth = {phase: round(many.peaks[phase] / few.peaks[phase], 3) for phase in many.peaks}
    share = many.build.per_second / many.tokeniser.per_second
    fast = many.build.per_core >= PER_CORE
    small = max(few.beyond_model, many.beyond_model) <= MOST_BYTES
    return {
        "benchmark": "constant_memory",
        "pairs": [few.pairs, many.pairs],
        "peak_mb": [{phase: round(peak / 1e6) for phase, peak in m.peaks.items()} for m in (few, many)],
        "beyond_model_mb": [round(m.beyond_model / 1e6) for m in (few, many)],
        "growth": growth,
        "build_pairs_per_second": round(many.build.per_second),
        "build_pairs_per_core_second": round(many.build.per_core),
        "tokeniser_pairs_per_second": round(many.tokeniser.per_second),
        "tokeniser_pairs_per_core_second": round(many.tokeniser.per_core),
        "share_of_tokeniser": round(share, 3),
        "limit": "50,000 pairs/s a core" if fast else "the tokeniser",
        "passed": max(growth.values()) <= MOST_GROWTH and small and (fast or share >= OF_TOKENISER),
    }


if __name__ == "__main__":
    sys.exit(main())
