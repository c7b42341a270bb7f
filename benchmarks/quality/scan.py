"""SCAN: commands to actions, the share of test commands whose actions are all right.

    python -m benchmarks.quality.scan OUT [--models lstm transformer] [--splits simple addprim_jump]

Trains each settings file of scan/ on each split, with 300 pairs of the training file held out for
validation, then scores the test file. OUT keeps what is done. Lake & Baroni (2018, arXiv 1711.00350) found
99.8 % on the simple split and 1.2 % where `jump` is combined with nothing in training.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks import corpora, typed
from benchmarks.results import add_record, record
from benchmarks.run_log import RunLog

HERE = Path(__file__).resolve().parent
DATA = corpora.DATA / "scan"
MODELS, SPLITS = ("lstm", "transformer"), ("simple", "addprim_jump")


def rows(args: argparse.Namespace) -> Iterator[list[str]]:
    for split in args.splits:
        for name in args.models:
            out = args.out / f"{name}-{split}"
            options = ["data.hold_out=300", f"training.threads={args.threads}"]
            settings = HERE / "scan" / f"{name}.toml"
            typed.train(out, settings, DATA / f"{split}.train.tsv", *options, budget=args.budget)
            report, log = typed.score(out, DATA / f"{split}.test.tsv"), RunLog(out)
            low, high = report["intervals"]["exact_match"]
            right = f"{report['exact_match']:.2f} % ({low:.2f} – {high:.2f})"
            if args.record and name == "lstm":
                key = "simple" if split == "simple" else "jump"
                interval = (round(low, 2), round(high, 2))
                unit = f"% of {len(typed.lines(DATA / f'{split}.test.tsv')):,}"
                record(f"scan.{key}", round(report["exact_match"], 2), unit, interval)
            yield [split, name, f"{log.parameters:,}", f"{log.minutes:.0f}", right]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--splits", nargs="+", default=SPLITS, choices=SPLITS)
    parser.add_argument(
        "--budget", help="of each training, such as 10m (default: the updates of its settings)"
    )
    parser.add_argument("--threads", type=int, default=0, help="of each training; 0 takes all")
    add_record(parser)
    args = parser.parse_args()
    typed.table(["split", "model", "parameters", "minutes", "exact match (95 %)"], rows(args))


if __name__ == "__main__":
    main()
