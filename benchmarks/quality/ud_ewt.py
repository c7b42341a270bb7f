"""UD English EWT: the share of words with the right universal part of speech, without pre-trained vectors.

    python -m benchmarks.quality.ud_ewt OUT

The baselines are counts: the most frequent tag of each word, and a hidden Markov model. Published: 94.2 with
logistic regression (on dev), 97.4 with BERT (on dev), 96.94 with RoBERTa (spaCy, on test).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import corpora, typed
from benchmarks.results import add_record, record
from benchmarks.run_log import RunLog

HERE = Path(__file__).resolve().parent
DATA = corpora.DATA / "ud-ewt"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--threads", type=int, default=0, help="of the training; 0 takes all")
    add_record(parser)
    args = parser.parse_args()
    out = args.out / "tags"
    held = ("--valid", DATA / "dev.tsv")
    settings = HERE / "ud_ewt" / "tags.toml"
    typed.train(out, settings, DATA / "train.tsv", f"training.threads={args.threads}", *held)
    report, log = typed.score(out, DATA / "test.tsv"), RunLog(out)
    low, high = report["intervals"]["accuracy"]
    if args.record:
        interval, note = (round(low, 1), round(high, 1)), f"{log.minutes:.0f} minutes, one seed"
        record("ud_ewt.tags", round(report["accuracy"], 1), "%", interval, note)
    rows = [[name, f"{row['accuracy']:.2f} %", ""] for name, row in report["baselines"].items()]
    model = f"LSTM over spelled words, {log.parameters:,} parameters, {log.minutes:.0f} minutes"
    rows.append([model, f"{report['accuracy']:.2f} %", f"{low:.2f} – {high:.2f}"])
    typed.table(["model", "UPOS right", "95 %"], rows)


if __name__ == "__main__":
    main()
