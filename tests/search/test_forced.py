"""Forced decoding against steps taken one by one, against teacher forcing, and against what search found."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch

from dragoman.config.model import ModelConfig
from dragoman.models.build import build_model
from dragoman.protocols import State, Step
from dragoman.search.beam import beam_search
from dragoman.search.forced import forced
from dragoman.text.specials import BOS, EOS
from support.steppers import Bigram, Prefixes, Script, rescore, sentences

V = 23
RNN = {"kind": "rnn", "width": 12, "embedding": 16}
TRANSFORMER = {"kind": "transformer", "layers": 2, "width": 16, "heads": 2, "ffn": 24}
MODELS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "transformer": (TRANSFORMER, TRANSFORMER),
    "conv": (
        {"kind": "conv", "embedding": 16, "width": [12]},
        {"kind": "conv", "embedding": 16, "width": [12]},
    ),
    "rnn": (RNN, RNN),
    "no attention": (RNN, {**RNN, "form": "sutskever"}),
}


def test_it_scores_what_search_found_as_search_did() -> None:
    stepper = Prefixes(seed=4)
    src, keep = sentences(0, 1, 2, 3, 4)
    found = beam_search(stepper, src, keep, size=3, length_penalty=1.0, max_length=6, stop="all")
    written = [[*h.tokens, EOS] if h.finished else list(h.tokens) for hs in found for h in hs]
    assert len(written) == 15
    got = forced(stepper, src, keep, written)
    assert got.log_p.sum(dim=1).tolist() == pytest.approx([h.log_p for hs in found for h in hs], abs=1e-5)
    assert got.attention is None


def test_each_column_is_its_own_step_and_zero_behind_the_end() -> None:
    stepper, outputs = Bigram(seed=2), [[4, 5, EOS], [5, EOS]]
    got = forced(stepper, *sentences(1, 2), outputs)
    for row, (source, tokens) in enumerate(zip((1, 2), outputs, strict=True)):
        totals = [rescore(stepper, source, tuple(tokens[:n]), finished=False) for n in range(len(tokens) + 1)]
        steps = [after - before for before, after in itertools.pairwise(totals)]
        assert got.log_p[row, : len(tokens)].tolist() == pytest.approx(steps, abs=1e-6)
    assert got.log_p[1, 2] == got.entropy[1, 2] == 0


def test_entropy_in_nats_by_hand() -> None:
    stepper = Script([0.25, 0.25, 0.25, 0.25, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    got = forced(stepper, *sentences(0), [[1, EOS]])
    assert got.entropy[0].tolist() == pytest.approx([math.log(4), 0.0])
    assert got.log_p[0].tolist() == pytest.approx([math.log(0.25), 0.0])


@pytest.mark.parametrize("name", MODELS)
def test_it_agrees_with_teacher_forcing(name: str) -> None:
    encoder, decoder = MODELS[name]
    parts: dict[str, Any] = {"encoder": encoder, "decoder": decoder, "tied": "none"}
    model = build_model(ModelConfig.model_validate(parts), V, V, smoothing=0.0, seed=3).eval()
    src = torch.randint(4, V, (3, 6), generator=torch.Generator().manual_seed(1))
    keep = torch.arange(6) < torch.tensor([[6], [4], [1]])
    outputs = [[7, 8, 9, EOS], [10, EOS], [11, 12, 13]]
    got = forced(model, src, keep, outputs)
    for row, tokens in enumerate(outputs):
        tgt = torch.tensor([[BOS, *tokens[:-1]]])
        alone = slice(row, row + 1), slice(int(keep[row].sum()))
        memory = model.encoder(src[alone], keep[alone])
        h = model.decoder(memory, tgt)
        log_p = model.head(h[0])
        want = log_p[range(len(tokens)), tokens]
        assert got.log_p[row, : len(tokens)].tolist() == pytest.approx(want.tolist(), abs=1e-5)
        entropy = torch.distributions.Categorical(logits=log_p).entropy()
        assert got.entropy[row, : len(tokens)].tolist() == pytest.approx(entropy.tolist(), abs=1e-5)
    if name == "no attention":
        assert got.attention is None
    else:
        looked = got.attention.sum(dim=2)
        assert torch.allclose(looked, (got.log_p != 0).float(), atol=1e-6)


def test_several_outputs_of_a_sentence_stand_side_by_side() -> None:
    stepper = Bigram(seed=7)
    together = forced(stepper, *sentences(1, 2), [[4, EOS], [5, EOS], [5, 5], [EOS]])
    alone = [
        forced(stepper, *sentences(s), [o])
        for s, o in ((1, [4, EOS]), (1, [5, EOS]), (2, [5, 5]), (2, [EOS]))
    ]
    totals = [float(one.log_p.sum()) for one in alone]
    assert together.log_p.sum(dim=1).tolist() == pytest.approx(totals, abs=1e-6)


class Narrow:
    """A stepper under a constraint: all but one token are impossible."""

    def start(self, src: torch.Tensor, keep: torch.Tensor, width: int) -> State:
        return State((), torch.zeros(len(src) * width))

    def step(self, y: torch.Tensor, state: State) -> Step:
        log_p = torch.full((len(y), 6), -torch.inf)
        log_p[:, 4] = math.log(0.5)
        return Step(log_p, state, None)


def test_what_a_constraint_forbids_has_no_entropy_and_no_chance() -> None:
    got = forced(Narrow(), *sentences(0), [[4, 5]])
    assert got.log_p[0].tolist() == [pytest.approx(math.log(0.5)), -math.inf]
    assert got.entropy[0].tolist() == pytest.approx([0.5 * math.log(2)] * 2)


def test_outputs_without_a_token_have_no_columns() -> None:
    got = forced(Bigram(), *sentences(1, 2), [[], []])
    assert got.log_p.shape == (2, 0)
