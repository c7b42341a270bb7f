"""The ONNX Runtime engine: ids to hypotheses, by the rules of Dragoman's own search, without PyTorch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from dragoman.config.model import ModelConfig
from dragoman.config.search import SearchConfig
from dragoman.cores import threads as threads_of_process
from dragoman.data.padding import pad
from dragoman.errors import ModelError
from dragoman.inference.runtimes.onnx_file import ENCODER, STEP, read_onnx
from dragoman.inference.runtimes.runtime import IdSequence, RuntimeName, TokenScores, no_device
from dragoman.manifest import Read
from dragoman.search.batch_invariance import length_batches
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.numpy.processors import force_prefix, min_length, no_repeat_ngram, no_unk
from dragoman.search.numpy.sample import ArraySampleSearch
from dragoman.search.numpy.search import (
    ArrayState,
    Bools,
    Floats,
    Ints,
    Processor,
    beam,
    greedy,
    greedy_steps,
)
from dragoman.search.scores import Normalise, length_normalised
from dragoman.search.stopping import StopRule
from dragoman.text.specials import BOS, PAD
from dragoman.text.tokenizer_pair import TokenizerPair

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
MAX_SCORED_PAIRS = 32  # pairs per batch: each token takes memory for the whole vocabulary


def open_engine(
    folder: Path, read: Read, model: ModelConfig, text: TokenizerPair, device: str = "cpu"
) -> OnnxEngine:
    return OnnxEngine(folder, read=read, entries=text.tgt.size, providers=providers_of(device))


def providers_of(device: str) -> list[Any]:
    """Return the execution providers for a device, in the order in which ONNX Runtime tries them."""
    kind, _, index = device.partition(":")
    has_cuda = CUDA in onnxruntime.get_available_providers()
    if kind not in ("auto", "cpu", "cuda") or (kind == "cuda" and not has_cuda):
        raise no_device("ONNX Runtime", device)
    cuda = [(CUDA, {"device_id": int(index or 0)})] if kind != "cpu" and has_cuda else []
    return [*cuda, CPU]


class OnnxStep(NamedTuple):
    log_p: Floats  # [B W V]
    state: ArrayState
    attention: Floats | None  # [B W S]


class OnnxStepper:
    """The two graphs of a model, as a stepper over NumPy arrays."""

    def __init__(
        self, folder: Path, threads: int, read: Read, entries: int | None, providers: Sequence[Any]
    ) -> None:
        (self.fixed, self.moving, self.attends), files = read_onnx(folder, read, entries)
        self.encoder, self.stepper = (
            session(files[n], folder / n, threads, providers) for n in (ENCODER, STEP)
        )

    def start(self, src: Ints, keep: Bools) -> ArrayState:
        found = self.encoder.run([*self.fixed, *self.moving], {"src": src, "keep": keep})
        count = len(self.fixed)
        return ArrayState(found[:count], [x[:, None] for x in found[count:]])

    def step(self, y: Ints, state: ArrayState) -> tuple[Floats, ArrayState]:
        return self.full_step(y, state, attends=False)[:2]

    def full_step(self, y: Ints, state: ArrayState, *, attends: bool = True) -> OnnxStep:
        """Return the same step with the attention of each hypothesis, if the model has attention."""
        given = zip((*self.fixed, *self.moving), (*state.fixed, *state.moving), strict=True)
        attends = attends and self.attends
        outputs = ["log_p", *self.moving.values(), *["attention"] * attends]
        log_p, *rest = self.stepper.run(outputs, {"y": y, **dict(given)})
        count = len(self.moving)
        return OnnxStep(log_p, ArrayState(state.fixed, rest[:count]), rest[count] if attends else None)


class OnnxEngine:
    """The engine of an ONNX directory; `threads` = 0 uses the cores available to this process.

    `read` reads its files; `entries` is the size of the target vocabulary, if that is to be checked.
    """

    name: RuntimeName = "onnx"

    def __init__(
        self,
        folder: Path,
        *,
        threads: int = 0,
        read: Read = Path.read_bytes,
        entries: int | None = None,
        providers: Sequence[Any] = (CPU,),
    ) -> None:
        self.graphs = OnnxStepper(folder, threads_of_process(threads), read, entries, providers)

    def search(
        self,
        sources: Sequence[IdSequence],
        config: SearchConfig,
        prefixes: Sequence[IdSequence] | None = None,
    ) -> list[list[Hypothesis]]:
        normalise = partial(length_normalised, alpha=config.length_penalty)
        found: dict[int, list[Hypothesis]] = {}
        batches, every = partial(self._batches, sources, config, prefixes), range(len(sources))
        if config.kind != "beam" or config.size == 1:
            search = (
                build_samples(config, normalise)
                if config.kind == "sample"
                else partial(greedy, max_length=config.max_length, normalise=normalise)
            )
            for indices, batch, rules in batches(every):
                found.update(zip(indices, search(self.graphs, *batch, rules=rules), strict=True))
            return [found[index] for index in every]
        rule = StopRule(config.stop, config.size, config.n_best, config.max_length, normalise)
        for indices, batch, rules in batches(every):
            found.update(zip(indices, beam(self.graphs, *batch, rule, rules), strict=True))
        return [found[index][: config.n_best] for index in every]

    def _batches(
        self,
        sources: Sequence[IdSequence],
        config: SearchConfig,
        prefixes: Sequence[IdSequence] | None,
        indices: Sequence[int],
    ) -> Iterator[tuple[list[int], tuple[Ints, Bools], list[Processor]]]:
        for part in length_batches([len(sources[index]) for index in indices], config.batch_sentences):
            mine = [indices[i] for i in part]
            begins = None if prefixes is None else [prefixes[index] for index in mine]
            yield mine, pad([sources[index] for index in mine]), processors_of(config, begins)

    def score(self, sources: Sequence[IdSequence], outputs: Sequence[IdSequence]) -> list[list[float]]:
        return [list(steps.log_p) for steps in self.score_details(sources, outputs)]

    def score_details(
        self, sources: Sequence[IdSequence], outputs: Sequence[IdSequence]
    ) -> list[TokenScores]:
        found: dict[int, TokenScores] = {}
        for indices in length_batches(list(map(len, outputs)), MAX_SCORED_PAIRS):
            src, keep = pad([sources[index] for index in indices])
            rows = [outputs[index] for index in indices]
            y = pad_outputs(rows)
            log_p, entropy = (np.zeros(y.shape, np.float32) for _ in range(2))
            attention_matrix = np.zeros((*y.shape, src.shape[1]), np.float32)
            for t, full_step in enumerate(self._forced_steps(src, keep, y)):
                here = full_step.log_p[:, 0]
                log_p[:, t] = np.take_along_axis(here, y[:, t : t + 1], axis=1)[:, 0]
                entropy[:, t] = -(np.exp(here) * here).sum(axis=1, where=here > -np.inf)
                attends = full_step.attention is not None and full_step.attention.shape[2] == src.shape[1]
                if full_step.attention is not None and attends:
                    attention_matrix[:, t] = full_step.attention[:, 0]
            for row, (index, output) in enumerate(zip(indices, rows, strict=True)):
                T, S = len(output), len(sources[index]) + 1
                seen = attention_matrix[row, :T, :S] if attends else None
                found[index] = TokenScores(log_p[row, :T].tolist(), entropy[row, :T].tolist(), seen)
        return [found[index] for index in range(len(outputs))]

    def next_log_probs(
        self, sources: Sequence[IdSequence], prefixes: Sequence[IdSequence]
    ) -> NDArray[np.float32]:
        src, keep = pad(sources)
        y = pad_outputs([[*prefix, PAD] for prefix in prefixes])
        rows: list[Any] = [None for _ in prefixes]
        for t, full_step in enumerate(self._forced_steps(src, keep, y)):
            for row, prefix in enumerate(prefixes):
                if len(prefix) == t:
                    rows[row] = full_step.log_p[row, 0]
        return np.stack(rows)

    def stream(self, source: IdSequence, config: SearchConfig, prefix: IdSequence = ()) -> Iterator[int]:
        rules = processors_of(config, [prefix])
        steps = greedy_steps(self.graphs, *pad([source]), max_length=config.max_length, rules=rules)
        for number, (_, y, _) in enumerate(steps):
            if number >= len(prefix):
                yield int(y[0])

    def _forced_steps(self, src: Ints, keep: Bools, y: Ints) -> Iterator[OnnxStep]:
        """Yield the step that predicts each column of y."""
        state, previous = self.graphs.start(src, keep), np.full((len(y), 1), BOS)
        for t in range(y.shape[1]):
            full_step = self.graphs.full_step(previous, state)
            yield full_step
            state, previous = full_step.state, y[:, t : t + 1]


def session(graph: bytes, file: Path, threads: int, providers: Sequence[Any]) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(graph, options, providers=providers)
    except Exception as error:  # the exceptions of ONNX Runtime have no common base class
        reason, _, _ = str(error).partition("\n")
        raise ModelError(
            f"ONNX Runtime cannot read the graph: {reason}.",
            where=str(file),
            hint="Export the model again: dragoman export MODEL --to onnx",
        ) from None


def build_samples(config: SearchConfig, normalise: Normalise) -> ArraySampleSearch:
    return ArraySampleSearch(
        size=config.n_best,
        max_length=config.max_length,
        temperature=config.temperature,
        top_k=config.top_k,
        top_p=config.top_p,
        seed=config.seed,
        normalise=normalise,
    )


def processors_of(config: SearchConfig, prefixes: Sequence[IdSequence] | None) -> list[Processor]:
    rules: list[Processor] = []
    if prefixes is not None and any(prefixes):
        rules.append(force_prefix(prefixes))
    if config.no_repeat_ngram:
        rules.append(no_repeat_ngram(config.no_repeat_ngram))
    if config.min_length:
        rules.append(min_length(config.min_length))
    if not config.allow_unk:
        rules.append(no_unk)
    return rules


def pad_outputs(rows: Sequence[IdSequence]) -> Ints:
    """Return the outputs as rows of one length, padded with <pad>."""
    y = np.full((len(rows), max(map(len, rows))), PAD)
    for row, output in zip(y, rows, strict=True):
        row[: len(output)] = output
    return y
