"""The beam tree: every candidate of a search in the column of its step, joined to its parent.

A line is as wide as the probability of the token. Pruned candidates are grey, the path of the best hypothesis
is bold. The candidates of a column have the order of their parents, so that no lines cross. A long tree is
broken into rows; the candidates that it continues from are repeated at the beginning of each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dragoman.inspection.data import BeamNode, BeamTree
from dragoman.inspection.pictures.labels import labelled, width
from dragoman.inspection.pictures.picture import Drawing
from dragoman.inspection.pictures.svg import TITLE, curve, document, element, hint, text
from dragoman.inspection.pictures.theme import SIZE, SMALL, Theme
from dragoman.search.trace import ROOT

ROW, GAP, MARGIN, LETTER = 24.0, 40.0, 4.0, float(SIZE)
NUMBER, SCORE = 3.2 * SMALL, 6.0 * LETTER  # the widths of a probability after its token, and of a score
ROOM = 680.0  # the width of a row
BOLD = 1.08  # how much wider bold letters are
START, MORE = "<s>", "…"  # more of the tree is in the next row
MORE_WIDTH = 1.2 * LETTER

Column = list[BeamNode]


@dataclass(frozen=True)
class Place:
    """Where a candidate is: the start and the end of its token, the end of its numbers, and its height."""

    left: float
    end: float
    right: float
    y: float


def beam_tree_drawing(tree: BeamTree) -> Drawing:
    shown = labelled([node.token for node in tree.nodes])
    named = (replace(node, token=token) for node, token in zip(tree.nodes, shown, strict=True))
    tree = replace(tree, nodes=tuple(named))

    def draw(theme: Theme, title: str) -> str:
        places, repeated = layout(tree)
        nodes = {node.number: node for node in tree.nodes}
        winner = set(tree.path(tree.best[0])) if tree.best else set()
        right = max(place.right + (4 + MORE_WIDTH) * (number in repeated) for number, place in places.items())
        bottom = max(place.y for place in places.values())
        # Pruned candidates first, so that the lines of others are drawn over theirs.
        order = sorted(nodes.values(), key=lambda node: (node.number in winner, node.fate != "pruned"))
        starts = places | repeated
        parts = [
            line(node, starts[node.parent], places[node.number], theme, is_best=node.number in winner)
            for node in order
        ]
        for number, place in ({ROOT: places[ROOT]} | repeated).items():
            token = nodes[number].token if number in nodes else START
            parts.append(text(token, place.left, place.y + 4, font_size=LETTER, fill=theme.faint))
        parts += [part for node in order for part in candidate(node, places, theme, tree, winner)]
        for number, place in repeated.items():
            end = places[number].right + 4
            parts += [
                text(MORE, x, y + 4, fill=theme.soft) for x, y in ((end, places[number].y), (MARGIN, place.y))
            ]
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


def layout(tree: BeamTree) -> tuple[dict[int, Place], dict[int, Place]]:
    """Return the place of each candidate, and that of those which are repeated at the beginning of a row."""
    places: dict[int, Place] = {}
    repeated: dict[int, Place] = {}
    top = TITLE
    for row in broken(ordered(tree), tree):
        middle = top + ROW * (max(map(len, row)) + 1) / 2
        parents = list(dict.fromkeys(node.parent for node in row[0]))
        tokens = {node.number: node.token for node in tree.nodes} | {ROOT: START}
        begin = repeated if places else places
        x = MARGIN + (MORE_WIDTH if places else 0.0)
        for y, number in zip(heights(middle, len(parents)), parents, strict=True):
            end = x + token_width(tokens[number])
            begin[number] = Place(x, end, end, y)
        x = max(begin[number].right for number in parents) + GAP
        for column in row:
            for y, node in zip(heights(middle, len(column)), column, strict=True):
                end = x + token_width(node.token)
                places[node.number] = Place(x, end, x + width_of(node, tree), y)
            x = max(places[node.number].right for node in column) + GAP
        top = middle + ROW * (max(map(len, row)) + 1) / 2
    return places, repeated


def broken(columns: list[Column], tree: BeamTree) -> Iterator[list[Column]]:
    """Yield the columns of each row."""
    row: list[Column] = []
    used = 0.0
    for column in columns:
        wide = max(width_of(node, tree) for node in column) + GAP
        if row and used + wide > ROOM:
            yield row
            row, used = [], MORE_WIDTH + max(token_width(node.token) for node in row[-1]) + GAP
        row.append(column)
        used += wide
    yield row


def width_of(node: BeamNode, tree: BeamTree) -> float:
    score = SCORE if node.number in tree.best else 0.0
    return token_width(node.token) + NUMBER + score


def token_width(token: str) -> float:
    return BOLD * LETTER * width(token)


def heights(middle: float, count: int) -> list[float]:
    return [middle + ROW * (number - (count - 1) / 2) for number in range(count)]


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


def line(node: BeamNode, a: Place, b: Place, theme: Theme, *, is_best: bool) -> str:
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
    yield element("text", p, x=place.end + 4, y=place.y + 4, font_size=SMALL, fill=theme.soft)
    if node.number in tree.best:
        rank = tree.best.index(node.number)
        shown = f"{'★ ' if rank == 0 else ''}{node.score:.3f}"
        yield element("text", shown, x=place.end + NUMBER, y=place.y + 4, font_size=LETTER, fill=colour)
