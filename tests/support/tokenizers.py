"""Small tokenizers of every kind, learned once."""

from __future__ import annotations

import pytest

from dragoman.text.tokenizer import Tokenizer
from support.made_up_corpus import KINDS, REVERSIBLE, corpus, learn


@pytest.fixture(scope="session")
def tokenizers() -> dict[str, Tokenizer]:
    return {kind: learn(kind, sampling=0.2) for kind in KINDS}


@pytest.fixture(scope="session", params=KINDS)
def tokenizer(request: pytest.FixtureRequest, tokenizers: dict[str, Tokenizer]) -> Tokenizer:
    return tokenizers[request.param]


@pytest.fixture(scope="session", params=REVERSIBLE)
def reversible(request: pytest.FixtureRequest, tokenizers: dict[str, Tokenizer]) -> Tokenizer:
    return tokenizers[request.param]


@pytest.fixture(scope="session", params=("bpe", "unigram"))
def subword(request: pytest.FixtureRequest, tokenizers: dict[str, Tokenizer]) -> Tokenizer:
    return tokenizers[request.param]


@pytest.fixture(scope="session")
def lines() -> list[str]:
    return corpus("src") + corpus("tgt")
