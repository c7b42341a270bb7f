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
from dragoman.inference.judge import Judge, Rows
from dragoman.inference.knowing import Known, Token, Words
from dragoman.inference.outcome import Term
from dragoman.inference.steered import Answer, Decoded, steered
from dragoman.inference.steering import Asked, Steering, Surfaces
from dragoman.models.bundle import Bundle
from dragoman.search.build import build
from dragoman.search.company import LEAST
from dragoman.search.forced import forced
from dragoman.search.hypothesis import Hypothesis
from dragoman.shapes import Float, Tensor
from dragoman.text.specials import EOS
from dragoman.text.surface import Surface

T = TypeVar("T")

LONGEST = 1024  # tokens of a model that has no limit of its own
BATCH_TOKENS = 8192  # of source at most: attention takes memory by the square of the length


class Result(NamedTuple):
    """`truncated`: the input was too long and read in part, or the output reached its longest length.

    `confidence` is None before a calibration; `details` and `alignment` are None where they were not asked
    for, and `alignment` of a decoder that looks nowhere.
    """

    text: str
    score: float
    truncated: bool
    tokens: tuple[int, ...]
    flags: tuple[str, ...] = ()
    confidence: float | None = None
    details: tuple[Token, ...] | None = None
    alignment: Words | None = None
    terms: tuple[Term, ...] = ()  # what was asked of this output, and whether it is met


EMPTY = Result("", 0.0, False, ())


class Translator:
    def __init__(self, bundle: Bundle) -> None:
        self.model = bundle.model
        self.text = bundle.text
        self.search = bundle.config.search
        self.judge = Judge(bundle.text, bundle.calibration)
        model = bundle.config.model
        self.longest_source = (model.encoder.longest or LONGEST) - 1  # </s> has a place too
        self.longest_target = model.decoder.longest or LONGEST

    @cached_property
    def surfaces(self) -> Surfaces:
        return Surfaces(Surface(self.text.src), Surface(self.text.tgt))

    def __call__(
        self,
        texts: Sequence[str],
        search: SearchConfig | None = None,
        *,
        details: bool = False,
        **asked: Unpack[Asked],
    ) -> list[Result]:
        """One result for each text, in order. A text without words becomes an empty one."""
        config = search or self.search
        config = config.model_copy(update={"max_length": min(config.max_length, self.longest_target)})
        steering = Steering(texts, self.surfaces, asked) if any(asked.values()) else None
        decode = partial(self._decode, config, steering, details=details)
        if steering:
            answers = steered(steering, decode)
        else:
            answers = [Answer(one, self._text(one.best)) if one else None for one in decode(texts)]
        pairs = zip(texts, answers, strict=True)
        return [self._result(text, answer) if answer else EMPTY for text, answer in pairs]

    def _text(self, best: Hypothesis) -> str:
        return self.text.tgt.decode(best.tokens)

    def _decode(
        self,
        config: SearchConfig,
        steering: Steering | None,
        texts: Sequence[str],
        *,
        details: bool,
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
                found = self._best(config, steering, rows, places)
                known = (
                    self._known([texts[p] for p in places], rows, found) if details else [None] * len(rows)
                )
                looks = self._looks(rows, found) if look else None
                for n, place in enumerate(places):
                    seen = None if looks is None else looks[n, : len(found[n].tokens), :-1]  # without </s>
                    is_cut = len(sources[place]) > self.longest_source
                    decoded[place] = Decoded(rows[n], found[n], is_cut, known[n], seen)
        return decoded

    def _best(
        self, config: SearchConfig, steering: Steering | None, rows: Rows, places: Sequence[int]
    ) -> list[Hypothesis]:
        batch = collate_sources(in_company(rows))
        bounded = self.judge.bounded(config, len(rows[0]))
        if steering is None:
            found = build(bounded, self.judge.shortest_loop)(self.model, *batch)
        else:
            places = in_company(places)
            search = steering.search(config, bounded, places, self.judge.shortest_loop)
            found = search(steering.stepper(self.model, places), *batch)
        return [hypotheses[0] for hypotheses in found[: len(rows)]]

    def _looks(self, rows: Rows, found: Sequence[Hypothesis]) -> Float[Tensor, "N T S"] | None:
        """Where the model looked for each token; None of a decoder that looks nowhere."""
        outputs = in_company([[*best.tokens, EOS] for best in found])
        return forced(self.model, *collate_sources(in_company(rows)), outputs).attention

    def _result(self, source: str, answer: Answer) -> Result:
        row, best, is_cut, known, _ = answer.decoded
        truncated = is_cut or not best.finished
        flags = self.judge.flags(source, row, answer.text, best, truncated=truncated)
        details, alignment = known or (None, None)
        confidence = self.judge.confidence(best)
        return Result(
            answer.text,
            best.score,
            truncated,
            best.tokens,
            flags,
            confidence,
            details,
            alignment,
            answer.terms,
        )

    def _known(self, texts: Sequence[str], rows: Rows, found: Sequence[Hypothesis]) -> list[Known]:
        outputs = [[*best.tokens, EOS] if best.finished else list(best.tokens) for best in found]
        return self.judge.known(self.model, texts, in_company(rows), in_company(outputs))


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
