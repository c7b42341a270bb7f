"""How many files a reader opens to follow a sentence through the package, counted by running it.

The numbers are what was reached, not what is wanted: a change that needs a higher one has to say why.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import dragoman
from dragoman.config.load import load as load_config
from dragoman.data.prepare import ListedLines, PairFilter, StoreJob, write_shard
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.inference.model import Model, load
from dragoman.nn.dropout import noise
from dragoman.training.events import Events
from dragoman.training.parallel import Ranks
from dragoman.training.run import Run

PACKAGE = f"{Path(dragoman.__file__).parent}/"
PART = {"kind": "transformer", "layers": 1, "width": 16, "heads": 2, "ffn": 32}
TEXT_TO_LOSS = 42
SENTENCE_TO_OUTPUT = 50
STEERED_ROOM_CHANGES = 2


@contextmanager
def followed() -> Iterator[list[str]]:
    """The files whose functions run, constructors aside, each time another one is entered."""
    visits: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_name != "__init__":
            file = code.co_filename.removeprefix(PACKAGE)
            if visits[-1:] != [file]:
                visits.append(file)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield visits
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("walk")
    for part, lines in (("train", 400), ("valid", 20)):
        for side in ("a", "b"):
            rows = (f"{side} word {number} of {part}\n" for number in range(lines))
            (folder / f"{part}.{side}").write_text("".join(rows), encoding="utf-8")
    base = {
        "data": {
            name: {"files": [str(folder / f"{name}.{side}") for side in "ab"]} for name in ("train", "valid")
        },
        "text": {"size": 300},
        "model": {"encoder": PART, "decoder": PART},
        "training": {"updates": 2, "precision": "fp32", "batch_tokens": 512, "valid_decode": 2},
    }
    config = load_config(None, base=base)
    return Run(config, folder / "run", [], lambda _: True)


@pytest.fixture(scope="module")
def model(run: Run) -> Model:
    run.train()
    return load(run.out)


def test_text_to_loss(run: Run, tmp_path: Path) -> None:
    data = run.data(Ranks(), Events(None, []))
    updater, loader = run.stepper(data, Ranks()), run.loader(data, Ranks())
    updater.model.train()
    with followed() as visits:
        pairs = open_pairs(run.config.data.train[0].files)
        job = StoreJob(tmp_path, Path(), "", 1000, PairFilter(100), is_strict=True)
        list(write_shard(job, 0, pairs, data.text, ListedLines(is_strict=True)))
        batch = next(loader.stream(0))
        with noise(1, 1, 0):
            updater.objective(updater.model, batch.micro[0], 1)
    assert len(set(visits)) <= TEXT_TO_LOSS, sorted(set(visits))


def test_a_sentence_to_its_output(model: Model) -> None:
    model("a word 3")  # what is built once
    with followed() as visits:
        model("a word 4")
    assert len(set(visits)) <= SENTENCE_TO_OUTPUT, sorted(set(visits))


def test_a_steered_sentence_changes_rooms_seldom(model: Model) -> None:
    """Of the files that only steering needs, in the order in which they are first entered."""
    with followed() as plain:
        model("a word 4")
    with followed() as steered:
        model("a word 4 {x}", forbid=["b"], glossary={"word": "of"}, keep=True, prefix="b")
    own = [file for file in dict.fromkeys(steered) if file not in plain]
    rooms = [file.partition("/")[0] for file in own]
    changes = sum(a != b for a, b in pairwise(rooms))
    assert changes <= STEERED_ROOM_CHANGES, own
