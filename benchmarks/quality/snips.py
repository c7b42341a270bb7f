"""SNIPS: the slots and the intent of a request, jointly: span F1 of the slots, accuracy of the intent.

    python -m benchmarks.quality.snips OUT

The baselines are counts: the most frequent tag of each word, and a hidden Markov model. Published: 88.8 and
97.0 (Goo et al. 2018), 97.0 and 98.6 with BERT (Chen et al. 2019).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import corpora, typed
from benchmarks.results import add_record, record
from benchmarks.run_log import RunLog

HERE = Path(__file__).resolve().parent
DATA = corpora.DATA / "snips"


def files(split: str) -> list[str]:
    return [str(DATA / f"{split}.{kind}") for kind in ("words", "slots", "intent")]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--threads", type=int, default=0, help="of the training; 0 takes all")
    add_record(parser)
    args = parser.parse_args()
    words = [*files("train"), f"training.threads={args.threads}", "--valid", *files("dev")]
    typed.train(args.out / "crf", HERE / "snips" / "crf.toml", *words)
    report, log = typed.score(args.out / "crf", *files("test")), RunLog(args.out / "crf")
    if args.record:
        note = f"{log.parameters:,} parameters, {log.minutes:.0f} minutes, one seed"
        record("snips.slots", round(report["span_f1"], 1), "span F1", note=note)
        record("snips.intent", round(report["intent"], 1), "%")
    head = f"CRF and max pooling, {log.parameters:,} parameters, {log.minutes:.0f} minutes"
    rows = {**report["baselines"], head: report}
    keys = ("span_f1", "intent", "accuracy")
    shown = ([name, *(f"{row[key]:.2f}" for key in keys)] for name, row in rows.items())
    typed.table(["model", "span F1", "intent", "tags right"], shown)


if __name__ == "__main__":
    main()
