"""One tiny run on words to reverse, which all tests of reports share."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.config.load import load as load_config
from dragoman.inference.model import Model
from dragoman.reports.gather import report_on
from dragoman.reports.measured_on import measured_on
from dragoman.reports.report import Report
from dragoman.tasks.load import load
from dragoman.training.run import Run
from support.runs import TRANSFORMER, settings, write_words


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("words")
    write_words(home)
    valid = home / "valid.tsv"
    valid.write_text("".join(valid.read_text("utf-8").splitlines(keepends=True)[:40]), encoding="utf-8")
    config = load_config(None, base=settings(home, TRANSFORMER, valid_decode=40))
    Run(config, home / "run", [], lambda _: True).train()
    return home / "run"


@pytest.fixture(scope="session")
def model(run: Path) -> Model:
    loaded = load(run)
    assert isinstance(loaded, Model)
    return loaded


@pytest.fixture(scope="session")
def report(model: Model) -> Report:
    pairs, test, outputs = measured_on(model, ())
    return report_on(model, pairs, test, outputs)
