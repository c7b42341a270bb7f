"""The light runtime: texts to results without torch, over any engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Unpack

from dragoman.config.root import Config
from dragoman.config.search import SearchConfig
from dragoman.errors import UsageError
from dragoman.inference.quality.checks import OutputChecker
from dragoman.inference.quality.token_details import SourceAndOutput, analyse_output
from dragoman.inference.result import Result
from dragoman.inference.results import DecodedSentence, make_results
from dragoman.inference.runtimes.capabilities import Request, unsupported
from dragoman.inference.runtimes.loop_retry import GuardedSearch
from dragoman.inference.runtimes.prefix_tokens import PrefixForcer
from dragoman.inference.runtimes.runtime import Engine, RuntimeName, text_deltas
from dragoman.models.calibration import Calibration
from dragoman.steering.basic_plan import BasicPlan
from dragoman.steering.options import SteeringOptions
from dragoman.steering.reinsertion import TokenBytesPair
from dragoman.steering.token_bytes import TokenBytes
from dragoman.text.specials import EOS
from dragoman.text.tokenizer_pair import TokenizerPair


class ExportRuntime:
    def __init__(
        self, engine: Engine, config: Config, text: TokenizerPair, calibration: Calibration | None = None
    ) -> None:
        self.engine = engine
        self.text = text
        self.search = config.search
        self.judge = OutputChecker(text, calibration)
        self.longest_source = config.model.longest_source
        self.longest_target = config.model.longest_target

    @property
    def name(self) -> RuntimeName:
        return self.engine.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @cached_property
    def surfaces(self) -> TokenBytesPair:
        return TokenBytesPair(TokenBytes(self.text.src), TokenBytes(self.text.tgt))

    def __call__(
        self,
        texts: Sequence[str],
        search: SearchConfig | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **asked: Unpack[SteeringOptions],
    ) -> list[Result]:
        """One result for each text, in order. A text without words becomes an empty one."""
        config = self._limited(search)
        self._refuse(Request(config, asked, trace))
        wanted = BasicPlan(texts, self.surfaces, asked) if any(asked.values()) else None
        decode = partial(self._decode, config, wanted, details=details)
        return make_results(texts, wanted, decode, self.text.tgt, self.judge, config)

    def _decode(
        self,
        config: SearchConfig,
        wanted: BasicPlan | None,
        texts: Sequence[str],
        *,
        details: bool,
        look: bool = False,
    ) -> list[DecodedSentence | None]:
        """What is found for each text; None for one without words."""
        sources = self.text.read(texts)
        places = [place for place, ids in enumerate(sources) if len(ids)]
        decoded: list[DecodedSentence | None] = [None for _ in texts]
        if not places:
            return decoded
        rows = [sources[place][: self.longest_source].tolist() for place in places]
        begun = None
        if wanted and wanted.prefix:
            openings = PrefixForcer([wanted.prefixes[place] for place in places], self.surfaces.tgt)
            begun = openings.tokens(self.engine, rows)
        found = GuardedSearch(self.engine, self.judge, config).search(rows, begun)
        cut = [len(sources[place]) > self.longest_source for place in places]
        some = [DecodedSentence(*one) for one in zip(rows, found, [None] * len(rows), cut, strict=True)]
        if details or look:
            some = self._with_steps([texts[place] for place in places], some)
        for place, one in zip(places, some, strict=True):
            decoded[place] = one if details else one._replace(known=None)
        return decoded

    def _with_steps(self, texts: Sequence[str], found: Sequence[DecodedSentence]) -> list[DecodedSentence]:
        """And what is known of each token, and where the model looked for it."""
        outputs = [[*one.best.tokens, EOS] if one.best.finished else [*one.best.tokens] for one in found]
        steps = self.engine.steps([one.source for one in found], outputs)
        told = []
        for text, one, output, step in zip(texts, found, outputs, steps, strict=True):
            written = SourceAndOutput(text, [*one.source, EOS], self.text.tgt.decode(output), output)
            looks = None if step.attention is None else step.attention[: len(one.best.tokens), :-1]
            about = analyse_output(written, step, self.text, self.judge.calibration)
            told.append(one._replace(known=about, looks=looks))
        return told

    def stream(self, text: str, search: SearchConfig | None = None, *, prefix: str = "") -> Iterator[str]:
        """The output of greedy search in parts, each as soon as it is known."""
        config = self._limited(search).model_copy(update={"kind": "greedy", "n_best": 1})
        self._refuse(Request(config, {}))
        source = self.text.read([text])[0][: self.longest_source].tolist()
        if not source:
            return
        openings = PrefixForcer([prefix], self.surfaces.tgt)
        (tokens,) = openings.tokens(self.engine, [source])
        guard = GuardedSearch(self.engine, self.judge, config)
        longest = config.model_copy(update={"max_length": guard.longest(source, tokens)})
        stream = self.engine.stream(source, longest, tokens)
        yield from text_deltas(guard.until_loop(source, tokens, stream), partial(openings.text, 0), tokens)

    def _limited(self, search: SearchConfig | None) -> SearchConfig:
        config = search or self.search
        return config.model_copy(update={"max_length": min(config.max_length, self.longest_target)})

    def _refuse(self, call: Request) -> None:
        if lacks := unsupported(self.name, call):
            raise UsageError(
                f"The runtime {self.name} cannot do this: {', '.join(lacks)}.",
                where=f'runtime = "{self.name}"',
                expected="greedy search or a beam, a prefix, and things to keep",
                hint='The runtime torch can, with the whole model folder: pip install "dragoman[train]"',
            )
