"""What each runtime can: one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dragoman.config.search import SearchConfig
from dragoman.inference.runtimes.runtime import RuntimeName
from dragoman.steering.options import SteeringOptions


class Request(NamedTuple):
    search: SearchConfig
    asked: SteeringOptions
    trace: bool = False

    @property
    def beam(self) -> SearchConfig:
        """The search, where it is a beam; else that of the defaults, which asks for nothing."""
        return self.search if self.search.kind == "beam" else SearchConfig()


STEPWISE: tuple[RuntimeName, ...] = ("torch", "onnx")  # those that our own search leads, step by step


class Capability(NamedTuple):
    """What not every runtime can, when a call asks for it, and who can."""

    words: str
    is_asked: Callable[[Request], bool]
    runtimes: tuple[RuntimeName, ...] = ("torch",)


CAPABILITIES = (
    Capability("seeded samples (search.kind)", lambda call: call.search.kind in ("sample", "mbr")),
    Capability("groups of a beam (search.groups)", lambda call: call.beam.groups > 1),
    Capability(
        "another end of a beam (search.stop)",
        lambda call: call.beam.stop not in ("n_best", "heuristic"),
        STEPWISE,
    ),
    Capability("GNMT's length norm (search.length_norm)", lambda call: call.search.length_norm != "power"),
    Capability("a coverage penalty (search.coverage_penalty)", lambda call: call.beam.coverage_penalty > 0),
    Capability("a shortest length (search.min_length)", lambda call: call.search.min_length > 0, STEPWISE),
    Capability(
        "no n-gram twice (search.no_repeat_ngram)", lambda call: call.search.no_repeat_ngram > 0, STEPWISE
    ),
    Capability("a trace", lambda call: call.trace),
    Capability("a glossary", lambda call: bool(call.asked.get("glossary"))),
    Capability("forbidden words", lambda call: bool(call.asked.get("forbid"))),
)


def unsupported(name: RuntimeName, call: Request) -> list[str]:
    """What this call asks for and this runtime cannot, in words."""
    return [can.words for can in CAPABILITIES if name not in can.runtimes and can.is_asked(call)]
