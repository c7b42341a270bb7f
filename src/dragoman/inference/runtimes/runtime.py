"""The two seams of running a model: an Engine takes ids and gives hypotheses, a Runtime takes texts and gives
results. Plain Python and numpy: nothing here knows torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, Protocol, Unpack, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dragoman.config.search import SearchConfig
from dragoman.inference.result import Result
from dragoman.search.hypothesis import Hypothesis
from dragoman.steering.options import SteeringOptions
from dragoman.text.specials import EOS
from dragoman.text.tokenizer_pair import TokenizerPair

RuntimeName = Literal["ct2", "torch", "onnx"]
IdSequence = Sequence[int]


class TokenScores(NamedTuple):
    """How each token of an output came to be; None is what an engine does not tell."""

    log_p: Sequence[float]
    entropy: Sequence[float] | None = None
    attention: NDArray[np.float32] | None = None  # [T S], to each token of the source and to its </s>


@runtime_checkable
class Engine(Protocol):
    """A model that something else than torch runs.

    Sources stand without </s>, and none is empty. An engine knows no text, no guard and no flags: those are
    the light runtime's, the same for every engine.
    """

    @property
    def name(self) -> RuntimeName: ...

    def search(
        self,
        sources: Sequence[IdSequence],
        config: SearchConfig,
        prefixes: Sequence[IdSequence] | None = None,
    ) -> list[list[Hypothesis]]:
        """config.n_best hypotheses of each source, best first.

        Greedy or a beam, with the length penalty, the longest length and the batch size of `config`; what
        else an engine can do stands in the table of abilities. With `prefixes` (one for each source)
        outputs begin so, and their log p counts it.
        """

    def forced(self, sources: Sequence[IdSequence], outputs: Sequence[IdSequence]) -> list[list[float]]:
        """log p of each token of given outputs, which stand with </s> where they end."""

    def steps(self, sources: Sequence[IdSequence], outputs: Sequence[IdSequence]) -> list[TokenScores]:
        """The same, and what else is known of each token."""

    def after(self, sources: Sequence[IdSequence], prefixes: Sequence[IdSequence]) -> NDArray[np.float32]:
        """log p of every token [B V] that may come next behind these beginnings of outputs."""

    def stream(self, source: IdSequence, config: SearchConfig, prefix: IdSequence = ()) -> Iterator[int]:
        """The tokens of greedy search behind the prefix, each as soon as it is known; </s> where it ends."""


@runtime_checkable
class Runtime(Protocol):
    """What stands behind a model folder, whatever runs it."""

    @property
    def name(self) -> RuntimeName: ...

    @property
    def text(self) -> TokenizerPair: ...

    @property
    def search(self) -> SearchConfig:
        """The model's own."""

    def __call__(
        self,
        texts: Sequence[str],
        search: SearchConfig | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **asked: Unpack[SteeringOptions],
    ) -> list[Result]:
        """One result for each text, in order."""

    def stream(self, text: str, search: SearchConfig | None = None, *, prefix: str = "") -> Iterator[str]:
        """The output of greedy search in parts, each as soon as it is known."""


HALF = "\ufffd"  # what a part of a character looks like


def text_deltas(
    tokens: Iterable[int], text: Callable[[Sequence[int]], str], begun: Sequence[int] = ()
) -> Iterator[str]:
    """What each token adds to the text of those before it; a character in several tokens comes whole."""
    written, said = list(begun), ""
    for token in tokens:
        if token == EOS:
            break
        written.append(token)
        now = text(written)
        if now.startswith(said) and now != said and not now.endswith(HALF):
            yield now[len(said) :]
            said = now
    if rest := text(written)[len(said) :]:
        yield rest
