"""The page in Chromium: every control, by pointer and by keyboard; no string is executed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from dragoman.inference.model import Model
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.serving.local_server import LocalServer
from dragoman.serving.what_if import NamedModel, Workbench
from support.browser import axe, chromium, serious_findings
from support.tiny_bundle import RNN, tiny

pytestmark = pytest.mark.slow

WIDTHS = (390, 1400)
SECONDS = 120_000  # of a busy machine, in milliseconds


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


class Visit:
    """A page that is open, what it asked its server for, and what went wrong."""

    def __init__(self, page: Any, workbench: Workbench, url: str) -> None:
        self.page, self.workbench, self.url = page, workbench, url
        self.requests: list[dict[str, Any]] = []
        self.wrong: list[str] = []
        page.set_default_timeout(SECONDS)
        page.on("console", lambda message: self.wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.wrong.append(f"dialog: {dialog.message}"))
        page.on("request", self._requested)
        page.goto(url)
        page.wait_for_selector(".pane:last-child .row.output button")
        self.settle()

    def _requested(self, request: Any) -> None:
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.wrong.append(f"request: {request.url}")
        elif request.url.endswith("api/decode"):
            self.requests.append(json.loads(request.post_data))

    def settle(self) -> None:
        self.page.wait_for_timeout(50)
        self.page.wait_for_selector("body:not([aria-busy])")

    def step(self, number: int, pane: int = 0) -> Any:
        return self.page.locator(".pane").nth(pane).locator(".row.output button").nth(number)

    def select(self, number: int, pane: int = 0) -> None:
        """Open the panel of a word, unless it is open already: a click would close it."""
        if self.step(number, pane).get_attribute("aria-pressed") != "true":
            self.step(number, pane).click()

    def choose(self, number: int) -> None:
        """Click an alternative of the first panel; one that is hardly possible is folded away."""
        choice = self.page.locator(".choice").nth(number)
        if not choice.is_visible():
            self.page.locator(".rare summary").first.click()
        choice.click()
        self.settle()

    def click(self, name: str, pane: int = 0) -> None:
        self.page.locator(".pane").nth(pane).get_by_role("button", name=name, exact=True).first.click()
        self.settle()

    def output(self, pane: int = 0) -> str:
        return str(self.page.locator(".pane").nth(pane).locator("p.output").text_content())

    def is_answer_to(self, pane: int = 0, **asked: Any) -> dict[str, Any]:
        """The pane shows the answer to the last request for it, which has this."""
        last = [request for request in self.requests if request["model"] == pane][-1]
        for name, value in asked.items():
            assert last[name] == value
        answer = self.workbench.actions["decode"](last)
        assert self.output(pane) == answer["output"]
        return answer


@contextmanager
def visit(browser: Any, server: LocalServer, workbench: Workbench, **context: Any) -> Iterator[Visit]:
    with browser.new_context(**context) as opened:
        found = Visit(opened.new_page(), workbench, server.url)
        yield found
        assert not found.wrong


def test_a_word_is_selected_at_the_start(browser: Any, server: LocalServer, workbench: Workbench) -> None:
    """It is the one that the model is least sure of. Rare alternatives after the fourth are folded."""
    with visit(browser, server, workbench, viewport={"width": 1400, "height": 1000}) as seen:
        page = seen.page
        assert page.get_by_role("button", name="Translate").count() == 1
        for number in range(2):
            steps, pane = seen.is_answer_to(number)["steps"], page.locator(".pane").nth(number)
            words = [place for place, step in enumerate(steps) if step["shown"] != "</s>"]
            chosen = max(words, key=lambda place: steps[place]["entropy"])
            assert pane.locator("[aria-pressed=true]").count() == 1
            assert seen.step(chosen, number).get_attribute("aria-pressed") == "true"
            for place, step in enumerate(steps):
                seen.select(place, number)
                later = step["alternatives"][4:]
                rare = sum(one["p"] < 0.001 and one["id"] != step["id"] for one in later)
                assert pane.locator(".rare .choice").count() == rare
                assert pane.locator(".choice").count() == len(step["alternatives"])


def test_every_control(browser: Any, server: LocalServer, workbench: Workbench) -> None:
    with visit(browser, server, workbench, viewport={"width": 1400, "height": 1000}) as seen:
        page = seen.page
        before = seen.is_answer_to(write={}, avoid={}, forbid=[], attend={})
        ids = [step["id"] for step in before["steps"]]

        seen.select(1)
        choice = before["steps"][1]["alternatives"][2]
        seen.choose(2)
        after = seen.is_answer_to(write={"0": ids[0], "1": choice["id"]})
        assert after["steps"][1]["id"] == choice["id"]
        assert "Begins with" in page.locator(".decisions").first.inner_text()

        seen.click("Pin here")
        seen.is_answer_to(write={"0": ids[0], "1": choice["id"]})
        seen.click("Unpin")
        seen.click("Not here")
        seen.is_answer_to(write={"0": ids[0]}, avoid={"1": [choice["id"]]})
        page.locator(".actions button", has_text="Nowhere").first.click()
        seen.settle()
        assert len(seen.requests[-1]["forbid"]) == 1
        seen.is_answer_to()
        seen.click("Undo all")
        seen.is_answer_to(write={}, avoid={}, forbid=[], attend={})

        page.get_by_label("Attend only to").first.select_option("2")
        seen.settle()
        seen.is_answer_to(attend={"1": 2})
        page.locator(".row.source button").nth(3).click()
        seen.settle()
        seen.is_answer_to(attend={"1": 3})
        page.mouse.move(0, 0)
        assert page.locator(".row.source button").nth(3).get_attribute("data-weight") == "1.00"
        page.locator(".decisions .undo").first.click()
        seen.settle()
        seen.is_answer_to(attend={})

        seen.click("Close")
        assert page.locator(".pane:first-child .word").count() == 0
        use_settings(seen)


def use_settings(seen: Visit) -> None:
    page = seen.page
    page.get_by_label("Beam size").fill("4")
    page.wait_for_timeout(400)
    seen.settle()
    seen.is_answer_to(search={"kind": "beam", "size": 4, "length_penalty": 1})
    page.get_by_label("Length penalty").fill("0")
    page.wait_for_timeout(400)
    seen.settle()
    seen.is_answer_to(search={"kind": "beam", "size": 4, "length_penalty": 0})
    page.locator("summary", has_text="Beam tree").first.click()
    assert page.locator("svg.tree text").count() > 20
    taken = page.locator(".take").nth(1)
    text = taken.text_content()
    taken.click()
    seen.settle()
    assert seen.output().split() == text.replace("␣", "").split()
    seen.is_answer_to()

    page.get_by_role("radio", name="Sample").check()
    seen.settle()
    page.get_by_label("Temperature").fill("1.5")
    page.wait_for_timeout(400)
    seen.settle()
    page.get_by_role("button", name="Draw again").click()
    seen.settle()
    seen.is_answer_to(search={"kind": "sample", "temperature": 1.5, "seed": 2})
    assert page.locator(".take").count() == 0, "samples have no candidates"


def test_a_length_penalty_is_seen_before_the_search_ends(
    browser: Any, server: LocalServer, workbench: Workbench
) -> None:
    with visit(browser, server, workbench, viewport={"width": 1400, "height": 1000}) as seen:
        seen.page.get_by_label("Beam size").fill("5")
        seen.page.wait_for_timeout(400)
        seen.settle()
        tree = seen.is_answer_to()["beam"]
        asked = len(seen.requests)
        seen.page.get_by_label("Length penalty").fill("0")
        scores = seen.page.locator(".pane").first.locator(".ranked td:nth-child(3)").all_inner_texts()
        assert len(seen.requests) == asked
        expected = sorted(
            n["log_p"] for n in tree["nodes"] if n["fate"] == "ended" or n["number"] in tree["best"]
        )
        assert scores == [f"{p:.3f}".replace("-", "−") for p in reversed(expected)][: len(scores)]
        seen.page.wait_for_timeout(400)
        seen.settle()


def test_attention_both_ways(browser: Any, server: LocalServer, workbench: Workbench) -> None:
    with visit(browser, server, workbench, viewport={"width": 1400, "height": 1000}) as seen:
        page, answer = seen.page, seen.is_answer_to()
        mean = answer["attention"][-1]["mean"]
        sources = page.locator(".pane").first.locator(".row.source button")
        steps = page.locator(".pane").first.locator(".row.output button")

        def weight(button: Any) -> float:
            return float(button.evaluate("b => b.style.getPropertyValue('--w')"))

        steps.nth(2).hover()
        assert [weight(sources.nth(s)) for s in range(5)] == pytest.approx(mean[2], abs=2e-3)
        curves = page.locator(".pane").first.locator(".curves path").count()
        assert curves == sum(w >= 0.02 for w in mean[2])
        sources.nth(1).hover()
        assert [weight(steps.nth(t)) for t in range(len(mean))] == pytest.approx(
            [row[1] for row in mean], abs=2e-3
        )
        page.locator(".pane").first.locator(".picker select").select_option("0.1")
        steps.nth(0).focus()
        head = answer["attention"][0]["heads"][1]
        assert [weight(sources.nth(s)) for s in range(5)] == pytest.approx(head[0], abs=2e-3)


def test_the_numbers_of_a_word(browser: Any, server: LocalServer, workbench: Workbench) -> None:
    with visit(browser, server, workbench, viewport={"width": 1400, "height": 1000}) as seen:
        for pane, formula in enumerate(("eᵢ = qᵀ kᵢ / √d", "eᵢ = vᵀ tanh(W₁ hᵢ + W₂ s)")):
            seen.select(1, pane)
            seen.click("Show the numbers", pane)
            panel = seen.page.locator(".pane").nth(pane).locator(".numbers")
            formulas = []
            while True:
                formulas.append(panel.locator(".formula").inner_text())
                following = panel.get_by_role("button", name="Next")
                if following.is_disabled():
                    break
                following.click()
            assert len(formulas) == 7
            assert any(formula in one for one in formulas)
            told = workbench.actions["equations"]({**seen.requests[pane], "step": 1})
            shown = panel.locator(".values td.figure").all_inner_texts()
            assert float(shown[0].replace("−", "-")) == pytest.approx(
                told["equations"][-1]["values"][0], abs=6e-4
            )
            panel.get_by_role("button", name="Back").click()
            panel.get_by_role("button", name="energies").click()
            if pane == 0:
                panel.locator("select").select_option("1")
                seen.settle()
                other = workbench.actions["equations"]({**seen.requests[0], "step": 1, "head": 1})
                energies = [float(x.replace("−", "-")) for x in panel.locator("td.figure").all_inner_texts()]
                assert energies == pytest.approx(other["equations"][1]["values"], abs=6e-4)
            panel.get_by_role("button", name="Close").click()
            assert seen.page.locator(".numbers").count() == 0


def test_with_the_keyboard_only(browser: Any, server: LocalServer, workbench: Workbench) -> None:
    with visit(browser, server, workbench, viewport={"width": 1400, "height": 1000}) as seen:
        press = seen.page.keyboard.press

        def name() -> str:
            return str(seen.page.evaluate(FOCUSED)).strip()

        def tab_to(part: str) -> None:
            for _ in range(60):
                press("Tab")
                if part in name():
                    return
            raise AssertionError(f"the Tab key does not reach {part}")

        tab_to("Text")
        press("Control+A")
        seen.page.keyboard.type("d c b")
        press("Enter")
        seen.settle()
        answer = seen.is_answer_to(text="d c b")
        tab_to("Beam size")
        press("ArrowRight")
        seen.page.wait_for_timeout(400)
        seen.settle()
        assert seen.requests[-1]["search"]["size"] == 4
        tab_to("source word 1")
        press("ArrowRight")
        assert "source word 2" in name()
        tab_to("output word")
        press("Home")
        press("ArrowRight")
        press("ArrowRight")
        assert "output word 3" in name()
        if seen.step(2).get_attribute("aria-pressed") != "true":
            press("Enter")
        assert "output word 3" in name()
        seen.page.wait_for_selector(".word")
        tab_to("Close")
        press("Tab")
        press("Tab")
        chosen = name()
        press("Enter")
        seen.settle()
        assert len(seen.requests[-2 if seen.requests[-1]["model"] else -1]["write"]) == 3
        assert chosen.split()[0] in name(), "the focus is on the word that was changed"
        tab_to("Show the numbers")
        press("Space")
        seen.settle()
        seen.page.wait_for_selector(".numbers")
        tab_to("Next")
        press("Enter")
        press("Escape")
        assert seen.page.locator(".numbers").count() == 0
        tab_to("Close")
        press("Escape")
        assert seen.page.locator(".pane:first-child .word").count() == 0
        assert "output word 3" in name()
        press("Shift+Tab")
        for _ in range(10):
            if "Undo" in name():
                break
            press("Shift+Tab")
        press("Enter")
        seen.settle()
        assert seen.is_answer_to()["source"] == answer["source"]
        assert seen.requests[-1]["write"] == {}


def test_files_are_saved(browser: Any, server: LocalServer, workbench: Workbench, tmp_path: Path) -> None:
    with visit(browser, server, workbench, viewport={"width": 1400, "height": 1000}) as seen:
        page = seen.page
        seen.select(1)
        seen.choose(1)
        saved = {}
        for name in ("Save page", "Save picture (.svg)", "Save data (.json)"):
            with page.expect_download() as waiting:
                page.get_by_role("button", name=name).first.click()
            seen.settle()
            file = tmp_path / waiting.value.suggested_filename
            waiting.value.save_as(file)
            saved[file.name] = file.read_text(encoding="utf-8")
        assert json.loads(saved["dragoman.json"])["output"] == seen.output()
        assert saved["dragoman.svg"].startswith("<svg")
        assert "<script" not in saved["dragoman.html"]
        assert "<button" not in saved["dragoman.html"]
        output = seen.output()
    with browser.new_context() as opened:
        page, wrong = opened.new_page(), []
        page.on("console", lambda message: wrong.append(message.text))
        page.on(
            "request",
            lambda request: wrong.append(request.url) if not request.url.startswith("file:") else None,
        )
        page.goto((tmp_path / "dragoman.html").as_uri())
        assert page.locator("p.output").first.text_content() == output
        assert (
            page.locator(".row.output .token").first.evaluate("e => getComputedStyle(e).position")
            == "relative"
        )
        assert "Begins with" in page.locator(".decisions").first.inner_text()
        assert not wrong


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(
    browser: Any, server: LocalServer, workbench: Workbench, scheme: str
) -> None:
    script = axe()
    for width in WIDTHS:
        size = {"width": width, "height": 1000}
        with visit(browser, server, workbench, viewport=size, color_scheme=scheme) as seen:
            seen.select(1)
            seen.choose(1)
            seen.click("Show the numbers")
            seen.page.locator("summary", has_text="Beam tree").first.click()
            assert not serious_findings(seen.page, script)
            assert no_overflow(seen.page)


def no_overflow(page: Any) -> bool:
    return bool(page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth"))


def hostile_words() -> list[str]:
    calls = ["alert(1)", "window.hit=1", "document.body.remove()"]
    forms = [
        "<script>{}</script>",
        "</script><script>{}</script>",
        "<img/src=x/onerror={}>",
        "<svg/onload={}>",
        '"onfocus="{}"autofocus="',
        "'><iframe/srcdoc='<script>parent.{}</script>'>",
        "javascript:{}",
        "${{{}}}",
        "{{{{{}}}}}",
        "]]><style>*{{display:none}}</style>{}",
        "<a/href=javascript:{}>x</a>",
        "&lt;script&gt;{}",
        "\\u003cscript\\u003e{}",
        "<math><mtext><img/src=x/onerror={}>",
        "<base/href=//evil.example/>{}",
        "<link/rel=stylesheet/href=//evil.example/{}>",
        "<meta/http-equiv=refresh/content=0;//evil.example/{}>",
        "<form/action=//evil.example><input/autofocus/onfocus={}>",
    ]
    controls = ["", "\u202e", "\u2066", "\u200f", "\x01", "\x1b[31m", "\ufeff"]
    words = [control + form.format(call) for control in controls for form in forms for call in calls]
    assert len(words) >= 300
    return [*words, "x" * 10_000, "漢字" * 50, "שלום", "مرحبا"]


@pytest.mark.parametrize("width", WIDTHS)
def test_no_string_is_executed_and_none_breaks_the_layout(browser: Any, width: int) -> None:
    words = hostile_words()
    bundle = tiny(RNN, words=words)
    name = "<img/src=x/onerror=alert(1)>\u202e" + "y" * 10_000
    model = NamedModel(name, Model(Path("x"), TorchRuntime(bundle)), bundle.config.search)
    parts = [" ".join(words[start : start + 80]) for start in range(0, len(words) - 4, 80)]
    workbench = Workbench([model], parts[0])
    with LocalServer(workbench) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        with visit(browser, server, workbench, viewport={"width": width, "height": 900}) as seen:
            elements = seen.page.evaluate(ELEMENTS)
            for text in [*parts[1:], " ".join(words[-4:]), "</textarea><script>alert(1)</script>"]:
                seen.page.locator("#text").fill(text)
                seen.page.locator("#ask button").click()
                seen.settle()
                assert len(seen.requests[-1]["text"]) == len(text)
                seen.select(0)
                seen.choose(1)
                seen.page.locator(".row.source button").first.click()
                seen.settle()
                seen.click("Show the numbers")
                seen.click("Close")
                assert no_overflow(seen.page)
                assert seen.page.evaluate(ELEMENTS) == elements
            assert seen.page.evaluate("() => window.hit") is None
        server.shutdown()
        thread.join()


FOCUSED = """() => {
  const element = document.activeElement;
  return element.ariaLabel || element.labels?.[0]?.innerText || element.innerText || element.tagName;
}"""
ELEMENTS = (
    "() => document.querySelectorAll('img, iframe, script, style, link, meta, base, form, a, math').length"
)


def test_scripts_from_right_to_left_and_wide_ones(browser: Any) -> None:
    words = ["שלום", "עולם", "ספר", "漢字", "かな"]
    bundle = tiny(RNN, words=words)
    model = NamedModel("rtl", Model(Path("x"), TorchRuntime(bundle)), bundle.config.search)
    workbench = Workbench([model], "שלום עולם ספר")
    with LocalServer(workbench) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        with visit(browser, server, workbench, viewport={"width": 390, "height": 900}) as seen:
            page = seen.page
            row = page.locator(".row.source")
            assert row.get_attribute("dir") == "rtl"
            boxes = [row.locator("button").nth(n).bounding_box()["x"] for n in range(3)]
            assert boxes == sorted(boxes, reverse=True)
            row.locator("button").first.focus()
            page.keyboard.press("ArrowLeft")
            assert re.search("source word 2", page.evaluate("() => document.activeElement.ariaLabel"))
            page.locator("#text").fill("漢字 かな")
            page.keyboard.press("Enter")
            seen.settle()
            assert page.locator(".row.source").get_attribute("dir") == "ltr"
            assert no_overflow(page)
        server.shutdown()
        thread.join()
