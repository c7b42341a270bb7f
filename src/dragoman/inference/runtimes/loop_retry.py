"""The runaway guard after a search, for every runtime: a beam cannot be told of it while it searches.

An output that is longer than its source allows is searched for once more within that length. A loop is cut
where it goes on behind the turns that it may have, at the price of </s>. In a beam all hypotheses are cut and
ranked anew, and with them what greedy search finds.
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
    """The hypotheses of each source, each up to where its loop is cut, ranked anew.

    `cut_at` takes a source and an output; `ended` takes many of both and puts </s> behind each output.
    """
    pairs = list(zip(sources, found, strict=True))
    places = [[cut_at(source, one.tokens) for one in best] for source, best in pairs]
    cut = [
        (source, one.tokens[:place])
        for (source, best), row in zip(pairs, places, strict=True)
        for one, place in zip(best, row, strict=True)
        if place is not None
    ]
    again = iter(ended([source for source, _ in cut], [tokens for _, tokens in cut]))
    return [
        best_of(
            [one if place is None else next(again) for one, place in zip(best, row, strict=True)],
            size=len(best),
        )
        for best, row in zip(found, places, strict=True)
    ]


class GuardedSearch(NamedTuple):
    engine: Engine
    judge: OutputChecker
    config: SearchConfig

    def search(
        self, sources: Sequence[IdSequence], prefixes: Sequence[IdSequence] | None
    ) -> list[list[Hypothesis]]:
        """The n best of each source."""
        found = self.engine.search(sources, self.config, prefixes)
        looping: list[int] = []
        again: dict[int, list[int]] = defaultdict(list)
        for place, best in enumerate(found):
            longest = self.longest(sources[place], prefixes[place] if prefixes else ())
            if self.config.kind == "greedy" and self.loops_within(sources[place], best[0], longest):
                looping.append(place)
            elif any(self.is_odd(sources[place], one, longest) for one in best):
                again[longest].append(place)
        for longest, places in again.items():
            width = 1 if self.config.kind == "greedy" else self.config.size
            config = self.config.model_copy(update={"max_length": longest, "n_best": width})
            begun = [prefixes[place] for place in places] if prefixes else None
            second = self.engine.search([sources[place] for place in places], config, begun)
            for place, best in zip(places, second, strict=True):
                found[place] = best
        odd = sorted(place for places in again.values() for place in places)
        looping += [place for place in odd if self.has_loop(sources[place], found[place])]
        self.cut(found, looping, sources)
        if odd and self.config.kind == "beam":
            self.add_greedy(found, odd, sources, prefixes)
        return [best[: self.config.n_best] for best in found]

    def add_greedy(
        self,
        found: list[list[Hypothesis]],
        places: Sequence[int],
        sources: Sequence[IdSequence],
        prefixes: Sequence[IdSequence] | None,
    ) -> None:
        """A beam that is full of loops has nothing else, while greedy search goes on without them."""
        greedy = self._replace(config=self.config.model_copy(update={"kind": "greedy", "n_best": 1}))
        begun = [prefixes[place] for place in places] if prefixes else None
        others = greedy.search([sources[place] for place in places], begun)
        for place, other in zip(places, others, strict=True):
            found[place] = best_of(found[place], other, size=self.config.n_best)

    def longest(self, source: IdSequence, prefix: IdSequence) -> int:
        """Tokens of an output, </s> among them: as many more as the prefix takes."""
        longest = self.judge.longest(self.config, len(source))
        return min(longest + round_up_length(len(prefix)), self.config.max_length)

    def is_odd(self, source: IdSequence, output: Hypothesis, longest: int) -> bool:
        is_too_long = len(output.tokens) + output.finished > longest
        return is_too_long or self.cut_at(source, output.tokens) is not None

    def loops_within(self, source: IdSequence, output: Hypothesis, longest: int) -> bool:
        """Whether a loop is cut before the longest length: a second search would begin the same."""
        place = self.cut_at(source, output.tokens)
        return place is not None and place < longest

    def cut_at(self, source: IdSequence, tokens: IdSequence) -> int | None:
        loops = self.judge.loops(self.config)
        return loops.cut_at(source, tokens, self.config.min_length) if loops else None

    def until_loop(self, source: IdSequence, begun: IdSequence, tokens: Iterable[int]) -> Iterator[int]:
        """The tokens behind what is begun, up to where a loop is cut."""
        written = list(begun)
        for token in tokens:
            written.append(token)
            if self.cut_at(source, written) is not None:
                return
            yield token

    def has_loop(self, source: IdSequence, found: Sequence[Hypothesis]) -> bool:
        """Whether one of the n best has one."""
        return any(self.cut_at(source, one.tokens) is not None for one in found[: self.config.n_best])

    def cut(
        self, found: list[list[Hypothesis]], places: Sequence[int], sources: Sequence[IdSequence]
    ) -> None:
        """Takes the loops out of what was found in these places."""
        theirs = [sources[place] for place in places]
        cut = without_loops([found[place] for place in places], theirs, self.cut_at, self.ended)
        for place, best in zip(places, cut, strict=True):
            found[place] = best

    def ended(self, sources: Sequence[IdSequence], outputs: Sequence[IdSequence]) -> list[Hypothesis]:
        ends = [[*tokens, EOS] for tokens in outputs]
        sums = map(sum, self.engine.forced(sources, ends))
        scored = zip(outputs, sums, strict=True)
        alpha = self.config.length_penalty
        return [
            Hypothesis(tuple(tokens), length_normalised(p, len(tokens) + 1, alpha), p, True)
            for tokens, p in scored
        ]
