"""Glossaries and placeholders: do all terms appear, what do they do to BLEU, what do they cost.

    python -m benchmarks.quality.glossary MODEL TEST.SRC TEST.TGT [--pairs 1000] [--words 2] [--seed 1]
        [--size 5]

A term of one to `--words` words is drawn from the reference of each pair, (a) anywhere and (b) where the
plain output does not have it, and asked for as the translation of a word of the source. (c) A placeholder
is planted between two words of each source. One line of JSON says how many terms and placeholders are there,
each placeholder once; BLEU, of (c) without the placeholders; and seconds.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.config.search import SearchConfig
from dragoman.inference.model import Model, load
from dragoman.inference.result import Result
from dragoman.metrics.report import values
from dragoman.steering.words import occurrences

PLACEHOLDERS = ("[X{}X]", '<x id="{}"></x>', "%{}$s", "{{name{}}}", "https://example.org/{}?q=ä", "<b{}>")


class Task(NamedTuple):
    """What is translated, and with which glossary."""

    sources: list[str]
    glossary: list[dict[str, str]] | None = None
    keep: bool = False


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--words", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=5)
    args = parser.parse_args()
    model = load(args.model, runtime="torch")
    search = model.translator.search.model_copy(update={"size": args.size, "stop": "n_best"})
    sources, references = (read(file, args.pairs) for file in (args.source, args.target))
    print(json.dumps({"benchmark": "glossary", **measured(model, search, sources, references, args)}))


def read(file: Path, lines: int) -> list[str]:
    return file.read_text(encoding="utf-8").split("\n")[:lines]


def measured(
    model: Model, search: SearchConfig, sources: list[str], references: list[str], args: argparse.Namespace
) -> dict[str, Any]:
    rng = random.Random(args.seed)
    score = scorer(references, lowercase=model.translator.text.lowercase)
    model(sources[:8], search)  # the first products of a process are slow
    plain, seconds = timed(model, search, Task(sources))
    outputs = [result.text for result in plain]
    report: dict[str, Any] = {"pairs": len(sources), "size": args.size}
    report["plain"] = {"bleu": score(outputs), "seconds": seconds}
    for name, absent_from in (("anywhere", None), ("missing", outputs)):
        terms = drawn(sources, references, absent_from, args.words, rng)
        results, seconds = timed(model, search, Task(sources, terms))
        report[name] = {**met(results, terms), "bleu": score([r.text for r in results]), "seconds": seconds}
    planted, literals = plant(sources, rng)
    results, seconds = timed(model, search, Task(planted, keep=True))
    report["placeholders"] = {
        "planted": len(literals),
        "once": sum(r.text.count(l) == 1 for r, l in zip(results, literals, strict=True)),
        "bleu": score([without(r.text, l) for r, l in zip(results, literals, strict=True)]),
        "seconds": seconds,
    }
    return report


def scorer(references: list[str], *, lowercase: bool) -> Callable[[list[str]], float]:
    return lambda outputs: round(values(outputs, references, lowercase=lowercase)["bleu"], 2)


def timed(model: Model, search: SearchConfig, task: Task) -> tuple[list[Result], float]:
    start = time.perf_counter()
    results = model(task.sources, search, glossary=task.glossary, keep=task.keep)
    return results, round(time.perf_counter() - start, 1)


def drawn(
    sources: Sequence[str],
    references: Sequence[str],
    absent_from: Sequence[str] | None,
    words: int,
    rng: random.Random,
) -> list[dict[str, str]]:
    """For each pair a word of the source and a phrase of the reference, at about the same place."""
    terms: list[dict[str, str]] = []
    for place, (source, reference) in enumerate(zip(sources, references, strict=True)):
        phrase = phrase_of(reference, words, rng, absent_from[place] if absent_from else "")
        keys = [word for word in source.split() if word.isalpha() and list_once(word, source)]
        if not phrase or not keys:
            terms.append({})
            continue
        along = reference.find(phrase) / len(reference)
        key = min(keys, key=lambda word: abs(source.find(word) / len(source) - along))
        terms.append({key: phrase})
    return terms


def list_once(word: str, source: str) -> bool:
    return sum(1 for _ in occurrences(word.lower(), source.lower())) == 1


def phrase_of(reference: str, words: int, rng: random.Random, absent_from: str) -> str:
    tokens = reference.split()
    spans = [(i, i + n) for n in range(1, words + 1) for i in range(len(tokens) - n + 1)]
    rng.shuffle(spans)
    for begin, end in spans:
        phrase = " ".join(tokens[begin:end]).rstrip(".,;:!?")
        is_absent = not any(True for _ in occurrences(phrase.lower(), absent_from.lower()))
        if len(phrase) >= 4 and all(word.isalpha() for word in phrase.split()) and is_absent:
            return phrase
    return ""


def met(results: Sequence[Result], terms: Sequence[dict[str, str]]) -> dict[str, int]:
    """Counted in the text, and by the report; the two must agree."""
    asked = [(r.text, phrase) for r, term in zip(results, terms, strict=True) for phrase in term.values()]
    there = sum(any(True for _ in occurrences(phrase, text)) for text, phrase in asked)
    reported = sum(term.met for result in results for term in result.terms)
    return {"terms": len(asked), "met": there, "reported": reported}


def plant(sources: Sequence[str], rng: random.Random) -> tuple[list[str], list[str]]:
    planted, literals = [], []
    for place, source in enumerate(sources):
        literal = PLACEHOLDERS[place % len(PLACEHOLDERS)].format(rng.randint(1, 99))
        words = source.split(" ")
        words.insert(rng.randint(0, len(words)), literal)
        planted.append(" ".join(words))
        literals.append(literal)
    return planted, literals


def without(text: str, literal: str) -> str:
    return " ".join(text.replace(literal, " ").split())


if __name__ == "__main__":
    main()
