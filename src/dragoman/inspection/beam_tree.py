"""The candidates of a search as a tree, from its trace."""

from __future__ import annotations

import math
from collections.abc import Callable

from dragoman.inspection.data import BeamNode, BeamTree
from dragoman.search.trace import ROOT, Trace


def beam_tree(trace: Trace, piece: Callable[[int], str]) -> BeamTree:
    """Return every candidate of the trace, with `piece` as the text of a token."""
    reached = {ROOT: 0.0, **{c.number: c.log_p for c in trace.candidates}}
    nodes = tuple(
        BeamNode(
            c.number,
            c.parent,
            c.step,
            c.group,
            piece(c.token),
            math.exp(min(c.log_p - reached[c.parent], 0.0)),  # rounding may exceed 1
            c.log_p,
            c.score,
            c.fate,
            c.why,
        )
        for c in trace.candidates
    )
    return BeamTree(nodes, trace.best)
