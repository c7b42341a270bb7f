"""The light runtime: texts to results without torch, over any engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Unpack

from dragoman.config.root import Config
from dragoman.config.search import SearchConfig
from dragoman.errors import UsageError
from dragoman.inference.abilities import Call, missing
from dragoman.inference.asked import Asked, each
from dragoman.inference.guarding import Guarded
from dragoman.inference.judge import Judge
from dragoman.inference.knowing import Known, Written, known
from dragoman.inference.opening import Openings
from dragoman.inference.result import EMPTY, Alternative, Result
from dragoman.inference.runtime import Engine, Name
from dragoman.inference.streaming import parts
from dragoman.models.calibration import Calibration
from dragoman.search.hypothesis import Hypothesis
from dragoman.text.pair import TextPair
from dragoman.text.specials import EOS
from dragoman.text.surface import Surface


class Light:
    def __init__(
        self, engine: Engine, config: Config, text: TextPair, calibration: Calibration | None = None
    ) -> None:
        self.engine = engine
        self.text = text
        self.search = config.search
        self.judge = Judge(text, calibration)
        self.longest_source = config.model.longest_source
        self.longest_target = config.model.longest_target

    @property
    def name(self) -> Name:
        return self.engine.name

    @cached_property
    def surface(self) -> Surface:
        return Surface(self.text.tgt)

    def __call__(
        self,
        texts: Sequence[str],
        search: SearchConfig | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **asked: Unpack[Asked],
    ) -> list[Result]:
        """One result for each text, in order. A text without words becomes an empty one."""
        config = self._limited(search)
        self._refuse(Call(config, asked, trace))
        every = self.text.read(texts)
        places = [place for place, ids in enumerate(every) if len(ids)]
        results = [EMPTY] * len(texts)
        if not places:
            return results
        lines, sources = [texts[place] for place in places], [every[place].tolist() for place in places]
        whole = each(asked.get("prefix"), texts)
        answers = self._answers(lines, sources, config, [whole[place] for place in places], details=details)
        for place, answer in zip(places, answers, strict=True):
            results[place] = answer
        return results

    def _answers(
        self,
        texts: Sequence[str],
        sources: Sequence[list[int]],
        config: SearchConfig,
        prefixes: Sequence[str],
        *,
        details: bool,
    ) -> Iterator[Result]:
        read = [source[: self.longest_source] for source in sources]
        openings = Openings(prefixes, self.surface) if any(prefixes) else None
        begun = openings.tokens(self.engine, read) if openings else None
        found = Guarded(self.engine, self.judge, config).search(read, begun)
        told = self._known(texts, read, found) if details else [None] * len(read)
        for place, best in enumerate(found):
            outputs = [
                openings.text(place, one.tokens) if openings else self.text.tgt.decode(one.tokens)
                for one in best
            ]
            truncated = len(sources[place]) > self.longest_source or not best[0].finished
            flags = self.judge.flags(texts[place], read[place], outputs[0], best[0], truncated=truncated)
            details_, alignment = told[place] or (None, None)
            yield Result(
                outputs[0],
                best[0].score,
                truncated,
                best[0].tokens,
                flags,
                self.judge.confidence(best[0]),
                details_,
                alignment,
                alternatives(outputs, best) if len(best) > 1 else (),
            )

    def stream(self, text: str, search: SearchConfig | None = None, *, prefix: str = "") -> Iterator[str]:
        """The output of greedy search in parts, each as soon as it is known."""
        config = self._limited(search).model_copy(update={"kind": "greedy", "n_best": 1})
        self._refuse(Call(config, {}))
        source = self.text.read([text])[0][: self.longest_source].tolist()
        if not source:
            return
        openings = Openings([prefix], self.surface)
        (tokens,) = openings.tokens(self.engine, [source])
        guard = Guarded(self.engine, self.judge, config)
        longest = config.model_copy(update={"max_length": guard.longest(source, tokens)})
        stream = self.engine.stream(source, longest, tokens)
        yield from parts(guard.until_loop(source, tokens, stream), partial(openings.text, 0), tokens)

    def _limited(self, search: SearchConfig | None) -> SearchConfig:
        config = search or self.search
        return config.model_copy(update={"max_length": min(config.max_length, self.longest_target)})

    def _refuse(self, call: Call) -> None:
        if lacks := missing(self.name, call):
            raise UsageError(
                f"The runtime {self.name} cannot do this: {', '.join(lacks)}.",
                where=f'runtime = "{self.name}"',
                expected="greedy search or a beam, and a prefix",
                hint='The runtime torch can, with the whole model folder: pip install "dragoman[train]"',
            )

    def _known(
        self, texts: Sequence[str], sources: Sequence[list[int]], found: Sequence[Sequence[Hypothesis]]
    ) -> list[Known]:
        outputs = [[*best[0].tokens, EOS] if best[0].finished else [*best[0].tokens] for best in found]
        steps = self.engine.steps(sources, outputs)
        rows = zip(texts, sources, outputs, steps, strict=True)
        return [
            known(
                Written(text, [*source, EOS], self.text.tgt.decode(output), output),
                step,
                self.text,
                self.judge.calibration,
            )
            for text, source, output, step in rows
        ]


def alternatives(outputs: Sequence[str], best: Sequence[Hypothesis]) -> tuple[Alternative, ...]:
    pairs = zip(outputs, best, strict=True)
    return tuple(Alternative(output, one.score, one.tokens) for output, one in pairs)
