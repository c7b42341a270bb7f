"""An explanation is plain data, agrees with what the model answers, and shows itself, also hostile text."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import threading
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import UsageError
from dragoman.inference.explain import explain
from dragoman.inference.model import Model
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.inspection.data import Choice, OutputStep
from dragoman.inspection.explanation import Explanation
from dragoman.inspection.pictures.labels import is_right_to_left, label, labelled, safe, width
from dragoman.inspection.pictures.page import content
from dragoman.inspection.pictures.saliency import titled
from dragoman.inspection.pictures.text import table
from dragoman.inspection.pictures.theme import DARK, LIGHT
from dragoman.inspection.pictures.together import together
from support.tiny_bundle import RNN, TRANSFORMER, tiny

CONV = {"kind": "conv", "layers": 2, "width": 32, "kernel": 3, "embedding": 32}
KINDS = {"transformer": TRANSFORMER, "rnn": RNN, "conv": CONV}
SVG = "{http://www.w3.org/2000/svg}"
TEXT = "a b c d"
HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<svg onload=alert(1)>",
    "a\u202eb\u2066c",
    "\x00\x01\x1b[31m\x7f",
    "]]><!--",
    "' ; alert(1) //",
    "${alert(1)} {{7*7}} \\u003cscript",
    "x" * 10_000,
    "\ud800",
    "&amp;&#x41;",
    "line\nbreak\u2028",
]


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def runtime(kind: str) -> TorchRuntime:
    return TorchRuntime(tiny(KINDS[kind]))


@pytest.fixture(scope="module")
def found(runtime: TorchRuntime) -> Explanation:
    return explain(runtime, TEXT)


def test_explaining_in_one_thread_changes_nothing_in_another(runtime: TorchRuntime) -> None:
    """The hooks of a saliency map replace the embeddings of a source of another length."""
    texts = ["a b c d e f g", "h i"]
    wanted, failed = [result.text for result in runtime(texts)], list[object]()
    done = threading.Event()

    def answer() -> None:
        while not done.is_set():
            try:
                failed.extend(
                    r.text for r, text in zip(runtime(texts), wanted, strict=True) if r.text != text
                )
            except RuntimeError as error:
                failed.append(error)

    thread = threading.Thread(target=answer)
    thread.start()
    explain(runtime, TEXT)
    done.set()
    thread.join()
    assert not failed


def test_it_explains_what_the_model_answers(runtime: TorchRuntime, found: Explanation) -> None:
    (result,) = runtime([TEXT], details=True)
    assert found.output == result.text
    assert result.details is not None
    assert found.tokens == tuple(token.piece for token in result.details)
    for step, token in zip(found.steps, result.details, strict=True):
        assert step.token == token.piece
        assert step.p == pytest.approx(math.exp(token.log_p), rel=1e-4)
        assert step.entropy == pytest.approx(token.entropy, rel=1e-4)
        assert [choice.p for choice in step.top] == sorted((c.p for c in step.top), reverse=True)


def test_the_winner_of_the_beam_is_the_output(found: Explanation) -> None:
    assert found.beam is not None
    winner = found.beam.path(found.beam.best[0])
    assert tuple(found.beam.nodes[number - 1].token for number in winner) == found.tokens
    assert [found.beam.nodes[n - 1].p for n in winner] == pytest.approx([s.p for s in found.steps], rel=1e-3)


def test_it_is_plain_data(found: Explanation) -> None:
    told = json.loads(json.dumps(found.asdict(), allow_nan=False))
    assert told["source"] == [*TEXT.split(), "</s>"]
    assert len(told["attention"]) == len(found.attention)
    plain(found.asdict())


def plain(value: Any) -> None:
    if isinstance(value, dict):
        assert all(isinstance(key, str) for key in value)
        [plain(inner) for inner in value.values()]
    elif isinstance(value, list | tuple):
        [plain(inner) for inner in value]
    else:
        assert value is None or type(value) in (str, int, float, bool)


@pytest.mark.slow
def test_every_picture_is_drawn_in_both_themes(found: Explanation, kind: str) -> None:
    names = {"attention", "ribbons", "heads", "beam", "steps", "saliency", "gradients"}
    more = {"rnn": {"gates", "states"}, "conv": {"states"}, "transformer": set()}
    assert set(found.pictures) == names | more[kind]
    for name in found.pictures:
        for theme in ("light", "dark") if name in ("attention", "ribbons", "beam") else ("dark",):
            svg = found.svg(name, theme)
            ET.fromstring(svg)
            assert "NaN" not in svg
            assert "undefined" not in svg


def test_files_of_every_kind(found: Explanation, tmp_path: Path) -> None:
    for name in ("all.svg", "all.png", "all.html", "all.json"):
        found.save(tmp_path / name)
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")
    both = ET.fromstring((tmp_path / "all.svg").read_text(encoding="utf-8"))
    assert len(both.findall(f"{SVG}svg")) == 2, "attention and beam"
    page = (tmp_path / "all.html").read_text(encoding="utf-8")
    assert page.count("<section") == len(found.pictures)
    own = page.replace("https://vega.github.io/schema/", "")
    head, _, rest = own.partition("<h1>")
    assert "src=" not in head
    assert "http" not in head + rest.partition("<script>")[0].replace("http://www.w3.org", "")
    with pytest.raises(UsageError, match="cannot be written"):
        found.save(tmp_path / "all.gif")
    with pytest.raises(UsageError, match="There is no folder"):
        found.save(tmp_path / "none" / "all.svg")
    with pytest.raises(UsageError, match="no picture"):
        found.svg("atention")
    with pytest.raises(UsageError, match="no theme"):
        found.svg(theme="black")


def test_a_table_for_a_terminal(found: Explanation) -> None:
    lines = str(found).split("\n")
    assert lines[0] == TEXT
    assert lines[1] == f"→ {found.output}"
    assert lines[3].split()[:2] == ["output", "p"]
    assert len(lines) == 4 + len(found.steps)
    for line, step in zip(lines[4:], found.steps, strict=True):
        assert re.search(rf" █*░* +{100 * step.p:.0f} %", line)


def test_the_table_leaves_out_what_is_rare() -> None:
    choices = (Choice("mars", 0.914), Choice("mai", 0.0801), Choice("juin", 0.0049), Choice("mois", 0.0001))
    lines = table("a", "mars", [OutputStep("mars", 0.914, 0.3, choices)], []).split("\n")
    assert lines[3:] == ["output  p               instead of", "mars    ███████░  91 %  mai (8 %)"]


def test_a_notebook_shows_the_picture(found: Explanation) -> None:
    assert found._repr_html_().startswith("<svg")
    assert "pictures=" in repr(found)


def test_a_text_without_words_has_no_pictures(runtime: TorchRuntime) -> None:
    nothing = explain(runtime, "  ")
    assert nothing.pictures == {}
    assert str(nothing)


@pytest.fixture(scope="module")
def usual_one() -> Explanation:
    return explain(TorchRuntime(tiny(RNN)), TEXT)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[tuple[str, ...]] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add((tag, *(name for name, _ in attrs)))


def tags(page: str) -> set[tuple[str, ...]]:
    parser = Tags()
    parser.feed(page)
    return parser.tags


def with_tokens(found: Explanation, token: str) -> Explanation:
    """Replace every string of the data, as if the vocabulary held the token."""

    def changed(value: Any, name: str = "") -> Any:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {f.name: changed(getattr(value, f.name), f.name) for f in dataclasses.fields(value)}
            return dataclasses.replace(value, **fields)
        if isinstance(value, tuple):
            return tuple(changed(inner, name) for inner in value)
        return (
            token
            if isinstance(value, str) and name not in ("kind", "method", "fate", "name", "why")
            else value
        )

    result = changed(found)
    assert isinstance(result, Explanation)
    return result


DRAWN = ("attention", "ribbons", "beam")


def page_of(found: Explanation) -> str:
    return "".join(content(found.text, (), list(found.pictures.values())))


def elements_of(found: Explanation, picture: str) -> set[str]:
    return {element.tag for element in ET.fromstring(found.svg(picture)).iter()}


def test_hostile_tokens_stay_text(usual_one: Explanation) -> None:
    usual_tags = tags(page_of(usual_one))
    usual_elements = {name: elements_of(usual_one, name) for name in DRAWN}
    for token in HOSTILE:
        hostile = with_tokens(usual_one, token)
        page = page_of(hostile)
        assert tags(page) <= usual_tags, f"no other element or attribute with {token!r}"
        for name in DRAWN:
            assert elements_of(hostile, name) <= usual_elements[name], f"{name} with {token!r}"
        assert str(hostile)
        page.encode("utf-8")


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_labels_are_short_safe_and_stable(text: str) -> None:
    assert len(label(text)) <= 24
    assert label(label(text)) == label(text)
    assert safe(safe(text)) == safe(text)
    assert not set(safe(text)) & set("\x00\x01\x1b\x7f\u202e\u2066\n\u2028\ud800")


def test_labels_of_any_script() -> None:
    assert label(" ") == "␣"
    assert width("漢字") == 2.0
    assert width("é") == width("e\N{COMBINING ACUTE ACCENT}")
    assert is_right_to_left(["שלום", "עולם", "</s>"])
    assert not is_right_to_left(["hello", "שלום", "world"])


def test_a_file_of_pixels_has_the_page_behind_it_and_one_of_lines_has_not(
    found: Explanation, tmp_path: Path
) -> None:
    """What is half transparent has the same colour in both, then."""
    image = pytest.importorskip("PIL.Image")
    for theme in (LIGHT, DARK):
        found.save(tmp_path / "map.svg", "attention", theme.name)
        assert theme.page not in (tmp_path / "map.svg").read_text(encoding="utf-8")
        found.save(tmp_path / "map.png", "attention", theme.name)
        with image.open(tmp_path / "map.png") as pixels:
            red, green, blue, alpha = pixels.convert("RGBA").getpixel((0, 0))
        assert f"#{red:02x}{green:02x}{blue:02x}" == theme.page
        assert alpha == 255


def test_sub_words_are_shown_without_the_mark_of_a_space() -> None:
    assert labelled(["▁Der", "▁Bahn", "hof", ".", "</s>"]) == ["Der", "Bahn", "·hof", ".", "</s>"]
    assert labelled(["▁今日", "は", "▁"]) == ["今日", "は", "␣"]
    assert labelled(["a", "▁", "b"]) == ["a", "▁", "b"], "letters, not sub-words"


def test_a_map_stands_beside_a_tree_with_the_sentence_above_and_what_they_mean_below() -> None:
    small = '<svg width="200" height="100"></svg>'
    drawn = ET.fromstring(together([small, small], "a < b", ["the map", "the tree"], LIGHT))
    places = [(one.attrib["x"], one.attrib["y"]) for one in drawn.findall(f"{SVG}svg")]
    assert places == [("0", "46"), ("240", "46")]
    assert [text.text for text in drawn.findall(f"{SVG}text")] == ["a < b", "the map", "the tree"]
    wide = '<svg width="800" height="100"></svg>'
    drawn = ET.fromstring(together([wide, wide], "", [], LIGHT))
    assert [one.attrib["x"] for one in drawn.findall(f"{SVG}svg")] == ["0", "0"]
    assert drawn.attrib["width"] == "800"


def test_right_to_left_keys_are_drawn_from_the_right(found: Explanation) -> None:
    layer = dataclasses.replace(found.attention[-1], keys=("א", "ב", "ג", "ד", "ה"))
    turned = dataclasses.replace(found, attention=(layer,))
    spec: Any = turned.pictures["attention"]
    (row,) = spec.spec["data"]["values"]
    (tokens,) = spec.spec["params"][0]["value"].values()
    assert tokens["keys"] == ["ה", "ד", "ג", "ב", "א"]
    assert row["weight"][:5] == [round(weight, 4) for weight in reversed(layer.mean[0])]


def test_integrated_gradients_that_are_not_complete_say_so(usual_one: Explanation) -> None:
    integrated = next(one for one in usual_one.saliency if one.gap is not None)
    assert titled(integrated) == "integrated gradients"
    assert titled(dataclasses.replace(integrated, gap=0.042)) == "integrated gradients, sums off by 4.2%"


def test_model_explains(tmp_path: Path, runtime: TorchRuntime) -> None:
    model = Model(tmp_path, runtime)
    found = model.explain(TEXT, beam=2, saliency=False)
    assert found.saliency == ()
    assert found.beam is not None
    assert len(found.beam.best) <= 2
    greedy = model.explain(TEXT, {"kind": "greedy"}, saliency=False)
    assert greedy.beam is not None
    assert greedy.output == model(TEXT, {"kind": "greedy"}).text
