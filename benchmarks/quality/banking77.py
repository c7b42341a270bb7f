"""Banking77: the intent of a sentence, one of 77, by poolings of an LSTM and by two sentence encoders.

    python -m benchmarks.quality.banking77 OUT [--models dense multi_kernel query]

Each model is trained with 500 lines of the training file held out for validation, then scored on the test
file. OUT keeps what is done. The last column is the p-value of a paired bootstrap against the learned query.
Words and punctuation are separated first. Fine-tuned BERT has 93.66 % (Casanueva et al. 2020).
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks import corpora, typed
from benchmarks.results import add_record, record
from benchmarks.run_log import RunLog
from dragoman.metrics.bootstrap import p_value
from dragoman.metrics.exact_match import exact_match

HERE = Path(__file__).resolve().parent
DATA = corpora.DATA / "banking77"
MODELS = {
    "query": ("lstm", "model.pooling.kind=query"),
    "query, scaled dot": ("lstm", "model.pooling.kind=query", "model.pooling.score=scaled-dot"),
    "mean": ("lstm", "model.pooling.kind=mean"),
    "max": ("lstm", "model.pooling.kind=max"),
    "last": ("lstm", "model.pooling.kind=last"),
    "dense": ("dense",),
    "multi_kernel": ("multi_kernel",),
}


def prepared(out: Path, split: str) -> Path:
    """The text and the label of each line, with words and punctuation apart."""
    found = [
        (" ".join(re.findall(r"\w+|[^\w\s]", text)), label)
        for label, text in typed.pairs(DATA / f"{split}.tsv")
    ]
    return typed.write_pairs(out / f"{split}.tsv", found)


def rows(args: argparse.Namespace) -> Iterator[list[str]]:
    files = {split: prepared(args.out, split) for split in ("train", "test")}
    wanted = [label for _, label in typed.pairs(files["test"])]
    first: list[str] = []
    for name in args.models:
        settings, *options = MODELS[name]
        out = args.out / name.replace(", ", "-").replace(" ", "-")
        options = [*options, "data.hold_out=500", f"training.threads={args.threads}"]
        typed.train(out, HERE / "banking77" / f"{settings}.toml", files["train"], *options)
        saved = out / "test.labels"
        report, log = typed.score(out, files["test"], "--save", saved), RunLog(out)
        outputs = typed.lines(saved)
        first = first or outputs
        ours, theirs = (exact_match(side, wanted) for side in (outputs, first))
        p = p_value(ours.samples() - theirs.samples(), ours.percent - theirs.percent)
        low, high = report["intervals"]["accuracy"]
        right = f"{report['accuracy']:.2f} % ({low:.2f} – {high:.2f})"
        if args.record and "," not in name:
            what = f"Banking77, 77 intents: test accuracy, trained from scratch: {name.replace('_', '-')}"
            interval = (round(low, 1), round(high, 1))
            record(f"banking77.{name}", round(report["accuracy"], 1), "%", interval, what=what)
        yield [
            name,
            f"{log.parameters:,}",
            f"{log.minutes:.0f}",
            right,
            f"{report['macro_f1']:.2f}",
            f"{p:.3f}",
        ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--threads", type=int, default=0, help="of each training; 0 takes all")
    add_record(parser)
    args = parser.parse_args()
    head = ["model", "parameters", "minutes", "accuracy (95 %)", "macro-F1", f"p against {args.models[0]}"]
    typed.table(head, rows(args))


if __name__ == "__main__":
    main()
