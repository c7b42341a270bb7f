"""The picture of a run in progress that the tutorial shows: a real run, drawn when part of it is done.

    python -m benchmarks.training_picture [--share 0.6] [-o docs/training.svg]

Trains the recipe `dates` in a temporary folder, as `dragoman train dates` does, and draws what the terminal
shows after this share of the updates.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme

import dragoman as dg
from dragoman.cli.model_text import in_short
from dragoman.cli.training_view.dashboard import Dashboard
from dragoman.config.load import load
from dragoman.data.recipes.build import make_recipe
from dragoman.training.events import Event
from dragoman.training.progress import RunProgress

COLUMNS = 92
THEME = TerminalTheme(
    (22, 27, 34),
    (230, 237, 243),
    [
        (72, 79, 88),
        (255, 123, 114),
        (63, 185, 80),
        (210, 153, 34),
        (88, 166, 255),
        (188, 140, 255),
        (57, 197, 207),
        (177, 186, 196),
    ],
)
# As rich's own, without its fonts, which would be fetched from elsewhere.
FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""


class Snapshot:
    """Listens to a run and draws it once."""

    def __init__(self, dashboard: Dashboard, share: float) -> None:
        self.dashboard = dashboard
        self.share = share
        self.svg = ""

    def __call__(self, event: Event) -> None:
        progress = self.dashboard.progress
        progress(event)
        if event["event"] == "step" and not self.svg and progress.share >= self.share and progress.sample:
            self.svg = self.draw()

    def draw(self) -> str:
        console = Console(record=True, width=COLUMNS, height=24, file=io.StringIO(), force_terminal=True)
        console.print(self.dashboard)
        return console.export_svg(
            title="dragoman train dates", theme=THEME, code_format=FORMAT, unique_id="dragoman"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--share", type=float, default=0.6)
    parser.add_argument(
        "-o", "--output", type=Path, default=Path(__file__).parents[1] / "docs" / "training.svg"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home, "dates")
        make_recipe("dates", folder)
        config = load(folder / "dragoman.toml")
        dashboard = Dashboard(RunProgress(), "dates", in_short(config.model), config.training.valid_metric)
        snapshot = Snapshot(dashboard, args.share)
        dg.train(folder, listener=snapshot, progress=False)
    args.output.write_text(snapshot.svg, encoding="utf-8")


if __name__ == "__main__":
    main()
