"""Learning: deterministic, quiet, and whole for the smallest and the strangest corpora."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from dragoman.config.text import TextConfig
from dragoman.errors import DataError
from dragoman.text import build
from dragoman.text.tokenizer_pair import TokenizerPair
from dragoman.text.tokenizers.sentencepiece import FIRST_LEARNED
from dragoman.text.tokenizers.train_sentencepiece import sample, train_sentencepiece
from support.made_up_corpus import KINDS, corpus, learn


def learn_from(lines: list[str], **settings: Any) -> TokenizerPair:
    return build.learn(TextConfig.model_validate(settings), zip(lines, lines, strict=True))


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_the_same_lines_give_the_same_bytes(kind: str) -> None:
    lines = corpus("src")
    assert train_sentencepiece(lines, kind, 350) == train_sentencepiece(list(lines), kind, 350)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "lines",
    [
        ["hello world"],
        ["", "", "a"],
        ["a"],
        ["aaaaaaaa"],
        ["   "],
        ["\0"],
        ["▁"],
        ["\u2585"],
        ["<s>x</s>"],
        ["\t\r"],
    ],
    ids=repr,
)
def test_tiny_corpora_are_learned(kind: str, lines: list[str]) -> None:
    tokenizer = learn_from(lines, kind=kind, size=300).src
    assert [tokenizer.decode(tokenizer.encode(line)) for line in lines] == lines


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lines", [[], ["", ""]], ids=repr)
def test_a_corpus_without_text_is_a_data_error(kind: str, lines: list[str]) -> None:
    with pytest.raises(DataError, match="no text to learn"):
        learn_from(lines, kind=kind)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_size_too_small_grows_to_bytes_and_alphabet(kind: str) -> None:
    tokenizer = learn_from(["abc"], kind=kind, size=8).src
    assert tokenizer.size >= FIRST_LEARNED + len("▁abc")


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_large_alphabet_is_learned_with_a_small_size(kind: str) -> None:
    rng = random.Random(3)
    lines = ["".join(chr(0x4E00 + int(rng.paretovariate(0.6)) % 5000) for _ in range(20)) for _ in range(300)]
    tokenizer = learn_from(lines, kind=kind, size=8).src
    assert tokenizer.decode(tokenizer.encode(lines[0])) == lines[0]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_an_endless_word_does_not_stop_learning(kind: str) -> None:
    tokenizer = learn_from(["ab cd", "abcdefgh" * 9000], kind=kind, size=300).src
    assert tokenizer.decode(tokenizer.encode("ab cd")) == "ab cd"


@pytest.mark.parametrize("kind", ["word", "char"])
def test_vocabularies_keep_to_their_size(kind: str) -> None:
    assert learn(kind, size=12).size == 12


@pytest.mark.parametrize("kind", KINDS)
def test_learning_is_silent(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    learn_from(["a b c", "<s>\0"], kind=kind)
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system cannot pin a process to one core"
)
@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_the_number_of_cores_does_not_change_the_model(kind: str) -> None:
    cores = os.sched_getaffinity(0)
    model = train_sentencepiece(corpus("src"), kind, 350)
    os.sched_setaffinity(0, {min(cores)})
    try:
        assert train_sentencepiece(corpus("src"), kind, 350) == model
    finally:
        os.sched_setaffinity(0, cores)


def test_half_a_character_in_the_corpus_is_a_data_error() -> None:
    with pytest.raises(DataError, match="lone surrogate"):
        learn_from(["a\ud800"], kind="word")


def test_joint_is_one_vocabulary_for_both_sides() -> None:
    pair = build.learn(TextConfig(kind="char"), [("abc", "xyz"), ("", "w")])
    assert pair.joint
    assert pair.src is pair.tgt
    assert pair.src.decode(pair.src.encode("axw")) == "axw"


def test_separate_sides_have_their_own_units() -> None:
    config = TextConfig.model_validate({"src": {"kind": "char"}, "tgt": {"kind": "word"}})
    pair = build.learn(config, zip(["abc"], ["two words"], strict=True))
    assert not pair.joint
    assert (pair.src.kind, pair.tgt.kind) == ("char", "word")
    assert pair.src.encode("w") == [1]


def test_lowercase_learns_and_reads_lower_case() -> None:
    pair = learn_from(["Ab AB"], kind="word", lowercase=True)
    assert pair.src.decode(pair.src.encode("AB aB")) == "ab ab"
    assert pair.src.size == 4 + len(["", "ab"])


def test_a_sample_is_bounded_spread_and_always_the_same() -> None:
    lines = [str(number) for number in range(10_000)]
    kept = [int(line) for line in sample(iter(lines), 500)]
    assert kept == [int(line) for line in sample(iter(lines), 500)]
    assert kept == sorted(set(kept))
    assert len(kept) == 500
    assert all(any(start <= number < start + 1000 for number in kept) for start in range(0, 10_000, 1000))


def test_a_short_stream_is_kept_whole() -> None:
    assert sample(iter(["b", "a"]), 500) == ["b", "a"]


def test_only_sample_lines_are_learned_from() -> None:
    pair = build.learn(TextConfig(kind="char", sample_lines=1), zip(["a"], ["b"], strict=True))
    assert pair.src.size == 4 + 2
