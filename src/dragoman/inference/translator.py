"""Texts → results: cut into ids, decoded in batches, put back in order.

A batch holds sentences that are padded to one length, whatever stands beside them, and is never smaller than
search wants for company: what a sentence becomes does not depend on the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import NamedTuple, TypeVar, Unpack

from dragoman.config.search import SearchConfig
from dragoman.data.collate import collate_sources
from dragoman.errors import UsageError
from dragoman.inference.choosing import Alternative, Chooser
from dragoman.inference.judge import Judge, Rows
from dragoman.inference.knowing import Token, Words
from dragoman.inference.outcome import Term
from dragoman.inference.steered import Answer, Decoded, steered
from dragoman.inference.steering import Asked, Steering, Surfaces
from dragoman.models.bundle import Bundle
from dragoman.protocols import Stepper
from dragoman.search.build import build
from dragoman.search.company import LEAST, padded
from dragoman.search.forced import forced
from dragoman.search.trace import Recorder, Trace
from dragoman.shapes import Bool, Int, Tensor
from dragoman.text.specials import EOS
from dragoman.text.surface import Surface

T = TypeVar("T")

BATCH_TOKENS = 8192  # of source at most: attention takes memory by the square of the length


class Result(NamedTuple):
    """`truncated`: the input was too long and read in part, or the output reached its longest length.

    `confidence` is None before a calibration; `details` and `alignment` are None where they were not asked
    for, and `alignment` of a decoder that looks nowhere. `alternatives` are the n best, this one first, where
    more than one was asked for.
    """

    text: str
    score: float
    truncated: bool
    tokens: tuple[int, ...]
    flags: tuple[str, ...] = ()
    confidence: float | None = None
    details: tuple[Token, ...] | None = None
    alignment: Words | None = None
    alternatives: tuple[Alternative, ...] = ()
    trace: Trace | None = None
    terms: tuple[Term, ...] = ()  # what was asked of this output, and whether it is met


EMPTY = Result("", 0.0, False, ())


class Translator:
    def __init__(self, bundle: Bundle, *more: Bundle, reverse: Bundle | None = None) -> None:
        """`more` models decide together with the first; a `reverse` one re-ranks what they find."""
        self.model: Stepper = bundle.model
        self.text = bundle.text
        self.search = bundle.config.search
        self.judge = Judge(bundle.text, bundle.calibration)
        self.chooser = Chooser((bundle, *more), reverse)
        self.longest_source = min(b.longest_source for b in (bundle, *more))
        self.longest_target = min(b.longest_target for b in (bundle, *more))

    @cached_property
    def surfaces(self) -> Surfaces:
        return Surfaces(Surface(self.text.src), Surface(self.text.tgt))

    def __call__(
        self,
        texts: Sequence[str],
        search: SearchConfig | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **asked: Unpack[Asked],
    ) -> list[Result]:
        """One result for each text, in order. A text without words becomes an empty one."""
        config = search or self.search
        config = config.model_copy(update={"max_length": min(config.max_length, self.longest_target)})
        steering = Steering(texts, self.surfaces, asked) if any(asked.values()) else None
        decode = partial(self._decode, config, steering, details=details, trace=trace)
        if steering:
            answers = steered(steering, decode)
        else:
            answers = [Answer(one, self._texts(one)) if one else None for one in decode(texts)]
        pairs = zip(texts, answers, strict=True)
        return [self._result(text, answer) if answer else EMPTY for text, answer in pairs]

    def _decode(
        self,
        config: SearchConfig,
        steering: Steering | None,
        texts: Sequence[str],
        *,
        details: bool,
        trace: bool,
        look: bool = False,
    ) -> list[Decoded | None]:
        """What is found for each text; None for one without words."""
        sources = self.text.src.encode_batch([text if text.strip() else "" for text in texts])
        lengths = [min(len(s), self.longest_source) for s in sources]
        decoded: list[Decoded | None] = [None for _ in texts]
        for group in steering.groups(config.size) if steering else [range(len(texts))]:
            for part in batches([lengths[place] for place in group], config.batch_sentences):
                places = [group[i] for i in part]
                rows = [sources[place][: self.longest_source].tolist() for place in places]
                lines = [texts[place] for place in places]
                found = self._found(config, steering, lines, rows, places, trace=trace)
                if details:
                    found = self._with_known(config, lines, found)
                if look:
                    found = self._with_looks(config, found)
                for place, one in zip(places, found, strict=True):
                    decoded[place] = one._replace(is_cut=len(sources[place]) > self.longest_source)
        return decoded

    def _found(
        self,
        config: SearchConfig,
        steering: Steering | None,
        texts: Sequence[str],
        rows: Rows,
        places: Sequence[int],
        *,
        trace: bool,
    ) -> list[Decoded]:
        recorder = Recorder() if trace else None
        if recorder and config.kind in ("sample", "mbr"):
            raise no_trace(config.kind)
        stepper = self.chooser.stepper(self.model, config)
        bounded = self.judge.bounded(config, len(rows[0]))
        if steering is None:
            decode = build(bounded, self.judge.shortest_loop, recorder)
        else:
            bounded = steering.with_room(bounded, config, places)
            decode = steering.search(bounded, in_company(places), self.judge.shortest_loop, recorder)
            stepper = steering.stepper(stepper, in_company(places))
        found = decode(stepper, *sources(rows))[: len(rows)]
        traces = recorder.traces(found) if recorder else [None] * len(rows)
        ranked = [self.chooser.ranked(config, *pair) for pair in zip(texts, found, strict=True)]
        return [Decoded(*one) for one in zip(rows, ranked, traces, strict=True)]

    def _with_known(
        self, config: SearchConfig, texts: Sequence[str], found: Sequence[Decoded]
    ) -> list[Decoded]:
        outputs = [[*one.best.tokens, EOS] if one.best.finished else list(one.best.tokens) for one in found]
        stepper = self.chooser.stepper(self.model, config)
        rows = in_company([one.source for one in found])
        known = self.judge.known(stepper, texts, rows, in_company(outputs))
        return [one._replace(known=mine) for one, mine in zip(found, known, strict=True)]

    def _with_looks(self, config: SearchConfig, found: Sequence[Decoded]) -> list[Decoded]:
        """And where the model looked for each token, if it looks anywhere; not at </s>."""
        outputs = in_company([[*one.best.tokens, EOS] for one in found])
        batch = sources([one.source for one in found])
        looks = forced(self.chooser.stepper(self.model, config), *batch, outputs).attention
        if looks is None:
            return list(found)
        return [
            one._replace(look=looks[n, : len(one.best.tokens), : len(one.source)])
            for n, one in enumerate(found)
        ]

    def _texts(self, decoded: Decoded) -> list[str]:
        return [self.text.tgt.decode(hypothesis.tokens) for hypothesis in decoded.hypotheses]

    def _result(self, source: str, answer: Answer) -> Result:
        decoded, text = answer.decoded, answer.texts[0]
        best = decoded.best
        truncated = decoded.is_cut or not best.finished
        details, alignment = decoded.known or (None, None)
        pairs = list(zip(answer.texts, decoded.hypotheses, strict=True))
        return Result(
            text,
            best.score,
            truncated,
            best.tokens,
            self.judge.flags(source, decoded.source, text, best, truncated=truncated),
            self.judge.confidence(best),
            details,
            alignment,
            tuple(Alternative(t, h.score, h.tokens) for t, h in pairs) if len(pairs) > 1 else (),
            decoded.trace,
            answer.terms,
        )


def in_company(rows: Sequence[T]) -> list[T]:
    """A batch that is not too small: its last row again and again."""
    return [*rows, *[rows[-1]] * max(LEAST - len(rows), 0)]


def sources(rows: Rows) -> tuple[Int[Tensor, "B S"], Bool[Tensor, "B S"]]:
    """A batch of them, all of which are padded to the same length."""
    return collate_sources(in_company(rows), padded(len(rows[0])))


def no_trace(kind: str) -> UsageError:
    return UsageError(
        "There is a trace of greedy and beam search only: samples have no candidates.",
        where=f'search.kind = "{kind}"',
        hint="search.kind=beam",
    )


def batches(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Places of sentences that are padded to one length, `size` at most, shortest first; empty ones are left
    out."""
    alike: dict[int, list[int]] = defaultdict(list)
    for place, length in enumerate(lengths):
        if length:
            alike[padded(length)].append(place)
    for length in sorted(alike):
        places = alike[length]
        most = min(size, max(BATCH_TOKENS // length, LEAST))
        yield from (places[i : i + most] for i in range(0, len(places), most))
