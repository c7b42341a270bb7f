"""Tokens of given steps: an output has them, or avoids them, and what follows is a search from there."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.errors import UsageError
from dragoman.inference.runtimes.capabilities import Request, unsupported
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.steering.step_tokens import StepTokens
from dragoman.text.specials import BOS, EOS
from support.tiny_bundle import RNN, TRANSFORMER, tiny

TEXT = "a b c d"


@pytest.fixture(scope="module", params=[TRANSFORMER, RNN], ids=["transformer", "rnn"])
def runtime(request: pytest.FixtureRequest) -> TorchRuntime:
    return TorchRuntime(tiny(request.param))


def written(runtime: TorchRuntime, search: dict[str, Any] | None = None, **steps: Any) -> tuple[int, ...]:
    config = runtime.search.model_copy(update=search or {})
    (result,) = runtime([TEXT], config, trace=config.kind != "sample", steps=StepTokens(**steps))
    return result.tokens


@pytest.mark.parametrize(
    "search", [{"kind": "greedy"}, {"size": 1}, {"size": 3}, {"kind": "sample"}], ids=str
)
def test_a_step_writes_its_token(runtime: TorchRuntime, search: dict[str, Any]) -> None:
    usual = written(runtime, search)
    for step in (0, 1, 4, 9):
        for token in (5, 11):
            assert written(runtime, search, write={step: token})[step] == token
    assert written(runtime, search, write=dict(enumerate(usual)))[: len(usual)] == usual


@pytest.mark.parametrize("search", [{"kind": "greedy"}, {"size": 3}], ids=str)
def test_tokens_from_the_start_are_a_prefix(runtime: TorchRuntime, search: dict[str, Any]) -> None:
    """In a vocabulary of words, a prefix of words leaves no choice of tokens."""
    config = runtime.search.model_copy(update=search)
    for words in (["e"], ["e", "n"], ["c", "c", "a"]):
        (result,) = runtime([TEXT], config, prefix=" ".join(words) + " ")
        ids = [token for word in words for token in runtime.text.tgt.encode(word)]
        assert written(runtime, search, write=dict(enumerate(ids))) == result.tokens


def test_the_rest_is_decoded_from_there(runtime: TorchRuntime) -> None:
    """By hand: the token with the highest probability after the given ones, again and again."""
    given = (*written(runtime, {"kind": "greedy"})[:1], 7)
    expected = list(given)
    while len(expected) < 8:
        forced = StepTokens(write=dict(enumerate(expected)))
        (result,) = runtime([TEXT], runtime.search.model_copy(update={"kind": "greedy"}), steps=forced)
        if len(result.tokens) == len(expected):
            break
        expected.append(result.tokens[len(expected)])
    found = written(runtime, {"kind": "greedy"}, write=dict(enumerate(given)))
    assert list(found[: len(expected)]) == expected


@pytest.mark.parametrize("search", [{"kind": "greedy"}, {"size": 3}, {"kind": "sample"}], ids=str)
def test_a_step_avoids_tokens(runtime: TorchRuntime, search: dict[str, Any]) -> None:
    avoided: list[int] = []
    for _ in range(5):
        found = (*written(runtime, search, avoid={2: avoided}), EOS)
        token = found[2] if len(found) > 2 else EOS
        assert token not in avoided
        avoided.append(token)
    same = written(runtime, search, avoid={40: avoided})
    assert same == written(runtime, search), "a step that is never reached changes nothing"


def test_an_output_does_not_end_before_a_token_that_it_must_have(runtime: TorchRuntime) -> None:
    assert len(written(runtime, {"kind": "greedy"}, write={9: 6})) >= 10
    assert written(runtime, write={3: EOS}, avoid={3: [EOS]}) == written(runtime, write={3: EOS})
    assert len(written(runtime, write={3: EOS})) == 3


@pytest.mark.parametrize(
    "rules", [{"write": {-1: 5}}, {"write": {0: BOS}}, {"avoid": {0: [10_000]}}], ids=str
)
def test_what_no_output_can_have_is_refused(runtime: TorchRuntime, rules: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="cannot write the token"):
        written(runtime, **rules)
    with pytest.raises(UsageError, match="steps cannot be"):
        runtime([TEXT], steps={0: 1})  # type: ignore[typeddict-item]


def test_engines_without_our_search_do_not_support_it(runtime: TorchRuntime) -> None:
    call = Request(runtime.search, {"steps": StepTokens(write={0: 5})})
    assert unsupported("ct2", call) == unsupported("onnx", call) == ["tokens of given steps"]
    assert unsupported("torch", call) == []
