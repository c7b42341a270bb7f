"""The PyTorch runtime: texts are tokenised, decoded in batches and returned in order.

The padded length of a sentence does not depend on the other sentences of its batch, and a batch has a minimum
number of rows, so the output of a sentence does not depend on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from numpy.typing import NDArray

from dragoman.config.search import SearchConfig
from dragoman.data.collate import collate_sources
from dragoman.data.padding import SourceRow
from dragoman.device import choose_device
from dragoman.errors import UsageError
from dragoman.inference.quality.checks import OutputChecker
from dragoman.inference.quality.token_details import SourceAndOutput, analyse_output
from dragoman.inference.reranking import Reranker
from dragoman.inference.result import Result
from dragoman.inference.results import DecodedSentence, make_results, with_own_log_p
from dragoman.inference.runtimes.loop_retry import without_loops
from dragoman.inference.runtimes.prefix_tokens import PrefixForcer
from dragoman.inference.runtimes.runtime import (
    IdSequence,
    ReadSources,
    RuntimeName,
    TextRuntime,
    TokenScores,
    text_deltas,
)
from dragoman.models.bundle import Bundle, load_bundle
from dragoman.protocols import Stepper, send
from dragoman.search.batch_invariance import invariant_batches, pad_batch, padded_length
from dragoman.search.build import Search, build, build_greedy, build_normalise, build_rules, is_beam
from dragoman.search.forced import Forced, forced
from dragoman.search.greedy import greedy_tokens
from dragoman.search.hypothesis import Hypothesis, best_of
from dragoman.search.repetition import LoopBounds, OutputBounds
from dragoman.search.trace import Recorder, Trace
from dragoman.shapes import Bool, Shaped, Tensor
from dragoman.steering.options import SteeringOptions
from dragoman.steering.plan import SteeringPlan
from dragoman.text.specials import EOS


class SearchJob(NamedTuple):
    """The sentences of a call that are searched with the same settings and length allowance."""

    config: SearchConfig
    steering: SteeringPlan | None
    rows: Sequence[SourceRow]  # the sources of the whole call
    indices: Sequence[int]

    def batches(self, indices: Sequence[int]) -> Iterator[list[int]]:
        lengths = [len(self.rows[index]) for index in indices]
        for part in invariant_batches(lengths, self.config.batch_sentences):
            yield [indices[i] for i in part]

    @property
    def is_constrained(self) -> bool:
        return self.steering is not None and any(
            self.steering.requests[index].constraints for index in self.indices
        )

    def search(
        self,
        bounded: SearchConfig,
        indices: Sequence[int],
        loops: LoopBounds | None,
        recorder: Recorder | None,
    ) -> Search:
        if self.steering:
            return self.steering.search(bounded, pad_batch(indices), loops, recorder)
        return build(bounded, loops, recorder)


class TorchRuntime(TextRuntime):
    """The PyTorch runtime, which supports every option."""

    name: RuntimeName = "torch"

    def __init__(
        self,
        bundle: Bundle,
        *more: Bundle,
        reverse: Bundle | None = None,
        lm: Bundle | None = None,
        bounds: OutputBounds | None = None,
        read: ReadSources | None = None,
    ) -> None:
        """Initialise the runtime of one model or an ensemble.

        `more` are the other models of the ensemble; the `reverse` model reranks the outputs, and the
        language model `lm` is fused into the search. `bounds` override the output bounds of the calibration.
        `read` returns what the network reads instead of the ids of a text.
        """
        self.model: Stepper = bundle.stepper
        self.device = next(bundle.model.parameters()).device
        self.text = bundle.text
        self.read = read or bundle.text.read
        self.search = bundle.config.search
        self.checker = OutputChecker(bundle.text, bundle.calibration, bounds)
        self.reranker = Reranker((bundle, *more), reverse, lm)
        self.longest_source = min(b.longest_source for b in (bundle, *more))
        self.longest_target = min(b.longest_target for b in (bundle, *more))

    def __call__(
        self,
        texts: Sequence[str],
        search: SearchConfig | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **options: Unpack[SteeringOptions],
    ) -> list[Result]:
        """Return one result per text, in order; that of a text without words is empty."""
        config = self._limited(search)
        steering = SteeringPlan(texts, self.surfaces, options) if any(options.values()) else None
        decode = partial(self._decode, config, steering, details=details, trace=trace)
        return make_results(texts, steering, decode, self.text.tgt, self.checker, config)

    def over(self, model: Stepper) -> TorchRuntime:
        """Return this runtime over another stepper, which has the same vocabularies."""
        other = copy(self)
        other.model = model
        return other

    def stream(self, text: str, search: SearchConfig | None = None, *, prefix: str = "") -> Iterator[str]:
        """Yield the output of greedy search in parts, each as soon as it is known."""
        config = self._limited(search)
        source = row_of(self.read([text])[0][: self.longest_source])
        if not len(source):
            return
        stepper = self.reranker.stepper(self.model, config)
        bounded, padded = self.checker.bounded(config, len(source)), pad_batch([0])
        if prefix:
            steering = SteeringPlan([text], self.surfaces, {"prefix": prefix})
            bounded, stepper = steering.with_room(bounded, config, [0]), steering.stepper(stepper, padded)
        if rules := build_rules(config, self.checker.loops(config)):
            stepper = rules(stepper)
        tokens = greedy_tokens(stepper, *self._batch([source]), bounded.max_length)
        yield from text_deltas(tokens, partial(PrefixForcer([prefix], self.surfaces.tgt).text, 0))

    def _decode(
        self,
        config: SearchConfig,
        steering: SteeringPlan | None,
        texts: Sequence[str],
        *,
        details: bool,
        trace: bool,
        with_attention: bool = False,
    ) -> list[DecodedSentence | None]:
        """Return the decoded sentence of each text; None for one without words."""
        sources = self.read(texts)
        rows = [row_of(source[: self.longest_source]) for source in sources]
        decoded: list[DecodedSentence | None] = [None for _ in texts]
        for group in steering.groups(config.size) if steering else [range(len(texts))]:
            job = SearchJob(config, steering, rows, group)
            found, traces = self._searched(job, trace=trace)
            for indices in job.batches(group):
                lines = [texts[index] for index in indices]
                ranked = [self.reranker.ranked(config, texts[index], found[index]) for index in indices]
                some = [
                    DecodedSentence(ids_of(rows[index]), best, traces.get(index))
                    for index, best in zip(indices, ranked, strict=True)
                ]
                read = [rows[index] for index in indices]
                if self.checker.calibration and (self.reranker.is_mixed or (steering and steering.prefix)):
                    some = self._with_own_log_p(steering, indices, read, some)
                if details:
                    some = self._with_analysis(config, lines, read, some)
                if with_attention:
                    some = self._with_attention(config, read, some)
                for index, one in zip(indices, some, strict=True):
                    decoded[index] = one._replace(is_cut=len(sources[index]) > self.longest_source)
        return decoded

    def _searched(
        self, job: SearchJob, *, trace: bool
    ) -> tuple[dict[int, list[Hypothesis]], dict[int, Trace]]:
        """Return the hypotheses of each sentence, and the traces if requested, by index."""
        if trace and job.config.kind in ("sample", "mbr"):
            raise no_trace(job.config.kind)
        loops = self.checker.loops(job.config)
        found: dict[int, list[Hypothesis]] = {}
        traces: dict[int, Trace] = {}
        for indices in job.batches(job.indices):
            recorder = Recorder() if trace else None
            search = job.search(self._bounded(job, indices), indices, loops, recorder)
            best = self._run(job, indices, search)
            found.update(zip(indices, best, strict=True))
            if recorder:
                traces.update(zip(indices, recorder.traces(best), strict=True))
        if loops and is_beam(job.config) and not job.is_constrained:
            self._cut_loops(job, found, loops)
        return found, traces

    def _bounded(self, job: SearchJob, indices: Sequence[int]) -> SearchConfig:
        """Return the settings with the guard's maximum length, plus an allowance for constraints."""
        bounded = self.checker.bounded(job.config, len(job.rows[indices[0]]))
        return job.steering.with_room(bounded, job.config, indices) if job.steering else bounded

    def _run(self, job: SearchJob, indices: Sequence[int], search: Search) -> list[list[Hypothesis]]:
        stepper = self.reranker.stepper(self.model, job.config)
        if job.steering:
            stepper = job.steering.stepper(stepper, pad_batch(indices))
        return search(stepper, *self._batch([job.rows[index] for index in indices]))[: len(indices)]

    def _cut_loops(self, job: SearchJob, found: dict[int, list[Hypothesis]], loops: LoopBounds) -> None:
        """Cut the loops of the n best, and rank the output of greedy search with those that had one.

        A beam may have nothing but loops, while greedy search continues without them.
        """
        cut_at = partial(loops.cut_at, start=job.config.min_length)
        looping = [
            index
            for index, best in found.items()
            if any(cut_at(ids_of(job.rows[index]), h.tokens) is not None for h in best[: job.config.n_best])
        ]
        sources = [ids_of(job.rows[index]) for index in looping]
        ended = partial(self._ended, job.config)
        cut = without_loops([found[index] for index in looping], sources, cut_at, ended)
        found.update(zip(looping, cut, strict=True))
        for indices in job.batches(sorted(looping)):
            greedy = self._run(job, indices, build_greedy(self._bounded(job, indices), loops))
            for index, other in zip(indices, greedy, strict=True):
                found[index] = best_of(found[index], other, size=job.config.size)

    def _ended(
        self, config: SearchConfig, sources: Sequence[IdSequence], outputs: Sequence[IdSequence]
    ) -> list[Hypothesis]:
        """Return the outputs as finished hypotheses, with </s> appended."""
        stepper, normalise = self.reranker.stepper(self.model, config), build_normalise(config)
        found: dict[int, Hypothesis] = {}
        for indices in invariant_batches(list(map(len, sources)), config.batch_sentences):
            ends = pad_batch([[*outputs[index], EOS] for index in indices])
            batch = self._batch([sources[index] for index in indices])
            sums = forced(stepper, *batch, ends).log_p.sum(dim=1).tolist()
            for index, p in zip(indices, sums, strict=False):
                tokens = tuple(outputs[index])
                found[index] = Hypothesis(tokens, normalise(p, len(tokens) + 1), p, True)
        return [found[index] for index in range(len(outputs))]

    def _with_analysis(
        self,
        config: SearchConfig,
        texts: Sequence[str],
        rows: Sequence[SourceRow],
        found: Sequence[DecodedSentence],
    ) -> list[DecodedSentence]:
        outputs = [one.output for one in found]
        stepper = self.reranker.stepper(self.model, config)
        seen = forced(stepper, *self._batch(rows), pad_batch(outputs)).cpu()
        detailed = []
        for index, one in enumerate(found):
            output = self.text.tgt.decode(outputs[index])
            written = SourceAndOutput(texts[index], [*one.source, EOS], output, outputs[index])
            steps = token_scores(seen, index, len(written.src), len(written.tgt))
            detailed.append(
                one._replace(analysis=analyse_output(written, steps, self.text, self.checker.calibration))
            )
        return detailed

    def _with_own_log_p(
        self,
        steering: SteeringPlan | None,
        indices: Sequence[int],
        rows: Sequence[SourceRow],
        found: Sequence[DecodedSentence],
    ) -> list[DecodedSentence]:
        outputs = [one.output for one in found]
        own = forced(self.model, *self._batch(rows), pad_batch(outputs)).log_p.tolist()
        return [
            with_own_log_p(steering, index, one, row[: len(output)])
            for index, one, output, row in zip(indices, found, outputs, own[: len(found)], strict=True)
        ]

    def _with_attention(
        self, config: SearchConfig, rows: Sequence[SourceRow], found: Sequence[DecodedSentence]
    ) -> list[DecodedSentence]:
        """Add the attention of each token to the source, without </s>, if the model has attention."""
        outputs = pad_batch([[*one.best.tokens, EOS] for one in found])
        stepper = self.reranker.stepper(self.model, config)
        attention_matrix = forced(stepper, *self._batch(rows), outputs).cpu().attention
        if attention_matrix is None:
            return list(found)
        return [
            one._replace(
                attention_matrix=attention_matrix[n, : len(one.best.tokens), : len(one.source)].numpy()
            )
            for n, one in enumerate(found)
        ]

    def _batch(self, rows: Sequence[SourceRow]) -> tuple[Shaped[Tensor, "B S *f"], Bool[Tensor, "B S"]]:
        """Return a batch of sources, padded at most to the number of positions of the model."""
        length = min(padded_length(len(rows[0])), self.longest_source + 1)
        src, keep = collate_sources(pad_batch(rows), length)
        return send(src, self.device), send(keep, self.device)


