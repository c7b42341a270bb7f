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
from dragoman.inference.judge import Judge, Rows
from dragoman.inference.knowing import Known, Token, Words
from dragoman.models.bundle import Bundle
from dragoman.search.build import build
from dragoman.search.company import LEAST
from dragoman.search.hypothesis import Hypothesis
from dragoman.text.specials import EOS

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

    def __call__(
        self, texts: Sequence[str], search: SearchConfig | None = None, *, details: bool = False
    ) -> list[Result]:
        """One result for each text, in order. A text without words becomes an empty one."""
        config = search or self.search
        config = config.model_copy(update={"max_length": min(config.max_length, self.longest_target)})
        sources = self.text.src.encode_batch([text if text.strip() else "" for text in texts])
        results = [EMPTY for _ in texts]
        for places in batches([min(len(s), self.longest_source) for s in sources], config.batch_sentences):
            rows = [sources[place][: self.longest_source].tolist() for place in places]
            found = self._best(config, rows)
            for place, row, best in zip(places, rows, found, strict=True):
                is_cut = len(sources[place]) > self.longest_source
                results[place] = self._result(texts[place], row, best, is_cut=is_cut)
            if details:
                known = self._known([texts[place] for place in places], rows, found)
                for place, fields in zip(places, known, strict=True):
                    results[place] = results[place]._replace(**fields._asdict())
        return results

    def _best(self, config: SearchConfig, rows: Rows) -> list[Hypothesis]:
        decode = build(self.judge.bounded(config, len(rows[0])), self.judge.shortest_loop)
        found = decode(self.model, *collate_sources(in_company(rows)))
        return [hypotheses[0] for hypotheses in found[: len(rows)]]

    def _result(self, source: str, row: Sequence[int], best: Hypothesis, *, is_cut: bool) -> Result:
        text = self.text.tgt.decode(best.tokens)
        truncated = is_cut or not best.finished
        flags = self.judge.flags(source, row, text, best, truncated=truncated)
        return Result(text, best.score, truncated, best.tokens, flags, self.judge.confidence(best))

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
