"""Correction of learners' English: JFLEG, with a model that has seen only errors made by rules.

    python -m benchmarks.quality.jfleg OUT [--budget 60m] [--copies 2]

Right sentences are those of Tatoeba, of dialogues and of English web texts (UD EWT), joined to lines as long
as JFLEG's; `english_errors.py` puts errors into them, in `--copies` ways each. A model of
jfleg/transformer.toml learns to undo them. An output that changes more than a certain share of the
words is not trusted, and the source is kept; the share is chosen on the dev set. GLEU of the
source: 40.54, of a human: 62.37. OUT keeps what is done.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from rapidfuzz.distance import Levenshtein

from benchmarks import corpora, typed
from benchmarks.quality.english_errors import corrupt, tokenised
from benchmarks.results import add_record, record
from benchmarks.run_log import RunLog

HERE = Path(__file__).resolve().parent
DATA = corpora.DATA
CHANGED = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)  # shares to try
REFERENCES = 4
LENGTH = 19  # mean number of words in a line of JFLEG


def sentences() -> Iterator[str]:
    for text in typed.lines(DATA / "tatoeba-deu-eng" / "train.eng"):
        yield tokenised(text)
    for dialogue in typed.lines(DATA / "selfdialogue" / "train.txt"):
        yield from (tokenised(turn) for turn in dialogue.split("\t") if turn.endswith((".", "?", "!")))
    for sentence in (DATA / "ud-ewt" / "train.tsv").read_text(encoding="utf-8").split("\n\n"):
        yield " ".join(word.split("\t")[0] for word in sentence.splitlines())


def joined(texts: Sequence[str], rng: random.Random) -> Iterator[str]:
    """Lines of one or more sentences: a model does not learn from short ones to copy long ones."""
    line: list[str] = []
    wanted = rng.expovariate(1 / LENGTH)
    for text in texts:
        line += text.split()
        if len(line) >= wanted:
            yield " ".join(line)
            line, wanted = [], rng.expovariate(1 / LENGTH)


def training_files(home: Path, copies: int) -> list[Path]:
    rng = random.Random(1)
    texts = [text for text in dict.fromkeys(sentences()) if text]
    right: list[str] = []
    for _ in range(copies):
        rng.shuffle(texts)
        right += joined(texts, rng)
    wrong = [corrupt(text, rng) for text in right]
    return [typed.write(home / "train.wrong", wrong), typed.write(home / "train.right", right)]


def changed(source: str, output: str) -> float:
    """The share of words that differ."""
    return Levenshtein.normalized_distance(source.split(), output.split())


def trusted(sources: list[str], outputs: list[str], most: float) -> list[str]:
    return [out if changed(src, out) <= most else src for src, out in zip(sources, outputs, strict=True)]


def gleu(part: str, outputs: list[str], home: Path) -> float:
    first, *others = (DATA / "jfleg" / f"{part}.ref{number}" for number in range(REFERENCES))
    more = [word for file in others for word in ("--ref", file)]
    output = typed.write(home / f"{part}.output", outputs)
    source = DATA / "jfleg" / f"{part}.src"
    return float(
        typed.score(source, first, *more, "--hyp", output, "--metrics", "napoles_gleu")["napoles_gleu"]
    )


def rows(args: argparse.Namespace) -> Iterator[list[str]]:
    model = args.out / "model"
    if not (model / "model").exists():
        files = training_files(args.out, args.copies)
        settings, threads = HERE / "jfleg" / "transformer.toml", f"training.threads={args.threads}"
        typed.train(model, settings, *files, threads, budget=args.budget)
    sources = {
        part: [line.strip() for line in typed.lines(DATA / "jfleg" / f"{part}.src")]
        for part in ("dev", "test")
    }
    outputs = {
        part: typed.run([model], typed.write(args.out / f"{part}.source", texts))
        for part, texts in sources.items()
    }
    found = {most: gleu("dev", trusted(sources["dev"], outputs["dev"], most), args.out) for most in CHANGED}
    best = max(found, key=lambda most: found[most])
    for most in dict.fromkeys((0.0, 1.0, best)):
        name = {0.0: "source", 1.0: "model"}.get(most, f"model, up to {most:.0%} changed")
        test = gleu("test", trusted(sources["test"], outputs["test"], most), args.out)
        if args.record and most in (0.0, best):
            record("jfleg.model" if most else "jfleg.source", round(test, 2), "GLEU")
        yield [name, f"{RunLog(model).minutes:.0f}", f"{found[most]:.2f}", f"{test:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--copies", type=int, default=2, help="of each sentence, with other errors")
    parser.add_argument("--budget", default="60m", help="of the training (default: 60m)")
    parser.add_argument("--threads", type=int, default=0, help="of the training; 0 takes all")
    add_record(parser)
    args = parser.parse_args()
    typed.table(["output", "minutes", "GLEU, dev", "GLEU, test"], rows(args))


if __name__ == "__main__":
    main()
