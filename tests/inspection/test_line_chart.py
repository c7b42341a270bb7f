"""Pictures of lines: what is drawn stands where the axes say."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from dragoman.inspection.pictures.line_chart import (
    HEIGHT,
    LEFT,
    RIGHT,
    WIDTH,
    Axis,
    Line,
    Panel,
    PlotFrame,
    draw,
    number,
    ticks,
)
from dragoman.inspection.pictures.theme import LIGHT

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
    assert (first[0], last[0]) == (LEFT, WIDTH - RIGHT)
    assert first[1] > last[1]


def test_a_band_lies_around_its_line() -> None:
    line = Line("a", [(2, 1), (8, 10)], band=[(0.1, 2), (5, 50)])
    tree = drawing(Panel("", LINEAR, LOG, [line]))
    middle, band = points(tree.find(f"{SVG}polyline")), points(tree.find(f"{SVG}polygon"))
    high, low = band[:2], band[:1:-1]
    assert [x for x, _ in high] == [x for x, _ in low] == [x for x, _ in middle]
    assert all(h[1] < m[1] < l[1] for h, m, l in zip(high, middle, low, strict=True))


def test_a_label_has_one_colour_and_one_place_in_the_legend() -> None:
    panels = [
        Panel("first", LINEAR, LOG, [Line("a", [(1, 1)]), Line("b", [(1, 1)])]),
        Panel("second", LINEAR, LOG, [Line("b", [(1, 1)], dashed=True)]),
    ]
    tree = drawing(*panels)
    first, second, *_ = LIGHT.categories
    assert [line.attrib["stroke"] for line in tree.iter(f"{SVG}polyline")] == [first, second, second]
    words = [text.text for text in tree.iter(f"{SVG}text")]
    assert words.count("a") == words.count("b") == 1


def test_panels_stand_two_in_a_row() -> None:
    one, three = (drawing(*[Panel("", LINEAR, LOG, [Line("a", [(1, 1)])])] * n) for n in (1, 3))
    tall = [int(tree.attrib["viewBox"].split()[3]) for tree in (one, three)]
    assert tall[1] - tall[0] == HEIGHT


def test_ticks_are_round() -> None:
    assert ticks(LINEAR) == [0, 2, 4, 6, 8, 10]
    assert ticks(LOG) == pytest.approx([0.01, 0.1, 1, 10, 100])
    assert ticks(Axis("n", 16, 64, log=True, ticks=(16, 32, 64, 128))) == [16, 32, 64]


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.01, "0.01"), (1024, "1,024"), (1e-6, "10⁻⁶"), (1e5, "10⁵")]
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text
