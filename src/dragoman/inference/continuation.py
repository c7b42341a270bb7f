"""Continuations of texts by a language model, with every search and constraint that its runtime has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from dragoman.config.search import SearchConfig
from dragoman.errors import UsageError
from dragoman.inference.result import Result
from dragoman.inference.runtimes.runtime import Runtime
from dragoman.steering.options import SteeringOptions

NO_TEXT = "."  # instead of an empty source, which a runtime would skip; a language model does not read it

Ints = NDArray[np.int64]
# log p(y_t | y_<t) [B T] of the tokens y_t [B T], given also as the inputs <s> y₁ … y_{T−1} [B T]
TokenLogP = Callable[[Ints, Ints], NDArray[np.float32]]


class ContinuationRuntime:
    """A language model as a runtime: the text that is given is the forced beginning of the output.

    `search.max_length` counts the tokens after it. A model with a fixed number of positions stops there:
    `longest` is that number.
    """

    def __init__(self, runtime: Runtime, log_p: TokenLogP, longest: int) -> None:
        self.runtime = runtime
        self.log_p = log_p
        self.longest = longest
        self.text = runtime.text
        self.search = runtime.search

    def __call__(
        self,
        texts: Sequence[str],
        search: SearchConfig | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **options: Unpack[SteeringOptions],
    ) -> list[Result]:
        """Return one result per text, in order, with the text itself at its beginning."""
        lengths = [self._length(text) for text in texts]
        order = sorted(range(len(texts)), key=lengths.__getitem__)
        found: dict[int, Result] = {}
        for length, group in groupby(order, key=lengths.__getitem__):
            indices = list(group)
            given = [texts[index] for index in indices]
            options["prefix"] = given
            results = self.runtime(
                [text if text.strip() else NO_TEXT for text in given],
                self._with_room(search, length),
                details=details,
                trace=trace,
                **options,
            )
            # Flags compare an output with its source.
            found.update(zip(indices, (result._replace(flags=()) for result in results), strict=True))
        return [found[index] for index in range(len(texts))]

    def stream(self, text: str, search: SearchConfig | None = None, *, prefix: str = "") -> Iterator[str]:
        """Yield the text and its continuation by greedy search in parts, each as soon as it is known."""
        given = text + prefix
        config = self._with_room(search, self._length(given))
        return self.runtime.stream(given if given.strip() else NO_TEXT, config, prefix=given)

    def _length(self, text: str) -> int:
        length = len(self.text.tgt.encode(text))
        if length >= self.longest:
            raise UsageError(
                f"The text has {length:,} tokens, which leaves no room to continue it.",
                where=text[:60],
                expected=f"less than {self.longest:,} tokens, the positions of the model",
                hint="Give only the end of the text.",
            )
        return length

    def _with_room(self, search: SearchConfig | None, length: int) -> SearchConfig:
        config = search or self.search
        # The guard compares an output with its source.
        return config.model_copy(update={"max_length": config.max_length + length, "guard": False})
