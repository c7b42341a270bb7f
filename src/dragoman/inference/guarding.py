"""The runaway guard after a search, for every runtime: a beam cannot be told of it while it searches.

An output that is longer than its source allows is searched for once more within that length. A loop is cut
where it goes on behind the turns that it may have, at the price of </s>. In a beam all hypotheses are cut and
ranked anew, and with them what greedy search finds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from dragoman.config.search import SearchConfig
from dragoman.inference.asked import room
from dragoman.inference.judge import Judge
from dragoman.inference.runtime import Engine, Ids
from dragoman.search.hypothesis import Hypothesis, best_of
from dragoman.search.scores import length_normalised
from dragoman.text.specials import EOS


def without_loops(
    found: Sequence[Hypothesis],
    cut_at: Callable[[Ids], int | None],
    ended: Callable[[list[Ids]], list[Hypothesis]],
) -> list[Hypothesis]:
    """The hypotheses, each up to where its loop is cut, ranked anew. `ended` puts </s> behind tokens."""
    places = [cut_at(one.tokens) for one in found]
    pairs = list(zip(found, places, strict=True))
    cut = iter(ended([one.tokens[:place] for one, place in pairs if place is not None]))
    return best_of([one if place is None else next(cut) for one, place in pairs], size=len(found))


class Guarded(NamedTuple):
    engine: Engine
    judge: Judge
    config: SearchConfig

    def search(self, sources: Sequence[Ids], prefixes: Sequence[Ids] | None) -> list[list[Hypothesis]]:
        """The n best of each source."""
        found = self.engine.search(sources, self.config, prefixes)
        again: dict[int, list[int]] = defaultdict(list)
        for place, best in enumerate(found):
            longest = self.longest(sources[place], prefixes[place] if prefixes else ())
            if self.config.kind == "greedy" and self.loops_within(sources[place], best[0], longest):
                found[place] = self.cut(sources[place], best)
            elif any(self.is_odd(sources[place], one, longest) for one in best):
                again[longest].append(place)
        for longest, places in again.items():
            width = 1 if self.config.kind == "greedy" else self.config.size
            config = self.config.model_copy(update={"max_length": longest, "n_best": width})
            begun = [prefixes[place] for place in places] if prefixes else None
            second = self.engine.search([sources[place] for place in places], config, begun)
            for place, best in zip(places, second, strict=True):
                found[place] = self.cut(sources[place], best)
        if again and self.config.kind == "beam":
            self.add_greedy(
                found, sorted(place for places in again.values() for place in places), sources, prefixes
            )
        return found

    def add_greedy(
        self,
        found: list[list[Hypothesis]],
        places: Sequence[int],
        sources: Sequence[Ids],
        prefixes: Sequence[Ids] | None,
    ) -> None:
        """A beam that is full of loops has nothing else, while greedy search goes on without them."""
        greedy = self._replace(config=self.config.model_copy(update={"kind": "greedy", "n_best": 1}))
        begun = [prefixes[place] for place in places] if prefixes else None
        others = greedy.search([sources[place] for place in places], begun)
        for place, other in zip(places, others, strict=True):
            found[place] = best_of(found[place], other, size=self.config.n_best)

    def longest(self, source: Ids, prefix: Ids) -> int:
        """Tokens of an output, </s> among them: as many more as the prefix takes."""
        longest = self.judge.longest(self.config, len(source))
        return min(longest + room(len(prefix)), self.config.max_length)

    def is_odd(self, source: Ids, output: Hypothesis, longest: int) -> bool:
        is_too_long = len(output.tokens) + output.finished > longest
        return is_too_long or self.cut_at(source, output.tokens) is not None

    def loops_within(self, source: Ids, output: Hypothesis, longest: int) -> bool:
        """Whether a loop is cut before the longest length: a second search would begin the same."""
        place = self.cut_at(source, output.tokens)
        return place is not None and place < longest

    def cut_at(self, source: Ids, tokens: Ids) -> int | None:
        loops = self.judge.loops(self.config)
        return loops.cut_at(source, tokens, self.config.min_length) if loops else None

    def until_loop(self, source: Ids, begun: Ids, tokens: Iterable[int]) -> Iterator[int]:
        """The tokens behind what is begun, up to where a loop is cut."""
        written = list(begun)
        for token in tokens:
            written.append(token)
            if self.cut_at(source, written) is not None:
                return
            yield token

    def cut(self, source: Ids, found: Sequence[Hypothesis]) -> list[Hypothesis]:
        """The n best, without loops where one of them has one."""
        best = list(found[: self.config.n_best])
        if all(self.cut_at(source, one.tokens) is None for one in best):
            return best
        cut = without_loops(found, partial(self.cut_at, source), partial(self.ended, source))
        return cut[: self.config.n_best]

    def ended(self, source: Ids, outputs: list[Ids]) -> list[Hypothesis]:
        ends = [[*tokens, EOS] for tokens in outputs]
        sums = map(sum, self.engine.forced([source] * len(ends), ends))
        scored = zip(outputs, sums, strict=True)
        alpha = self.config.length_penalty
        return [
            Hypothesis(tuple(tokens), length_normalised(p, len(tokens) + 1, alpha), p, True)
            for tokens, p in scored
        ]
