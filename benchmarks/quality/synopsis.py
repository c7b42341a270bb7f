"""One-line summaries: Debian's package descriptions to their synopses, ROUGE against the first words.

    python -m benchmarks.quality.synopsis OUT [--models transformer lstm] [--budget 60m]

Trains each settings file of synopsis/; the baselines are the first 8 and 12 words of each
description. OUT keeps what is done.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks import corpora, typed
from benchmarks.run_log import RunLog

HERE = Path(__file__).resolve().parent
DATA = corpora.DATA / "debian-synopsis"
MODELS = ("transformer", "lstm")
METRICS = ("rouge_1", "rouge_2", "rouge_l")


def files(part: str) -> list[Path]:
    return [DATA / f"{part}.src", DATA / f"{part}.tgt"]


def first_words(text: str, count: int) -> str:
    return " ".join(text.split()[:count])


def scores(*words: str | Path) -> list[str]:
    report = typed.score(*words, "--metrics", *METRICS)
    return [f"{report[name]:.1f}" for name in METRICS]


def rows(args: argparse.Namespace) -> Iterator[list[str]]:
    source, target = files("test")
    for count in (8, 12):
        texts = (first_words(text, count) for text in typed.lines(source))
        output = typed.write(args.out / f"first-{count}.txt", texts)
        yield [f"first {count} words", "", *scores(target, "--hyp", output)]
    for name in args.models:
        out = args.out / name
        settings, threads = HERE / "synopsis" / f"{name}.toml", f"training.threads={args.threads}"
        typed.train(out, settings, *files("train"), "--valid", *files("dev"), threads, budget=args.budget)
        yield [name, f"{RunLog(out).minutes:.0f}", *scores(out, source, target)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--budget", default="60m", help="of each training (default: 60m)")
    parser.add_argument("--threads", type=int, default=0, help="of each training; 0 takes all")
    args = parser.parse_args()
    typed.table(["system", "minutes", "ROUGE-1", "ROUGE-2", "ROUGE-L"], rows(args))


if __name__ == "__main__":
    main()
