"""Constraints on the outputs of a call in PyTorch: prefix, terms, forbidden words and placeholders."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from dragoman.arguments import text_of, wrong_type
from dragoman.config.search import SearchConfig
from dragoman.errors import UsageError
from dragoman.protocols import Stepper
from dragoman.search.build import Search, build, build_constrained
from dragoman.search.lexical.constraints import TokenBoundaries, matches
from dragoman.search.lexical.search import tokens_of, width_for
from dragoman.search.processors.token_automaton import AutomatonProcessor
from dragoman.search.repetition import LoopBounds
from dragoman.search.trace import Recorder
from dragoman.steering.banned_words import BannedWords
from dragoman.steering.basic_plan import BasicPlan
from dragoman.steering.glossary import Glossary, from_mapping, read_glossary
from dragoman.steering.lexical import lexical_constraint, order_duplicates, token_boundaries
from dragoman.steering.options import GlossaryLike, SteeringOptions, require_one_each, round_up_length
from dragoman.steering.reinsertion import TokenBytesPair
from dragoman.steering.report import SteeringRequest, Term, allowed_forms, token_texts
from dragoman.steering.step_tokens import StepAutomaton, StepTokens
from dragoman.text.specials import EOS


class SteeringPlan(BasicPlan):
    """A plan with constraints that only Dragoman's own search supports: terms and forbidden words."""

    def __init__(self, texts: Sequence[str], surfaces: TokenBytesPair, options: SteeringOptions) -> None:
        super().__init__(texts, surfaces, options)
        self.forbidden = words(options.get("forbid", ()))
        self._forbid = BannedWords(self.forbidden, surfaces.tgt) if any(self.forbidden) else None
        self._steps = step_automaton(options.get("steps"), surfaces)
        glossaries = self._glossaries(options.get("glossary"))
        self.requests = [
            self._with_terms(text, requests, glossary)
            for text, requests, glossary in zip(texts, self.requests, glossaries, strict=True)
        ]

    def _glossaries(self, glossary: GlossaryLike | Sequence[GlossaryLike] | None) -> list[Glossary]:
        if isinstance(glossary, Sequence) and not isinstance(glossary, str):
            require_one_each("glossaries", len(glossary), len(self.texts))
            return [as_glossary(one) for one in glossary]
        return [as_glossary(glossary)] * len(self.texts)

    def _with_terms(self, text: str, requests: SteeringRequest, glossary: Glossary) -> SteeringRequest:
        found = glossary.find(text, [(one.begin, one.end) for one in requests.kept])
        terms = [Term(text[t.begin : t.end], tuple(dict.fromkeys(t.entry.target))) for t in found]
        allowed = [allowed_forms(term.target, self.forbidden, lower=self.is_lower) for term in terms]
        constraints = [lexical_constraint(forms, self.surfaces.tgt) for forms in allowed if forms]
        return SteeringRequest(terms, order_duplicates(constraints), requests.kept)

    def groups(self, size: int) -> list[list[int]]:
        """Return the indices of texts that can share a batch: same beam width, same length allowance."""
        groups: dict[tuple[int, int], list[int]] = {}
        for index, requests in enumerate(self.requests):
            width = width_for(requests.constraints, size) if requests.constraints else 0
            groups.setdefault((width, self._room(index)), []).append(index)
        return [groups[key] for key in sorted(groups)]

    def _room(self, index: int) -> int:
        """Return the maximum number of tokens of the prefix and the terms, in whole steps."""
        prefix = len(self.surfaces.tgt.tokenizer.encode(self.prefixes[index]))
        terms = tokens_of(self.requests[index].constraints)
        return round_up_length(prefix + terms)

    def stepper(self, model: Stepper, indices: Sequence[int]) -> Stepper:
        """Return the model for a batch of these texts.

        The tokens of given steps have priority over the prefix, and this over forbidden words.
        """
        if self._steps is not None:
            model = AutomatonProcessor(model, self._steps, indices)
        if self.prefix is not None:
            model = AutomatonProcessor(model, self.prefix, indices)
        if self._forbid is not None:
            model = AutomatonProcessor(model, self._forbid, indices)
        return model

    def with_room(self, bounded: SearchConfig, config: SearchConfig, indices: Sequence[int]) -> SearchConfig:
        """Return `config` with the length that the guard allows plus an allowance for constraints."""
        longest = min(config.max_length, bounded.max_length + self._room(indices[0]))
        return config.model_copy(update={"max_length": longest})

    def search(
        self,
        config: SearchConfig,
        indices: Sequence[int],
        loops: LoopBounds | None,
        recorder: Recorder | None,
    ) -> Search:
        constraints = [self.requests[index].constraints for index in indices]
        if not any(constraints):
            return build(config, loops, recorder)
        if config.kind in ("sample", "mbr") or recorder:
            raise UsageError(
                "Glossary terms need beam search, without samples and without a trace.",
                where=f'search.kind = "{config.kind}"' if recorder is None else "trace",
                hint="search.kind=beam, without a trace; prefix and forbid work with samples and traces.",
            )
        return build_constrained(config, constraints, self.edges, loops)

    @cached_property
    def edges(self) -> TokenBoundaries:
        return token_boundaries(self.surfaces.tgt)

    def written(self, index: int, tokens: Sequence[int]) -> list[bytes]:
        constraints = self.requests[index].constraints
        met = matches(tokens, constraints, self.edges) if constraints else []
        return token_texts(self.surfaces.tgt, tokens, met, self.opening(index))

    def may_end(self, tokens: Sequence[int]) -> int:
        """Return how many tokens of a cut output remain: the most that do not end in a forbidden word."""
        if self._forbid is None:
            return len(tokens)
        states = list(accumulate(tokens, self._forbid.after, initial=self._forbid.start(0)))
        ends = (n for n in range(len(tokens), 0, -1) if EOS not in self._forbid.choice(states[n]).ids)
        return next(ends, 0)


def words(forbid: Sequence[str] | None) -> list[str]:
    several = [forbid] if isinstance(forbid, str) else () if forbid is None else forbid
    if not isinstance(several, Collection) or isinstance(several, bytes | Mapping):
        raise wrong_type("forbid", forbid, "a list of words", 'forbid=["Typ"]')
    return [text_of(word, f"forbid[{index}]") for index, word in enumerate(several)]


def step_automaton(steps: StepTokens | None, surfaces: TokenBytesPair) -> StepAutomaton | None:
    if steps is None:
        return None
    if not isinstance(steps, StepTokens):
        raise wrong_type("steps", steps, "StepTokens", "steps=StepTokens(write={0: model(text).tokens[0]})")
    return StepAutomaton(steps, surfaces.tgt.tokenizer)


def as_glossary(glossary: GlossaryLike | None) -> Glossary:
    match glossary:
        case None:
            return Glossary([])
        case Glossary():
            return glossary
        case str() | Path():
            return read_glossary(glossary)
        case Mapping():
            return from_mapping(glossary)
    raise wrong_type("glossary", glossary, "a file, a dict or a Glossary", 'glossary={"bike": "Fahrrad"}')
