"""Pictures of lines: what is drawn stands where the axes say."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from dragoman.inspection.pictures.line_chart import (
    APART,
    LEFT,
    LOW,
    WIDTH,
    Axis,
    Line,
    Panel,
    PlotFrame,
    draw,
    number,
    ticks,
)
from dragoman.inspection.pictures.theme import DARK, LIGHT

LINEAR, LOG = Axis("x", 0, 10), Axis("y", 0.01, 100, log=True)
SVG = "{http://www.w3.org/2000/svg}"


def drawing(*panels: Panel) -> ElementTree.Element:
    return ElementTree.fromstring(draw("A title with < and &", panels))


def points(element: ElementTree.Element) -> list[tuple[float, float]]:
    pairs = (pair.split(",") for pair in element.attrib["points"].split())
    return [(float(x), float(y)) for x, y in pairs]


def test_a_point_stands_at_its_share_of_a_linear_and_of_a_logarithmic_axis() -> None:
    frame = PlotFrame(Panel("", LINEAR, LOG, []), left=100, top=50, right=300, bottom=250)
    assert frame.across(2.5) == 150
    assert frame.up(1.0) == pytest.approx(150)
    assert frame.up(0.001) == 250  # what is below the axis lies on it


def test_a_line_goes_from_end_to_end_of_its_panel() -> None:
    line = Line("a", [(0, 0.01), (10, 100)])
    first, last = points(drawing(Panel("", LINEAR, LOG, [line])).find(f"{SVG}polyline"))
    assert first[0] == LEFT
    assert LEFT < last[0] < WIDTH
    assert first[1] > last[1]


def test_a_band_lies_around_its_line() -> None:
    line = Line("a", [(2, 1), (8, 10)], band=[(0.1, 2), (5, 50)])
    tree = drawing(Panel("", LINEAR, LOG, [line]))
    middle, band = points(tree.find(f"{SVG}polyline")), points(tree.find(f"{SVG}polygon"))
    high, low = band[:2], band[:1:-1]
    assert [x for x, _ in high] == [x for x, _ in low] == [x for x, _ in middle]
    assert all(h[1] < m[1] < l[1] for h, m, l in zip(high, middle, low, strict=True))


def test_a_line_has_one_colour_and_its_name_at_its_end_in_every_panel() -> None:
    panels = [
        Panel("first", LINEAR, LOG, [Line("a", [(1, 1)]), Line("b", [(1, 1)])]),
        Panel("second", LINEAR, LOG, [Line("b", [(1, 1)], dashed=True)]),
    ]
    tree = drawing(*panels)
    first, second, *_ = LIGHT.categories
    assert [line.attrib["stroke"] for line in tree.iter(f"{SVG}polyline")] == [first, second, second]
    words = [text.text for text in tree.iter(f"{SVG}text")]
    assert words.count("a") == 1
    assert words.count("b") == 2


def names(tree: ElementTree.Element) -> list[tuple[str, float]]:
    texts = {text.text or "": float(text.get("y", 0)) for text in tree.iter(f"{SVG}text")}
    return sorted(
        ((text, y) for text, y in texts.items() if text.startswith("line ")), key=lambda one: one[1]
    )


def test_names_keep_apart_and_the_order_of_the_ends_of_their_lines() -> None:
    ends = {"line a": 50.0, "line b": 51.0, "line c": 52.0, "line d": 0.01}
    panel = Panel("", LINEAR, LOG, [Line(name, [(0, 1), (10, end)]) for name, end in ends.items()])
    found = names(drawing(panel))
    assert [name for name, _ in found] == ["line c", "line b", "line a", "line d"]
    heights = [y for _, y in found]
    assert all(below - above >= APART - 0.1 for above, below in pairwise(heights))


def test_names_stay_beside_their_panel() -> None:
    many = [Line(f"line {n}", [(0, 1), (10, 0.01)]) for n in range(9)]
    tree = drawing(Panel("", LINEAR, LOG, many))
    bottom = max(y for line in tree.iter(f"{SVG}polyline") for _, y in points(line))
    heights = [y for _, y in names(tree)]
    assert max(heights) <= bottom + 5
    assert len(set(heights)) == 9


def test_a_group_has_one_colour_and_its_name_above_its_highest_line() -> None:
    lines = [
        Line("line a", [(0, 1), (10, 1)], group="line of two"),
        Line("line b", [(0, 1), (10, 10)], group="line of two"),
        Line("line c", [(0, 1), (10, 0.1)], group="line of one"),
    ]
    tree = drawing(Panel("", LINEAR, LOG, lines))
    first, second, *_ = LIGHT.categories
    assert [line.attrib["stroke"] for line in tree.iter(f"{SVG}polyline")] == [first, first, second]
    assert [name for name, _ in names(tree)] == ["line of two", "line b", "line a", "line of one", "line c"]


def test_panels_stand_one_below_the_other() -> None:
    two, three = (drawing(*[Panel("", LINEAR, LOG, [Line("a", [(1, 1)])])] * n) for n in (2, 3))
    tall = [int(tree.attrib["viewBox"].split()[3]) for tree in (two, three)]
    assert tall[1] - tall[0] == LOW


def test_nothing_is_behind_a_chart() -> None:
    """It is transparent, and stands on any page of its theme."""
    panel = Panel("", LINEAR, LOG, [Line("a", [(1, 1)])])
    for theme in (LIGHT, DARK):
        svg = draw("", [panel], theme)
        assert theme.page not in svg
        assert theme.ink in svg
        assert "<rect" not in svg


def test_ticks_are_round() -> None:
    assert ticks(LINEAR) == [0, 2, 4, 6, 8, 10]
    assert ticks(LOG) == pytest.approx([0.01, 0.1, 1, 10, 100])
    assert ticks(Axis("n", 16, 64, log=True, ticks=(16, 32, 64, 128))) == [16, 32, 64]


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.01, "0.01"), (1024, "1,024"), (1e-6, "10⁻⁶"), (1e5, "10⁵")]
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text
