"""`score --robustness`: the scores of the test set with typos, in other cases and without punctuation."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from dragoman.cli.counting import ProgressCount, decoded, total_of
from dragoman.cli.options import search as choosing
from dragoman.cli.options.overrides import split_overrides
from dragoman.cli.terminal import LiveLine
from dragoman.metrics.names import TITLES

if TYPE_CHECKING:
    from dragoman.analysis.robustness import Robustness

LABEL = 16  # characters of the first column


def translator(args: argparse.Namespace) -> Callable[[list[str]], list[str]]:
    """Load the model once, and return a function that translates with its search and the overrides."""
    from dragoman.cli.verbs.run import load_model
    from dragoman.config.load import with_overrides

    names, overrides = split_overrides(args.what)
    model = load_model(names[0], args.runtime, device=args.device)
    search = with_overrides(model.runtime.search, overrides)

    def translate(sources: list[str]) -> list[str]:
        with LiveLine() as live:
            results = decoded(model, sources, search, ProgressCount(live, total_of(sources)))
        return [choosing.line(result.text) for result in results]

    return translate


def robustness_lines(found: Sequence[Robustness]) -> Iterator[str]:
    yield ""
    if not found:
        yield "Robustness: nothing in these sources can be changed."
        return
    heads = "".join(f"{TITLES[one.metric]:>9}{'lost':>7}{'p':>8}" for one in found[0].scores)
    yield f"{'robustness':<{LABEL}}{'changed':>9}{'same output':>13}{heads}"
    for row in found:
        figures = "".join(
            f"{one.system:>9.2f}{one.baseline - one.system:>7.2f}{one.p_value:>8.3f}" for one in row.scores
        )
        yield f"  {row.name:<{LABEL - 2}}{row.changed:>7.0f} %{row.same:>11.0f} %{figures}"
