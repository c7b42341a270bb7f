"""The report at the end of training: from what was kept, unless the settings say no, and never a failure."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest

from dragoman.cli.training_view.finished_report import report_lines
from dragoman.config.load import load as load_config
from dragoman.config.root import Config
from dragoman.training.validation_outputs import NAME, read_outputs


@pytest.fixture
def copied(run: Path, tmp_path: Path) -> Path:
    """A run with outputs for four pairs, so that little is measured."""
    out = tmp_path / "run"
    shutil.copytree(run, out)
    lines = (run / NAME).read_text(encoding="utf-8").split("\n")[:4]
    (out / NAME).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return out


def config_of(out: Path, **training: object) -> Config:
    config = load_config(out / "settings.toml")
    return config.model_copy(update={"training": config.training.model_copy(update=training)})


def test_training_keeps_the_decoded_validation_pairs(run: Path) -> None:
    kept = read_outputs(run)
    assert kept is not None
    pairs, outputs = kept
    valid = (run.parent / "valid.tsv").read_text(encoding="utf-8").split("\n")[:40]
    assert [f"{pair.src}\t{pair.tgt}" for pair in pairs] == valid
    events = (run / "events.jsonl").read_text(encoding="utf-8").split("\n")
    assert json.loads(events[-2])["sample"]["out"] == outputs[0]


def test_the_report_is_written_and_said(copied: Path) -> None:
    (line,) = report_lines(config_of(copied), copied)
    assert line.startswith(f"Report: {copied / 'report.html'}. ")
    page = (copied / "report.html").read_text(encoding="utf-8")
    assert "4 examples of the validation set" in page


def test_a_budget_that_is_used_up_has_no_time_to_read_the_training_data(copied: Path) -> None:
    page = copied / "report.html"
    for left, is_read in ((math.inf, True), (60.0, True), (0.0, False)):
        list(report_lines(config_of(copied), copied, left))
        assert ("The training data is not compared here" not in page.read_text(encoding="utf-8")) is is_read


def test_a_setting_turns_it_off(copied: Path) -> None:
    assert not list(report_lines(config_of(copied, report=False), copied))
    assert not (copied / "report.html").exists()


def test_without_decoded_pairs_there_is_none(copied: Path) -> None:
    (copied / NAME).unlink()
    assert not list(report_lines(config_of(copied), copied))


def test_a_report_that_cannot_be_written_is_no_failure(copied: Path) -> None:
    (copied / "report.html").mkdir()
    first, second = report_lines(config_of(copied), copied)
    assert "was not written" in first
    assert second.startswith("To try again: dragoman show ")
