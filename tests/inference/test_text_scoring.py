"""Scores of given text: each token once, with as much context as promised, whatever the windows are."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.config.model import ModelConfig
from dragoman.inference.runtimes.torch_scorers import TorchTokenLogP
from dragoman.inference.text_scoring import Sliding, TextScorer
from dragoman.metrics.text_score import TextScore, report, total
from dragoman.models.builders.network import build_language_model
from dragoman.models.language_model import LanguageModel
from dragoman.search.forced import forced
from dragoman.text.specials import EOS, UNK
from dragoman.text.tokenizers.byte import Byte
from dragoman.text.tokenizers.word import Word

RELATIVE = {"kind": "transformer", "layers": 1, "width": 16, "heads": 2, "ffn": 16, "positions": "relative"}
LSTM = {"kind": "rnn", "cell": "lstm", "width": 16, "embedding": 16}
LINES = ["to be or not to be", "", "that is the question", "whether tis nobler in the mind to suffer"]


def model_of(part: dict[str, object], size: int = Byte.size) -> LanguageModel:
    config = ModelConfig.model_validate({"decoder": part, "tied": "target"})
    return build_language_model(config, size, smoothing=0.0, seed=1).eval()


def scorer(context: int, stride: int, part: dict[str, object] = RELATIVE) -> TextScorer:
    return TextScorer(TorchTokenLogP(model_of(part)), Byte(), Sliding(context, stride))


def model_in(scorer: TextScorer) -> LanguageModel:
    assert isinstance(scorer.token_log_p, TorchTokenLogP)
    return scorer.token_log_p.model


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 60), st.integers(1, 12), st.data())
def test_each_token_is_scored_once_with_the_promised_context(
    length: int, context: int, data: st.DataObject
) -> None:
    stride = data.draw(st.integers(1, context))
    at = 0
    for window in Sliding(context, stride).windows(range(length)):
        scored = window.ids[-window.scored :]
        assert list(scored) == list(range(at, at + len(scored)))
        assert len(window.ids) <= context
        assert at == 0 or len(window.ids) == min(context, at + len(scored))
        at += len(scored)
    assert at == length


@pytest.mark.parametrize("part", [RELATIVE, LSTM], ids=["transformer", "lstm"])
def test_a_window_as_long_as_the_text_is_forced_decoding(part: dict[str, object]) -> None:
    one = scorer(100, 50, part)
    nothing = torch.zeros(1, 1, dtype=torch.long)
    for line, found in one.lines(LINES):
        if not line:
            assert found == []
            continue
        ids = [*Byte().encode(line), EOS]
        expected = forced(model_in(one), nothing, nothing == 0, [ids]).log_p[0].tolist()
        assert [token for token, _ in found] == ids
        assert [p for _, p in found] == pytest.approx(expected, abs=1e-5)


def test_a_stride_of_one_gives_every_token_the_whole_context() -> None:
    one, ids = scorer(4, 1), Byte().encode("whether tis")
    nothing = torch.zeros(1, 1, dtype=torch.long)
    for at, (token, p) in enumerate(one.tokens(ids)):
        before = ids[max(0, at - 3) : at]
        expected = forced(model_in(one), nothing, nothing == 0, [[*before, token]]).log_p[0, -1]
        assert p == pytest.approx(float(expected), abs=1e-5)


def test_long_lines_among_short_ones_stay_in_order() -> None:
    one = scorer(8, 3)
    lines = [line * 40 for line in LINES] + LINES
    for line, found in one.lines(lines):
        assert Byte().decode([token for token, _ in found]) == line
        alone = [p for _, p in next(one.lines([line]))[1]]
        assert [p for _, p in found] == pytest.approx(alone, abs=1e-5)


def test_lines_and_running_text_count_newlines_alike() -> None:
    lines = [line for line in LINES if line]
    one = scorer(64, 32)
    separate, running = total(one.score_lines(lines)), total(one.score_running(lines))
    size = sum(len(line) + 1 for line in lines)
    assert (separate.tokens, separate.characters) == (running.tokens, running.characters) == (size, size)
    assert separate.words == 6 + 4 + 8 + 3 == pytest.approx(running.words)
    assert separate.nll != running.nll  # one has </s>, the other newlines and more context


def test_the_figures_are_the_same_sum_divided_by_other_units() -> None:
    score = TextScore(nll=20.0 * math.log(2), tokens=10, characters=20, words=5)
    assert score.bits_per_character == pytest.approx(1.0)
    assert score.perplexity == pytest.approx(4.0)
    assert score.word_perplexity == pytest.approx(16.0)
    assert score.nats_per_character == pytest.approx(math.log(2))
    assert total([score, score])[1:4] == (20, 40, 10)
    assert report([score] * 3).scores["bits_per_character"].interval == pytest.approx((1.0, 1.0))


def test_a_uniform_model_has_the_size_of_its_vocabulary_as_perplexity() -> None:
    one = scorer(16, 16)
    with torch.no_grad():
        for p in model_in(one).parameters():
            p.zero_()
    assert total(one.score_running(LINES)).perplexity == pytest.approx(Byte.size, rel=1e-4)


def test_unknown_tokens_are_counted() -> None:
    words = Word.learn(["to be"], 20)
    one = TextScorer(TorchTokenLogP(model_of(LSTM, words.size)), words, Sliding(8, 8))
    score = total(one.score_lines(["to see"]))
    assert (score.tokens, score.unknown) == (3, 1)
    assert [token for token, _ in next(one.lines(["see"]))[1]] == [UNK, EOS]
