"""Draw the pictures of the documentation that show trained models, and film the local page for the README.

    python -m benchmarks.pictures OUT [NAME …]

OUT holds the models; those that are missing are trained, as the pages say. `lecture` needs Tatoeba, and for
the pictures of pages Playwright drives Debian's chromium. Writes docs/gallery, each picture light and dark.
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

import dragoman as dg
from benchmarks import corpora, typed
from benchmarks.results_page import DOCS, file_name
from dragoman.inspection.explanation import Explanation
from dragoman.inspection.pictures.line_chart import Axis, Line, Panel, draw
from dragoman.inspection.pictures.theme import DARK, THEMES, Theme

GALLERY = DOCS / "gallery"
TATOEBA = corpora.DATA / "tatoeba-deu-eng"
SENTENCE = "He said that he would come tomorrow."
CHANGE = "er", "dass"  # in its translation: a word, and what is chosen in its place
DATE = "3 mars 87"
NEAR = 'model.encoder={kind="conv",layers=1,width=128,kernel=3,embedding=128,dropout=0.1}'
DIGITS = "7 4 2 3 6 7 9 4 8 4 8 7 1 7 3 4 0 0 1 5 8 5 8"
WIDE, NARROW, HIGH = 1400, 390, 900  # pixels of a window
FILM, EDGE = (720, 2000), 12  # pixels of the window that is filmed, and around the model in it
SEEN = 640  # pixels of its height
MOST = 1_500_000  # bytes of both films
SHOWN, LONG, STEP = 900, 2600, 45  # milliseconds of a frame
MOVES = 9  # frames of a movement of the pointer


def lecture(out: Path) -> None:
    found = model(out, "lecture", *train_files(), "--budget", "20m").explain(SENTENCE, beam=3)
    save("lecture.svg", lambda theme: found.svg(theme=theme.name))


def train_files() -> list[str]:
    return [*(str(TATOEBA / f"train.{side}") for side in ("eng", "deu")), "--valid", *dev_files()]


def dev_files() -> list[str]:
    return [str(TATOEBA / f"dev.{side}") for side in ("eng", "deu")]


def dates(out: Path) -> None:
    found = model(out, "dates", recipe(out, "dates")).explain(DATE, beam=4)
    save("dates.svg", lambda theme: found.svg(theme=theme.name))


def ctc(out: Path) -> None:
    folder = recipe(out, "ocr")
    found = model(out, "ocr", folder, NEAR).explain(f"{folder}/test/0002.png")
    assert isinstance(found, Explanation)
    for theme in THEMES.values():
        found.save(GALLERY / file_name("ctc", theme, "png"), theme=theme.name)


def gradients(out: Path) -> None:
    """Two encoders that read from right to left: the last state is that of the first digit."""
    lines = []
    for name, label in (("sutskever2014", "LSTM"), ("elman", "Elman network")):
        folder = recipe(out, "from-rnn-to-attention")
        settings = [folder, "-c", f"{folder}/{name}.toml", "training.updates=60"]
        found = model(out, f"gradients-{name}", *settings).explain(DIGITS)
        assert found.gradients is not None
        layers = found.gradients.layers
        norms = next(layer.norms for layer in layers if layer.name.startswith("encoder") and layer.recurrent)
        lines.append(Line(label, [(float(back), norm) for back, norm in enumerate(norms)]))
    across = Axis("steps back from the last state of the encoder", 0.0, len(lines[0].points) - 1.0)
    panel = Panel("", across, Axis("norm of the loss's gradient at the state", 1e-5, 10.0, log=True), lines)
    title = "What is left of the gradient of a line of 23 digits"
    save("gradients.svg", lambda theme: draw(title, [panel], theme))


def model(out: Path, name: str, *words: str) -> Any:
    """Return a model of OUT; if it is missing, it is trained with these words after `dragoman train`."""
    typed.train(out / name, None, *words)
    return dg.load(out / name)


def recipe(out: Path, name: str) -> str:
    """Return a folder of OUT with a recipe."""
    if not (out / name).exists():
        made = [*typed.DRAGOMAN, "new", name, "-o", str(out / name)]
        subprocess.run(made, check=True, capture_output=True)
    return str(out / name)


def save(name: str, picture: Callable[[Theme], str | bytes]) -> None:
    stem, _, suffix = name.partition(".")
    for theme in THEMES.values():
        made = picture(theme)
        file = GALLERY / file_name(stem, theme, suffix)
        file.write_bytes(made if isinstance(made, bytes) else made.encode())


def page(out: Path) -> None:
    """The local page with two models, the numbers of a step, and the page on a telephone."""
    folder = recipe(out, "dates")
    model(out, "dates", folder)
    model(out, "dates-rnn", folder, "model.preset=rnn-small")
    for theme in THEMES.values():
        with opened(theme, WIDE, out / "dates", out / "dates-rnn", text=DATE) as seen:
            write_instead(seen, 0, "2")
            shot(seen, "page", theme)
        with opened(theme, WIDE * 7 // 10, out / "dates", text=DATE) as seen:
            write_instead(seen, 0, "2")
            step(seen, 6).click()
            seen.get_by_role("button", name="Show the numbers").click()
            seen.get_by_role("button", name="attention weights").click()
            shot(seen, "page-numbers", theme, ".pane")
        with opened(theme, NARROW, out / "dates", text=DATE) as seen:
            shot(seen, "page-phone", theme)


def write_instead(seen: Any, place: int, token: str) -> None:
    if step(seen, place).get_attribute("aria-pressed") != "true":
        step(seen, place).click()
    seen.locator(".choice").filter(has=seen.locator("bdi", has_text=token)).first.click()
    settle(seen)


def report(out: Path) -> None:
    model(out, "lecture", *train_files(), "--budget", "20m")
    file = out / "report.html"
    test = [str(TATOEBA / f"test2k.{side}") for side in ("eng", "deu")]
    subprocess.run([*typed.DRAGOMAN, "show", str(out / "lecture"), *test, "-o", str(file)], check=True)
    for theme in THEMES.values():
        for name, width in (("report", WIDE * 7 // 10), ("report-phone", NARROW)):
            with window(theme, (width, HIGH)) as seen:
                seen.goto(file.resolve().as_uri())
                shot(seen, name, theme)


def film(out: Path) -> None:
    """One word of a translation is replaced, and the rest follows."""
    model(out, "lecture", *train_files(), "--budget", "20m")
    size = 0
    for theme in THEMES.values():
        with opened(theme, FILM, out / "lecture", text=SENTENCE) as seen:
            frames = filmed(seen)
        file = GALLERY / file_name("one-word", theme, "webp")
        first, *others = [image for image, _ in frames]
        durations = [duration for _, duration in frames]
        first.save(
            file, save_all=True, append_images=others, duration=durations, loop=0, quality=82, method=6
        )
        size += file.stat().st_size
    print(f"{size:,} bytes in both films")
    if size > MOST:
        sys.exit(f"More than {MOST:,} bytes: film less.")


def filmed(seen: Any) -> list[tuple[Image.Image, int]]:
    """Select the word, read its alternatives, choose one, and see what follows."""
    word, instead = CHANGE
    frames: list[tuple[Image.Image, int]] = []
    tokens = [one.strip() for one in seen.locator(".row.output .token").all_inner_texts()]
    pressed = seen.locator(".row.output .token[aria-pressed=true]")
    if pressed.count():
        pressed.click()  # begins with no word selected
    settle(seen)
    place = next(number for number, token in enumerate(tokens) if token.startswith(word))
    pointer = Pointer(seen, frames)
    away = pointer.x, pointer.y
    pointer.hold(SHOWN)
    pointer.move_to(step(seen, place))
    pointer.hold(SHOWN)
    step(seen, place).click()
    settle(seen)
    pointer.hold(2 * SHOWN)
    choice = seen.locator(".choice").filter(has=seen.locator("bdi", has_text=instead)).first
    pointer.move_to(choice)
    pointer.hold(SHOWN // 2)
    choice.click()
    settle(seen)
    pointer.hold(SHOWN)
    for later in range(place + 1, seen.locator(".row.output .token").count() - 1):
        pointer.move_to(step(seen, later), frames=3)
        pointer.hold(SHOWN // 3)
    pointer.at(*away)
    pointer.hold(LONG)
    return frames


class Pointer:
    """The mouse, which screenshots do not show, and the frames that are taken as it goes."""

    ARROW = "M0 0v17l4.2-4 2.7 6.3 2.9-1.2-2.7-6.2h6z"  # a usual pointer, black with a white edge

    def __init__(self, seen: Any, frames: list[tuple[Image.Image, int]]) -> None:
        self.seen, self.frames = seen, frames
        box = seen.locator(".pane").bounding_box()
        self.clip = {
            "x": box["x"] - EDGE,
            "y": box["y"] - EDGE,
            "width": box["width"] + 2 * EDGE,
            "height": SEEN,
        }
        seen.evaluate(
            """path => {
              const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
              const arrow = document.createElementNS(svg.namespaceURI, "path");
              arrow.setAttribute("d", path);
              arrow.setAttribute("fill", "#000");
              arrow.setAttribute("stroke", "#fff");
              svg.append(arrow);
              svg.id = "pointer";
              Object.assign(svg.style, { position: "absolute", width: "20px", height: "24px",
                overflow: "visible", pointerEvents: "none", zIndex: 9 });
              document.documentElement.append(svg);
            }""",
            self.ARROW,
        )
        self.at(box["x"] + 0.7 * box["width"], box["y"] + 0.6 * SEEN)

    def at(self, x: float, y: float) -> None:
        self.x, self.y = x, y
        self.seen.mouse.move(x, y)
        self.seen.evaluate(
            "([x, y]) => Object.assign(document.getElementById('pointer').style, "
            "{ left: `${x}px`, top: `${y}px` })",
            [x, y],
        )

    def move_to(self, target: Any, frames: int = MOVES) -> None:
        box, x, y = target.bounding_box(), self.x, self.y
        to_x, to_y = box["x"] + min(box["width"] / 2, 60), box["y"] + box["height"] * 0.6
        for number in range(1, frames + 1):
            share = number / frames
            share = share * share * (3 - 2 * share)  # slow, fast, slow
            self.at(x + share * (to_x - x), y + share * (to_y - y))
            self.hold(STEP)

    def hold(self, milliseconds: int) -> None:
        image = Image.open(io.BytesIO(self.seen.screenshot(clip=self.clip))).convert("RGB")
        self.frames.append((image, milliseconds))


def step(seen: Any, number: int) -> Any:
    return seen.locator(".pane").first.locator(".row.output .token").nth(number)


def settle(seen: Any) -> None:
    seen.wait_for_timeout(250)
    seen.wait_for_selector("body:not([aria-busy])")


def shot(seen: Any, name: str, theme: Theme, part: str | None = None) -> None:
    picture = seen.locator(part).first.screenshot() if part else seen.screenshot()
    file = GALLERY / file_name(name, theme, "webp")
    Image.open(io.BytesIO(picture)).convert("RGB").save(file, quality=88, method=6)


@contextmanager
def opened(theme: Theme, size: int | tuple[int, int], *models: Path, text: str) -> Iterator[Any]:
    """The page of `dragoman show MODEL --open TEXT`, with each further model beside the first."""
    first, *others = map(str, models)
    beside = [word for other in others for word in ("--beside", other)]
    command = [*typed.DRAGOMAN, "show", first, text, "--open", *beside]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            with window(theme, size if isinstance(size, tuple) else (size, HIGH)) as seen:
                seen.goto(address)
                seen.wait_for_selector(".pane:last-child .row.output .token")
                settle(seen)
                yield seen
        finally:
            server.terminate()


@contextmanager
def window(theme: Theme, size: tuple[int, int]) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    browser_file = shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_file, args=["--no-sandbox"])
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            device_scale_factor=1.5,
            color_scheme="dark" if theme is DARK else "light",
            reduced_motion="reduce",
        )
        yield context.new_page()
        browser.close()


PICTURES = {one.__name__: one for one in (lecture, dates, ctc, gradients, page, report, film)}


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    args = parser.parse_args(words)
    for name in args.names or PICTURES:
        PICTURES[name](args.out)
        print(name, flush=True)


if __name__ == "__main__":
    main()
