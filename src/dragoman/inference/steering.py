"""What a caller asks of the outputs: a prefix, terms, words to leave out, things to keep."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from dragoman.config.search import SearchConfig
from dragoman.errors import UsageError
from dragoman.inference.asked import Asked, Terms, each, require_one_each, room
from dragoman.inference.calling import text_of, wrong
from dragoman.inference.outcome import Wishes
from dragoman.inference.phrases import edges_of, in_order, term
from dragoman.protocols import Stepper
from dragoman.search.build import Search, build, build_constrained
from dragoman.search.constrained import width_for
from dragoman.search.constraints import Edges
from dragoman.search.loops import LoopBounds
from dragoman.search.steering.written import Written
from dragoman.search.trace import Recorder
from dragoman.text.forbidden import Forbidden
from dragoman.text.glossary import Glossary, from_mapping, read_glossary
from dragoman.text.kept import KINDS, USUAL, find_kept
from dragoman.text.lowercase import Lowercase
from dragoman.text.prefix import Prefix
from dragoman.text.specials import EOS
from dragoman.text.surface import Surface


class Surfaces(NamedTuple):
    src: Surface
    tgt: Surface


class Steering:
    """The wishes for a list of texts."""

    def __init__(self, texts: Sequence[str], surfaces: Surfaces, asked: Asked) -> None:
        self.texts = texts
        self.surfaces = surfaces
        self.prefixes = each(asked.get("prefix"), texts)
        self.forbidden = words(asked.get("forbid", ()))
        glossaries = self._glossaries(asked.get("glossary"))
        self._kinds = kinds(asked.get("keep", False))
        self._prefix = Prefix(self.prefixes, surfaces.tgt) if any(self.prefixes) else None
        self._forbid = Forbidden(self.forbidden, surfaces.tgt) if any(self.forbidden) else None
        self.wishes = [self._wishes(*pair) for pair in zip(texts, glossaries, strict=True)]

    def _glossaries(self, glossary: Terms | Sequence[Terms] | None) -> list[Glossary]:
        if isinstance(glossary, Sequence) and not isinstance(glossary, str):
            require_one_each("glossaries", len(glossary), len(self.texts))
            return [opened(one) for one in glossary]
        return [opened(glossary)] * len(self.texts)

    def _wishes(self, text: str, glossary: Glossary) -> Wishes:
        if not text.strip():
            return Wishes()
        kept = find_kept(text, self._kinds)
        terms = glossary.find(text, [(one.begin, one.end) for one in kept])
        constraints = [term(found.entry.target, self.surfaces.tgt) for found in terms]
        return Wishes(in_order(constraints), [text[t.begin : t.end] for t in terms], kept)

    def groups(self, size: int) -> list[list[int]]:
        """Places of the texts that can share a batch: beams as wide, and as much room for what is asked."""
        groups: dict[tuple[int, int], list[int]] = {}
        for place, wishes in enumerate(self.wishes):
            width = width_for(wishes.constraints, size) if wishes.constraints else 0
            groups.setdefault((width, self._room(place)), []).append(place)
        return [groups[key] for key in sorted(groups)]

    def _room(self, place: int) -> int:
        """Tokens that the prefix and the terms take at most, in whole steps."""
        prefix = len(self.surfaces.tgt.tokenizer.encode(self.prefixes[place]))
        terms = sum(max(len(form.tokens) for form in c.forms) for c in self.wishes[place].constraints)
        return room(prefix + terms)

    def stepper(self, model: Stepper, places: Sequence[int]) -> Stepper:
        """The model, for a batch of these texts. The prefix goes before what is forbidden."""
        if self._prefix is not None:
            model = Written(model, self._prefix, places)
        if self._forbid is not None:
            model = Written(model, self._forbid, places)
        return model

    def with_room(self, bounded: SearchConfig, config: SearchConfig, places: Sequence[int]) -> SearchConfig:
        """The length that the guard allows, and room for what is asked besides, within the settings."""
        longest = min(config.max_length, bounded.max_length + self._room(places[0]))
        return config.model_copy(update={"max_length": longest})

    def search(
        self,
        config: SearchConfig,
        places: Sequence[int],
        loops: LoopBounds | None,
        recorder: Recorder | None,
        lost: list[int] | None,
    ) -> Search:
        constraints = [self.wishes[place].constraints for place in places]
        if not any(constraints):
            return build(config, loops, recorder, lost)
        if config.kind in ("sample", "mbr") or recorder:
            raise UsageError(
                "Terms of a glossary are searched for by a beam, which draws no samples and keeps no trace.",
                where=f'search.kind = "{config.kind}"' if recorder is None else "trace",
                hint="search.kind=beam, without a trace; prefix and forbid go with samples and traces too.",
            )
        return build_constrained(config, constraints, self.edges, loops)

    @cached_property
    def edges(self) -> Edges:
        return edges_of(self.surfaces.tgt)

    def opening(self, place: int) -> int:
        """How many bytes the prefix takes of an output."""
        return self._prefix.openings[place].size(self.surfaces.tgt) if self._prefix else 0

    def may_end(self, tokens: Sequence[int]) -> int:
        """How many tokens of an output can stand alone: the most after which no forbidden word is whole."""
        if self._forbid is None:
            return len(tokens)
        states = list(accumulate(tokens, self._forbid.after, initial=self._forbid.start(0)))
        ends = (n for n in range(len(tokens), 0, -1) if EOS not in self._forbid.choice(states[n]).ids)
        return next(ends, 0)

    @property
    def is_lower(self) -> bool:
        return isinstance(self.surfaces.tgt.tokenizer, Lowercase)


def words(forbid: Sequence[str] | None) -> list[str]:
    several = [forbid] if isinstance(forbid, str) else () if forbid is None else forbid
    if not isinstance(several, Collection) or isinstance(several, bytes | Mapping):
        raise wrong("forbid", forbid, "a list of words", 'forbid=["Typ"]')
    return [text_of(word, f"forbid[{place}]") for place, word in enumerate(several)]


def opened(glossary: Terms | None) -> Glossary:
    match glossary:
        case None:
            return Glossary([])
        case Glossary():
            return glossary
        case str() | Path():
            return read_glossary(glossary)
        case Mapping():
            return from_mapping(glossary)
    raise wrong("glossary", glossary, "a file, a dict or a Glossary", 'glossary={"bike": "Fahrrad"}')


def kinds(keep: bool | Collection[str] | None) -> tuple[str, ...]:
    if keep is None or isinstance(keep, bool):
        return USUAL if keep else ()
    if not isinstance(keep, Collection):
        raise wrong("keep", keep, "True, or some of " + ", ".join(KINDS), "keep=True")
    names = (keep,) if isinstance(keep, str) else tuple(keep)
    for name in names:
        if name not in KINDS:
            raise UsageError(
                f'"{name}" is no kind of thing to keep.',
                where="keep",
                expected="some of " + ", ".join(KINDS),
                hint="keep=True keeps " + ", ".join(USUAL) + ".",
            )
    return names
