"""How well does attention align words? AER against gold standards, beside the diagonal and IBM Model 1.

    python -m benchmarks.quality.alignment_error_rate OUT [NAME …] [--pair deen enfr] [--budget 30m]
        [--training N] [--copies N]

Each settings file of alignment_error_rate/ (recurrent, transformer, guided; all by default) is
trained within the budget on the same Tatoeba pairs, tokenised and lower-cased as the gold standards are, and
on as many lines of several pairs joined, because the gold sentences are three times as long as Tatoeba's. The
model then reads each gold pair: every target word is linked to the source word with the greatest weight. The
rows are the layers of attention, the same taken one step later ("next"), and input × gradient. IBM Model 1
and fast_align's model, which guides the guided one, are trained on the same pairs, not joined. Aligners
are usually trained on the very text that they align: with `--copies N`, all of them also learn from the gold
pairs, N times, though never from their links. Published figures, of aligners trained on 0.5 to 2 million
pairs of the domain and in both directions: fast_align 10.5 for en-fr.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from benchmarks import corpora, typed
from dragoman.analysis.aligners import diagonal, fast_align_links, ibm1_links
from dragoman.analysis.lexicon import Lexicon
from dragoman.analysis.model_alignment import model_alignments
from dragoman.inference.find_model import find_model
from dragoman.inference.runtimes.torch import load_torch_runtime
from dragoman.metrics.alignment_error_rate import (
    AlignmentScore,
    GoldAlignment,
    Link,
    alignment_score,
    read_gold,
)
from dragoman.models.diagonal_prior import diagonal_prior_of

HERE = Path(__file__).resolve().parent
DATA = corpora.DATA
CORPORA = {
    "deen": ("tatoeba-deu-eng", "{part}.deu", "{part}.eng"),
    "enfr": ("tatoeba-multi", "{part}.eng-fra.eng", "{part}.eng-fra.fra"),
}
MODELS = ("recurrent", "transformer", "guided")
JOINED_WORDS = (12, 40)  # of the sources that are joined
SEED = 1
Links = Sequence[Sequence[Link]]


class GoldPair(NamedTuple):
    src: str
    tgt: str
    gold: GoldAlignment

    @property
    def words(self) -> tuple[list[str], list[str]]:
        return self.src.split(), self.tgt.split()


def gold_pairs(name: str) -> Iterator[GoldPair]:
    """The pairs whose links are all within their words: the data has a few others."""
    home = DATA / "wordalign"
    texts, links = (typed.lines(home / f"{name}.{end}") for end in ("txt", "gold"))
    for text, line in zip(texts, links, strict=True):
        src, tgt = (" ".join(side.lower().split()) for side in text.split("|||"))
        pair = GoldPair(src, tgt, read_gold(line))
        S, T = map(len, pair.words)
        if all(i < S and j < T for i, j in pair.gold.possible):
            yield pair


def prepare(name: str, folder: Path, most: int | None, gold_texts: list[tuple[str, str]]) -> None:
    """Write the training and validation pairs, tokenised and in lower case."""
    corpus, *sides = CORPORA[name]
    tokenise = Tokenizer13a()  # type: ignore[no-untyped-call]
    for part, limit in (("train", most), ("dev", 500)):
        texts = [typed.lines(DATA / corpus / side.format(part=part))[:limit] for side in sides]
        pairs = [(tokenise(src.lower()), tokenise(tgt.lower())) for src, tgt in zip(*texts, strict=True)]
        if part == "train":
            write(folder / "joined", [*pairs, *joined(pairs), *gold_texts])
            pairs += gold_texts
        write(folder / part, pairs)


def joined(pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield all pairs, joined in random order to lines of random length."""
    draw = random.Random(SEED)
    line: list[tuple[str, str]] = []
    words, enough = 0, draw.randint(*JOINED_WORDS)
    for pair in draw.sample(pairs, len(pairs)):
        line.append(pair)
        words += len(pair[0].split())
        if words >= enough:
            yield " ".join(src for src, _ in line), " ".join(tgt for _, tgt in line)
            line, words, enough = [], 0, draw.randint(*JOINED_WORDS)


def write(file: Path, pairs: Sequence[tuple[str, str]]) -> None:
    for side, end in zip(zip(*pairs, strict=True), ("src", "tgt"), strict=True):
        typed.write(file.with_suffix(f".{end}"), side)


def baselines(data: Path, gold: Sequence[GoldPair]) -> dict[str, Links]:
    texts = [typed.lines(data / f"train.{end}") for end in ("src", "tgt")]
    pairs = [(src.split(), tgt.split()) for src, tgt in zip(*texts, strict=True)]
    ibm1, fast_align = Lexicon(pairs), Lexicon(pairs, prior=diagonal_prior_of)
    return {
        "diagonal": [diagonal(*map(len, pair.words)) for pair in gold],
        "IBM Model 1": [ibm1_links(*pair.words, ibm1) for pair in gold],
        "fast_align": [fast_align_links(*pair.words, fast_align) for pair in gold],
    }


def by_model(run: Path, gold: Sequence[GoldPair]) -> dict[str, Links]:
    runtime = load_torch_runtime(find_model(run))
    found = [model_alignments(runtime, pair.src, pair.tgt, saliency=True) for pair in gold]
    return {name: [one[name] for one in found] for name in found[0]}


def measure(name: str, home: Path, args: argparse.Namespace) -> dict[str, AlignmentScore]:
    data, gold = home / "data", list(gold_pairs(name))
    if not (data / "dev.tgt").exists():
        prepare(name, data, args.training, [(pair.src, pair.tgt) for pair in gold] * args.copies)
    found = baselines(data, gold)
    for model in args.names:
        train, valid = ([data / f"{part}.{end}" for end in ("src", "tgt")] for part in ("joined", "dev"))
        settings = HERE / "alignment_error_rate" / f"{model}.toml"
        typed.train(home / model, settings, *train, "--valid", *valid, budget=args.budget)
        found |= {f"{model}: {how}": links for how, links in by_model(home / model, gold).items()}
    wanted = [pair.gold for pair in gold]
    print(f"\n{name}: {len(gold)} pairs\n\n| links by | precision | recall | AER |\n|---|---|---|---|")
    scores = {how: alignment_score(links, wanted) for how, links in found.items()}
    for how, score in scores.items():
        print(f"| {how} | {score.precision:.1f} | {score.recall:.1f} | {score.aer:.1f} |", flush=True)
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MODELS))
    parser.add_argument("--pair", nargs="+", choices=sorted(CORPORA), default=sorted(CORPORA))
    parser.add_argument("--budget", default="30m", help="of each training")
    parser.add_argument("--training", type=int, metavar="N", help="training pairs (default: all)")
    parser.add_argument("--copies", type=int, default=0, metavar="N", help="of the gold pairs' text")
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in MODELS]
    if unknown:
        parser.error(f"there is no model {unknown[0]}: some of {', '.join(MODELS)}")
    args.names = args.names or list(MODELS)
    facts = {name: measure(name, args.out / name, args) for name in args.pair}
    shown = {name: {how: asdict(score) for how, score in rows.items()} for name, rows in facts.items()}
    print(json.dumps({"benchmark": "alignment_error_rate", "budget": args.budget, "scores": shown}))


if __name__ == "__main__":
    main()
