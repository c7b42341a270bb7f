"""Texts → results: cut into ids, decoded in batches, put back in order.

A batch holds sentences that are padded to one length, whatever stands beside them, and is never smaller than
search wants for company: what a sentence becomes does not depend on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from typing import TypeVar, Unpack

from dragoman.config.search import SearchConfig
from dragoman.data.collate import collate_sources
from dragoman.errors import UsageError
from dragoman.inference.asked import Asked
from dragoman.inference.choosing import Chooser
from dragoman.inference.guarding import without_loops
from dragoman.inference.judge import Judge
from dragoman.inference.knowing import Written, known
from dragoman.inference.opening import Openings
from dragoman.inference.result import EMPTY, Alternative, Result
from dragoman.inference.runtime import Ids, Name, Steps
from dragoman.inference.steered import Answer, Decoded, steered
from dragoman.inference.steering import Steering, Surfaces
from dragoman.inference.streaming import parts
from dragoman.models.bundle import Bundle, load_bundle
from dragoman.protocols import Stepper
from dragoman.search.build import build, build_normalise, build_rules, is_beam
from dragoman.search.company import LEAST, padded
from dragoman.search.forced import Forced, forced
from dragoman.search.greedy import greedy_tokens
from dragoman.search.hypothesis import Hypothesis, best_of
from dragoman.search.loops import LoopBounds
from dragoman.search.runaway import OutputBounds
from dragoman.search.trace import Recorder
from dragoman.shapes import Bool, Int, Tensor
from dragoman.text.specials import EOS
from dragoman.text.surface import Surface

T = TypeVar("T")

BATCH_TOKENS = 8192  # of source at most: attention takes memory by the square of the length


class Translator:
    """The runtime of torch, which can all there is."""

    name: Name = "torch"

    def __init__(
        self, bundle: Bundle, *more: Bundle, reverse: Bundle | None = None, bounds: OutputBounds | None = None
    ) -> None:
        """`more` models decide together with the first; a `reverse` one re-ranks what they find. `bounds` of
        outputs go before those of a calibration."""
        self.model: Stepper = bundle.model
        self.text = bundle.text
        self.search = bundle.config.search
        self.judge = Judge(bundle.text, bundle.calibration, bounds)
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
        config = self._limited(search)
        steering = Steering(texts, self.surfaces, asked) if any(asked.values()) else None
        decode = partial(self._decode, config, steering, details=details, trace=trace)
        if steering:
            answers = steered(steering, decode)
        else:
            answers = [Answer(one, self._texts(one)) if one else None for one in decode(texts)]
        pairs = zip(texts, answers, strict=True)
        return [self._result(text, answer) if answer else EMPTY for text, answer in pairs]

    def stream(self, text: str, search: SearchConfig | None = None, *, prefix: str = "") -> Iterator[str]:
        """The output of greedy search in parts, each as soon as it is known."""
        config = self._limited(search)
        source = self.text.read([text])[0][: self.longest_source].tolist()
        if not source:
            return
        stepper = self.chooser.stepper(self.model, config)
        bounded, company = self.judge.bounded(config, len(source)), in_company([0])
        if prefix:
            steering = Steering([text], self.surfaces, {"prefix": prefix})
            bounded, stepper = steering.with_room(bounded, config, [0]), steering.stepper(stepper, company)
        if rules := build_rules(config, self.judge.loops(config)):
            stepper = rules(stepper)
        tokens = greedy_tokens(stepper, *self._batch([source]), bounded.max_length)
        yield from parts(tokens, partial(Openings([prefix], self.surfaces.tgt).text, 0))

    def _limited(self, search: SearchConfig | None) -> SearchConfig:
        config = search or self.search
        return config.model_copy(update={"max_length": min(config.max_length, self.longest_target)})

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
        sources = self.text.read(texts)
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
        rows: Sequence[Sequence[int]],
        places: Sequence[int],
        *,
        trace: bool,
    ) -> list[Decoded]:
        recorder = Recorder() if trace else None
        if recorder and config.kind in ("sample", "mbr"):
            raise no_trace(config.kind)
        bounded, loops = self.judge.bounded(config, len(rows[0])), self.judge.loops(config)
        found = self._searched(bounded, config, steering, rows, places, recorder)
        traces = recorder.traces(found) if recorder else [None] * len(rows)
        is_constrained = steering is not None and any(steering.wishes[place].constraints for place in places)
        if loops and is_beam(config) and not is_constrained:
            self._cut_loops(found, loops, bounded, config, steering, rows, places)
        ranked = [self.chooser.ranked(config, *pair) for pair in zip(texts, found, strict=True)]
        return [Decoded(*one) for one in zip(rows, ranked, traces, strict=True)]

    def _searched(
        self,
        bounded: SearchConfig,
        config: SearchConfig,
        steering: Steering | None,
        rows: Sequence[Sequence[int]],
        places: Sequence[int],
        recorder: Recorder | None = None,
    ) -> list[list[Hypothesis]]:
        """The hypotheses for each row. `bounded` is the search within the guard's length."""
        stepper, loops = self.chooser.stepper(self.model, config), self.judge.loops(config)
        if steering is None:
            decode = build(bounded, loops, recorder)
        else:
            bounded, company = steering.with_room(bounded, config, places), in_company(places)
            decode = steering.search(bounded, company, loops, recorder)
            stepper = steering.stepper(stepper, company)
        return decode(stepper, *self._batch(rows))[: len(rows)]

    def _cut_loops(
        self,
        found: list[list[Hypothesis]],
        loops: LoopBounds,
        bounded: SearchConfig,
        config: SearchConfig,
        steering: Steering | None,
        rows: Sequence[Sequence[int]],
        places: Sequence[int],
    ) -> None:
        """Where one of the n best has a loop, each hypothesis is cut, and ranked anew with greedy search's.

        A beam that is full of loops has nothing else, while greedy search goes on without them.
        """
        cuts = [partial(loops.cut_at, row, start=config.min_length) for row in rows]
        looping = [
            n
            for n, best in enumerate(found)
            if any(cuts[n](h.tokens) is not None for h in best[: config.n_best])
        ]
        if not looping:
            return
        one = {"kind": "greedy", "n_best": 1}
        sources, of = [rows[n] for n in looping], [places[n] for n in looping]
        greedy = self._searched(
            bounded.model_copy(update=one), config.model_copy(update=one), steering, sources, of
        )
        for n, other in zip(looping, greedy, strict=True):
            cut = without_loops(found[n], cuts[n], partial(self._ended, config, rows[n]))
            found[n] = best_of(cut, other, size=len(found[n]))

    def _ended(self, config: SearchConfig, source: Sequence[int], outputs: list[Ids]) -> list[Hypothesis]:
        """Outputs with </s> behind them."""
        stepper, normalise = self.chooser.stepper(self.model, config), build_normalise(config)
        ends = in_company([[*tokens, EOS] for tokens in outputs])
        sums = forced(stepper, *self._batch([source] * len(ends)), ends).log_p.sum(dim=1).tolist()
        return [
            Hypothesis(tuple(tokens), normalise(p, len(tokens) + 1), p, True)
            for tokens, p in zip(outputs, sums, strict=False)
        ]

    def _with_known(
        self, config: SearchConfig, texts: Sequence[str], found: Sequence[Decoded]
    ) -> list[Decoded]:
        outputs = [[*one.best.tokens, EOS] if one.best.finished else list(one.best.tokens) for one in found]
        stepper = self.chooser.stepper(self.model, config)
        seen = forced(stepper, *self._batch([one.source for one in found]), in_company(outputs))
        told = []
        for place, one in enumerate(found):
            output = self.text.tgt.decode(outputs[place])
            written = Written(texts[place], [*one.source, EOS], output, outputs[place])
            steps = steps_of(seen, place, len(written.src), len(written.tgt))
            told.append(one._replace(known=known(written, steps, self.text, self.judge.calibration)))
        return told

    def _with_looks(self, config: SearchConfig, found: Sequence[Decoded]) -> list[Decoded]:
        """And where the model looked for each token, if it looks anywhere; not at </s>."""
        outputs = in_company([[*one.best.tokens, EOS] for one in found])
        batch = self._batch([one.source for one in found])
        looks = forced(self.chooser.stepper(self.model, config), *batch, outputs).attention
        if looks is None:
            return list(found)
        return [
            one._replace(look=looks[n, : len(one.best.tokens), : len(one.source)])
            for n, one in enumerate(found)
        ]

    def _batch(self, rows: Sequence[Sequence[int]]) -> tuple[Int[Tensor, "B S"], Bool[Tensor, "B S"]]:
        """Sources that are padded alike, as far as there are positions."""
        length = min(padded(len(rows[0])), self.longest_source + 1)
        return collate_sources(in_company(rows), length)

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


def load_translator(
    folder: Path,
    ensemble: Sequence[Path] = (),
    reverse: Path | None = None,
    make: Callable[..., Translator] = Translator,
) -> Translator:
    more = [load_bundle(other) for other in ensemble]
    back = load_bundle(reverse) if reverse is not None else None
    return make(load_bundle(folder), *more, reverse=back)


def steps_of(seen: Forced, row: int, S: int, T: int) -> Steps:
    """Of the output in one row of a forced decoding."""
    attention = None if seen.attention is None else seen.attention[row, :T, :S].numpy()
    return Steps(seen.log_p[row, :T].tolist(), seen.entropy[row, :T].tolist(), attention)


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
    """Places of sentences that are padded to one length, `size` at most, shortest first, so that those that
    end early end together; empty ones are left out."""
    order = sorted((place for place, length in enumerate(lengths) if length), key=lengths.__getitem__)
    for length, group in groupby(order, lambda place: padded(lengths[place])):
        alike, most = list(group), min(size, max(BATCH_TOKENS // length, LEAST))
        yield from (alike[i : i + most] for i in range(0, len(alike), most))
