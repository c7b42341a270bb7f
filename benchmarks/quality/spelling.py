"""Spelling correction of words: the share of misspellings whose first answer is the right word.

    python -m benchmarks.quality.spelling OUT [--corpora codespell words] [--budget 40m]

`codespell` trains spelling/transformer.toml on codespell's dictionary. `words` adds misspellings,
made by the recipe `spelling`, of the words that occur twice or more in the English side of Tatoeba. No
misspelling of a test set is trained on, and no correct word of codespell's dev and test sets: these are words
that the model has never seen. Two shares are shown: of the first answer, and of the first of 20 answers that
is a word of a large text, twice or more often. Norvig's corrector, which knows the words of such a text, has
75 % of the set right that it was developed on, and 68 % of the other (norvig.com/spell-correct.html). OUT
keeps what is done.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks import corpora, typed
from benchmarks.results import add_record, record
from benchmarks.run_log import RunLog
from dragoman.data.recipes.spelling.generate import misspell
from dragoman.inference.model import Model, load

HERE = Path(__file__).resolve().parent
DATA = corpora.DATA
CORPORA = ("codespell", "words")
TESTS = {"codespell": "test.tsv", "norvig1": "extra/test.norvig1.tsv", "norvig2": "extra/test.norvig2.tsv"}
MADE = 6  # misspellings of each word
WORD = re.compile(r"[a-z]{3,}")
TEXTS = ["tatoeba-deu-eng/train.eng", "tatoeba-multi/train.eng-fra.eng", "tatoeba-multi/train.eng-nld.eng"]
TEXTS += ["selfdialogue/train.txt", "debian-synopsis/train.src", "debian-synopsis/train.tgt"]
TEXTS += ["multi30k-mono/train.en", "newstest/newstest2013.tok.eng", "newstest/newstest2014.tok.eng"]
TEXTS += ["newstest/newstest2019.eng"]
ANSWERS = 20


def training_pairs(corpus: str) -> list[typed.Pair]:
    folder = DATA / "spelling"
    tests = {name: typed.pairs(folder / file) for name, file in TESTS.items()}
    unseen = {word for _, word in typed.pairs(folder / "dev.tsv") + tests["codespell"]}
    found = typed.pairs(folder / "train.tsv")
    if corpus == "words":
        text = "\n".join(typed.lines(DATA / "tatoeba-deu-eng" / "train.eng"))
        found += made(Counter(WORD.findall(text.lower())), unseen)
    tested = {wrong for pairs in tests.values() for wrong, _ in pairs}
    return [(wrong, word) for wrong, word in found if wrong not in tested]


def made(counts: Counter[str], unseen: set[str]) -> list[typed.Pair]:
    """Misspellings that are no words themselves."""
    rng = random.Random(1)
    words = sorted(word for word, count in counts.items() if count > 1 and word not in unseen)
    pairs = {(misspell(word, rng), word) for word in words for _ in range(MADE)}
    return sorted((wrong, word) for wrong, word in pairs if wrong not in counts)


def words_of_texts() -> set[str]:
    counts: Counter[str] = Counter()
    for text in TEXTS:
        counts.update(re.findall("[a-z]+", (DATA / text).read_text(encoding="utf-8").lower()))
    return {word for word, count in counts.items() if count > 1}


def right(model: Model, name: str, known: set[str]) -> tuple[float, float]:
    """Per cent of first answers that are right, and of first answers that are words."""
    wrong, words = zip(*typed.pairs(DATA / "spelling" / TESTS[name]), strict=True)
    first = [result.text for result in model(list(wrong))]
    more = model(list(wrong), {"size": ANSWERS, "n_best": ANSWERS})
    answers = [[result.text, *(other.text for other in result.alternatives)] for result in more]
    a_word = [next((answer for answer in some if answer in known), some[0]) for some in answers]
    return typed.percent_right(first, words), typed.percent_right(a_word, words)


def rows(args: argparse.Namespace) -> Iterator[list[str]]:
    known = words_of_texts()
    for corpus in args.corpora:
        home, out = args.out / corpus, args.out / corpus / "model"
        pairs = training_pairs(corpus)
        train = typed.write_pairs(home / "train.tsv", pairs)
        settings, dev = HERE / "spelling" / "transformer.toml", DATA / "spelling" / "dev.tsv"
        threads = f"training.threads={args.threads}"
        typed.train(out, settings, train, "--valid", dev, threads, budget=args.budget)
        model = load(out)
        found = {name: right(model, name, known) for name in TESTS}
        shares = [" / ".join(f"{share:.1f} %" for share in both) for both in found.values()]
        for name, (first, a_word) in found.items() if args.record and corpus == "words" else ():
            record(f"spelling.{name}", round(first, 1), "%")
            record(f"spelling.{name}_words", round(a_word, 1), "%")
        yield [corpus, f"{len(pairs):,}", f"{RunLog(out).minutes:.0f}", *shares]
    yield ["Norvig", "", "", "", "75 %", "68 %"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--corpora", nargs="+", default=CORPORA, choices=CORPORA)
    parser.add_argument(
        "--budget", help="of each training, such as 10m (default: the updates of its settings)"
    )
    parser.add_argument("--threads", type=int, default=0, help="of each training; 0 takes all")
    add_record(parser)
    args = parser.parse_args()
    typed.table(["trained on", "pairs", "minutes", *TESTS], rows(args))


if __name__ == "__main__":
    main()
