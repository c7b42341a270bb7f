"""Sub-word regularisation: other pieces, the same text, nothing but the generator decides."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.text.tokenizer import Tokenizer
from dragoman.text.tokenizers.bpe import Bpe, merge_with_dropout
from dragoman.text.tokenizers.sentencepiece import FIRST_LEARNED, MARK
from dragoman.text.tokenizers.unigram import Unigram

words = st.lists(st.sampled_from(["mista", "lo", "über", "ß", "日", " ", "▁", "\0", "x"]), max_size=8)


@given(text=words.map("".join), seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=100)
def test_resegmented_lines_decode_to_the_same_text(tokenizer: Tokenizer, text: str, seed: int) -> None:
    ids = tokenizer.encode(text)
    assert tokenizer.decode(tokenizer.resegment(ids, random.Random(seed))) == tokenizer.decode(ids)


def test_resegment_is_a_function_of_ids_and_generator(subword: Tokenizer, lines: list[str]) -> None:
    def cut(seed: int) -> list[list[int]]:
        rng = random.Random(seed)
        return [subword.resegment(subword.encode(line), rng) for line in lines[:50]]

    assert cut(1) == cut(1)
    assert cut(1) != cut(2)


def test_resegment_does_change_lines(subword: Tokenizer, lines: list[str]) -> None:
    rng = random.Random(0)
    changed = sum(subword.resegment(ids, rng) != ids for ids in map(subword.encode, lines))
    assert changed > len(lines) / 4


@pytest.mark.parametrize("kind", ["word", "char", "byte"])
def test_kinds_without_regularisation_keep_their_ids(tokenizers: dict[str, Tokenizer], kind: str) -> None:
    ids = tokenizers[kind].encode("mista lo.")
    assert tokenizers[kind].resegment(ids, random.Random(0)) == ids


def with_rate(tokenizer: Tokenizer, rate: float) -> Bpe | Unigram:
    assert isinstance(tokenizer, Bpe | Unigram)
    return type(tokenizer)(tokenizer._model, rate)


def test_rate_zero_keeps_the_ids(subword: Tokenizer, lines: list[str]) -> None:
    still = with_rate(subword, 0.0)
    ids = still.encode(lines[0])
    assert still.resegment(ids, random.Random(0)) == ids


def test_bpe_with_every_merge_left_out_is_characters(tokenizers: dict[str, Tokenizer]) -> None:
    loose = with_rate(tokenizers["bpe"], 1.0)
    ids = loose.resegment(loose.encode("mista lo"), random.Random(0))
    assert [loose.piece(id) for id in ids] == list("▁mista▁lo")


def test_unigram_at_rate_one_always_takes_another_cut(
    tokenizers: dict[str, Tokenizer],
) -> None:
    loose = with_rate(tokenizers["unigram"], 1.0)
    ids = loose.encode("mista")
    assert all(loose.resegment(ids, random.Random(seed)) != ids for seed in range(50))


def ranks(tokenizer: Tokenizer) -> dict[str, int]:
    return {tokenizer.piece(id): id for id in range(FIRST_LEARNED, tokenizer.size)}


def test_merges_without_dropout_are_plain_bpe(tokenizers: dict[str, Tokenizer], lines: list[str]) -> None:
    bpe = tokenizers["bpe"]
    rank = ranks(bpe)
    for word in {word for line in lines for word in line.split(" ")} | {"misss", "lololololo", "nenenene"}:
        merged = merge_with_dropout(MARK + word, rank, 0.0, random.Random(0))
        assert merged == [bpe.piece(id) for id in bpe.encode(word)]


def merge_by_the_book(word: str, rank: Mapping[str, int], rate: float, rng: random.Random) -> list[str]:
    """Algorithm 1 in the plainest way; draws in order of rank, as the fast one does."""
    symbols = list(word)
    while True:
        possible = sorted((rank[a + b], i) for i, (a, b) in enumerate(pairwise(symbols)) if a + b in rank)
        i = next((i for _, i in possible if rng.random() >= rate), None)
        if i is None:
            return symbols
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


@given(word=st.text("mistaloren▁", max_size=30), rate=st.floats(0, 1), seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=300)
def test_fast_merges_are_those_of_the_paper(
    tokenizers: dict[str, Tokenizer], word: str, rate: float, seed: int
) -> None:
    rank = ranks(tokenizers["bpe"])
    fast = merge_with_dropout(word, rank, rate, random.Random(seed))
    assert fast == merge_by_the_book(word, rank, rate, random.Random(seed))


def test_likelier_unigram_cuts_are_drawn_more_often(tokenizers: dict[str, Tokenizer]) -> None:
    loose = with_rate(tokenizers["unigram"], 1.0)
    assert isinstance(loose, Unigram)
    ids = loose.encode("quistami")
    drawn = Counter(tuple(loose.resegment(ids, random.Random(seed))) for seed in range(2000))
    log_p = {cut: sum(loose._score[id] for id in cut) for cut in drawn}
    assert len(drawn) > 2
    assert drawn[max(log_p, key=log_p.__getitem__)] > drawn[min(log_p, key=log_p.__getitem__)]
