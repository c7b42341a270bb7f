"""The CTranslate2 engine: ids to hypotheses, by the rules of Dragoman's own search, without PyTorch."""

from __future__ import annotations

import atexit
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any
from weakref import WeakSet

import ctranslate2
import numpy as np
from numpy.typing import NDArray

from dragoman.config.model import ModelConfig
from dragoman.config.search import SearchConfig
from dragoman.cores import threads as threads_of_process
from dragoman.errors import ModelError
from dragoman.inference.runtimes.ct2_file import read_ct2
from dragoman.inference.runtimes.runtime import IdSequence, RuntimeName, TokenScores, no_device
from dragoman.manifest import Read
from dragoman.search.hypothesis import Hypothesis, best_of
from dragoman.search.scores import refuse_nan
from dragoman.text.specials import EOS
from dragoman.text.tokenizer import unique_token_names
from dragoman.text.tokenizer_pair import TokenizerPair

# The patience of the careful search: CTranslate2 stops when `size` × PATIENCE hypotheses have ended. With 2,
# 99.7 % of the outputs are those of the same setting in torch; with 3, hardly any more are, and decoding
# takes a tenth longer.
PATIENCE = 2.0
POLL_SECONDS = 0.1  # between two checks of a search that yields no more steps
MAX_THREADS = 4  # the default of CTranslate2, whatever the number of cores
MAX_SCORED_PAIRS = 32  # pairs per batch: each token takes memory for the whole vocabulary


MAX_SHUTDOWN_SECONDS = 10.0  # that the exit of the process waits for a step of a stream

OPEN_ENGINES: WeakSet[CTranslate2Engine] = WeakSet()


