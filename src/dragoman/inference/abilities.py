"""What each runtime can: one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dragoman.config.search import SearchConfig
from dragoman.inference.asked import Asked
from dragoman.inference.runtime import Name


class Call(NamedTuple):
    search: SearchConfig
    asked: Asked
    trace: bool = False

    @property
    def beam(self) -> SearchConfig:
        """The search, where it is a beam; else that of the defaults, which asks for nothing."""
        return self.search if self.search.kind == "beam" else SearchConfig()


LEAD: tuple[Name, ...] = ("torch", "onnx")  # those that our own search leads, step by step


class Ability(NamedTuple):
    """What not every runtime can, when a call asks for it, and who can."""

    words: str
    is_asked: Callable[[Call], bool]
    runtimes: tuple[Name, ...] = ("torch",)


ABILITIES = (
    Ability("seeded samples (search.kind)", lambda call: call.search.kind in ("sample", "mbr")),
    Ability("groups of a beam (search.groups)", lambda call: call.beam.groups > 1),
    Ability(
        "another end of a beam (search.stop)",
        lambda call: call.beam.stop not in ("n_best", "heuristic"),
        LEAD,
    ),
    Ability("GNMT's length norm (search.length_norm)", lambda call: call.search.length_norm != "power"),
    Ability("a coverage penalty (search.coverage_penalty)", lambda call: call.beam.coverage_penalty > 0),
    Ability("a shortest length (search.min_length)", lambda call: call.search.min_length > 0, LEAD),
    Ability("no n-gram twice (search.no_repeat_ngram)", lambda call: call.search.no_repeat_ngram > 0, LEAD),
    Ability("a trace", lambda call: call.trace),
    Ability("a glossary", lambda call: bool(call.asked.get("glossary"))),
    Ability("forbidden words", lambda call: bool(call.asked.get("forbid"))),
)


def missing(name: Name, call: Call) -> list[str]:
    """What this call asks for and this runtime cannot, in words."""
    return [can.words for can in ABILITIES if name not in can.runtimes and can.is_asked(call)]
