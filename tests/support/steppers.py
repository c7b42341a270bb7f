"""Small models made by hand: tables of probabilities behind the Stepper protocol."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from dragoman.protocols import State, Step
from dragoman.text.specials import BOS, EOS, PAD


class Bigram:
    """log p(y | previous y, source): each source has its own random table, so sentences differ."""

    def __init__(self, *, vocabulary: int = 6, seed: int = 0, sources: int = 16) -> None:
        generator = torch.Generator().manual_seed(seed)
        logits = 2 * torch.randn(sources, vocabulary, vocabulary, generator=generator)
        self.table = logits.log_softmax(-1)
        self.rows: list[int] = []  # how many hypotheses each step saw

    def start(self, src: Tensor, keep: Tensor, width: int) -> State:
        source = (src * keep).sum(-1) % len(self.table)
        return State(source, Count(torch.zeros(len(src) * width, dtype=torch.long)))

    def step(self, y: Tensor, state: State) -> Step:
        self.rows.append(len(y))
        width = len(y) // len(state.fixed)
        assert len(state.moving.steps) == len(y)
        log_p = self.table[state.fixed.repeat_interleave(width), y]
        return Step(log_p, State(state.fixed, Count(state.moving.steps + 1)), None)


class Count(NamedTuple):
    steps: Tensor


class Prefixes:
    """log p(y | all of y before): the state remembers the prefix, so a wrong reordering is noticed."""

    def __init__(self, *, vocabulary: int = 6, seed: int = 0) -> None:
        self.vocabulary, self.seed = vocabulary, seed

    def log_p(self, source: int, prefix: tuple[int, ...]) -> Tensor:
        seed = hash((self.seed, source, prefix)) % 2**31
        logits = 2 * torch.randn(self.vocabulary, generator=torch.Generator().manual_seed(seed))
        return logits.log_softmax(-1)

    def start(self, src: Tensor, keep: Tensor, width: int) -> State:
        return State((src * keep).sum(-1), torch.zeros(len(src) * width, 0, dtype=torch.long))

    def step(self, y: Tensor, state: State) -> Step:
        prefixes = torch.cat([state.moving, y.unsqueeze(1)], dim=1)
        sources = state.fixed.repeat_interleave(len(y) // len(state.fixed))
        rows = [
            self.log_p(source, tuple(prefix))
            for source, prefix in zip(sources.tolist(), prefixes.tolist(), strict=True)
        ]
        return Step(torch.stack(rows), State(state.fixed, prefixes), None)


class Script:
    """The same distribution at step t whatever came before; the last one repeats."""

    def __init__(self, *steps: list[float]) -> None:
        self.steps = [torch.tensor(p).log() for p in steps]
        self.calls = 0

    def start(self, src: Tensor, keep: Tensor, width: int) -> State:
        return State(src, torch.zeros(len(src) * width, dtype=torch.long))

    def step(self, y: Tensor, state: State) -> Step:
        self.calls += 1
        t = min(int(state.moving[0]), len(self.steps) - 1)
        return Step(self.steps[t].expand(len(y), -1), State(state.fixed, state.moving + 1), None)


def sentences(*sources: int) -> tuple[Tensor, Tensor]:
    """A batch of one-token sentences."""
    src = torch.tensor(sources).unsqueeze(1)
    return src, torch.ones_like(src, dtype=torch.bool)


def rescore(
    stepper: Bigram | Prefixes, source: int, tokens: tuple[int, ...], *, finished: bool = True
) -> float:
    """Forced decoding: Σ log p of the tokens, one by one."""
    state = stepper.start(*sentences(source), 1)
    total, y = 0.0, BOS
    for token in [*tokens, EOS] if finished else tokens:
        step = stepper.step(torch.tensor([y]), state)
        total += float(step.log_p[0, token])
        y, state = token, step.state
    return total


class Table:
    """log p(y | all of y before, source) out of one table: thousands of different models at once, quickly."""

    def __init__(self, *, vocabulary: int = 6, seed: int = 0, rows: int = 50_021) -> None:
        generator = torch.Generator().manual_seed(seed)
        logits = 2 * torch.randn(rows, vocabulary, generator=generator)
        logits[:, [PAD, BOS]] = -torch.inf  # what may be written has all of the probability
        self.table = logits.log_softmax(-1)

    def start(self, src: Tensor, keep: Tensor, width: int) -> State:
        source = (src * keep).sum(-1) * 7919 % len(self.table)
        return State(src, source.repeat_interleave(width))

    def step(self, y: Tensor, state: State) -> Step:
        assert len(state.moving) == len(y)
        place = (state.moving * 31 + y + 1) % len(self.table)
        return Step(self.table[place], State(state.fixed, place), None)


class Looking:
    """A stepper that looks at source token t mod S at step t, and otherwise steps like another."""

    def __init__(self, stepper: Table) -> None:
        self.stepper = stepper

    def start(self, src: Tensor, keep: Tensor, width: int) -> State:
        inner = self.stepper.start(src, keep, width)
        looks = torch.zeros(len(src) * width, src.shape[1])
        return State((inner.fixed, keep), (inner.moving, looks))

    def step(self, y: Tensor, state: State) -> Step:
        """The token decides where: an even one looks at the first source token, an odd one at the second."""
        step = self.stepper.step(y, State(state.fixed[0], state.moving[0]))
        looks = torch.zeros_like(state.moving[1])
        looks[torch.arange(len(y)), y % 2] = 1.0
        return Step(step.log_p, State(state.fixed, (step.state.moving, looks)), looks)
