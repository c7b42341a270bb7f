"""Sub-word regularisation: other pieces, the same text, nothing but the key of a row decides."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, pairwise
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.hashing import hash64, hash64_each
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.tokenizer_pair import TokenizerPair
from dragoman.text.tokenizers.bpe import IMPOSSIBLE, POSITION, POSITION_BITS, Bpe, MergeTable
from dragoman.text.tokenizers.sentencepiece import FIRST_LEARNED, MARK
from dragoman.text.tokenizers.unigram import ALPHA, N_BEST, Unigram

texts = st.lists(
    st.sampled_from(["mista", "quistami", "lo", "über", "ß", "日", " ", "▁", "\0", "x"]), max_size=8
).map("".join)


def cut(tokenizer: Tokenizer, rows: Sequence[Sequence[int]], seeds: Iterable[int]) -> list[list[int]]:
    keys = np.array([hash64(seed) for seed in seeds], np.uint64)
    return [row.tolist() for row in tokenizer.resegment([np.array(row, np.int32) for row in rows], keys)]


@given(text=texts, seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=100)
def test_resegmented_lines_decode_to_the_same_text(tokenizer: Tokenizer, text: str, seed: int) -> None:
    ids = tokenizer.encode(text)
    [new] = cut(tokenizer, [ids], [seed])
    assert tokenizer.decode(new) == tokenizer.decode(ids)


@given(lines=st.lists(texts, max_size=6), seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=100)
def test_a_line_is_segmented_the_same_alone_and_among_others(
    subword: Tokenizer, lines: list[str], seed: int
) -> None:
    rows = [subword.encode(line) for line in lines]
    seeds = range(seed, seed + len(rows))
    assert cut(subword, rows, seeds) == [
        cut(subword, [row], [s])[0] for row, s in zip(rows, seeds, strict=True)
    ]


def test_both_sides_of_a_pair_are_drawn_apart(subword: Tokenizer, lines: list[str]) -> None:
    rows = [np.array(subword.encode(line), np.int32) for line in lines[:50]]
    keys = np.arange(50, dtype=np.uint64)
    joint, split = (
        [
            [ids.tolist() for ids in pair]
            for pair in TokenizerPair(subword, subword, is_joint).resegment([(r, r) for r in rows], keys)
        ]
        for is_joint in (True, False)
    )
    assert joint == split
    assert any(src != tgt for src, tgt in joint)


def test_another_key_gives_another_segmentation(subword: Tokenizer, lines: list[str]) -> None:
    rows = [subword.encode(line) for line in lines[:50]]
    assert cut(subword, rows, range(50)) == cut(subword, rows, range(50))
    assert cut(subword, rows, range(50)) != cut(subword, rows, range(50, 100))


def test_equal_words_of_a_line_are_drawn_apart(subword: Tokenizer) -> None:
    loose = with_rate(subword, 0.5)
    words = words_of(loose, cut(loose, [loose.encode("quistami " * 50)], [0])[0])
    assert len({tuple(word) for word in words}) > 2


def test_resegment_does_change_lines(subword: Tokenizer, lines: list[str]) -> None:
    rows = [subword.encode(line) for line in lines]
    changed = sum(new != row for new, row in zip(cut(subword, rows, range(len(rows))), rows, strict=True))
    assert changed > len(lines) / 4


@pytest.mark.parametrize("kind", ["word", "char", "byte"])
def test_kinds_without_regularisation_keep_their_ids(tokenizers: dict[str, Tokenizer], kind: str) -> None:
    ids = tokenizers[kind].encode("mista lo.")
    assert cut(tokenizers[kind], [ids], [0]) == [ids]


def with_rate(tokenizer: Tokenizer, rate: float) -> Bpe | Unigram:
    assert isinstance(tokenizer, Bpe | Unigram)
    return type(tokenizer)(tokenizer._model, rate)


def test_rate_zero_keeps_the_ids(subword: Tokenizer, lines: list[str]) -> None:
    still = with_rate(subword, 0.0)
    ids = still.encode(lines[0])
    assert cut(still, [ids], [0]) == [ids]


def test_bpe_with_every_merge_left_out_is_characters(tokenizers: dict[str, Tokenizer]) -> None:
    loose = with_rate(tokenizers["bpe"], 1.0)
    [ids] = cut(loose, [loose.encode("mista lo")], [0])
    assert [loose.piece(id) for id in ids] == list("▁mista▁lo")


def test_unigram_at_rate_one_always_takes_another_cut(tokenizers: dict[str, Tokenizer]) -> None:
    loose = with_rate(tokenizers["unigram"], 1.0)
    ids = loose.encode("mista")
    assert ids not in cut(loose, [ids] * 50, range(50))


def ranks(tokenizer: Tokenizer) -> dict[str, int]:
    return {tokenizer.piece(id): id for id in range(FIRST_LEARNED, tokenizer.size)}


def words_of(tokenizer: Tokenizer, ids: Sequence[int]) -> Iterator[list[int]]:
    """Yield runs of learned pieces that form a word; each byte and each special on its own."""
    word: list[int] = []
    for id in ids:
        if word and (min(id, word[0]) < FIRST_LEARNED or tokenizer.piece(id).startswith(MARK)):
            yield word
            word = []
        word.append(id)
    if word:
        yield word


def merge_by_the_book(word: str, rank: Mapping[str, int], rate: float, draws: Iterator[float]) -> list[str]:
    """Algorithm 1 in the plainest way. Merges that are worse than one that is not skipped need no draw."""
    symbols = list(word)
    while True:
        possible = sorted((rank[a + b], i) for i, (a, b) in enumerate(pairwise(symbols)) if a + b in rank)
        i = next((i for _, i in possible if next(draws) >= rate), None)
        if i is None:
            return symbols
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


def test_merges_without_dropout_are_plain_bpe(tokenizers: dict[str, Tokenizer], lines: list[str]) -> None:
    bpe = tokenizers["bpe"]
    rank = ranks(bpe)
    for word in {word for line in lines for word in line.split(" ")} | {"misss", "lololololo", "nenenene"}:
        merged = merge_by_the_book(MARK + word, rank, 0.0, iter(random.Random(0).random, None))
        assert merged == [bpe.piece(id) for id in bpe.encode(word)]


@pytest.fixture(scope="module", params=[0.01, 0.1, 0.5, 0.9, 1.0])
def bpe(request: pytest.FixtureRequest, tokenizers: dict[str, Tokenizer]) -> Bpe | Unigram:
    return with_rate(tokenizers["bpe"], request.param)


@given(text=texts | st.text("mistaloren ", max_size=60), seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_bpe_dropout_is_the_algorithm_of_the_paper(bpe: Bpe, text: str, seed: int) -> None:
    """Draw `n` of a word comes from a hash of the key of the row, the number of the word, and n."""
    rank, expected = ranks(bpe), []
    for number, word in enumerate(words_of(bpe, bpe.encode(text))):
        if word[0] >= FIRST_LEARNED:
            draws = ((hash64(seed, number, n) >> 11) / 2**53 for n in count())
            spelled = "".join(bpe.piece(id) for id in word)
            word = [rank[symbol] for symbol in merge_by_the_book(spelled, rank, bpe._rate, draws)]
        expected += word
    assert cut(bpe, [bpe.encode(text)], [seed]) == [expected]


def distance(a: Mapping[tuple[int, ...], float], b: Mapping[tuple[int, ...], float]) -> float:
    """Total variation distance of two distributions, given as weights."""
    shares = [{cut: weight / sum(of.values()) for cut, weight in of.items()} for of in (a, b)]
    return sum(abs(shares[0].get(cut, 0) - shares[1].get(cut, 0)) for cut in {*a, *b}) / 2


DRAWS = 4000


def drawn(tokenizer: Tokenizer, ids: list[int]) -> Counter[tuple[int, ...]]:
    keys = hash64_each(hash64(1), np.arange(DRAWS, dtype=np.uint64))
    rows = tokenizer.resegment([np.array(ids, np.int32)] * DRAWS, keys)
    return Counter(tuple(row.tolist()) for row in rows)


@pytest.mark.parametrize(("word", "rate"), [("mista", 0.1), ("quistami", 0.1), ("mista", 0.5)])
def test_bpe_dropout_has_the_distribution_of_the_paper(
    tokenizers: dict[str, Tokenizer], word: str, rate: float
) -> None:
    bpe, rank = with_rate(tokenizers["bpe"], rate), ranks(tokenizers["bpe"])
    draws = iter(random.Random(2).random, None)
    by_the_book = Counter(
        tuple(rank[symbol] for symbol in merge_by_the_book(MARK + word, rank, rate, draws))
        for _ in range(DRAWS)
    )
    assert len(by_the_book) > 2
    assert distance(drawn(bpe, bpe.encode(word)), by_the_book) < 0.05


@pytest.mark.parametrize("rate", [0.3, 1.0])
def test_unigram_has_the_distribution_of_the_paper(tokenizers: dict[str, Tokenizer], rate: float) -> None:
    """The word itself with 1 − rate, each of the l best others x with a share of P(x)^α."""
    unigram = with_rate(tokenizers["unigram"], rate)
    assert isinstance(unigram, Unigram)
    ids = unigram.encode("quistami")
    best = unigram._processor.nbest_encode("quistami", out_type=int, nbest_size=N_BEST)
    others = {tuple(x): exp(ALPHA * sum(unigram._score[id] for id in x)) for x in best if x != ids}
    expected = {x: rate * weight / sum(others.values()) for x, weight in others.items()}
    assert len(others) > 2
    assert distance(drawn(unigram, ids), {**expected, tuple(ids): 1 - rate}) < 0.05


def test_the_merge_table_has_all_merges_and_no_others(tokenizers: dict[str, Tokenizer]) -> None:
    bpe, rank = tokenizers["bpe"], ranks(tokenizers["bpe"])
    table = MergeTable(rank)
    left, right = (x.ravel() for x in np.mgrid[0 : bpe.size, 0 : bpe.size])
    found = table.priorities(left, right, np.full(left.shape, 7))
    wholes = zip(left.tolist(), right.tolist(), strict=True)
    expected = [
        rank.get(bpe.piece(a) + bpe.piece(b), 0) if min(a, b) >= FIRST_LEARNED else 0 for a, b in wholes
    ]
    assert np.where(found < IMPOSSIBLE, found >> POSITION_BITS, 0).tolist() == expected
    assert ((found & POSITION) == 7).all()
