"""A sentence becomes the same alone, in batches of any shape, and among longer ones that pad it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from dragoman.config.search import SearchConfig
from dragoman.data.collate import collate_sources
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.models.bundle import Bundle
from dragoman.search.build import build
from support.tiny_bundle import RNN, TRANSFORMER, WORDS, tiny

CONV: dict[str, Any] = {"kind": "conv", "layers": 2, "width": 32, "kernel": 3, "embedding": 32}
PARTS = {"recurrent": RNN, "convolutional": CONV, "transformer": TRANSFORMER}
SEARCHES = {
    "greedy": SearchConfig(size=1, max_length=8),
    "beam": SearchConfig(size=4, max_length=8),
    "sample": SearchConfig(kind="sample", top_p=0.9, max_length=8),
}


def texts(count: int) -> list[str]:
    rng = random.Random(count)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 5))) for _ in range(count)]


def exact(part: dict[str, Any]) -> Bundle:
    """In double, where padding rounds nothing that could turn a choice."""
    bundle = tiny(part, model={"tied": "none"})
    bundle.model.double()
    return bundle


def padded(bundle: Bundle, lines: Sequence[str], search: SearchConfig, size: int) -> list[str]:
    """Batches of sentences as they come, short ones padded."""
    decode, found = build(search), []
    rows = bundle.text.src.encode_batch(lines)
    for first in range(0, len(rows), size):
        hypotheses = decode(bundle.model, *collate_sources(rows[first : first + size]))
        found += [bundle.text.tgt.decode(best[0].tokens) for best in hypotheses]
    return found


def assert_one_string(bundle: Bundle, search: SearchConfig, lines: list[str], sizes: Sequence[int]) -> None:
    translate = TorchRuntime(bundle)
    want = [result.text for result in translate(lines, search)]
    assert len(set(want)) > min(len(lines), 80) // 4
    for size in sizes:
        few = search.model_copy(update={"batch_sentences": size})
        assert [result.text for result in translate(lines, few)] == want
        assert padded(bundle, lines, search, size) == want


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("search", SEARCHES)
def test_a_sentence_is_the_same_in_any_shape_of_batch(part: str, search: str) -> None:
    assert_one_string(exact(PARTS[part]), SEARCHES[search], texts(16), (3, 16))


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("search", SEARCHES)
def test_two_thousand_sentences_are_the_same_in_six_shapes_of_batch(part: str, search: str) -> None:
    assert_one_string(exact(PARTS[part]), SEARCHES[search], texts(2000), (1, 3, 8, 17, 32, 64))
