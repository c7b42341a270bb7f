"""Decoded outputs → texts that have what was asked for, and a report on each.

What is to be kept is left in the source first: a model that has seen such things copies them. Where it does
not, the rest is translated without them, and they are put in where the model looked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from dragoman.inference.knowing import Known
from dragoman.inference.outcome import Outcome, gaps, report, segments
from dragoman.inference.placing import diagonal, places
from dragoman.inference.result import Term
from dragoman.inference.steering import Steering
from dragoman.search.constraints import spans
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.trace import Trace
from dragoman.shapes import Float, Tensor
from dragoman.text.kept import Hole, count, in_capitals, mend, put_in, taken_out
from dragoman.text.surface import Surface


class Decoded(NamedTuple):
    """What was found for one source, best first. What was not asked for is None."""

    source: Sequence[int]
    hypotheses: list[Hypothesis]
    trace: Trace | None
    is_cut: bool = False  # the source was read in part
    known: Known | None = None
    look: Float[Tensor, "T S"] | None = None  # where the model looked for each token of the best

    @property
    def best(self) -> Hypothesis:
        return self.hypotheses[0]


class Answer(NamedTuple):
    """`texts` are those of the hypotheses."""

    decoded: Decoded
    texts: list[str]
    terms: tuple[Term, ...] = ()


@runtime_checkable
class Decode(Protocol):
    def __call__(self, texts: Sequence[str], *, look: bool = False) -> list[Decoded | None]:
        """What is found for each text; None for one without words."""


def steered(steering: Steering, decode: Decode) -> list[Answer | None]:
    first = [trimmed(steering, one) for one in decode(steering.texts)]
    copies = [copied(steering, place, one.best) if one else "" for place, one in enumerate(first)]
    left = ["" if copy is not None else without_kept(steering, place)[0] for place, copy in enumerate(copies)]
    second = [trimmed(steering, one) for one in decode(left, look=True)]
    answers: list[Answer | None] = []
    for place, (one, copy) in enumerate(zip(first, copies, strict=True)):
        decoded = second[place] or one
        if decoded is None:
            answers.append(None)
            continue
        text = placed(steering, place, second[place]) if copy is None else copy
        outcome = Outcome(steering.texts[place], text, decoded.best.finished, copied=copy is not None)
        terms = report(steering.wishes[place], steering.forbidden, outcome, lower=steering.is_lower)
        others = [mended(steering, place, hypothesis) for hypothesis in decoded.hypotheses[1:]]
        answers.append(Answer(decoded, [text, *others], terms))
    return answers


def without_kept(steering: Steering, place: int) -> tuple[str, list[Hole]]:
    return taken_out(steering.texts[place], steering.wishes[place].kept)


def trimmed(steering: Steering, decoded: Decoded | None) -> Decoded | None:
    """Without a forbidden word at the end, of which the output was cut before a letter made another word."""
    if decoded is None or decoded.best.finished:
        return decoded
    tokens = decoded.best.tokens[: steering.may_end(decoded.best.tokens)]
    look = None if decoded.look is None else decoded.look[: len(tokens)]
    best = decoded.best._replace(tokens=tokens)
    return decoded._replace(hypotheses=[best, *decoded.hypotheses[1:]], look=look)


def mended(steering: Steering, place: int, hypothesis: Hypothesis) -> str:
    """The text of an output that is not the best, with what is kept put in straight along."""
    text = joined(steering, place, written(steering, place, hypothesis))
    kept, after = steering.wishes[place].kept, len(steering.prefixes[place])
    return mend(text, steering.texts[place], kept, after=after)


def copied(steering: Steering, place: int, best: Hypothesis) -> str | None:
    """The text of an output, if it has all that is kept as often as the source has it."""
    kept, source = steering.wishes[place].kept, steering.texts[place]
    text = joined(steering, place, written(steering, place, best))
    text = in_capitals(text, kept) if steering.is_lower else text
    return text if all(count(one, text) == count(one, source) for one in kept) else None


def placed(steering: Steering, place: int, decoded: Decoded | None) -> str:
    """The text of an output of the rest, with what is kept put in again."""
    source, kept, prefix = steering.texts[place], steering.wishes[place].kept, steering.prefixes[place]
    if decoded is None:
        return source  # there is no rest
    left, holes = without_kept(steering, place)
    line = written(steering, place, decoded.best)
    text = joined(steering, place, line)
    ends = gaps(line, steering.opening(place), prefix, steering.surfaces.tgt)
    look = diagonal(len(line), len(decoded.source)) if decoded.look is None else decoded.look
    before = tokens_before(holes, left, decoded.source, steering.surfaces.src)
    found = places(look, before, [end is not None for end in ends])
    for hole, p in reversed(list(zip(holes, found, strict=True))):
        if count(hole.kept, text) < count(hole.kept, source):
            text = put_in(text, hole, ends[p] or 0)
    return mend(text, source, kept, after=len(prefix))


def written(steering: Steering, place: int, best: Hypothesis) -> list[bytes]:
    """What each token of an output writes."""
    constraints = steering.wishes[place].constraints
    met = spans(best.tokens, constraints, steering.edges) if constraints else []
    return segments(steering.surfaces.tgt, best.tokens, met, steering.opening(place))


def joined(steering: Steering, place: int, line: Sequence[bytes]) -> str:
    rest = b"".join(line)[steering.opening(place) :]
    return steering.prefixes[place] + steering.surfaces.tgt.read(rest)


def tokens_before(holes: Sequence[Hole], text: str, ids: Sequence[int], surface: Surface) -> list[int]:
    """How many tokens of a source stand before each hole in it."""
    ends = [len(surface.spell(ids[:n])) for n in range(len(ids) + 1)]
    return [bisect_right(ends, len(text[: hole.place].encode())) - 1 for hole in holes]
