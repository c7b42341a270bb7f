"""The runtime of exports: texts to results with any engine, without PyTorch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Unpack

from dragoman.config.root import Config
from dragoman.config.search import SearchConfig
from dragoman.errors import UsageError
from dragoman.inference.quality.checks import OutputChecker
from dragoman.inference.quality.token_details import SourceAndOutput, analyse_output
from dragoman.inference.result import Result
from dragoman.inference.results import DecodedSentence, make_results, with_own_log_p
from dragoman.inference.runtimes.capabilities import Request, unsupported
from dragoman.inference.runtimes.loop_retry import GuardedSearch
from dragoman.inference.runtimes.prefix_tokens import PrefixForcer
from dragoman.inference.runtimes.runtime import Engine, TextRuntime, text_deltas
from dragoman.models.calibration import Calibration
from dragoman.steering.basic_plan import BasicPlan
from dragoman.steering.options import SteeringOptions
from dragoman.text.specials import EOS
from dragoman.text.tokenizer_pair import TokenizerPair


class ExportRuntime(TextRuntime):
    def __init__(
        self, engine: Engine, config: Config, text: TokenizerPair, calibration: Calibration | None = None
    ) -> None:
        self.engine = engine
        self.name = engine.name
        self.text = text
        self.search = config.search
        self.checker = OutputChecker(text, calibration)
        self.longest_source = config.model.longest_source
        self.longest_target = config.model.longest_target

    def __call__(
        self,
        texts: Sequence[str],
        search: SearchConfig | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **options: Unpack[SteeringOptions],
    ) -> list[Result]:
        """Return one result per text, in order; that of a text without words is empty."""
        config = self._limited(search)
        self._refuse(Request(config, options, trace))
        plan = BasicPlan(texts, self.surfaces, options) if any(options.values()) else None
        decode = partial(self._decode, config, plan, details=details)
        return make_results(texts, plan, decode, self.text.tgt, self.checker, config)

    def _decode(
        self,
        config: SearchConfig,
        plan: BasicPlan | None,
        texts: Sequence[str],
        *,
        details: bool,
        with_attention: bool = False,
    ) -> list[DecodedSentence | None]:
        """Return the decoded sentence of each text; None for one without words."""
        sources = self.text.read(texts)
        indices = [index for index, ids in enumerate(sources) if len(ids)]
        decoded: list[DecodedSentence | None] = [None for _ in texts]
        if not indices:
            return decoded
        rows = [sources[index][: self.longest_source].tolist() for index in indices]
        prefix_ids = None
        if plan and plan.prefix:
            openings = PrefixForcer([plan.prefixes[index] for index in indices], self.surfaces.tgt)
            prefix_ids = openings.tokens(self.engine, rows)
        found = GuardedSearch(self.engine, self.checker, config).search(rows, prefix_ids)
        cut = [len(sources[index]) > self.longest_source for index in indices]
        some = [DecodedSentence(*one) for one in zip(rows, found, [None] * len(rows), cut, strict=True)]
        if plan and plan.prefix and self.checker.calibration:
            own = self.engine.score(rows, [one.output for one in some])
            some = [with_own_log_p(plan, *three) for three in zip(indices, some, own, strict=True)]
        if details or with_attention:
            some = self._with_steps([texts[index] for index in indices], some)
        for index, one in zip(indices, some, strict=True):
            decoded[index] = one if details else one._replace(analysis=None)
        return decoded

    def _with_steps(self, texts: Sequence[str], found: Sequence[DecodedSentence]) -> list[DecodedSentence]:
        """Add the details and the attention of each token."""
        outputs = [one.output for one in found]
        steps = self.engine.score_details([one.source for one in found], outputs)
        detailed = []
        for text, one, output, step in zip(texts, found, outputs, steps, strict=True):
            written = SourceAndOutput(text, [*one.source, EOS], self.text.tgt.decode(output), output)
            attention_matrix = None if step.attention is None else step.attention[: len(one.best.tokens), :-1]
            about = analyse_output(written, step, self.text, self.checker.calibration)
            detailed.append(one._replace(analysis=about, attention_matrix=attention_matrix))
        return detailed

    def stream(self, text: str, search: SearchConfig | None = None, *, prefix: str = "") -> Iterator[str]:
        """Yield the output of greedy search in parts, each as soon as it is known."""
        config = self._limited(search).model_copy(update={"kind": "greedy", "n_best": 1})
        self._refuse(Request(config, {}))
        source = self.text.read([text])[0][: self.longest_source].tolist()
        if not source:
            return
        openings = PrefixForcer([prefix], self.surfaces.tgt)
        (tokens,) = openings.tokens(self.engine, [source])
        guard = GuardedSearch(self.engine, self.checker, config)
        longest = config.model_copy(update={"max_length": guard.longest(source, tokens)})
        stream = self.engine.stream(source, longest, tokens)
        yield from text_deltas(guard.until_loop(source, tokens, stream), partial(openings.text, 0), tokens)

    def _refuse(self, call: Request) -> None:
        if lacks := unsupported(self.name, call):
            raise UsageError(
                f"The runtime {self.name} cannot do this: {', '.join(lacks)}.",
                where=f'runtime = "{self.name}"',
                expected="greedy or beam search, a prefix, and placeholders to keep",
                hint='Use the runtime torch, with the whole model folder: pip install "dragoman[train]"',
            )
