"""What an output must hold: the definition, one hypothesis at a time, and the same for many at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import product
from typing import NamedTuple

import torch

from dragoman.shapes import Bool, Int, Tensor
from dragoman.text.specials import BOS


class Start(IntEnum):
    """Where a form may begin."""

    ANYWHERE = 0
    AFTER_OPENING = 1  # behind a space, a bracket or quotation mark that opens, a hyphen, or nothing


class Form(NamedTuple):
    """One way to write a constraint."""

    tokens: tuple[int, ...]
    text: str  # what it stands for
    start: Start = Start.ANYWHERE
    closed: bool = False  # no letter may follow


class Constraint(NamedTuple):
    """One of `forms` must be written, and behind constraint number `behind`, if there is one. That there is
    always a way to do so, one of them may begin anywhere."""

    forms: tuple[Form, ...]
    behind: int = -1


class TokenBoundaries(NamedTuple):
    """How each token begins and ends."""

    begins_with_letter: Bool[Tensor, " V"]
    opens: Bool[Tensor, " V"]  # a word may begin right behind it


class FormMatch(NamedTuple):
    """tokens[begin:end] write `form` of constraint number `constraint`."""

    constraint: int
    form: Form
    begin: int
    end: int


def matches(
    tokens: Sequence[int], constraints: Sequence[Constraint], edges: TokenBoundaries
) -> list[FormMatch]:
    """The definition of met: where each constraint that is met is written first, in order of place."""
    found: dict[int, FormMatch] = {}
    for end, closed in product(range(1, len(tokens) + 1), (False, True)):
        met = frozenset(found)
        for span in ends_at(tokens, end, constraints, edges):
            behind = constraints[span.constraint].behind
            if span.form.closed == closed and span.constraint not in met and (behind < 0 or behind in met):
                found.setdefault(span.constraint, span)
    return sorted(found.values(), key=lambda span: span.begin)


def ends_at(
    tokens: Sequence[int], end: int, constraints: Sequence[Constraint], edges: TokenBoundaries
) -> Iterator[FormMatch]:
    """The forms that end before `end` as they must, of each constraint the longest first."""
    for number, constraint in enumerate(constraints):
        for form in sorted(constraint.forms, key=lambda form: -len(form.tokens)):
            begin = end - len(form.tokens)
            if begin < 0 or tuple(tokens[begin:end]) != form.tokens:
                continue
            goes_on = end < len(tokens) and bool(edges.begins_with_letter[tokens[end]])
            before = tokens[begin - 1] if begin else BOS
            if may_start(form.start, before, edges) and not (form.closed and goes_on):
                yield FormMatch(number, form, begin, end)


def may_start(start: Start, before: int, edges: TokenBoundaries) -> bool:
    return start == Start.ANYWHERE or bool(edges.opens[before])


class ConstraintTensors(NamedTuple):
    """The constraints of a batch: F forms of at most L tokens, G constraints, at most, of each sentence.

    A row of `tokens` ends in −1, which no token is. A form that only fills up has length 0, and a
    constraint that only fills up is met from the start.
    """

    tokens: Int[Tensor, "B F L"]
    length: Int[Tensor, "B F"]
    owner: Int[Tensor, "B F"]
    start: Int[Tensor, "B F"]
    closed: Bool[Tensor, "B F"]
    behind: Int[Tensor, "B G"]
    weight: Int[Tensor, "B G"]

    def only(self, places: Int[Tensor, " M"]) -> ConstraintTensors:
        return ConstraintTensors(*(table[places] for table in self))

    @property
    def total(self) -> Int[Tensor, " B"]:
        return self.weight.sum(-1)


def to_tensors(batch: Sequence[Sequence[Constraint]], device: torch.device) -> ConstraintTensors:
    forms = [[(form, g) for g, constraint in enumerate(row) for form in constraint.forms] for row in batch]
    B, F = len(batch), max([1, *map(len, forms)])
    G = max([1, *map(len, batch)])
    L = max([1, *(len(form.tokens) for row in forms for form, _ in row)])
    tokens = torch.full((B, F, L), -1)
    length, owner, start = (torch.zeros(B, F, dtype=torch.long) for _ in range(3))
    closed = torch.zeros(B, F, dtype=torch.bool)
    behind, weight = torch.full((B, G), -1), torch.zeros(B, G, dtype=torch.long)
    for b, row in enumerate(forms):
        for f, (form, g) in enumerate(row):
            tokens[b, f, : len(form.tokens)] = torch.tensor(form.tokens)
            length[b, f], owner[b, f], start[b, f] = len(form.tokens), g, int(form.start)
            closed[b, f] = form.closed
            weight[b, g] = max(int(weight[b, g]), len(form.tokens))
        for g, constraint in enumerate(batch[b]):
            behind[b, g] = constraint.behind
    return ConstraintTensors(*(x.to(device) for x in (tokens, length, owner, start, closed, behind, weight)))


class ConstraintProgress(NamedTuple):
    """How far K hypotheses of each sentence have come.

    active[f, i]: the last i + 1 tokens are the first i + 1 of form f, in the place where it may begin
    (shift-and, Baeza-Yates and Gonnet 1992). A closed form that is whole awaits what follows.
    """

    active: Bool[Tensor, "B K F L"]
    met: Bool[Tensor, "B K G"]
    last: Int[Tensor, "B K"]

    def pick(self, places: Int[Tensor, "B M"]) -> ConstraintProgress:
        rows = torch.arange(len(places), device=places.device).unsqueeze(1)
        return ConstraintProgress(self.active[rows, places], self.met[rows, places], self.last[rows, places])

    def only(self, sentences: Int[Tensor, " M"]) -> ConstraintProgress:
        return ConstraintProgress(*(x[sentences] for x in self))


def begin(tables: ConstraintTensors, width: int) -> ConstraintProgress:
    B, F, L = tables.tokens.shape
    device = tables.tokens.device
    active = torch.zeros(B, width, F, L, dtype=torch.bool, device=device)
    met = (tables.weight == 0).unsqueeze(1).expand(-1, width, -1)
    return ConstraintProgress(active, met, torch.full((B, width), BOS, device=device))
