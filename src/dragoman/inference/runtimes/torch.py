"""Texts → results: cut into ids, decoded in batches, put back in order.

A batch holds sentences that are padded to one length, whatever stands beside them, and is never smaller than
search wants for company: what a sentence becomes does not depend on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypeVar, Unpack

from dragoman.config.search import SearchConfig
from dragoman.data.collate import collate_sources
from dragoman.errors import UsageError
from dragoman.inference.quality.checks import OutputChecker
from dragoman.inference.quality.token_details import SourceAndOutput, analyse_output
from dragoman.inference.reranking import Reranker
from dragoman.inference.result import Result
from dragoman.inference.results import DecodedSentence, make_results
from dragoman.inference.runtimes.loop_retry import without_loops
from dragoman.inference.runtimes.prefix_tokens import PrefixForcer
from dragoman.inference.runtimes.runtime import IdSequence, RuntimeName, TokenScores, text_deltas
from dragoman.models.bundle import Bundle, load_bundle
from dragoman.protocols import Stepper
from dragoman.search.batch_invariance import MIN_ROWS, padded_length
from dragoman.search.build import Search, build, build_greedy, build_normalise, build_rules, is_beam
from dragoman.search.forced import Forced, forced
from dragoman.search.greedy import greedy_tokens
from dragoman.search.hypothesis import Hypothesis, best_of
from dragoman.search.repetition import LoopBounds, OutputBounds
from dragoman.search.trace import Recorder, Trace
from dragoman.shapes import Bool, Int, Tensor
from dragoman.steering.options import SteeringOptions
from dragoman.steering.plan import SteeringPlan
from dragoman.steering.reinsertion import TokenBytesPair
from dragoman.steering.token_bytes import TokenBytes
from dragoman.text.specials import EOS

T = TypeVar("T")

BATCH_TOKENS = 8192  # of source at most: attention takes memory by the square of the length


class SearchJob(NamedTuple):
    """The places of a call whose sentences are searched for with the same settings and room."""

    config: SearchConfig
    steering: SteeringPlan | None
    rows: Sequence[IdSequence]  # the sources of all places of the call
    places: Sequence[int]

    def batches(self, places: Sequence[int]) -> Iterator[list[int]]:
        lengths = [len(self.rows[place]) for place in places]
        for part in length_batches(lengths, self.config.batch_sentences):
            yield [places[i] for i in part]

    @property
    def is_constrained(self) -> bool:
        return self.steering is not None and any(
            self.steering.wishes[place].constraints for place in self.places
        )

    def search(
        self,
        bounded: SearchConfig,
        places: Sequence[int],
        loops: LoopBounds | None,
        recorder: Recorder | None,
        lost: list[int] | None,
    ) -> Search:
        if self.steering:
            return self.steering.search(bounded, pad_batch(places), loops, recorder, lost)
        return build(bounded, loops, recorder, lost)


class TorchRuntime:
    """The runtime of torch, which can all there is."""

    name: RuntimeName = "torch"

    def __init__(
        self, bundle: Bundle, *more: Bundle, reverse: Bundle | None = None, bounds: OutputBounds | None = None
    ) -> None:
        """`more` models decide together with the first; a `reverse` one re-ranks what they find. `bounds` of
        outputs go before those of a calibration."""
        self.model: Stepper = bundle.model
        self.text = bundle.text
        self.search = bundle.config.search
        self.judge = OutputChecker(bundle.text, bundle.calibration, bounds)
        self.chooser = Reranker((bundle, *more), reverse)
        self.longest_source = min(b.longest_source for b in (bundle, *more))
        self.longest_target = min(b.longest_target for b in (bundle, *more))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @cached_property
    def surfaces(self) -> TokenBytesPair:
        return TokenBytesPair(TokenBytes(self.text.src), TokenBytes(self.text.tgt))

    def __call__(
        self,
        texts: Sequence[str],
        search: SearchConfig | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **asked: Unpack[SteeringOptions],
    ) -> list[Result]:
        """One result for each text, in order. A text without words becomes an empty one."""
        config = self._limited(search)
        steering = SteeringPlan(texts, self.surfaces, asked) if any(asked.values()) else None
        decode = partial(self._decode, config, steering, details=details, trace=trace)
        return make_results(texts, steering, decode, self.text.tgt, self.judge, config)

    def stream(self, text: str, search: SearchConfig | None = None, *, prefix: str = "") -> Iterator[str]:
        """The output of greedy search in parts, each as soon as it is known."""
        config = self._limited(search)
        source = self.text.read([text])[0][: self.longest_source].tolist()
        if not source:
            return
        stepper = self.chooser.stepper(self.model, config)
        bounded, company = self.judge.bounded(config, len(source)), pad_batch([0])
        if prefix:
            steering = SteeringPlan([text], self.surfaces, {"prefix": prefix})
            bounded, stepper = steering.with_room(bounded, config, [0]), steering.stepper(stepper, company)
        if rules := build_rules(config, self.judge.loops(config)):
            stepper = rules(stepper)
        tokens = greedy_tokens(stepper, *self._batch([source]), bounded.max_length)
        yield from text_deltas(tokens, partial(PrefixForcer([prefix], self.surfaces.tgt).text, 0))

    def _limited(self, search: SearchConfig | None) -> SearchConfig:
        config = search or self.search
        return config.model_copy(update={"max_length": min(config.max_length, self.longest_target)})

    def _decode(
        self,
        config: SearchConfig,
        steering: SteeringPlan | None,
        texts: Sequence[str],
        *,
        details: bool,
        trace: bool,
        look: bool = False,
    ) -> list[DecodedSentence | None]:
        """What is found for each text; None for one without words."""
        sources = self.text.read(texts)
        rows = [source[: self.longest_source].tolist() for source in sources]
        decoded: list[DecodedSentence | None] = [None for _ in texts]
        for group in steering.groups(config.size) if steering else [range(len(texts))]:
            job = SearchJob(config, steering, rows, group)
            found, traces = self._searched(job, trace=trace)
            for places in job.batches(group):
                lines = [texts[place] for place in places]
                ranked = [self.chooser.ranked(config, texts[place], found[place]) for place in places]
                some = [
                    DecodedSentence(rows[place], best, traces.get(place))
                    for place, best in zip(places, ranked, strict=True)
                ]
                if details:
                    some = self._with_known(config, lines, some)
                if look:
                    some = self._with_looks(config, some)
                for place, one in zip(places, some, strict=True):
                    decoded[place] = one._replace(is_cut=len(sources[place]) > self.longest_source)
        return decoded

    def _searched(
        self, job: SearchJob, *, trace: bool
    ) -> tuple[dict[int, list[Hypothesis]], dict[int, Trace]]:
        """The hypotheses for each place, and how they were found."""
        if trace and job.config.kind in ("sample", "mbr"):
            raise no_trace(job.config.kind)
        loops = self.judge.loops(job.config)
        found: dict[int, list[Hypothesis]] = {}
        traces: dict[int, Trace] = {}
        lost: list[int] = []
        for places in job.batches(job.places):
            recorder, rows = Recorder() if trace else None, list[int]()
            later = None if trace else rows  # a trace has the whole search of a sentence
            search = job.search(self._bounded(job, places), places, loops, recorder, later)
            best = self._run(job, places, search)
            found.update(zip(places, best, strict=True))
            if recorder:
                traces.update(zip(places, recorder.traces(best), strict=True))
            lost += [places[row] for row in rows if row < len(places)]
        if is_beam(job.config) and not job.is_constrained:
            self._rank_with_greedy(job, found, lost, loops)
        return found, traces

    def _bounded(self, job: SearchJob, places: Sequence[int]) -> SearchConfig:
        """The search within the guard's length, and with room for what is asked."""
        bounded = self.judge.bounded(job.config, len(job.rows[places[0]]))
        return job.steering.with_room(bounded, job.config, places) if job.steering else bounded

    def _run(self, job: SearchJob, places: Sequence[int], search: Search) -> list[list[Hypothesis]]:
        stepper = self.chooser.stepper(self.model, job.config)
        if job.steering:
            stepper = job.steering.stepper(stepper, pad_batch(places))
        return search(stepper, *self._batch([job.rows[place] for place in places]))[: len(places)]

    def _rank_with_greedy(
        self,
        job: SearchJob,
        found: dict[int, list[Hypothesis]],
        lost: Sequence[int],
        loops: LoopBounds | None,
    ) -> None:
        """Where the beam lost the output of greedy search, or one of the n best has a loop, they are ranked
        anew with that output, and without loops.

        A beam that is full of loops has nothing else, while greedy search goes on without them.
        """
        looping: list[int] = []
        if loops:
            cut_at = partial(loops.cut_at, start=job.config.min_length)
            looping = [
                place
                for place, best in found.items()
                if any(cut_at(job.rows[place], h.tokens) is not None for h in best[: job.config.n_best])
            ]
            sources = [job.rows[place] for place in looping]
            cut = without_loops(
                [found[place] for place in looping], sources, cut_at, partial(self._ended, job.config)
            )
            found.update(zip(looping, cut, strict=True))
        for places in job.batches(sorted({*lost, *looping})):
            greedy = self._run(job, places, build_greedy(self._bounded(job, places), loops))
            for place, other in zip(places, greedy, strict=True):
                found[place] = best_of(found[place], other, size=job.config.size)

    def _ended(
        self, config: SearchConfig, sources: Sequence[IdSequence], outputs: Sequence[IdSequence]
    ) -> list[Hypothesis]:
        """Outputs with </s> behind them."""
        stepper, normalise = self.chooser.stepper(self.model, config), build_normalise(config)
        found: dict[int, Hypothesis] = {}
        for places in length_batches(list(map(len, sources)), config.batch_sentences):
            ends = pad_batch([[*outputs[place], EOS] for place in places])
            batch = self._batch([sources[place] for place in places])
            sums = forced(stepper, *batch, ends).log_p.sum(dim=1).tolist()
            for place, p in zip(places, sums, strict=False):
                tokens = tuple(outputs[place])
                found[place] = Hypothesis(tokens, normalise(p, len(tokens) + 1), p, True)
        return [found[place] for place in range(len(outputs))]

    def _with_known(
        self, config: SearchConfig, texts: Sequence[str], found: Sequence[DecodedSentence]
    ) -> list[DecodedSentence]:
        outputs = [[*one.best.tokens, EOS] if one.best.finished else list(one.best.tokens) for one in found]
        stepper = self.chooser.stepper(self.model, config)
        seen = forced(stepper, *self._batch([one.source for one in found]), pad_batch(outputs))
        told = []
        for place, one in enumerate(found):
            output = self.text.tgt.decode(outputs[place])
            written = SourceAndOutput(texts[place], [*one.source, EOS], output, outputs[place])
            steps = token_scores(seen, place, len(written.src), len(written.tgt))
            told.append(one._replace(known=analyse_output(written, steps, self.text, self.judge.calibration)))
        return told

    def _with_looks(self, config: SearchConfig, found: Sequence[DecodedSentence]) -> list[DecodedSentence]:
        """And where the model looked for each token, if it looks anywhere; not at </s>."""
        outputs = pad_batch([[*one.best.tokens, EOS] for one in found])
        batch = self._batch([one.source for one in found])
        looks = forced(self.chooser.stepper(self.model, config), *batch, outputs).attention
        if looks is None:
            return list(found)
        return [
            one._replace(looks=looks[n, : len(one.best.tokens), : len(one.source)].numpy())
            for n, one in enumerate(found)
        ]

    def _batch(self, rows: Sequence[Sequence[int]]) -> tuple[Int[Tensor, "B S"], Bool[Tensor, "B S"]]:
        """Sources that are padded alike, as far as there are positions."""
        length = min(padded_length(len(rows[0])), self.longest_source + 1)
        return collate_sources(pad_batch(rows), length)


