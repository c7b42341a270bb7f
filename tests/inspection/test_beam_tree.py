"""The beam tree holds exactly the candidates of the trace, and its drawing every one of them."""

from __future__ import annotations

import math
import random
import xml.etree.ElementTree as ET

from dragoman.config.search import SearchConfig
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.inspection.beam_tree import beam_tree
from dragoman.inspection.data import BeamTree
from dragoman.inspection.pictures.beam_tree import beam_tree_drawing, layout, ordered
from dragoman.inspection.pictures.theme import DARK, LIGHT
from dragoman.search.trace import ROOT, Trace
from support.tiny_bundle import RNN, WORDS, tiny

SVG = "{http://www.w3.org/2000/svg}"


def traces(count: int, size: int = 4, **search: object) -> list[Trace]:
    runtime = TorchRuntime(tiny(RNN))
    draw = random.Random(3)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(1, 9))) for _ in range(count)]
    config = SearchConfig.model_validate({"size": size, "max_length": 9, **search})
    found = [result.trace for result in runtime(texts, config, trace=True)]
    assert all(trace is not None for trace in found)
    return [trace for trace in found if trace is not None]


def test_trees_of_200_sentences_hold_exactly_the_candidates_of_the_trace() -> None:
    for trace in traces(200):
        tree = beam_tree(trace, lambda token: f"t{token}")
        assert tree.best == trace.best
        assert len(tree.nodes) == len(trace.candidates) > 0
        for node, candidate in zip(tree.nodes, trace.candidates, strict=True):
            kept = (
                node.number,
                node.parent,
                node.step,
                node.group,
                node.log_p,
                node.score,
                node.fate,
                node.why,
            )
            assert kept == (*candidate[:4], *candidate[5:])
            assert node.token == f"t{candidate.token}"
            before = 0.0 if node.parent == ROOT else tree.nodes[node.parent - 1].log_p
            assert math.isclose(node.p, math.exp(min(node.log_p - before, 0.0)))
        placed, repeated = layout(tree)
        assert set(repeated) < set(placed)
        assert set(placed) == {ROOT, *(node.number for node in tree.nodes)}
        assert len({(place.left, place.y) for place in placed.values()}) == len(placed), "two in one place"


def test_lines_do_not_cross() -> None:
    for trace in traces(20, size=6, groups=2):
        tree = beam_tree(trace, str)
        columns = ordered(tree)
        assert sorted(node.number for column in columns for node in column) == [n.number for n in tree.nodes]
        rank = {node.number: row for column in columns for row, node in enumerate(column)}
        for column in columns[1:]:
            parents = [rank[node.parent] for node in column]
            assert parents == sorted(parents)


def drawn(tree: BeamTree) -> tuple[list[ET.Element], list[ET.Element]]:
    root = ET.fromstring(beam_tree_drawing(tree).svg(LIGHT))
    return root.findall(f"{SVG}path"), root.findall(f"{SVG}text")


def test_width_is_probability_grey_is_pruned_and_bold_is_the_winner() -> None:
    (trace,) = traces(1)
    tree = beam_tree(trace, lambda token: f"t{token}")
    paths, texts = drawn(tree)
    assert len(paths) == len(tree.nodes)
    widths = sorted(float(path.attrib["stroke-width"]) for path in paths)
    assert widths == sorted(round(0.6 + 4.4 * node.p, 2) for node in tree.nodes)
    bold = [text.text for text in texts if text.attrib.get("font-weight") == "bold"][1:]  # after the title
    winner = [tree.nodes[number - 1].token for number in tree.path(tree.best[0])]
    assert sorted(bold) == sorted(winner)
    tokens = [text for text in texts if (text.text or "").startswith("t")]
    grey = [text.text for text in tokens if text.attrib["fill"] == LIGHT.faint]
    repeated = [tree.nodes[number - 1].token for number in layout(tree)[1]]  # at the beginning of a row
    assert sorted(grey) == sorted([*repeated, *(n.token for n in tree.nodes if n.fate == "pruned")])
    stars = [text.text for text in texts if (text.text or "").startswith("★")]
    assert stars == [f"★ {tree.nodes[tree.best[0] - 1].score:.3f}"]


def test_dark_has_the_same_tree_in_other_colours() -> None:
    tree = beam_tree(traces(1)[0], str)
    light, dark = (beam_tree_drawing(tree).svg(theme) for theme in (LIGHT, DARK))
    assert LIGHT.accent in light
    assert DARK.accent in dark
    assert LIGHT.accent not in dark
    assert light.count("<text") == dark.count("<text")
