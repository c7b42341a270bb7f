"""Lexical constraints: the definition for one hypothesis, and tensors for a batch of hypotheses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import product
from typing import NamedTuple

import torch

from dragoman.protocols import send
from dragoman.shapes import Bool, Int, Tensor
from dragoman.text.specials import BOS


class Start(IntEnum):
    """Where a form may begin."""

    ANYWHERE = 0
    AFTER_OPENING = 1  # after a space, an opening bracket or quotation mark, a hyphen, or at the start


class Form(NamedTuple):
    """One way to write a constraint."""

    tokens: tuple[int, ...]
    text: str  # the text of the tokens
    start: Start = Start.ANYWHERE
    closed: bool = False  # no letter may follow


class Constraint(NamedTuple):
    """A phrase that the output must contain, in one of its `forms`.

    At least one form may begin anywhere, so that a constraint can always be met.
    """

    forms: tuple[Form, ...]
    after: int = -1  # index of the constraint that must be met before this one; -1 if there is none


class TokenBoundaries(NamedTuple):
    """Properties of the beginning and the end of each token."""

    begins_with_letter: Bool[Tensor, " V"]  # or with an invisible character, which a letter may follow
    opens: Bool[Tensor, " V"]  # a word may begin right after it


class FormMatch(NamedTuple):
    """A match: tokens[begin:end] is `form` of constraint number `constraint`."""

    constraint: int
    form: Form
    begin: int
    end: int


def matches(
    tokens: Sequence[int], constraints: Sequence[Constraint], edges: TokenBoundaries
) -> list[FormMatch]:
    """Return the first match of each constraint that is met, by position: the definition of "met"."""
    found: dict[int, FormMatch] = {}
    for end, closed in product(range(1, len(tokens) + 1), (False, True)):
        met = frozenset(found)
        for span in ends_at(tokens, end, constraints, edges):
            after = constraints[span.constraint].after
            if span.form.closed == closed and span.constraint not in met and (after < 0 or after in met):
                found.setdefault(span.constraint, span)
    return sorted(found.values(), key=lambda span: span.begin)


def ends_at(
    tokens: Sequence[int], end: int, constraints: Sequence[Constraint], edges: TokenBoundaries
) -> Iterator[FormMatch]:
    """Yield the forms that end before `end` with valid boundaries, the longest of each constraint first."""
    for number, constraint in enumerate(constraints):
        for form in sorted(constraint.forms, key=lambda form: -len(form.tokens)):
            begin = end - len(form.tokens)
            if begin < 0 or tuple(tokens[begin:end]) != form.tokens:
                continue
            letter_follows = end < len(tokens) and bool(edges.begins_with_letter[tokens[end]])
            before = tokens[begin - 1] if begin else BOS
            if may_start(form.start, before, edges) and not (form.closed and letter_follows):
                yield FormMatch(number, form, begin, end)


def may_start(start: Start, before: int, edges: TokenBoundaries) -> bool:
    return start == Start.ANYWHERE or bool(edges.opens[before])


class ConstraintTensors(NamedTuple):
    """The constraints of a batch: at most F forms of at most L tokens and G constraints per sentence.

    Rows of `tokens` are padded with −1, which is not a token. A padding form has length 0, and a padding
    constraint is met from the start.
    """

    tokens: Int[Tensor, "B F L"]
    length: Int[Tensor, "B F"]
    owner: Int[Tensor, "B F"]
    start: Int[Tensor, "B F"]
    closed: Bool[Tensor, "B F"]
    after: Int[Tensor, "B G"]
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
    after, weight = torch.full((B, G), -1), torch.zeros(B, G, dtype=torch.long)
    for b, row in enumerate(forms):
        for f, (form, g) in enumerate(row):
            tokens[b, f, : len(form.tokens)] = torch.tensor(form.tokens)
            length[b, f], owner[b, f], start[b, f] = len(form.tokens), g, int(form.start)
            closed[b, f] = form.closed
            weight[b, g] = max(int(weight[b, g]), len(form.tokens))
        for g, constraint in enumerate(batch[b]):
            after[b, g] = constraint.after
    return ConstraintTensors(
        *(send(x, device) for x in (tokens, length, owner, start, closed, after, weight))
    )


class ConstraintProgress(NamedTuple):
    """The progress of K hypotheses per sentence.

    active[f, i]: the last i + 1 tokens are the first i + 1 of form f, beginning where it may begin
    (shift-and, Baeza-Yates and Gonnet 1992). Whether a complete closed form counts depends on the next token.
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
