"""The report that training writes at its end, from the validation outputs it has kept."""

from __future__ import annotations

from pathlib import Path

from dragoman.reports.gather import Effort, report_on
from dragoman.reports.measured_on import validation_of
from dragoman.reports.report import Report
from dragoman.tasks.load import load
from dragoman.training.validation_outputs import read_outputs

NAME = "report.html"
SECONDS = Effort(training_pairs=50_000, lexicon_pairs=5_000, explained=2)


def write_report(out: Path) -> Report | None:
    """Write the report of a finished run into its folder; None if the run decoded no validation pairs."""
    if read_outputs(out) is None:
        return None
    model = load(out, runtime="torch")
    pairs, test, outputs = validation_of(model)
    found = report_on(model, pairs, test, outputs, SECONDS)
    found.save(out / NAME)
    return found
