"""Capabilities of the runtimes, in one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dragoman.config.search import SearchConfig
from dragoman.inference.runtimes.runtime import RuntimeName
from dragoman.steering.options import SteeringOptions


class Request(NamedTuple):
    search: SearchConfig
    options: SteeringOptions
    trace: bool = False

    @property
    def beam(self) -> SearchConfig:
        """The search if it is a beam, otherwise the default settings, which request no capability."""
        return self.search if self.search.kind == "beam" else SearchConfig()


STEPWISE: tuple[RuntimeName, ...] = ("torch", "onnx")  # runtimes of Dragoman's own search, step by step


class Capability(NamedTuple):
    """An option that only some runtimes support, and how to tell that a call requests it."""

    description: str
    is_requested: Callable[[Request], bool]
    runtimes: tuple[RuntimeName, ...] = ("torch",)


CAPABILITIES = (
    Capability("minimum Bayes risk (search.kind)", lambda call: call.search.kind == "mbr"),
    Capability("seeded samples (search.kind)", lambda call: call.search.kind == "sample", STEPWISE),
    Capability(
        "seeded samples with the guard (search.guard)",
        lambda call: call.search.kind == "sample" and call.search.guard,
    ),
    Capability("diverse beam groups (search.groups)", lambda call: call.beam.groups > 1),
    Capability(
        "this stopping rule of a beam (search.stop)",
        lambda call: call.beam.stop not in ("n_best", "heuristic"),
        STEPWISE,
    ),
    Capability(
        "GNMT length normalisation (search.length_norm)", lambda call: call.search.length_norm != "power"
    ),
    Capability("a coverage penalty (search.coverage_penalty)", lambda call: call.beam.coverage_penalty > 0),
    Capability("a minimum length (search.min_length)", lambda call: call.search.min_length > 0, STEPWISE),
    Capability(
        "n-gram blocking (search.no_repeat_ngram)", lambda call: call.search.no_repeat_ngram > 0, STEPWISE
    ),
    Capability("a trace", lambda call: call.trace),
    Capability("a glossary", lambda call: bool(call.options.get("glossary"))),
    Capability("forbidden words", lambda call: bool(call.options.get("forbid"))),
    Capability("tokens of given steps", lambda call: bool(call.options.get("steps"))),
)


def unsupported(name: RuntimeName, call: Request) -> list[str]:
    """Return descriptions of the options of this call that this runtime does not support."""
    return [
        capability.description
        for capability in CAPABILITIES
        if name not in capability.runtimes and capability.is_requested(call)
    ]