class StepQueue:
    """The steps of one output, passed from CTranslate2's thread to the one that reads them."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self.is_closed = False

    def on_step(self, step: Any) -> bool:
        """Queue a step; the return value True ends the search."""
        self._queue.put(step)
        return self.is_closed

    def steps(self, job: Any) -> Iterator[Any]:
        while True:
            try:
                step = self._queue.get(timeout=POLL_SECONDS)
            except Empty:
                if job.done() and self._queue.empty():
                    return  # it failed: job.result() raises the error
                continue
            yield step
            if step.is_last:
                return


@atexit.register
def end_streams() -> None:
    for engine in OPEN_ENGINES:
        engine.end_streams()


class CTranslate2Engine:
    """The engine of a CTranslate2 directory, or of its `files`, if they have been read and checked before.

    `threads` = 0 uses the cores available to this process, four at most.
    """

    name: RuntimeName = "ct2"

    def __init__(
        self,
        folder: Path,
        text: TokenizerPair,
        *,
        threads: int = 0,
        files: Mapping[str, bytes] | None = None,
        device: str = "cpu",
        device_index: int = 0,
    ) -> None:
        self.translator = ctranslate2.Translator(
            str(folder),
            device=device,
            device_index=device_index,
            inter_threads=1,
            intra_threads=threads_of_process(threads, most=MAX_THREADS),
            files=files and dict(files),
        )
        self._sources, self._targets = unique_token_names(text.src), unique_token_names(text.tgt)
        self._ids = {name: id for id, name in enumerate(self._targets)}
        self._streams: WeakSet[StepQueue] = WeakSet()
        OPEN_ENGINES.add(self)

    def search(
        self,
        sources: Sequence[IdSequence],
        config: SearchConfig,
        prefixes: Sequence[IdSequence] | None = None,
    ) -> list[list[Hypothesis]]:
        greedy_config = config.model_copy(update={"kind": "greedy", "n_best": 1})
        if config.kind == "greedy" or config.size == 1:
            return self._found(sources, greedy_config, prefixes)
        found = self._found(sources, config, prefixes)
        if config.stop != "heuristic":
            return found
        greedy = self._found(sources, greedy_config, prefixes)
        return [best_of(*pair, size=config.n_best) for pair in zip(found, greedy, strict=True)]

    def _found(
        self, sources: Sequence[IdSequence], config: SearchConfig, prefixes: Sequence[IdSequence] | None
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of one search.

        By default CTranslate2 cuts inputs at 1024 tokens and never returns an empty output; here it does not
        cut and may return one. An output without its end token was cut.
        """
        found = self.translator.translate_batch(
            self._read(sources),
            None if prefixes is None else self._written(prefixes),
            beam_size=1 if config.kind == "greedy" else config.size,
            patience=PATIENCE if config.stop == "heuristic" else 1.0,
            num_hypotheses=config.n_best if prefixes is None or config.kind == "greedy" else config.size,
            length_penalty=config.length_penalty,
            min_decoding_length=0,
            max_decoding_length=config.max_length,
            max_input_length=0,
            max_batch_size=config.batch_sentences,
            disable_unk=not config.allow_unk,
            return_end_token=True,
            return_scores=True,
        )
        alpha = config.length_penalty
        every = [
            [self._hypothesis(*pair, alpha) for pair in zip(one.hypotheses, one.scores, strict=True)]
            for one in found
        ]
        return every if prefixes is None else self._scored_whole(sources, every, config)

    def score(self, sources: Sequence[IdSequence], outputs: Sequence[IdSequence]) -> list[list[float]]:
        """Return log p of each token.

        CTranslate2 appends </s> to every output; its log p is left out where the output was cut.
        """
        scored = self.translator.score_batch(
            self._read(sources),
            self._written([without_eos(output) for output in outputs]),
            max_input_length=0,
            max_batch_size=MAX_SCORED_PAIRS,
        )
        return [list(one.log_probs[: len(output)]) for one, output in zip(scored, outputs, strict=True)]

    def score_details(
        self, sources: Sequence[IdSequence], outputs: Sequence[IdSequence]
    ) -> list[TokenScores]:
        decoded = self._force_decode(sources, [without_eos(output) for output in outputs])
        return [token_scores(*pair) for pair in zip(decoded, outputs, strict=True)]

    def next_log_probs(
        self, sources: Sequence[IdSequence], prefixes: Sequence[IdSequence]
    ) -> NDArray[np.float32]:
        decoded = zip(self._force_decode(sources, prefixes), prefixes, strict=True)
        return log_softmax(np.stack([np.array(one.logits[0][len(prefix)]) for one, prefix in decoded]))

    def _force_decode(self, sources: Sequence[IdSequence], prefixes: Sequence[IdSequence]) -> Iterator[Any]:
        """Yield the logits and attention of every step of these prefixes, and of one more greedy step.

        CTranslate2 leaves out the attention of the end token unless it returns that token.
        """
        for start in range(0, len(sources), MAX_SCORED_PAIRS):
            some = slice(start, start + MAX_SCORED_PAIRS)
            yield from self.translator.translate_batch(
                self._read(sources[some]),
                self._written(prefixes[some]),
                beam_size=1,
                min_decoding_length=0,
                max_decoding_length=max(map(len, prefixes[some])) + 1,
                max_input_length=0,
                return_logits_vocab=True,
                return_attention=True,
                return_end_token=True,
            )

    def stream(self, source: IdSequence, config: SearchConfig, prefix: IdSequence = ()) -> Iterator[int]:
        """Yield the tokens of greedy search after the prefix, each as soon as it is known.

        CTranslate2's generate_tokens is not used: a search that it leaves running may abort the process at
        exit.
        """
        stream = StepQueue()
        self._streams.add(stream)
        (job,) = self.translator.translate_batch(
            self._read([source]),
            self._written([prefix]),
            beam_size=1,
            min_decoding_length=0,
            max_decoding_length=config.max_length,
            max_input_length=0,
            disable_unk=not config.allow_unk,
            return_scores=True,
            callback=stream.on_step,
            asynchronous=True,
        )
        try:
            for step in stream.steps(job):
                refuse_nan(step.log_prob)
                if step.step >= len(prefix):
                    yield self._ids[step.token]
        finally:
            stream.is_closed = True
            job.result()

    def end_streams(self) -> None:
        """Stop all streams: a CTranslate2 thread that calls Python after its exit ends in std::terminate."""
        for stream in self._streams:
            stream.is_closed = True
        end = time.monotonic() + MAX_SHUTDOWN_SECONDS
        while self.translator.num_active_batches and time.monotonic() < end:
            time.sleep(0.001)

    def _scored_whole(
        self, sources: Sequence[IdSequence], found: list[list[Hypothesis]], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        """Rescore and rerank the whole beam, as CTranslate2 leaves the prefix out of the scores."""
        rows = [(source, h) for source, best in zip(sources, found, strict=True) for h in best]
        log_p = iter(map(sum, self.score([source for source, _ in rows], [with_eos(h) for _, h in rows])))
        ranked = []
        for best in found:
            scored = [rescored(h, next(log_p), config.length_penalty) for h in best]
            ranked.append(sorted(scored, key=lambda h: -h.score)[: config.n_best])
        return ranked

    def _read(self, rows: Sequence[IdSequence]) -> list[list[str]]:
        return [[self._sources[id] for id in row] for row in rows]

    def _written(self, rows: Sequence[IdSequence]) -> list[list[str]]:
        return [[self._targets[id] for id in row] for row in rows]

    def _hypothesis(self, tokens: Sequence[str], score: float, alpha: float) -> Hypothesis:
        refuse_nan(score)
        ids = tuple(self._ids[token] for token in tokens)
        is_whole = ids[-1:] == (EOS,)
        log_p = score * float(len(ids) ** alpha)
        return Hypothesis(ids[:-1] if is_whole else ids, score, log_p, is_whole)


def open_engine(
    folder: Path, read: Read, model: ModelConfig, text: TokenizerPair, device: str = "cpu"
) -> CTranslate2Engine:
    kind, _, index = device.partition(":")
    if kind not in ("auto", "cpu", "cuda") or (kind == "cuda" and not ctranslate2.get_cuda_device_count()):
        raise no_device("CTranslate2", device)
    files = read_ct2(folder, read, model, text)
    try:
        return CTranslate2Engine(folder, text, files=files, device=kind, device_index=int(index or 0))
    except (RuntimeError, ValueError) as error:
        raise ModelError(
            f"CTranslate2 cannot read the export: {str(error).partition(chr(10))[0]}.",
            where=str(folder),
            hint="Export the model again: dragoman export MODEL --to ct2",
        ) from None


def without_eos(output: IdSequence) -> IdSequence:
    """Remove </s>, which CTranslate2 appends itself."""
    return output[:-1] if len(output) and output[-1] == EOS else output


def with_eos(hypothesis: Hypothesis) -> list[int]:
    """Return the tokens, with </s> if the hypothesis is finished."""
    return [*hypothesis.tokens, EOS] if hypothesis.finished else list(hypothesis.tokens)


def rescored(hypothesis: Hypothesis, log_p: float, alpha: float) -> Hypothesis:
    length = len(hypothesis.tokens) + hypothesis.finished
    return hypothesis._replace(log_p=log_p, score=log_p / float(length**alpha))


def token_scores(decoded: Any, output: IdSequence) -> TokenScores:
    """Return the scores of each token of an output.

    CTranslate2 leaves out the attention to the source's </s>, which is 1 minus the rest.
    """
    log_p = log_softmax(np.stack([np.array(row) for row in decoded.logits[0][: len(output)]]))
    entropy = -(np.exp(log_p) * log_p).sum(axis=1, where=log_p > -np.inf)
    attention_rows = np.array(decoded.attention[0][: len(output)], np.float32)
    attention = np.concatenate([attention_rows, 1.0 - attention_rows.sum(axis=1, keepdims=True)], axis=1)
    return TokenScores(log_p[range(len(output)), list(output)].tolist(), entropy.tolist(), attention)


def log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    shifted = logits - logits.max(axis=1, keepdims=True)
    found: NDArray[np.float32] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return found
