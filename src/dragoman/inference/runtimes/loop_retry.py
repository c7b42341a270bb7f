"""The runaway guard after a search, for every runtime: a beam cannot apply it while it searches.

An output that is longer than its source allows is searched for again within that length. A loop is cut after
its permitted repetitions, and the cost of </s> is added. In a beam all hypotheses are cut and reranked,
together with the output of greedy search.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from dragoman.config.search import SearchConfig
from dragoman.inference.quality.checks import OutputChecker
from dragoman.inference.runtimes.runtime import Engine, IdSequence
from dragoman.search.hypothesis import Hypothesis, best_of
from dragoman.search.scores import length_normalised
from dragoman.steering.options import round_up_length
from dragoman.text.specials import EOS


def without_loops(
    found: Sequence[Sequence[Hypothesis]],
    sources: Sequence[IdSequence],
    cut_at: Callable[[IdSequence, IdSequence], int | None],
    ended: Callable[[Sequence[IdSequence], Sequence[IdSequence]], list[Hypothesis]],
) -> list[list[Hypothesis]]:
    """Return the hypotheses of each source with their loops cut, reranked.

    `cut_at` takes a source and an output; `ended` takes a list of each and appends </s> to every output.
    """
    pairs = list(zip(sources, found, strict=True))
    indices = [[cut_at(source, one.tokens) for one in best] for source, best in pairs]
    cut = [
        (source, one.tokens[:index])
        for (source, best), row in zip(pairs, indices, strict=True)
        for one, index in zip(best, row, strict=True)
        if index is not None
    ]
    again = iter(ended([source for source, _ in cut], [tokens for _, tokens in cut]))
    return [
        best_of(
            [one if index is None else next(again) for one, index in zip(best, row, strict=True)],
            size=len(best),
        )
        for best, row in zip(found, indices, strict=True)
    ]


class GuardedSearch(NamedTuple):
    engine: Engine
    checker: OutputChecker
    config: SearchConfig

    def search(
        self, sources: Sequence[IdSequence], prefixes: Sequence[IdSequence] | None
    ) -> list[list[Hypothesis]]:
        """Return the n best hypotheses of each source."""
        found = self.engine.search(sources, self.config, prefixes)
        looping: list[int] = []
        again: dict[int, list[int]] = defaultdict(list)
        for index, best in enumerate(found):
            longest = self.longest(sources[index], prefixes[index] if prefixes else ())
            if self.config.kind == "greedy" and self.loops_within(sources[index], best[0], longest):
                looping.append(index)
            elif any(self.is_suspicious(sources[index], one, longest) for one in best):
                again[longest].append(index)
        for longest, indices in again.items():
            width = 1 if self.config.kind == "greedy" else self.config.size
            config = self.config.model_copy(update={"max_length": longest, "n_best": width})
            prefix_ids = [prefixes[index] for index in indices] if prefixes else None
            second = self.engine.search([sources[index] for index in indices], config, prefix_ids)
            for index, best in zip(indices, second, strict=True):
                found[index] = best
        suspicious = sorted(index for indices in again.values() for index in indices)
        looping += [index for index in suspicious if self.has_loop(sources[index], found[index])]
        self.cut(found, looping, sources)
        if suspicious and self.config.kind == "beam":
            self.add_greedy(found, suspicious, sources, prefixes)
        return [best[: self.config.n_best] for best in found]

    def add_greedy(
        self,
        found: list[list[Hypothesis]],
        indices: Sequence[int],
        sources: Sequence[IdSequence],
        prefixes: Sequence[IdSequence] | None,
    ) -> None:
        """Rank the output of greedy search with the beam's, which may have nothing but loops."""
        greedy = self._replace(config=self.config.model_copy(update={"kind": "greedy", "n_best": 1}))
        prefix_ids = [prefixes[index] for index in indices] if prefixes else None
        others = greedy.search([sources[index] for index in indices], prefix_ids)
        for index, other in zip(indices, others, strict=True):
            found[index] = best_of(found[index], other, size=self.config.n_best)

    def longest(self, source: IdSequence, prefix: IdSequence) -> int:
        """Return the maximum output length, including </s> and an allowance for the prefix."""
        longest = self.checker.longest(self.config, len(source))
        return min(longest + round_up_length(len(prefix)), self.config.max_length)

    def is_suspicious(self, source: IdSequence, output: Hypothesis, longest: int) -> bool:
        is_too_long = len(output.tokens) + output.finished > longest
        return is_too_long or self.cut_at(source, output.tokens) is not None

    def loops_within(self, source: IdSequence, output: Hypothesis, longest: int) -> bool:
        """Return whether a loop is cut before the maximum length: a second search would begin the same."""
        index = self.cut_at(source, output.tokens)
        return index is not None and index < longest

    def cut_at(self, source: IdSequence, tokens: IdSequence) -> int | None:
        loops = self.checker.loops(self.config)
        return loops.cut_at(source, tokens, self.config.min_length) if loops else None

    def until_loop(self, source: IdSequence, prefix_ids: IdSequence, tokens: Iterable[int]) -> Iterator[int]:
        """Yield the tokens after the prefix, up to where a loop is cut."""
        written = list(prefix_ids)
        for token in tokens:
            written.append(token)
            if self.cut_at(source, written) is not None:
                return
            yield token

    def has_loop(self, source: IdSequence, found: Sequence[Hypothesis]) -> bool:
        """Return whether one of the n best has a loop."""
        return any(self.cut_at(source, one.tokens) is not None for one in found[: self.config.n_best])

    def cut(
        self, found: list[list[Hypothesis]], indices: Sequence[int], sources: Sequence[IdSequence]
    ) -> None:
        """Cut the loops in the hypotheses at these indices."""
        theirs = [sources[index] for index in indices]
        cut = without_loops([found[index] for index in indices], theirs, self.cut_at, self.ended)
        for index, best in zip(indices, cut, strict=True):
            found[index] = best

    def ended(self, sources: Sequence[IdSequence], outputs: Sequence[IdSequence]) -> list[Hypothesis]:
        ends = [[*tokens, EOS] for tokens in outputs]
        sums = map(sum, self.engine.score(sources, ends))
        scored = zip(outputs, sums, strict=True)
        alpha = self.config.length_penalty
        return [
            Hypothesis(tuple(tokens), length_normalised(p, len(tokens) + 1, alpha), p, True)
            for tokens, p in scored
        ]
