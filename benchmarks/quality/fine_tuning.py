"""Is a model that was trained on other data a better start than new weights? English to German.

    python -m benchmarks.quality.fine_tuning OUT MODEL [--pairs 3000] [--budget 2m] [--rates 1 0.5 0.25 0.06]

MODEL was trained on Tatoeba. It is fine-tuned on a part of Multi30k (`--from MODEL`), within the budget,
once for each share of the default learning rate of new weights; another model learns from the same pairs
and in the same time alone. BLEU is measured on test2016 and on 1,000 test pairs of Tatoeba, which show how
much of the old domain is forgotten.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks import corpora, typed
from dragoman.config.auto_preset import default_learning_rate
from dragoman.config.init_from import settings_file
from dragoman.config.load import load as load_settings

DATA = corpora.DATA
OLD, NEW = DATA / "tatoeba-deu-eng", DATA / "multi30k"
TESTS = 1000  # pairs of Tatoeba


def first_lines(file: Path, count: int, out: Path) -> Path:
    return typed.write(out, typed.lines(file)[:count])


def learning_rate(model: Path) -> float:
    """Return the learning rate of new weights that `train` chooses for a network like that of the model."""
    return default_learning_rate(load_settings(settings_file(str(model))).model.encoder.model_dump())


def rows(args: argparse.Namespace) -> Iterator[list[str]]:
    data = args.out / "data"
    train = [first_lines(NEW / f"train.{side}", args.pairs, data / f"train.{side}") for side in ("en", "de")]
    old = [first_lines(OLD / f"test.{side}", TESTS, data / f"old.{side}") for side in ("eng", "deu")]
    new = [NEW / f"test2016.{side}" for side in ("en", "de")]

    def bleu(model: Path) -> list[str]:
        return [f"{typed.score(model, *test)['bleu']:.1f}" for test in (new, old)]

    yield ["the model as it is", *bleu(args.model)]
    options: list[str | Path] = [
        *train,
        "--valid",
        NEW / "val.en",
        NEW / "val.de",
        f"training.threads={args.threads}",
    ]
    typed.train(args.out / "new", None, *options, budget=args.budget)
    yield [f"new weights, {args.budget}", *bleu(args.out / "new")]
    for share in args.rates:
        out, lr = args.out / f"rate-{share:g}", share * learning_rate(args.model)
        typed.train(out, None, *options, f"training.lr={lr}", "--from", str(args.model), budget=args.budget)
        yield [f"fine-tuned, {args.budget}, learning rate × {share:g}", *bleu(out)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--pairs", type=int, default=3000)
    parser.add_argument("--budget", default="2m")
    parser.add_argument("--rates", type=float, nargs="+", default=[1.0, 0.5, 0.25, 0.06])
    parser.add_argument("--threads", type=int, default=0, help="of each training; 0 takes all")
    typed.table(["trained on Tatoeba", "BLEU, Multi30k", "BLEU, Tatoeba"], rows(parser.parse_args()))


if __name__ == "__main__":
    main()
