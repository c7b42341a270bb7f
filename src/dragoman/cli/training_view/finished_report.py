"""The report of a finished run: it is written after the model, which matters more."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from dragoman.config.root import Config


def report_lines(config: Config, out: Path, seconds_left: float = math.inf) -> Iterator[str]:
    """Write the report, unless the settings or another rank do not, and yield what to say about it.

    It reads the training data if `seconds_left` are enough.
    """
    from dragoman.reports.gather import NAME, write_report

    if not config.training.report or os.environ.get("RANK", "0") != "0":
        return
    file = shlex.quote(str(out / NAME))
    try:
        found = write_report(out, seconds_left)
    except Exception as error:  # whatever it is: the model is written, and the run has not failed
        yield f"{file} was not written: {error}"
        yield f"To try again: dragoman show {shlex.quote(str(out))} -o {file}"
        return
    if found:
        yield f"Report: {file}. {found.verdict}"
