"""A folder has one run at a time, and is free again however that run ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from dragoman.config.load import load
from dragoman.config.root import Config
from dragoman.errors import UsageError
from dragoman.training.run import Run
from dragoman.training.state.lock import locked

SRC = str(Path(__file__).parents[3] / "src")
PART = {"kind": "rnn", "width": 8, "embedding": 8}


@pytest.fixture
def config(tmp_path: Path) -> Config:
    (tmp_path / "train.tsv").write_text("".join(f"{n}\t{n}\n" for n in range(60)), encoding="utf-8")
    return load(
        None,
        base={
            "data": {"train": str(tmp_path / "train.tsv")},
            "text": {"kind": "char"},
            "model": {"encoder": PART, "decoder": PART},
            "training": {
                "updates": 4,
                "checkpoint_every": 2,
                "batch_tokens": 60,
                "threads": 1,
                "valid_decode": 0,
            },
        },
    )


@pytest.mark.parametrize("force", [False, True])
def test_a_second_run_in_the_folder_is_refused_and_harms_nothing(
    config: Config, tmp_path: Path, force: bool
) -> None:
    out, refused = tmp_path / "run", []

    def listen(event: dict[str, Any]) -> None:
        if event["event"] == "step" and event["step"] == 3:
            before = {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}
            with pytest.raises(UsageError, match="is being trained by") as caught:
                Run(config, out, [], lambda _: True).train(force=force)
            refused.append(caught.value)
            assert {file: file.read_bytes() for file in out.rglob("*") if file.is_file()} == before

    assert Run(config, out, [listen], lambda _: True).train().reason == "done"
    [error] = refused
    assert error.what.startswith(f"{out} is being trained by process {os.getpid()} since ")
    assert f"kill {os.getpid()}" in error.hint
    assert "-o OTHER" in error.hint


HOLDER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from dragoman.training.state.lock import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_a_killed_process_leaves_no_folder_locked(tmp_path: Path) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path), SRC], **pipes)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    with pytest.raises(UsageError, match=f"by process {holder.pid} since"), locked(tmp_path):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    with locked(tmp_path) as is_ours:
        assert is_ours


def test_a_run_on_another_machine_is_named_with_its_machine_and_day(tmp_path: Path) -> None:
    with locked(tmp_path):
        facts = {"process": 77, "host": "elsewhere", "since": "2001-02-03T04:05+00:00"}
        (tmp_path / ".lock").write_text(json.dumps(facts))
        with pytest.raises(UsageError, match="process 77 on elsewhere since 2001-02-03 04:05") as caught:
            locked(tmp_path).__enter__()
        assert "kill" not in caught.value.hint
        (tmp_path / ".lock").write_text("")
        with pytest.raises(UsageError, match="is being trained by another process"):
            locked(tmp_path).__enter__()
    assert (tmp_path / ".lock").read_text() == ""


def test_where_there_are_no_locks_it_is_said(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.training.state.lock.lock", lambda handle: None)
    events: list[dict[str, Any]] = []
    Run(config, tmp_path / "run", [events.append], lambda _: False).train()
    assert events[0] == {"event": "unlocked", "out": str(tmp_path / "run")}


def test_the_lock_says_since_when(tmp_path: Path) -> None:
    with locked(tmp_path):
        facts = json.loads((tmp_path / ".lock").read_text())
        since = datetime.fromisoformat(facts["since"])
        assert abs((datetime.now(since.tzinfo) - since).total_seconds()) < 120
