"""A device that runs out of memory: the first updates are tried in smaller parts, later ones end the run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from dragoman.config.load import load
from dragoman.errors import TrainingError
from dragoman.protocols import Batch, LossSum
from dragoman.training.events import Event
from dragoman.training.run import Run
from dragoman.training.step import AFTER_ALL_WARMUPS, ForwardPass

ALL = range(2 * AFTER_ALL_WARMUPS)  # including those that are timed
PART = {"kind": "transformer", "layers": 1, "width": 8, "heads": 2, "ffn": 8}


@pytest.fixture
def run(tmp_path: Path) -> tuple[Run, list[Event]]:
    pairs = "".join(f"a{n % 7} b{n % 5}\tc{n % 5} d{n % 7}\n" for n in range(200))
    (tmp_path / "train.tsv").write_text(pairs, encoding="utf-8")
    often = {"updates": 4, "batch_tokens": 320, "threads": 1, "valid_decode": 0, "precision": "fp32"}
    config = load(
        None,
        base={
            "data": {"train": [str(tmp_path / "train.tsv")]},
            "text": {"kind": "char"},
            "model": {"encoder": PART, "decoder": PART},
            "training": often,
        },
    )
    events: list[Event] = []
    return Run(config, tmp_path / "out", [events.append], lambda _: True), events


def limit(monkeypatch: pytest.MonkeyPatch, rows: int, steps: range) -> None:
    """Let the device have memory for so many rows in these updates."""
    forward = ForwardPass.forward

    def limited(self: ForwardPass, micro: Batch, step: int, number: int) -> LossSum:
        if len(micro.src) > rows and step in steps:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(self, micro, step, number)

    monkeypatch.setattr(ForwardPass, "forward", limited)


def test_the_first_updates_are_tried_in_smaller_parts(
    run: tuple[Run, list[Event]], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, 16, ALL)
    training, events = run
    assert training.train().reason == "done"
    tried = [event["micro_batches"] for event in events if event["event"] == "out_of_memory"]
    assert tried == [2, 4]
    assert "micro_batches = 4" in (training.out / "settings.toml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_nothing_that_fits_is_an_error_in_words(
    run: tuple[Run, list[Event]], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, 0, ALL)
    with pytest.raises(TrainingError, match="The device is out of memory") as caught:
        run[0].train()
    assert "training.micro_batches=1024" in caught.value.where


def test_a_later_update_ends_the_run_with_what_to_type(
    run: tuple[Run, list[Event]], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, 0, range(3, 5))
    with pytest.raises(TrainingError, match="The device is out of memory") as caught:
        run[0].train()
    assert "--force training.micro_batches=2" in caught.value.hint
