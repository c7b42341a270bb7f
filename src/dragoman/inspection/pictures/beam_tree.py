"""The beam tree: every candidate of a search in the column of its step, joined to its parent.

A line is as wide as the probability of the token. Pruned candidates are grey, the path of the best hypothesis
is bold. The candidates of a column have the order of their parents, so that no lines cross.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.inspection.data import BeamNode, BeamTree
from dragoman.inspection.pictures.labels import label, width
from dragoman.inspection.pictures.picture import Drawing
from dragoman.inspection.pictures.svg import TITLE, curve, document, element, hint, text
from dragoman.inspection.pictures.theme import Theme
from dragoman.search.trace import ROOT

ROW, GAP, MARGIN, LETTER, SMALL = 24.0, 56.0, 16.0, 12.5, 9.5
NUMBER, SCORE = (
    4 * SMALL,
    6 * LETTER,
)  # the widths of a probability after its token, and of a score after that
START = "<s>"


@dataclass(frozen=True)
class Place:
    """Where a candidate is: the start and the end of its token, the end of its numbers, and its height."""

    left: float
    end: float
    right: float
    y: float


def beam_tree_drawing(tree: BeamTree) -> Drawing:
    def draw(theme: Theme, title: str) -> str:
        places = layout(tree)
        nodes = {node.number: node for node in tree.nodes}
        winner = set(tree.path(tree.best[0])) if tree.best else set()
        right = max(place.right for place in places.values())
        bottom = max(place.y for place in places.values())
        # Pruned candidates first, so that the lines of others are drawn over theirs.
        order = sorted(nodes.values(), key=lambda node: (node.number in winner, node.fate != "pruned"))
        parts = [line(node, places, theme, is_best=node.number in winner) for node in order]
        start = places[ROOT]
        parts.append(text(START, start.left, start.y + 4, font_size=LETTER, fill=theme.faint))
        parts += [part for node in order for part in candidate(node, places, theme, tree, winner)]
        return document(theme, title, right + MARGIN, bottom + ROW + MARGIN, parts)

    kept = sum(node.fate != "pruned" for node in tree.nodes)
    return Drawing(
        "beam",
        "Beam search: every candidate",
        f"{len(tree.nodes)} candidates, of which {kept} were kept. A line is as wide as the probability of "
        "its token, which is printed small. Grey candidates were pruned; the bold path is the output, "
        "and the numbers at the ends are the scores by which hypotheses are ranked.",
        draw,
    )


def layout(tree: BeamTree) -> dict[int, Place]:
    columns = ordered(tree)
    tallest = max((len(column) for column in columns), default=1)
    middle = TITLE + ROW * (tallest + 1) / 2
    x = MARGIN
    end = x + LETTER * width(START)
    places = {ROOT: Place(x, end, end, middle)}
    x = places[ROOT].right + GAP
    for column in columns:
        top = middle - ROW * (len(column) - 1) / 2
        for row, node in enumerate(column):
            end = x + LETTER * width(label(node.token))
            right = end + NUMBER + (SCORE if node.number in tree.best else 0.0)
            places[node.number] = Place(x, end, right, top + ROW * row)
        x = max(places[node.number].right for node in column) + GAP
    return places


def ordered(tree: BeamTree) -> list[list[BeamNode]]:
    """Return the candidates of each step, in the order of their parents, the best of a parent first."""
    children: dict[int, list[BeamNode]] = defaultdict(list)
    for node in tree.nodes:
        children[node.parent].append(node)
    columns, parents = [], [ROOT]
    while column := [
        node
        for parent in parents
        for node in sorted(children[parent], key=lambda node: (node.group, -node.log_p))
    ]:
        columns.append(column)
        parents = [node.number for node in column]
    return columns


def line(node: BeamNode, places: dict[int, Place], theme: Theme, *, is_best: bool) -> str:
    a, b = places[node.parent], places[node.number]
    colour = theme.accent if is_best else theme.faint if node.fate == "pruned" else theme.ink
    return element(
        "path",
        hint(f"{node.token}  p {node.p:.3f}"),
        d=curve(a.right + 4, a.y, b.left - 4, b.y),
        fill="none",
        stroke=colour,
        stroke_width=0.6 + 4.4 * node.p,
        stroke_opacity=0.85 if is_best else 0.3,
    )


def candidate(
    node: BeamNode, places: dict[int, Place], theme: Theme, tree: BeamTree, winner: set[int]
) -> Iterator[str]:
    place, is_best = places[node.number], node.number in winner
    colour = theme.accent if is_best else theme.faint if node.fate == "pruned" else theme.ink
    yield text(
        node.token,
        place.left,
        place.y + 4,
        font_size=LETTER,
        fill=colour,
        font_weight="bold" if is_best else None,
    )
    p = f"{node.p:.2f}".removeprefix("0")
    yield element("text", p, x=place.end + 4, y=place.y + 4, font_size=SMALL, fill=theme.faint)
    if node.number in tree.best:
        rank = tree.best.index(node.number)
        shown = f"{'★ ' if rank == 0 else ''}{node.score:.3f}"
        yield element("text", shown, x=place.end + NUMBER, y=place.y + 4, font_size=LETTER, fill=colour)
