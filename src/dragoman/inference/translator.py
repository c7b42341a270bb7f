"""Texts → results: cut into ids, decoded in batches, put back in order.

A batch holds sentences of one length, so nothing is padded, and is never smaller than search wants for
company: what a sentence becomes does not depend on what stands beside it.
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
from dragoman.inference.knowing import Known, Token, Words
from dragoman.inference.outcome import Term
from dragoman.inference.steered import Answer, Decoded, steered
from dragoman.inference.steering import Asked, Steering, Surfaces
from dragoman.models.bundle import Bundle
from dragoman.protocols import Stepper
from dragoman.search.build import build
from dragoman.search.company import LEAST
from dragoman.search.forced import forced
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.trace import Recorder, Trace
from dragoman.shapes import Float, Tensor
from dragoman.text.specials import EOS
from dragoman.text.surface import Surface

T = TypeVar("T")

BATCH_TOKENS = 8192  # of source at most: attention takes memory by the square of the length


class Result(NamedTuple):
    """`truncated`: the input was too long and read in part, or the output reached its longest length.

    `alternatives` are the n best, this one first, where more than one was asked for. `confidence` is None
    before a calibration; `details`, `alignment` and `trace` are None where they were not asked for, and
    `alignment` of a decoder that looks nowhere.
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


class Order(NamedTuple):
    """How the texts of one call are decoded."""

    search: SearchConfig
    steering: Steering | None
    details: bool
    trace: bool


class Found(NamedTuple):
    """The n best of one source, and how they were found, if that was asked for."""

    hypotheses: list[Hypothesis]
    trace: Trace | None


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
        refuse_what_does_not_go_together(config, steered=steering is not None, trace=trace)
        decode = partial(self._decode, Order(config, steering, details, trace))
        if steering:
            answers = steered(steering, decode)
        else:
            answers = [
                Answer(one, self.text.tgt.decode(one.best.tokens)) if one else None for one in decode(texts)
            ]
        pairs = zip(texts, answers, strict=True)
        return [self._result(text, answer) if answer else EMPTY for text, answer in pairs]

    def _plain(self, decoded: Decoded | None) -> Answer | None:
        return Answer(decoded, self.text.tgt.decode(decoded.best.tokens)) if decoded else None

    def _decode(self, order: Order, texts: Sequence[str], *, look: bool = False) -> list[Decoded | None]:
        """What is found for each text; None for one without words."""
        sources = self.text.src.encode_batch([text if text.strip() else "" for text in texts])
        lengths = [min(len(s), self.longest_source) for s in sources]
        decoded: list[Decoded | None] = [None for _ in texts]
        groups = order.steering.groups(order.search.size) if order.steering else [range(len(texts))]
        for group in groups:
            for part in batches([lengths[place] for place in group], order.search.batch_sentences):
                places = [group[i] for i in part]
                rows = [sources[place][: self.longest_source].tolist() for place in places]
                found = self._batch(order, [texts[place] for place in places], rows, places, look=look)
                for place, one in zip(places, found, strict=True):
                    decoded[place] = one._replace(is_cut=len(sources[place]) > self.longest_source)
        return decoded

    def _batch(
        self, order: Order, texts: Sequence[str], rows: Rows, places: Sequence[int], *, look: bool
    ) -> list[Decoded]:
        """Sources of one length."""
        found = self._found(order, texts, rows, places)
        best = [mine.hypotheses[0] for mine in found]
        stepper = self.chooser.stepper(self.model, order.search)
        known = self._known(stepper, texts, rows, best) if order.details else None
        looks = self._looks(stepper, rows, best) if look else None
        return [
            Decoded(
                list(rows[n]),
                mine.hypotheses,
                known=None if known is None else known[n],
                look=None if looks is None else looks[n, : len(best[n].tokens), :-1],  # without </s>
                trace=mine.trace,
            )
            for n, mine in enumerate(found)
        ]

    def _found(self, order: Order, texts: Sequence[str], rows: Rows, places: Sequence[int]) -> list[Found]:
        recorder = Recorder() if order.trace else None
        stepper = self.chooser.stepper(self.model, order.search)
        bounded = self.judge.bounded(order.search, len(rows[0]))
        if order.steering is None:
            decode = build(bounded, self.judge.shortest_loop, recorder)
        else:
            places = in_company(places)
            decode = order.steering.search(order.search, bounded, places, self.judge.shortest_loop)
            stepper = order.steering.stepper(stepper, places)
        found = decode(stepper, *collate_sources(in_company(rows)))[: len(rows)]
        traces = recorder.traces(found) if recorder else [None] * len(rows)
        ranked = [self.chooser.ranked(order.search, *pair) for pair in zip(texts, found, strict=True)]
        return [Found(*pair) for pair in zip(ranked, traces, strict=True)]

    def _looks(
        self, stepper: Stepper, rows: Rows, found: Sequence[Hypothesis]
    ) -> Float[Tensor, "N T S"] | None:
        """Where the model looked for each token; None of a decoder that looks nowhere."""
        outputs = in_company([[*best.tokens, EOS] for best in found])
        return forced(stepper, *collate_sources(in_company(rows)), outputs).attention

    def _known(
        self, stepper: Stepper, texts: Sequence[str], rows: Rows, found: Sequence[Hypothesis]
    ) -> list[Known]:
        outputs = [[*best.tokens, EOS] if best.finished else list(best.tokens) for best in found]
        return self.judge.known(stepper, texts, in_company(rows), in_company(outputs))

    def _result(self, source: str, answer: Answer) -> Result:
        decoded, best = answer.decoded, answer.decoded.best
        truncated = decoded.is_cut or not best.finished
        details, alignment = decoded.known or (None, None)
        several = len(decoded.hypotheses) > 1
        return Result(
            answer.text,
            best.score,
            truncated,
            best.tokens,
            self.judge.flags(source, decoded.source, answer.text, best, truncated=truncated),
            self.judge.confidence(best),
            details,
            alignment,
            self.chooser.alternatives(decoded.hypotheses) if several else (),
            decoded.trace,
            answer.terms,
        )


def refuse_what_does_not_go_together(config: SearchConfig, *, steered: bool, trace: bool) -> None:
    if trace and (config.kind in ("sample", "mbr") or steered):
        raise UsageError(
            "There is a trace of greedy and beam search only, and of outputs that are not steered.",
            where="a steered output" if steered else f'search.kind = "{config.kind}"',
            hint="search.kind=beam, without --prefix, --glossary, --forbid and --keep",
        )
    if steered and config.n_best > 1:
        raise UsageError(
            "Of each text one output is steered, not several.",
            where=f"search.n_best = {config.n_best}",
            hint="Leave --nbest out, or --prefix, --glossary, --forbid and --keep.",
        )


def in_company(rows: Sequence[T]) -> list[T]:
    """A batch that is not too small: its last row again and again."""
    return [*rows, *[rows[-1]] * max(LEAST - len(rows), 0)]


def batches(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Places of sentences of one length, `size` at most, shortest first; empty sentences are left out."""
    alike: dict[int, list[int]] = defaultdict(list)
    for place, length in enumerate(lengths):
        alike[length].append(place)
    for length in sorted(alike.keys() - {0}):
        places = alike[length]
        most = min(size, max(BATCH_TOKENS // length, LEAST))
        yield from (places[i : i + most] for i in range(0, len(places), most))
