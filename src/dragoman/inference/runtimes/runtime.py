"""The two interfaces for running a model: an Engine maps ids to hypotheses, a Runtime texts to results.

Plain Python and NumPy, without PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, Unpack, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dragoman.config.search import SearchConfig
from dragoman.errors import UsageError
from dragoman.inference.quality.checks import OutputChecker
from dragoman.inference.result import Result
from dragoman.search.hypothesis import Hypothesis
from dragoman.steering.options import SteeringOptions
from dragoman.steering.reinsertion import TokenBytesPair
from dragoman.steering.token_bytes import TokenBytes
from dragoman.text.specials import EOS
from dragoman.text.tokenizer_pair import TokenizerPair

RuntimeName = Literal["ct2", "torch", "onnx"]
IdSequence = Sequence[int]
ReadSources = Callable[[Sequence[str]], Sequence[NDArray[Any]]]  # inputs to ids, or to frames (S, F)

INPUTS_AT_ONCE = 256  # read from their files: the frames of a minute of sound take a megabyte
REPLACEMENT = "\ufffd"  # what an incomplete character is decoded to


class TokenScores(NamedTuple):
    """Scores of the tokens of an output; None for what an engine does not report."""

    log_p: Sequence[float]
    entropy: Sequence[float] | None = None
    attention: NDArray[np.float32] | None = None  # [T S], to each source token, including </s>


@runtime_checkable
class Engine(Protocol):
    """A model that is run without PyTorch.

    Sources have no </s>, and none is empty. Text, guard and flags are not part of an engine: ExportRuntime
    handles them, in the same way for every engine.
    """

    @property
    def name(self) -> RuntimeName: ...

    def search(
        self,
        sources: Sequence[IdSequence],
        config: SearchConfig,
        prefixes: Sequence[IdSequence] | None = None,
    ) -> list[list[Hypothesis]]:
        """Return config.n_best hypotheses of each source, best first.

        Every engine supports greedy and beam search with the length penalty, maximum length and batch size of
        `config`; CAPABILITIES lists other options. `prefixes`, one per source, are forced beginnings of the
        outputs, included in their log p.
        """

    def score(self, sources: Sequence[IdSequence], outputs: Sequence[IdSequence]) -> list[list[float]]:
        """Return log p of each token of the outputs, which include </s> if they are finished."""

    def score_details(
        self, sources: Sequence[IdSequence], outputs: Sequence[IdSequence]
    ) -> list[TokenScores]:
        """Return the same, with the other scores of each token."""

    def next_log_probs(
        self, sources: Sequence[IdSequence], prefixes: Sequence[IdSequence]
    ) -> NDArray[np.float32]:
        """Return log p [B V] of every token that may follow these prefixes."""

    def stream(self, source: IdSequence, config: SearchConfig, prefix: IdSequence = ()) -> Iterator[int]:
        """Yield the tokens of greedy search after the prefix as they are known, including </s>."""


@runtime_checkable
class Runtime(Protocol):
    """The interface of a model folder, whichever engine runs it."""

    @property
    def name(self) -> RuntimeName: ...

    @property
    def text(self) -> TokenizerPair: ...

    @property
    def search(self) -> SearchConfig:
        """The search settings of the model."""

    @property
    def checker(self) -> OutputChecker:
        """What is known of its outputs: their bounds, and their calibration."""

    def __call__(
        self,
        texts: Sequence[str],
        search: SearchConfig | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **options: Unpack[SteeringOptions],
    ) -> list[Result]:
        """Return one result per text, in order."""

    def stream(self, text: str, search: SearchConfig | None = None, *, prefix: str = "") -> Iterator[str]:
        """Yield the output of greedy search in parts, each as soon as it is known."""


class TextRuntime:
    """What the runtimes share: their name, the bytes that their tokens write, the limit of output lengths."""

    name: RuntimeName
    text: TokenizerPair
    search: SearchConfig
    longest_target: int

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @cached_property
    def surfaces(self) -> TokenBytesPair:
        return TokenBytesPair(TokenBytes(self.text.src), TokenBytes(self.text.tgt))

    def _limited(self, search: SearchConfig | None) -> SearchConfig:
        config = search or self.search
        return config.model_copy(update={"max_length": min(config.max_length, self.longest_target)})


def parts(inputs: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the inputs of a call, as many at a time as are read together."""
    yield from (inputs[start : start + INPUTS_AT_ONCE] for start in range(0, len(inputs), INPUTS_AT_ONCE))


def text_deltas(
    tokens: Iterable[int], text: Callable[[Sequence[int]], str], begun: Sequence[int] = ()
) -> Iterator[str]:
    """Yield what each token adds to the text; a character of several tokens is yielded whole."""
    written, yielded = list(begun), ""
    for token in tokens:
        if token == EOS:
            break
        written.append(token)
        now = text(written)
        if now.startswith(yielded) and now != yielded and not now.endswith(REPLACEMENT):
            yield now[len(yielded) :]
            yielded = now
    if rest := text(written)[len(yielded) :]:
        yield rest


def no_device(engine: str, device: str) -> UsageError:
    return UsageError(
        f"{engine} cannot use the device {device}.",
        where="device",
        expected="cpu, auto, or cuda with a build of the engine for it",
        hint="Leave out the device, or use the runtime torch.",
    )
