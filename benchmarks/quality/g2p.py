"""Letters to phonemes in 20 languages: SIGMORPHON 2021, the share of test words that are wrong (WER).

    python -m benchmarks.quality.g2p OUT [--size medium low] [--languages ita ice …] [--seeds 1 2 3]

Trains g2p/SIZE.toml with each seed on each language; the models of a language are an ensemble, as
those of the published baseline are (ensembled neural transducers: medium 10.64 %, low 25.10 % on average;
Ashby et al. 2021). The files are written anew with spaces between the letters, as they are between the
phones; syllables of Hangul are taken apart into their letters. OUT keeps what is done.
"""

from __future__ import annotations

import argparse
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

from benchmarks import corpora, typed
from benchmarks.results import add_record, record
from benchmarks.run_log import RunLog

HERE = Path(__file__).resolve().parent
DATA = corpora.DATA / "sigmorphon2021-g2p"
PUBLISHED = {"medium": 10.64, "low": 25.10}  # WER of the baseline, mean over ten languages
DECOMPOSED = {"kor"}  # written in syllables


def letters(word: str, language: str) -> str:
    return " ".join(unicodedata.normalize("NFD", word) if language in DECOMPOSED else word)


def converted(home: Path, size: str, language: str) -> dict[str, Path]:
    """The three files of a language, with spaces between letters."""
    found = {}
    for part in ("train", "dev", "test"):
        rows = typed.pairs(DATA / size / f"{language}_{part}.tsv")
        texts = [(letters(word, language), phones) for word, phones in rows]
        found[part] = typed.write_pairs(home / f"{part}.tsv", texts)
    return found


def word_errors(models: list[Path], test: Path) -> float:
    words, phones = zip(*typed.pairs(test), strict=True)
    source = typed.write(test.with_suffix(".letters"), words)
    return 100.0 - typed.percent_right(typed.run(models, source), phones)


def measure(args: argparse.Namespace, size: str, language: str) -> tuple[list[float], float, float]:
    """Word error rates of each model, that of all together, and the minutes of all trainings."""
    home = args.out / size / language
    files, models = converted(home, size, language), [home / f"seed-{seed}" for seed in args.seeds]
    for seed, model in zip(args.seeds, models, strict=True):
        options = [f"training.seed={seed}", f"training.threads={args.threads}"]
        settings = HERE / "g2p" / f"{size}.toml"
        typed.train(model, settings, files["train"], "--valid", files["dev"], *options, budget=args.budget)
    alone = [word_errors([model], files["test"]) for model in models]
    together = word_errors(models, files["test"]) if len(models) > 1 else alone[0]
    return alone, together, sum(RunLog(model).minutes for model in models)


def rows(args: argparse.Namespace) -> Iterator[list[str]]:
    for size in args.size:
        known = sorted(file.name.removesuffix("_train.tsv") for file in (DATA / size).glob("*_train.tsv"))
        chosen = [language for language in known if language in (args.languages or known)]
        found = []
        for language in chosen:
            alone, together, minutes = measure(args, size, language)
            found.append((fmean(alone), together))
            yield [size, language, f"{minutes:.0f}", f"{fmean(alone):.1f} %", f"{together:.1f} %", ""]
        if found:
            means = [f"{fmean(column):.2f} %" for column in zip(*found, strict=True)]
            bound = f"{PUBLISHED[size]:.2f} %" if chosen == known else ""
            if args.record and chosen == known:
                note = f"{len(args.seeds)} seeds, each alone"
                record(f"g2p.{size}", round(fmean(alone for alone, _ in found), 1), "%", note=note)
            yield [size, f"mean of {len(found)}", "", *means, bound]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", nargs="+", default=list(PUBLISHED), choices=PUBLISHED)
    parser.add_argument("--languages", nargs="+", help="default: all ten of each size")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument(
        "--budget", help="of each training, such as 10m (default: the updates of its settings)"
    )
    parser.add_argument("--threads", type=int, default=0, help="of each training; 0 takes all")
    head = ["size", "language", "minutes", "WER, mean of seeds", "WER, ensemble", "published"]
    add_record(parser)
    args = parser.parse_args()
    typed.table(head, rows(args))


if __name__ == "__main__":
    main()
