"""Texts → results: cut into ids, decoded in batches, put back in order.

A batch holds sentences of one length, so nothing is padded, and is never smaller than search wants for
company: what a sentence becomes does not depend on what stands beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dragoman.config.search import SearchConfig
from dragoman.data.collate import Ids, collate_sources
from dragoman.models.bundle import Bundle
from dragoman.search.build import Search, build
from dragoman.search.company import LEAST
from dragoman.search.hypothesis import Hypothesis

LONGEST = 1024  # tokens of a model that has no limit of its own
BATCH_TOKENS = 8192  # of source at most: attention takes memory by the square of the length


class Result(NamedTuple):
    """`truncated`: the input was too long and read in part, or the output reached its longest length."""

    text: str
    score: float
    truncated: bool
    tokens: tuple[int, ...]


EMPTY = Result("", 0.0, False, ())


class Translator:
    def __init__(self, bundle: Bundle) -> None:
        self.model = bundle.model
        self.text = bundle.text
        self.search = bundle.config.search
        model = bundle.config.model
        self.longest_source = (model.encoder.longest or LONGEST) - 1  # </s> has a place too
        self.longest_target = model.decoder.longest or LONGEST

    def __call__(self, texts: Sequence[str], search: SearchConfig | None = None) -> list[Result]:
        """One result for each text, in order. A text without words becomes an empty one."""
        config = search or self.search
        decode = build(config.model_copy(update={"max_length": min(config.max_length, self.longest_target)}))
        sources = self.text.src.encode_batch([text if text.strip() else "" for text in texts])
        results = [EMPTY for _ in texts]
        for places in batches([min(len(s), self.longest_source) for s in sources], config.batch_sentences):
            rows = [sources[place][: self.longest_source] for place in places]
            for place, best in zip(places, self._best(decode, rows), strict=True):
                is_cut = len(sources[place]) > self.longest_source
                results[place] = self._result(best, is_cut=is_cut)
        return results

    def _best(self, decode: Search, rows: Sequence[Ids]) -> list[Hypothesis]:
        company = [rows[-1]] * max(LEAST - len(rows), 0)
        found = decode(self.model, *collate_sources([*rows, *company]))
        return [hypotheses[0] for hypotheses in found[: len(rows)]]

    def _result(self, best: Hypothesis, *, is_cut: bool) -> Result:
        text = self.text.tgt.decode(best.tokens)
        return Result(text, best.score, is_cut or not best.finished, best.tokens)


def batches(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Places of sentences of one length, `size` at most, shortest first; empty sentences are left out."""
    alike: dict[int, list[int]] = defaultdict(list)
    for place, length in enumerate(lengths):
        alike[length].append(place)
    for length in sorted(alike.keys() - {0}):
        places = alike[length]
        most = min(size, max(BATCH_TOKENS // length, LEAST))
        yield from (places[i : i + most] for i in range(0, len(places), most))
