"""The runaway guard around an engine that cannot be told of it while it searches.

An output that is odd (cut, longer than its source allows, or in a loop) is searched for once more, within
its own length and for all of the beam; a loop of greedy search needs no second one. Loops are cut where a
fourth turn begins, at the price of </s>, and what has ended goes before what was cut. In greedy search that
is what torch gives; in a beam, a hypothesis that torch would have found in the place of a loop may be
missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from dragoman.config.search import SearchConfig
from dragoman.inference.asked import room
from dragoman.inference.judge import Judge
from dragoman.inference.runtime import Engine, Ids
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.loops import TURNS, may_loop, turns_allowed
from dragoman.search.runaway import another_turn
from dragoman.text.specials import EOS


class Guarded(NamedTuple):
    engine: Engine
    judge: Judge
    config: SearchConfig

    def search(self, sources: Sequence[Ids], prefixes: Sequence[Ids] | None) -> list[list[Hypothesis]]:
        """The n best of each source."""
        found = self.engine.search(sources, self.config, prefixes)
        odd: dict[int, list[int]] = defaultdict(list)
        for place, best in enumerate(found):
            longest = self.longest(sources[place], prefixes[place] if prefixes else ())
            if not any(self.is_odd(sources[place], one, longest) for one in best):
                continue
            if self.config.kind == "greedy" and self.loops_within(sources[place], best[0], longest):
                found[place] = [self.cut(sources[place], best[0])]
            else:
                odd[longest].append(place)
        for longest, places in odd.items():
            rows = [sources[place] for place in places]
            again = self.again(rows, [prefixes[place] for place in places] if prefixes else None, longest)
            for place, best in zip(places, again, strict=True):
                found[place] = best
        return found

    def longest(self, source: Ids, prefix: Ids) -> int:
        """Tokens of an output, </s> among them: as many more as the prefix takes."""
        longest = self.judge.longest(self.config, len(source))
        return min(longest + room(len(prefix)), self.config.max_length)

    def is_odd(self, source: Ids, output: Hypothesis, longest: int) -> bool:
        is_too_long = len(output.tokens) + output.finished > longest
        return is_too_long or not output.finished or self.loop(source, output.tokens) is not None

    def loops_within(self, source: Ids, output: Hypothesis, longest: int) -> bool:
        """Whether a loop is cut before the longest length: a second search would begin the same."""
        place = self.loop(source, output.tokens)
        return place is not None and place < longest

    def loop(self, source: Ids, tokens: Ids) -> int | None:
        """Where a loop begins another turn than three, or than the source has, and the output may end."""
        if not self.config.guard or not may_loop(tokens, TURNS + 1):
            return None
        shortest = self.judge.shortest_loop
        return another_turn(tokens, turns_allowed(source, shortest), shortest, self.config.min_length)

    def until_loop(self, source: Ids, begun: Ids, tokens: Iterable[int]) -> Iterator[int]:
        """The tokens behind what is begun, up to where a loop is cut."""
        written = list(begun)
        for token in tokens:
            written.append(token)
            if self.loop(source, written) is not None:
                return
            yield token

    def again(
        self, sources: Sequence[Ids], prefixes: Sequence[Ids] | None, longest: int
    ) -> list[list[Hypothesis]]:
        width = 1 if self.config.kind == "greedy" else self.config.size
        config = self.config.model_copy(update={"max_length": longest, "n_best": width})
        ranked = []
        for source, best in zip(sources, self.engine.search(sources, config, prefixes), strict=True):
            each = {one.tokens: one for one in reversed([self.cut(source, one) for one in best])}
            ended_first = sorted(each.values(), key=lambda one: (not one.finished, -one.score))
            ranked.append(ended_first[: self.config.n_best])
        return ranked

    def cut(self, source: Ids, output: Hypothesis) -> Hypothesis:
        place = self.loop(source, output.tokens)
        if place is None:
            return output
        tokens = output.tokens[:place]
        log_p = sum(self.engine.forced([source], [[*tokens, EOS]])[0])
        return Hypothesis(tokens, log_p / float((place + 1) ** self.config.length_penalty), log_p, True)