def load_torch_runtime(
    folder: Path,
    ensemble: Sequence[Path] = (),
    reverse: Path | None = None,
    lm: Path | None = None,
    make: Callable[..., TorchRuntime] = TorchRuntime,
    *,
    device: str = "cpu",
) -> TorchRuntime:
    there = choose_device(device, "device")

    def load(path: Path) -> Bundle:
        bundle = load_bundle(path)
        bundle.model.to(there)
        return bundle

    bundle, more = load(folder), [load(other) for other in ensemble]
    task, source = bundle.config.task, bundle.config.data.source
    if not bundle.config.is_text_to_text:
        raise UsageError(
            "This works for models that translate text only.",
            where=f'{folder}: task = "{task}", data.source.kind = "{source.kind}"',
            hint=f'dragoman.load("{folder}") runs any model.',
        )
    back, fused = (load(path) if path is not None else None for path in (reverse, lm))
    return make(bundle, *more, reverse=back, lm=fused)


def token_scores(seen: Forced, row: int, S: int, T: int) -> TokenScores:
    """Return the scores of the output in one row of a forced decoding."""
    attention = None if seen.attention is None else seen.attention[row, :T, :S].numpy()
    return TokenScores(seen.log_p[row, :T].tolist(), seen.entropy[row, :T].tolist(), attention)


def row_of(source: NDArray[Any]) -> SourceRow:
    """Return ids as a list, which the guard reads token by token; frames stay an array."""
    return source.tolist() if source.ndim == 1 else source


def ids_of(row: SourceRow) -> IdSequence:
    """Return the ids of a source; none for frames."""
    return row if isinstance(row, list) else ()


def no_trace(kind: str) -> UsageError:
    return UsageError(
        "Only greedy and beam search have a trace: samples have no candidates.",
        where=f'search.kind = "{kind}"',
        hint="search.kind=beam",
    )
