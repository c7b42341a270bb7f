"""Texts in, results out: order, batches, empty lines, long lines."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.config.model import LONGEST
from dragoman.config.search import SearchConfig
from dragoman.errors import ModelError
from dragoman.inference.model import load
from dragoman.inference.result import Result
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.protocols import State, Step
from dragoman.search.batch_invariance import invariant_batches, longest_with_same_padding
from dragoman.search.beam import BeamSearch
from dragoman.search.repetition import OutputBounds
from dragoman.text.specials import EOS
from support.steppers import Script
from support.tiny_bundle import RNN, TRANSFORMER, WORDS, tiny, tiny_folder

RANDOM = random.Random(0)
TEXTS = [" ".join(RANDOM.choices(WORDS, k=RANDOM.randint(1, 9))) for _ in range(60)]
GREEDY = SearchConfig(size=1, max_length=12)
BEAM = SearchConfig(size=4, max_length=12, stop="n_best")


def alike(a: Result, b: Result) -> bool:
    """Score and log p to rounding: bits are promised only where MKL was asked before its first product.

    These models have logits of up to 80, whose spacing in fp32 is 8e-6; an output has twelve of them.
    """
    same = a._replace(score=0, log_p=0) == b._replace(score=0, log_p=0)
    return same and (a.score, a.log_p) == pytest.approx((b.score, b.log_p), abs=1e-4)


@pytest.mark.parametrize("part", [TRANSFORMER, RNN], ids=["transformer", "rnn"])
@pytest.mark.parametrize("search", [GREEDY, BEAM], ids=["greedy", "beam"])
def test_a_text_becomes_the_same_alone_and_in_any_batch(part: dict[str, Any], search: SearchConfig) -> None:
    translate = TorchRuntime(tiny(part))
    together = translate(TEXTS, search)
    assert len({result.text for result in together}) > 10
    for size in (1, 7):
        small = search.model_copy(update={"batch_sentences": size})
        assert all(alike(a, b) for a, b in zip(translate(TEXTS, small), together, strict=True))
    shuffled = list(range(len(TEXTS)))
    RANDOM.shuffle(shuffled)
    moved = translate([TEXTS[place] for place in shuffled], search)
    assert all(alike(moved[i], together[place]) for i, place in enumerate(shuffled))
    assert all(alike(translate([text], search)[0], together[i]) for i, text in enumerate(TEXTS[:10]))


def test_empty_and_blank_texts_stay_empty_without_running_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    translate = TorchRuntime(tiny())
    monkeypatch.setattr(translate, "_run", lambda *_, **__: pytest.fail("the model was run"))
    assert translate(["", " ", "\t", "\u2003\u00a0"]) == [Result("", 0.0, False, ())] * 4
    assert translate([]) == []


def test_empty_texts_among_others_do_not_move_them() -> None:
    translate = TorchRuntime(tiny())
    with_gaps = translate(["", "a b", " ", "c", ""])
    assert [result.text == "" for result in with_gaps] == [True, False, True, False, True]
    assert alike(with_gaps[1], translate(["a b"])[0])


def test_the_same_text_twice_has_two_results() -> None:
    first, second = TorchRuntime(tiny())(["a b c", "a b c"])
    assert first == second


@pytest.mark.parametrize("part", [{**TRANSFORMER, "max_positions": 16}, RNN], ids=["transformer", "rnn"])
def test_an_input_too_long_is_read_in_part_and_says_so(part: dict[str, Any]) -> None:
    translate = TorchRuntime(tiny(part))
    longest = translate.longest_source
    assert longest == (15 if part["kind"] == "transformer" else LONGEST - 1)
    search = SearchConfig(size=1, max_length=3)
    exact, longer = translate([" ".join("a" * n) for n in (longest, longest + 5)], search)
    assert longer.truncated
    assert (longer.text, longer.score) == (exact.text, pytest.approx(exact.score, abs=1e-5))


def test_an_output_cut_at_the_longest_length_says_so() -> None:
    translate = TorchRuntime(tiny())
    results = translate(TEXTS, SearchConfig(size=1, max_length=1))
    assert all(result.truncated == bool(result.tokens) for result in results)
    assert any(result.truncated for result in results)


def test_a_longest_length_beyond_the_positions_of_the_model_is_brought_down() -> None:
    translate = TorchRuntime(tiny({**TRANSFORMER, "max_positions": 8}))
    results = translate(TEXTS[:8], SearchConfig(size=2, max_length=500))
    assert all(len(result.tokens) <= 8 for result in results)


def test_batches_hold_what_is_padded_alike_and_every_sentence_once() -> None:
    lengths = [4, 0, 1, 7, 4, 3, 0, 6, 8]  # with </s> up to 8, and more
    assert list(invariant_batches(lengths, 2)) == [[2, 5], [0, 4], [7, 3], [8]]
    assert list(invariant_batches(lengths, 4)) == [[2, 5, 0, 4], [7, 3], [8]]


def test_long_sentences_come_in_smaller_batches() -> None:
    assert max(map(len, invariant_batches([1000] * 64, 64))) == 8
    assert max(map(len, invariant_batches([100_000] * 64, 64))) == 4


def test_a_loaded_model_takes_a_text_or_a_list(tmp_path: Path) -> None:
    model = load(tiny_folder(tmp_path / "run" / "model").parent)
    one = model("a b c")
    assert isinstance(one.text, str)
    assert alike(model(["a b c", ""])[0], one)
    assert model(["a b c", ""])[1].text == ""
    assert repr(model) == f"Model({str(tmp_path / 'run' / 'model')!r})"


def test_a_loaded_model_answers_as_before_it_was_saved(tmp_path: Path) -> None:
    saved = TorchRuntime(tiny())(TEXTS[:10])
    loaded = load(tiny_folder(tmp_path / "model"))(TEXTS[:10])
    assert all(alike(a, b) for a, b in zip(saved, loaded, strict=True))


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "model")
    weights = folder / "weights.safetensors"
    raw = bytearray(weights.read_bytes())
    raw[-5] ^= 1
    weights.write_bytes(raw)
    with pytest.raises(ModelError, match="damaged"):
        load(folder)


BLIND: dict[str, Any] = {**RNN, "form": "sutskever"}


@pytest.mark.parametrize("search", [GREEDY, BEAM], ids=["greedy", "beam"])
@pytest.mark.parametrize("decoder", [TRANSFORMER, RNN, BLIND], ids=["transformer", "rnn", "blind"])
def test_details_tell_of_each_token(decoder: dict[str, Any], search: SearchConfig) -> None:
    translate = TorchRuntime(tiny(RNN, model={"decoder": decoder}))
    plain, told = translate(TEXTS[:9], search), translate(TEXTS[:9], search, details=True)
    for a, b, source in zip(plain, told, TEXTS, strict=False):
        assert alike(a, b._replace(details=None, alignment=None))
        assert a.details is a.alignment is None
        total = sum(token.log_p for token in b.details)
        assert total / len(b.details) == pytest.approx(b.score, abs=1e-5)
        assert " ".join(b.text[slice(*token.at)] for token in b.details if token.piece != "</s>") == b.text
        looks = {source[slice(*token.source)] for token in b.details if token.source}
        assert looks <= set(source.split())
        assert (b.alignment is None) == (decoder is BLIND)


class Endless:
    """A model that counts up for ever: it neither ends nor loops."""

    def __init__(self, V: int) -> None:
        self.V = V

    def start(self, src: Tensor, keep: Tensor, width: int) -> State:
        return State((), torch.zeros(len(src) * width, dtype=torch.long))

    def step(self, y: Tensor, state: State) -> Step:
        t = state.moving
        log_p = torch.full((len(y), self.V), -9.0)
        log_p[range(len(y)), EOS + 1 + (t * t) % 11] = 0.0
        return Step(log_p, State((), t + 1), None)


BOUNDS = OutputBounds(ratio=1.0, longest=12, repeats=3)


def test_an_output_is_bounded_by_its_source_unless_asked_otherwise() -> None:
    translate = TorchRuntime(tiny(), bounds=BOUNDS)
    translate.model = Endless(translate.text.tgt.size)
    search = SearchConfig(size=1, max_length=90)
    for source in ("a", "a b c d", "a b c d e f g h i j k l m n o p"):
        (bounded,) = translate([source], search)
        (free,) = translate([source], search.model_copy(update={"guard": False}))
        assert len(bounded.tokens) <= min(
            BOUNDS.longest_output(longest_with_same_padding(len(source.split()))), 90
        )
        assert len(free.tokens) == 90
        assert set(bounded.flags) & {"truncated", "repetition"}
        assert "truncated" in free.flags
        assert (bounded.ran_away, free.ran_away) == (bounded.truncated and len(bounded.tokens) < 90, False)


def test_an_output_that_must_be_long_may_be_long() -> None:
    translate = TorchRuntime(tiny(), bounds=BOUNDS)
    translate.model = Endless(translate.text.tgt.size)
    (long,) = translate(["a"], SearchConfig(size=1, max_length=90, min_length=40))
    assert len(long.tokens) == 40
    assert not long.truncated


@pytest.mark.parametrize("size", [1, 3])
def test_a_loop_is_cut_and_said(size: int) -> None:
    translate = TorchRuntime(tiny(), bounds=BOUNDS)
    translate.model = Script([1e-3, 1e-3, 1e-3, 1e-3, *[0.9] * 16])
    (cut,) = translate(["a b c d e f g h"], SearchConfig(size=size, max_length=90))
    assert len(cut.tokens) == 3
    assert len(set(cut.tokens)) == 1
    assert "repetition" in cut.flags
    assert not cut.truncated


def test_a_beam_in_which_all_is_a_loop_is_not_searched_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """And gives what it would have given then."""
    translate = TorchRuntime(tiny(), bounds=BOUNDS)
    model = Script([1e-3, 1e-3, 1e-3, 1e-3, 0.9, *[1e-6] * 15])
    translate.model = model
    search = SearchConfig(size=3, max_length=90, stop="heuristic")
    (early,) = translate(["a b c d e f g h"], search)
    taken = model.calls
    monkeypatch.setattr(BeamSearch, "stop_loops", lambda self, beam, watch, *_: watch)
    (late,) = translate(["a b c d e f g h"], search)
    assert "repetition" in early.flags
    assert (early.text, early.score) == (late.text, late.score)
    assert taken < (model.calls - taken) / 2


@pytest.mark.parametrize("seeds", [(2, 3, 6, 13), pytest.param(range(1, 31), marks=pytest.mark.slow)])
def test_a_careful_beam_whose_loops_are_cut_is_not_worse_than_greedy(seeds: Sequence[int]) -> None:
    """Of models that have learned nothing beams are full of loops, which greedy search finds a way out of."""
    texts, cut = ["a b c d e f g h", "a", "b a c", "d d e", "h g f e"], 0
    for seed in seeds:
        translate = TorchRuntime(tiny(seed=seed), bounds=BOUNDS)
        greedy = translate(texts, SearchConfig(kind="greedy", max_length=40))
        for size in (2, 3, 5):
            found = translate(texts, SearchConfig(size=size, max_length=40, stop="heuristic"))
            cut += sum("repetition" in result.flags for result in found)
            assert all(b.score >= g.score - 1e-5 for b, g in zip(found, greedy, strict=True)), (seed, size)
    assert cut


def test_without_references_nothing_is_cut() -> None:
    """A model that was never calibrated: nobody knows what is degenerate for it."""
    translate = TorchRuntime(tiny())
    translate.model = Script([1e-3, 1e-3, 1e-3, 1e-3, *[0.9] * 16])
    (found,) = translate(["a"], SearchConfig(size=1, max_length=60))
    assert len(found.tokens) == 60
    assert {"truncated", "repetition"} <= set(found.flags)
