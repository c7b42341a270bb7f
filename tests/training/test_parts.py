"""Schedules by hand, and the file of events."""

import json
import math
from pathlib import Path

import pytest

from dragoman.training.events import Events, rewind
from dragoman.training.schedule import (
    constant,
    cosine,
    inverse_sqrt,
    linear,
    warmup_stable_decay,
)


def test_schedules_by_hand() -> None:
    assert inverse_sqrt(1.0, 100)(50.0) == 0.5
    assert inverse_sqrt(1.0, 100)(100.0) == 1.0
    assert inverse_sqrt(1.0, 100)(400.0) == 0.5
    assert cosine(2.0, 10, 110)(5.0) == 1.0
    assert cosine(2.0, 10, 110)(60.0) == pytest.approx(1.0)
    assert cosine(2.0, 10, 110)(110.0) == pytest.approx(0.0)
    assert linear(1.0, 0, 100)(25.0) == 0.75
    assert warmup_stable_decay(2.0, 10, 110)(5.0) == 1.0
    assert warmup_stable_decay(2.0, 10, 110)(80.0) == pytest.approx(2.0)
    assert warmup_stable_decay(2.0, 10, 110)(95.0) == pytest.approx(1.0)
    assert warmup_stable_decay(2.0, 10, 110)(110.0) == 0.0
    assert constant(3.0, 4)(2.0) == 1.5
    assert constant(3.0, 0)(1.0) == 3.0


def test_events_after_the_checkpoint_are_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    events = Events(file, [])
    for step in range(1, 6):
        events.emit({"event": "step", "step": step})
    events.close()
    with file.open("a", encoding="utf-8") as stream:
        stream.write('{"event": "step", "st')  # killed while writing
    rewind(file, 3)
    kept = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    assert [event["step"] for event in kept] == [1, 2, 3]


def test_an_event_is_strict_json_even_where_a_loss_is_not_a_number(tmp_path: Path) -> None:
    events = Events(tmp_path / "events.jsonl", [])
    events.emit({"event": "step", "step": 1, "loss": math.nan, "norm": math.inf, "lr": 0.5})
    events.close()
    line = (tmp_path / "events.jsonl").read_text(encoding="utf-8")
    assert json.loads(line, parse_constant=pytest.fail) == {
        "event": "step",
        "step": 1,
        "loss": None,
        "norm": None,
        "lr": 0.5,
    }
