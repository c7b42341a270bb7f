"""Edit distance (Levenshtein 1966, Wagner & Fischer 1974), and the alignment of two sequences.

The usual costs of an insertion, a deletion and a substitution are 1/1/1. With 1/1/2 a substitution costs as
much as a deletion and an insertion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from rapidfuzz.distance import Levenshtein

Kind = Literal["=", "S", "D", "I"]  # the same, substituted, deleted, inserted


class Costs(NamedTuple):
    insertion: int = 1
    deletion: int = 1
    substitution: int = 1


class Edit(NamedTuple):
    kind: Kind
    wanted: str  # "" if it is inserted
    output: str  # "" if it is deleted


USUAL = Costs()


def edit_distance(wanted: Sequence[str], output: Sequence[str], costs: Costs = USUAL) -> int:
    """Return the lowest cost of the edits that turn what is wanted into the output."""
    return Levenshtein.distance(wanted, output, weights=costs)


def align(wanted: Sequence[str], output: Sequence[str], costs: Costs = USUAL) -> list[Edit]:
    """Return such edits of the lowest cost, in order, with the tokens that stay.

    Of several, a substitution is preferred to a deletion, and that to an insertion, from the end.
    """
    cost = distances(wanted, output, costs)
    i, j = len(wanted), len(output)
    edits: list[Edit] = []
    while i or j:
        same = i > 0 and j > 0 and wanted[i - 1] == output[j - 1]
        if i and j and cost[i][j] == cost[i - 1][j - 1] + (0 if same else costs.substitution):
            i, j = i - 1, j - 1
            edits.append(Edit("=" if same else "S", wanted[i], output[j]))
        elif i and cost[i][j] == cost[i - 1][j] + costs.deletion:
            i -= 1
            edits.append(Edit("D", wanted[i], ""))
        else:
            j -= 1
            edits.append(Edit("I", "", output[j]))
    return edits[::-1]


def distances(wanted: Sequence[str], output: Sequence[str], costs: Costs = USUAL) -> list[list[int]]:
    """Return d with d[i][j] the distance of the first i tokens of one from the first j of the other:

    d[i][j] = min(d[i−1][j−1] + substitution, or + 0 if the tokens agree, d[i−1][j] + deletion,
    d[i][j−1] + insertion).
    """
    insertion, deletion, substitution = costs
    rows = [[j * insertion for j in range(len(output) + 1)]]
    for i, token in enumerate(wanted, start=1):
        above, row = rows[-1], [i * deletion]
        for j, other in enumerate(output, start=1):
            replaced = above[j - 1] + (0 if token == other else substitution)
            row.append(min(replaced, above[j] + deletion, row[-1] + insertion))
        rows.append(row)
    return rows
