"""Texts → results: cut into ids, decoded in batches, put back in order.

A batch holds sentences of one length, so nothing is padded, and is never smaller than search wants for
company: what a sentence becomes does not depend on what stands beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from dragoman.config.search import SearchConfig
from dragoman.data.collate import collate_sources
from dragoman.errors import UsageError
from dragoman.inference.choosing import Alternative, Chooser
from dragoman.inference.judge import Judge, Rows
from dragoman.inference.knowing import Known, Token, Words
from dragoman.models.bundle import Bundle
from dragoman.protocols import Stepper
from dragoman.search.build import build
from dragoman.search.company import LEAST
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.trace import Recorder, Trace
from dragoman.text.specials import EOS

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


EMPTY = Result("", 0.0, False, ())


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

    def __call__(
        self,
        texts: Sequence[str],
        search: SearchConfig | None = None,
        *,
        details: bool = False,
        trace: bool = False,
    ) -> list[Result]:
        """One result for each text, in order. A text without words becomes an empty one."""
        config = search or self.search
        config = config.model_copy(update={"max_length": min(config.max_length, self.longest_target)})
        sources = self.text.src.encode_batch([text if text.strip() else "" for text in texts])
        results = [EMPTY for _ in texts]
        for places in batches([min(len(s), self.longest_source) for s in sources], config.batch_sentences):
            rows = [sources[place][: self.longest_source].tolist() for place in places]
            lines = [texts[place] for place in places]
            found = self._found(config, lines, rows, trace=trace)
            for place, row, mine in zip(places, rows, found, strict=True):
                is_cut = len(sources[place]) > self.longest_source
                results[place] = self._result(texts[place], row, mine, is_cut=is_cut)
            if details:
                known = self._known(config, lines, rows, [mine.hypotheses[0] for mine in found])
                for place, fields in zip(places, known, strict=True):
                    results[place] = results[place]._replace(**fields._asdict())
        return results

    def _found(self, config: SearchConfig, texts: Sequence[str], rows: Rows, *, trace: bool) -> list[Found]:
        recorder = Recorder() if trace else None
        if recorder and config.kind in ("sample", "mbr"):
            raise no_trace(config.kind)
        decode = build(self.judge.bounded(config, len(rows[0])), self.judge.shortest_loop, recorder)
        stepper = self.chooser.stepper(self.model, config)
        found = decode(stepper, *collate_sources(in_company(rows)))[: len(rows)]
        traces = recorder.traces(found) if recorder else [None] * len(rows)
        ranked = [self.chooser.ranked(config, *pair) for pair in zip(texts, found, strict=True)]
        return [Found(*pair) for pair in zip(ranked, traces, strict=True)]

    def _result(self, source: str, row: Sequence[int], found: Found, *, is_cut: bool) -> Result:
        best, *others = found.hypotheses
        text = self.text.tgt.decode(best.tokens)
        truncated = is_cut or not best.finished
        return Result(
            text,
            best.score,
            truncated,
            best.tokens,
            self.judge.flags(source, row, text, best, truncated=truncated),
            self.judge.confidence(best),
            alternatives=self.chooser.alternatives(found.hypotheses) if others else (),
            trace=found.trace,
        )

    def _known(
        self, config: SearchConfig, texts: Sequence[str], rows: Rows, found: Sequence[Hypothesis]
    ) -> list[Known]:
        outputs = [[*best.tokens, EOS] if best.finished else list(best.tokens) for best in found]
        stepper = self.chooser.stepper(self.model, config)
        return self.judge.known(stepper, texts, in_company(rows), in_company(outputs))


def in_company(rows: Sequence[T]) -> list[T]:
    """A batch that is not too small: its last row again and again."""
    return [*rows, *[rows[-1]] * max(LEAST - len(rows), 0)]


def no_trace(kind: str) -> UsageError:
    return UsageError(
        "There is a trace of greedy and beam search only: samples have no candidates.",
        where=f'search.kind = "{kind}"',
        hint="search.kind=beam",
    )


def batches(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Places of sentences of one length, `size` at most, shortest first; empty sentences are left out."""
    alike: dict[int, list[int]] = defaultdict(list)
    for place, length in enumerate(lengths):
        alike[length].append(place)
    for length in sorted(alike.keys() - {0}):
        places = alike[length]
        most = min(size, max(BATCH_TOKENS // length, LEAST))
        yield from (places[i : i + most] for i in range(0, len(places), most))