def load_torch_runtime(
    folder: Path,
    ensemble: Sequence[Path] = (),
    reverse: Path | None = None,
    make: Callable[..., TorchRuntime] = TorchRuntime,
) -> TorchRuntime:
    more = [load_bundle(other) for other in ensemble]
    back = load_bundle(reverse) if reverse is not None else None
    return make(load_bundle(folder), *more, reverse=back)


def token_scores(seen: Forced, row: int, S: int, T: int) -> TokenScores:
    """Of the output in one row of a forced decoding."""
    attention = None if seen.attention is None else seen.attention[row, :T, :S].numpy()
    return TokenScores(seen.log_p[row, :T].tolist(), seen.entropy[row, :T].tolist(), attention)


def pad_batch(rows: Sequence[T]) -> list[T]:
    """A batch that is not too small: its last row again and again."""
    return [*rows, *[rows[-1]] * max(MIN_ROWS - len(rows), 0)]


def no_trace(kind: str) -> UsageError:
    return UsageError(
        "There is a trace of greedy and beam search only: samples have no candidates.",
        where=f'search.kind = "{kind}"',
        hint="search.kind=beam",
    )


def length_batches(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Places of sentences that are padded to one length, `size` at most, shortest first, so that those that
    end early end together; empty ones are left out."""
    order = sorted((place for place, length in enumerate(lengths) if length), key=lengths.__getitem__)
    for length, group in groupby(order, lambda place: padded_length(lengths[place])):
        alike, most = list(group), min(size, max(BATCH_TOKENS // length, MIN_ROWS))
        yield from (alike[i : i + most] for i in range(0, len(alike), most))
