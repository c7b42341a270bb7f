"""What is asked of outputs, of models of every family and vocabularies of every kind, with random weights."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.config.load import validate
from dragoman.config.search import SearchConfig
from dragoman.errors import DataError, UsageError
from dragoman.inference.result import Result
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.models.builders.network import new_model
from dragoman.models.bundle import Bundle
from dragoman.steering.banned_words import matcher_of
from dragoman.steering.placeholders import DEFAULT_KINDS, count, find_placeholders
from dragoman.steering.words import folded, occurrences
from dragoman.text.build import learn
from support.tiny_bundle import RNN, TRANSFORMER

CONV: dict[str, Any] = {"kind": "conv", "layers": 2, "width": 32, "kernel": 3, "embedding": 32}
SUTSKEVER: dict[str, Any] = {**RNN, "form": "sutskever"}
PARTS = {"transformer": (TRANSFORMER, TRANSFORMER), "rnn": (RNN, RNN), "conv": (CONV, CONV)}
PARTS["sutskever"] = ({**RNN, "bidirectional": False}, SUTSKEVER)  # looks nowhere
MODELS = [
    ("transformer", "bpe"),
    ("rnn", "unigram"),
    ("conv", "bpe"),
    ("rnn", "word"),
    ("transformer", "byte"),
]
MODELS += [("conv", "char"), ("sutskever", "bpe")]
LINES = [
    "the old man rides a bicycle .",
    "a dog is seen in the park .",
    "two men see the dog",
    "so alt ist der hund",
]
TEXTS = ["a dog the dog", "see the man so", "is a bicycle seen"]
GREEDY, BEAM = SearchConfig(size=1, max_length=20), SearchConfig(size=3, max_length=20)
SEARCHES = pytest.mark.parametrize("search", [GREEDY, BEAM], ids=["greedy", "beam"])
FAST = 3  # of the models, always tested; the others with --slow
EVERY_MODEL = pytest.mark.parametrize(
    "model",
    [*MODELS[:FAST], *(pytest.param(model, marks=pytest.mark.slow) for model in MODELS[FAST:])],
    ids=["-".join(model) for model in MODELS],
)


@cache
def translator(model: tuple[str, str], *, lowercase: bool = False) -> TorchRuntime:
    part, kind = model
    encoder, decoder = PARTS[part]
    config = validate(
        {
            "data": {"train": "train.tsv"},
            "text": {"kind": kind, "size": 330, "lowercase": lowercase},
            "model": {"encoder": encoder, "decoder": decoder},
            "training": {"seed": 1},
        }
    )
    text = learn(config.text, zip(LINES, LINES, strict=True))
    built = new_model(config, text).eval()
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.mul_(2.0)  # so that outputs depend on inputs
    return TorchRuntime(Bundle(config, text, built))


def written(text: str, forms: tuple[str, ...], *, lower: bool = False) -> int:
    return sum(1 for form in forms for _ in occurrences(form, folded(text) if lower else text))


@EVERY_MODEL
@SEARCHES
def test_outputs_begin_with_their_prefix(model: tuple[str, str], search: SearchConfig) -> None:
    prefixes = ["the old", "the ol", "a dog ", "Zoë’s 犬", "t", ""]
    results = translator(model)(TEXTS[:1] * 6, search, prefix=prefixes)
    assert all(result.text.startswith(prefix) for result, prefix in zip(results, prefixes, strict=True))
    assert any(len(result.text) > len(prefix) for result, prefix in zip(results[:5], prefixes, strict=False))


@EVERY_MODEL
@SEARCHES
def test_no_output_has_a_forbidden_word(model: tuple[str, str], search: SearchConfig) -> None:
    translate = translator(model)
    outputs = [result.text for result in translate(TEXTS[:2], search)]
    words = sorted({word for text in outputs for word in text.replace("⁇", "").split() if word.isalnum()})[
        :12
    ]
    forbidden = [*words, "dog", "the old"]
    results = translate(TEXTS[:2], search, forbid=forbidden)
    for word in forbidden:
        assert not any(matcher_of(word).finds(result.text) for result in results)
    assert all(result.terms == () for result in results)


@EVERY_MODEL
@SEARCHES
def test_every_term_of_a_glossary_appears(model: tuple[str, str], search: SearchConfig) -> None:
    glossary = {"dog": "Kuh|ox", "the": "so 7", "man|men": "mann", "bicycle": "Xi"}
    results = translator(model)(TEXTS, search, glossary=glossary)
    assert [[term.source for term in result.terms] for result in results] == [
        ["dog", "the", "dog"],
        ["the", "man"],
        ["bicycle"],
    ]
    for result in results:
        for term in result.terms:
            assert term.met, result
            asked = sum(other.target == term.target for other in result.terms)
            assert written(result.text, term.target) >= asked, (result.text, term)


PLANTED = ["[X7X]", '<x id="7"></x>', "%s", "{name}", "https://a.de/?q=ä&b=1", "<b>", "</b>", "[X12X]", "%s"]


def planted(rng: random.Random, text: str, number: int) -> str:
    words = text.split(" ")
    for literal in rng.sample(PLANTED, number):
        words.insert(rng.randint(0, len(words)), literal)
    return " ".join(words) + rng.choice(["", ".", "%s"])


@EVERY_MODEL
def test_each_placeholder_survives_once(model: tuple[str, str]) -> None:
    rng = random.Random(3)
    texts = [planted(rng, text, n) for n, text in enumerate(["", "dog", *TEXTS], start=1)]
    results = translator(model)(texts, BEAM, keep=True, glossary={"dog": "Katze"})
    for text, result in zip(texts, results, strict=True):
        kept = find_placeholders(text, DEFAULT_KINDS)
        assert [count(one, result.text) for one in kept] == [count(one, text) for one in kept], result.text
        assert all(term.met for term in result.terms)
        tags = [one.literal for one in kept if one.kind == "tags"]
        assert [
            one.literal for one in find_placeholders(result.text, DEFAULT_KINDS) if one.literal in tags
        ] == tags


@EVERY_MODEL
def test_what_is_asked_of_a_text_does_not_depend_on_others(model: tuple[str, str]) -> None:
    translate = translator(model)
    asked: Any = {"glossary": {"dog": "hund", "man": "alt mann"}, "forbid": ["ist"], "keep": True}
    prefixes = ["so", "", "a dog"]
    texts = [f"{text} %s" if n % 2 else text for n, text in enumerate(TEXTS)]
    together = translate(texts, BEAM, prefix=prefixes, **asked)
    for text, prefix, want in zip(texts, prefixes, together, strict=True):
        (alone,) = translate([text], BEAM, prefix=[prefix], **asked)
        assert (alone.text, alone.terms) == (want.text, want.terms)


def test_asking_for_nothing_changes_nothing() -> None:
    translate = translator(("rnn", "unigram"))
    plain = translate(TEXTS, BEAM)
    for asked in (
        {"prefix": ""},
        {"forbid": []},
        {"glossary": {"xyz": "x"}},
        {"keep": True},
        {"prefix": [""] * 3},
    ):
        results = translate(TEXTS, BEAM, **asked)  # type: ignore[arg-type]
        assert [r._replace(score=0) for r in results] == [r._replace(score=0) for r in plain]


def test_a_lowercase_model_writes_terms_and_prefixes_as_they_were_typed() -> None:
    translate = translator(("transformer", "bpe"), lowercase=True)
    (result,) = translate(["A dog [X7X]"], BEAM, prefix="Der Hu", glossary={"dog": "Hündin"}, keep=True)
    assert result.text.startswith("Der Hu")
    assert written(result.text, ("Hündin",)) == 1
    assert result.text.count("[X7X]") == 1


def test_the_report_says_why_a_term_is_not_met() -> None:
    translate = translator(("transformer", "bpe"))
    (cut,) = translate(["a dog"], SearchConfig(size=2, max_length=2), glossary={"dog": "alt ist der hund"})
    assert [(term.source, term.met) for term in cut.terms] == [("dog", False)]
    assert cut.terms[0].why == "the output was cut at its maximum length"
    (said,) = translate(["a dog"], BEAM, prefix="der hund ", forbid=["hund"])
    assert [(term.kind, term.source, term.met) for term in said.terms] == [("forbidden", "hund", False)]
    assert "prefix" in said.terms[0].why
    (both,) = translate(["a dog"], BEAM, glossary={"dog": "hund"}, forbid=["hund"])
    assert [(term.kind, term.met) for term in both.terms] == [("term", False)]
    assert both.terms[0].why == "every form of it is forbidden"
    (plain,) = translate(["a dog"], BEAM, forbid=["hund"])
    assert both.text == plain.text  # nothing is forced


def test_a_text_of_placeholders_alone_stays_as_it_is() -> None:
    results = translator(("rnn", "word"))(["%s {name}", " ", "[X1X]"], BEAM, keep=True)
    assert [result.text for result in results] == ["%s {name}", "", "[X1X]"]
    assert results[1] == Result("", 0.0, False, ())


def test_bad_wishes_are_refused(tmp_path: Path) -> None:
    translate = translator(("rnn", "word"))
    with pytest.raises(UsageError, match="2 prefixes for 1 texts"):
        translate(["a"], prefix=["b", "c"])
    with pytest.raises(UsageError, match='"digits" is not a kind'):
        translate(["a"], keep=["digits"])
    with pytest.raises(UsageError, match="1 glossaries for 2 texts"):
        translate(["a", "b"], glossary=[{"a": "b"}])
    file = tmp_path / "terms.tsv"
    file.write_text("no tab\n")
    with pytest.raises(DataError, match="no tab"):
        translate(["a"], glossary=file)
