"""Texts → results: cut into ids, decoded in batches, put back in order.

A batch holds sentences of one length, so nothing is padded, and is never smaller than search wants for
company: what a sentence becomes does not depend on what stands beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from dragoman.config.search import SearchConfig
from dragoman.data.collate import collate_sources
from dragoman.inference.flags import Limits, Seen, raised
from dragoman.inference.knowing import Token, Words, Written, alignment, details
from dragoman.models.bundle import Bundle
from dragoman.search.build import Search, build
from dragoman.search.company import LEAST
from dragoman.search.forced import forced
from dragoman.search.guard import LoopGuard, longest_output
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.loops import most_turns, shortest_loop
from dragoman.text.specials import EOS

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
        self.calibration = bundle.calibration
        model = bundle.config.model
        self.longest_source = (model.encoder.longest or LONGEST) - 1  # </s> has a place too
        self.longest_target = model.decoder.longest or LONGEST

    def __call__(
        self, texts: Sequence[str], search: SearchConfig | None = None, *, details: bool = False
    ) -> list[Result]:
        """One result for each text, in order. A text without words becomes an empty one."""
        config = search or self.search
        sources = self.text.src.encode_batch([text if text.strip() else "" for text in texts])
        results = [EMPTY for _ in texts]
        for places in batches([min(len(s), self.longest_source) for s in sources], config.batch_sentences):
            rows = [sources[place][: self.longest_source].tolist() for place in places]
            found = self._best(self._search(config, len(rows[0])), rows)
            for place, row, best in zip(places, rows, found, strict=True):
                is_cut = len(sources[place]) > self.longest_source
                results[place] = self._result(texts[place], row, best, is_cut=is_cut)
            if details:
                known = self._known([texts[place] for place in places], rows, found)
                for place, fields in zip(places, known, strict=True):
                    results[place] = results[place]._replace(**fields)
        return results

    def _search(self, config: SearchConfig, source: int) -> Search:
        """The search for sentences of one length, under the runaway guard where it is asked for."""
        most = min(config.max_length, self.longest_target)
        if not config.guard:
            return build(config.model_copy(update={"max_length": most}))
        src, tgt = self.text.src.kind, self.text.tgt.kind
        most = min(most, longest_output(source, src, tgt))
        search = build(config.model_copy(update={"max_length": most}))
        return lambda stepper, src, keep: search(LoopGuard(stepper, shortest_loop(tgt)), src, keep)

    def _best(self, decode: Search, rows: Sequence[Sequence[int]]) -> list[Hypothesis]:
        found = decode(self.model, *collate_sources([*rows, *company(rows)]))
        return [hypotheses[0] for hypotheses in found[: len(rows)]]

    def _result(self, source: str, row: Sequence[int], best: Hypothesis, *, is_cut: bool) -> Result:
        text = self.text.tgt.decode(best.tokens)
        known = self.calibration
        confidence = known.confidence(best.log_p, len(best.tokens) + best.finished) if known else None
        truncated = is_cut or not best.finished
        seen = Seen(source, text, truncated, self.turns(row, best.tokens), confidence)
        return Result(text, best.score, truncated, best.tokens, raised(seen, self.limits), confidence)

    @property
    def limits(self) -> Limits:
        """Of the flags: those of the calibration, where there is one."""
        if (known := self.calibration) is None:
            return Limits()
        return Limits(known.shortest, known.longest, known.doubt, frozenset(known.muted))

    def turns(self, src: Sequence[int], tgt: Sequence[int]) -> tuple[int, int]:
        """Of the longest loop of each side."""
        sides = (src, self.text.src.kind), (tgt, self.text.tgt.kind)
        src_turns, tgt_turns = (most_turns(ids, shortest_loop(kind)) for ids, kind in sides)
        return src_turns, tgt_turns

    def _known(
        self, texts: Sequence[str], rows: Sequence[Sequence[int]], found: Sequence[Hypothesis]
    ) -> list[dict[str, Any]]:
        """The `details` and `alignment` of one batch: each output is gone through once more."""
        temperature = self.calibration.temperature if self.calibration else 1.0
        outputs = [[*best.tokens, EOS] if best.finished else list(best.tokens) for best in found]
        padding = [outputs[-1] for _ in company(rows)]
        seen = forced(
            self.model, *collate_sources([*rows, *company(rows)]), [*outputs, *padding], temperature
        )
        known = []
        for place, (text, row, ids) in enumerate(zip(texts, rows, outputs, strict=True)):
            written = Written(text, [*row, EOS], self.text.tgt.decode(ids), ids)
            tokens = details(written, place, seen, self.text, calibrated=self.calibration is not None)
            known.append({"details": tokens, "alignment": alignment(written, place, seen, self.text)})
        return known


def company(rows: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """Copies that fill up a batch that is too small."""
    return [rows[-1]] * max(LEAST - len(rows), 0)


def batches(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Places of sentences of one length, `size` at most, shortest first; empty sentences are left out."""
    alike: dict[int, list[int]] = defaultdict(list)
    for place, length in enumerate(lengths):
        alike[length].append(place)
    for length in sorted(alike.keys() - {0}):
        places = alike[length]
        most = min(size, max(BATCH_TOKENS // length, LEAST))
        yield from (places[i : i + most] for i in range(0, len(places), most))
