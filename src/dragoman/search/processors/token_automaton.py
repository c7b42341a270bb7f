"""A token automaton for any stepper: a forced prefix, forbidden words."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from dragoman.protocols import State, Step, Stepper, send
from dragoman.search.processors.wrapper import mask_unless_stuck, unwrap, wrap, wrap_step
from dragoman.shapes import Bool, Int, Shaped, Tensor
from dragoman.text.specials import BOS
from dragoman.text.token_automaton import ANY_TOKEN, TokenAutomaton


class AutomatonProcessor:
    """A stepper wrapper that applies an automaton. `sentences` are its sentence numbers for the rows."""

    def __init__(self, stepper: Stepper, automaton: TokenAutomaton, sentences: Sequence[int]) -> None:
        self.stepper = stepper
        self.automaton = automaton
        self.sentences = sentences

    def start(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"], width: int) -> State:
        first = [self.automaton.start(sentence) for sentence in self.sentences for _ in range(width)]
        return wrap(self.stepper.start(src, keep, width), send(torch.tensor(first), src.device))

    def step(self, y: Int[Tensor, " N"], state: State) -> Step:
        # The host computes the states. It reads before the step is enqueued, so that it waits for little.
        numbers, tokens = torch.stack((state.moving.memory, y)).tolist()
        states = [
            number if token == BOS else self.automaton.after(number, token)
            for number, token in zip(numbers, tokens, strict=True)
        ]
        step = self.stepper.step(y, unwrap(state))
        memory = send(torch.tensor(states), y.device)
        forbidden = self._forbidden(states, step.log_p.shape[-1])
        if forbidden is None:
            return wrap_step(step, step.log_p, memory)
        return wrap_step(step, mask_unless_stuck(step.log_p, send(forbidden, y.device)), memory)

    def _forbidden(self, states: Sequence[int], size: int) -> Bool[Tensor, "N V"] | None:
        choices = {number: self.automaton.choice(number) for number in set(states)}
        if all(choice == ANY_TOKEN for choice in choices.values()):
            return None
        forbidden = torch.zeros(len(states), size, dtype=torch.bool)
        for row, number in enumerate(states):
            choice = choices[number]
            if choice.only:
                forbidden[row] = True
            forbidden[row, choice.ids] = not choice.only
        return forbidden
