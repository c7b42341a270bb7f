"""The engine of CTranslate2: ids in, hypotheses out, by the same rules as our own search, without torch."""

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
from dragoman.inference.runtimes.runtime import IdSequence, RuntimeName, TokenScores
from dragoman.manifest import Read
from dragoman.search.hypothesis import Hypothesis, best_of
from dragoman.search.scores import refuse_nan
from dragoman.text.specials import EOS
from dragoman.text.tokenizer import unique_token_names
from dragoman.text.tokenizer_pair import TokenizerPair

# CTranslate2 stops when `size` × this have ended: with twice as many, 99.7 % of the outputs are those of
# search.stop = "heuristic"; with three times as many hardly one more, for a tenth of the time.
PATIENCE = 2.0
POLL_SECONDS = 0.1  # seconds between two looks at a search that gives no more steps
MAX_THREADS = 4  # threads, as CTranslate2 takes by default on however few cores
MAX_SCORED_PAIRS = 32  # pairs at once: each token of them takes memory for the whole vocabulary


MAX_SHUTDOWN_SECONDS = 10.0  # seconds that the end of the process waits for a step of a stream

OPEN_ENGINES: WeakSet[CTranslate2Engine] = WeakSet()


class StepQueue:
    """The steps of one output, from CTranslate2's thread to the one that reads them."""

    def __init__(self) -> None:
        self._heard: SimpleQueue[Any] = SimpleQueue()
        self.is_left = False

    def hear(self, step: Any) -> bool:
        """True ends the search."""
        self._heard.put(step)
        return self.is_left

    def steps(self, job: Any) -> Iterator[Any]:
        while True:
            try:
                step = self._heard.get(timeout=POLL_SECONDS)
            except Empty:
                if job.done() and self._heard.empty():
                    return  # it failed, which its result will say
                continue
            yield step
            if step.is_last:
                return


@atexit.register
def end_streams() -> None:
    for engine in OPEN_ENGINES:
        engine.end_streams()


