"""The sections about the run: the data it was trained on, and how to repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dragoman.inspection.pictures.svg import element
from dragoman.reports.data import CorpusCard, EvaluationSet, RunCard
from dragoman.reports.html import folded, section, words


def data_section(run: RunCard, test: EvaluationSet) -> str:
    measured = " + ".join(test.files) or "pairs held out of the training data"
    cards = [card(corpus_facts(corpus)) for corpus in run.corpora]
    held = card({"Validation": run.validation, "This report": f"{test.described}: {measured}"})
    hashes = [
        element("p", words(file), " ", element("code", words(digest)))
        for corpus in run.corpora
        for file, digest in zip(corpus.files, corpus.sha256, strict=False)
    ]
    return section(
        "data", "Data", "", *cards, held, folded("SHA-256 of the training files", *hashes) if hashes else ""
    )


def corpus_facts(corpus: CorpusCard) -> dict[str, str]:
    left = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in corpus.left_out.items())
    facts = {
        "Training": " + ".join(corpus.files),
        "Languages": corpus.languages,
        "Pairs": f"{corpus.kept:,} of {corpus.read:,}" if corpus.read else "",
        "Left out": left,
        "Tokens": f"{corpus.src_tokens:,} → {corpus.tgt_tokens:,}" if corpus.read else "",
        "Weight": f"{corpus.weight:g}" if corpus.weight != 1 else "",
        "Licence": corpus.licence or "not stated",
    }
    return {name: fact for name, fact in facts.items() if fact}


def reproduction_section(run: RunCard) -> str:
    same = (
        "It gives the same bits on the same kind of processor, with the same versions and threads."
        if run.is_exact
        else "The budget follows the clock, so it gives a similar model, not the same bits."
    )
    facts = {"Seed": str(run.seed), **{name.capitalize(): value for name, value in run.versions.items()}}
    settings = element("pre", "\n".join(words(f"{name} = {value}") for name, value in run.settings.items()))
    return section(
        "again",
        "How to train it again",
        same,
        element("pre", words(run.command)),
        card(facts),
        folded(f"Settings that differ from the defaults ({len(run.settings)})", settings),
    )


def card(facts: Mapping[str, str]) -> str:
    return element("dl", *rows(facts), class_="card")


def rows(facts: Mapping[str, str]) -> Iterator[str]:
    for name, fact in facts.items():
        yield element("dt", words(name))
        yield element("dd", words(fact), dir="auto")
