"""The report that training writes at its end, from the validation outputs it has kept."""

from __future__ import annotations

import math
from pathlib import Path

from dragoman.reports.gather import Effort, report_on
from dragoman.reports.measured_on import validation_of
from dragoman.reports.report import Report
from dragoman.tasks.load import load
from dragoman.training.validation_outputs import read_outputs

NAME = "report.html"
MOST_PAIRS = 50_000  # with more, the training data is not read
PAIRS_PER_SECOND = 3_000  # that are read and compared, on a slow core
SECONDS_BESIDES = 3.0  # for everything else


def write_report(out: Path, seconds_left: float = math.inf) -> Report | None:
    """Write the report of a finished run into its folder; None if the run decoded no validation pairs.

    If less time is left than reading the training data takes, it is not read.
    """
    if read_outputs(out) is None:
        return None
    model = load(out, runtime="torch")
    pairs, test, outputs = validation_of(model)
    most = min(MOST_PAIRS, PAIRS_PER_SECOND * max(0.0, seconds_left - SECONDS_BESIDES))
    found = report_on(model, pairs, test, outputs, Effort(most, lexicon_pairs=5_000, explained=2))
    found.save(out / NAME)
    return found