class CTranslate2Engine:
    """A CTranslate2 directory, or the `files` of one that were read and checked before.

    `threads` 0 takes what this process may use, four at most.
    """

    name: RuntimeName = "ct2"

    def __init__(
        self, folder: Path, text: TokenizerPair, *, threads: int = 0, files: Mapping[str, bytes] | None = None
    ) -> None:
        self.translator = ctranslate2.Translator(
            str(folder),
            device="cpu",
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
        """A beam, and greedy search beside it: the beam alone may stop early, or prune what is best."""
        greedy = self._found(sources, config.model_copy(update={"kind": "greedy", "n_best": 1}), prefixes)
        if config.kind == "greedy" or config.size == 1:
            return greedy
        both = zip(self._found(sources, config, prefixes), greedy, strict=True)
        return [best_of(*pair, size=config.n_best) for pair in both]

    def _found(
        self, sources: Sequence[IdSequence], config: SearchConfig, prefixes: Sequence[IdSequence] | None
    ) -> list[list[Hypothesis]]:
        """A bare call of CTranslate2 cuts inputs at 1024 tokens and never gives an empty output; we may."""
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
            return_end_token=True,  # where it is missing the output was cut
            return_scores=True,
        )
        alpha = config.length_penalty
        every = [
            [self._hypothesis(*pair, alpha) for pair in zip(one.hypotheses, one.scores, strict=True)]
            for one in found
        ]
        return every if prefixes is None else self._scored_whole(sources, every, config)

    def forced(self, sources: Sequence[IdSequence], outputs: Sequence[IdSequence]) -> list[list[float]]:
        """CTranslate2 puts a </s> behind every output, whose log p is left out where the output was cut."""
        scored = self.translator.score_batch(
            self._read(sources),
            self._written([without_eos(output) for output in outputs]),
            max_input_length=0,
            max_batch_size=MAX_SCORED_PAIRS,
        )
        return [list(one.log_probs[: len(output)]) for one, output in zip(scored, outputs, strict=True)]

    def steps(self, sources: Sequence[IdSequence], outputs: Sequence[IdSequence]) -> list[TokenScores]:
        led = self._led(sources, [without_eos(output) for output in outputs])
        return [token_scores(*pair) for pair in zip(led, outputs, strict=True)]

    def after(self, sources: Sequence[IdSequence], prefixes: Sequence[IdSequence]) -> NDArray[np.float32]:
        led = zip(self._led(sources, prefixes), prefixes, strict=True)
        return log_softmax(np.stack([np.array(one.logits[0][len(prefix)]) for one, prefix in led]))

    def _led(self, sources: Sequence[IdSequence], prefixes: Sequence[IdSequence]) -> Iterator[Any]:
        """One step of greedy search behind these beginnings, and what is known of each step up to it."""
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
                return_end_token=True,  # or its attention is left out
            )

    def stream(self, source: IdSequence, config: SearchConfig, prefix: IdSequence = ()) -> Iterator[int]:
        """Not by CTranslate2's generate_tokens: what that leaves running may abort the process at its end."""
        stream = StepQueue()
        self._streams.add(stream)
        (job,) = self.translator.translate_batch(
            self._read([source]),
            self._written([prefix]),
            beam_size=1,
            min_decoding_length=0,
            max_decoding_length=config.max_length,
            max_input_length=0,
            return_scores=True,
            callback=stream.hear,
            asynchronous=True,
        )
        try:
            for step in stream.steps(job):
                refuse_nan(step.log_prob)
                if step.step >= len(prefix):
                    yield self._ids[step.token]
        finally:
            stream.is_left = True
            job.result()

    def end_streams(self) -> None:
        """Nothing of CTranslate2 may still want Python when Python ends: std::terminate is its answer."""
        for stream in self._streams:
            stream.is_left = True
        end = time.monotonic() + MAX_SHUTDOWN_SECONDS
        while self.translator.num_active_batches and time.monotonic() < end:
            time.sleep(0.001)

    def _scored_whole(
        self, sources: Sequence[IdSequence], found: list[list[Hypothesis]], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        """CTranslate2 leaves a prefix out of the scores, so that the whole beam is ranked anew."""
        rows = [(source, h) for source, best in zip(sources, found, strict=True) for h in best]
        log_p = iter(map(sum, self.forced([source for source, _ in rows], [with_eos(h) for _, h in rows])))
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


def open_engine(folder: Path, read: Read, model: ModelConfig, text: TokenizerPair) -> CTranslate2Engine:
    files = read_ct2(folder, read, model, text)
    try:
        return CTranslate2Engine(folder, text, files=files)
    except (RuntimeError, ValueError) as error:
        raise ModelError(
            f"CTranslate2 cannot read the export: {str(error).partition(chr(10))[0]}.",
            where=str(folder),
            hint="Export the model again: dragoman export MODEL --to ct2",
        ) from None


def without_eos(output: IdSequence) -> IdSequence:
    """Without the </s> that CTranslate2 puts there itself."""
    return output[:-1] if len(output) and output[-1] == EOS else output


def with_eos(hypothesis: Hypothesis) -> list[int]:
    """The tokens, with </s> where there is one."""
    return [*hypothesis.tokens, EOS] if hypothesis.finished else list(hypothesis.tokens)


def rescored(hypothesis: Hypothesis, log_p: float, alpha: float) -> Hypothesis:
    length = len(hypothesis.tokens) + hypothesis.finished
    return hypothesis._replace(log_p=log_p, score=log_p / float(length**alpha))


def token_scores(led: Any, output: IdSequence) -> TokenScores:
    """CTranslate2 leaves out the weight of the source's </s>, which is what is missing to 1."""
    log_p = log_softmax(np.stack([np.array(row) for row in led.logits[0][: len(output)]]))
    entropy = -(np.exp(log_p) * log_p).sum(axis=1, where=log_p > -np.inf)
    looks = np.array(led.attention[0][: len(output)], np.float32)
    attention = np.concatenate([looks, 1.0 - looks.sum(axis=1, keepdims=True)], axis=1)
    return TokenScores(log_p[range(len(output)), list(output)].tolist(), entropy.tolist(), attention)


def log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    shifted = logits - logits.max(axis=1, keepdims=True)
    found: NDArray[np.float32] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return found
