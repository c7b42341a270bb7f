"""`dragoman prepare`, and the training that follows it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.cli.verbs.prepare import parsed, part_of_array
from dragoman.errors import UsageError
from hostile.verbs import TINY, drive
from support.made_up_corpus import corpus

SETTINGS = (*TINY, "data.shard_pairs=20", "data.hold_out=10")


@pytest.fixture
def pairs(tmp_path: Path) -> list[str]:
    for side in ("src", "tgt"):
        lines = "".join(f"{line}\n" for line in corpus(side, 300))
        (tmp_path / f"train.{side}").write_text(lines, encoding="utf-8")
    return [str(tmp_path / "train.src"), str(tmp_path / "train.tgt")]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "dragoman", "prepare", *arguments, *SETTINGS]


def files(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file() and path.name != "sources.json"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


@pytest.mark.slow
def test_training_uses_what_was_prepared(
    pairs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    said = drive("prepare", *pairs, "-o", str(out), "--workers", "2", *SETTINGS)
    assert said.code == 0, said.err
    assert "Prepared 288 pairs" in said.err
    assert f"Next: dragoman train -o {out}" in said.err
    before = files(out / "store")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the data are prepared again")

    with monkeypatch.context() as patch:
        for name in ("examples.open_pairs", "build.learn", "build.cut", "stores.prepare_shard"):
            patch.setattr(f"dragoman.data.{name}", refuse)
        said = drive("train", "-o", str(out), "--yes")
    assert said.code == 0, said.err
    assert (out / "model").is_dir()
    assert files(out / "store") == before
    assert drive("train", *pairs, "-o", str(other), "--yes", *SETTINGS).code == 0
    assert files(other / "store") == before
    weights = [(folder / "model" / "weights.safetensors").read_bytes() for folder in (out, other)]
    assert weights[0] == weights[1]


@pytest.mark.slow
def test_a_slurm_array_prepares_it_together(pairs: list[str], tmp_path: Path) -> None:
    """Each task is a process with the environment that Slurm gives it, all at the same time."""
    subprocess.run(command(*pairs, "-o", str(tmp_path / "one"), "--workers", "1"), check=True)
    arrays = {"MIN": "5", "MAX": "9", "STEP": "2", "COUNT": "3"}
    out, tasks = tmp_path / "array", []
    for task in ("9", "5", "7"):
        environment = {f"SLURM_ARRAY_TASK_{name}": value for name, value in {**arrays, "ID": task}.items()}
        tasks.append(
            subprocess.Popen(
                command(*pairs, "-o", str(out), "--executor", "slurm"), env={**os.environ, **environment}
            )
        )
    assert [task.wait(timeout=60) for task in tasks] == [0, 0, 0]
    join = [sys.executable, "-m", "dragoman", "prepare", "-o", str(out)]
    assert "Prepared 288 pairs" in subprocess.run(join, check=True, capture_output=True, text=True).stderr
    assert files(out / "store") == files(tmp_path / "one" / "store")


def test_a_missing_part_is_done_by_the_last_command(pairs: list[str], tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    said = drive("prepare", *pairs, "-o", out, "--part", "2/3", *SETTINGS)
    assert said.code == 0, said.err
    assert "10 of 15 shards are not prepared yet" in said.err
    assert drive("prepare", "-o", out).code == 0
    assert drive("prepare", *pairs, "-o", str(tmp_path / "one"), *SETTINGS).code == 0
    assert files(tmp_path / "out" / "store") == files(tmp_path / "one" / "store")


def test_places_in_an_array() -> None:
    def of(task: int, first: int, step: int, count: int) -> tuple[int, int]:
        names = {"ID": task, "MIN": first, "STEP": step, "COUNT": count}
        return part_of_array({f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in names.items()})

    assert [of(task, 0, 1, 4) for task in range(4)] == [(0, 4), (1, 4), (2, 4), (3, 4)]
    assert [of(task, 1, 3, 3) for task in (1, 4, 7)] == [(0, 3), (1, 3), (2, 3)]
    with pytest.raises(UsageError, match="has no place"):
        of(9, 1, 1, 3)  # --array=1,4,9
    with pytest.raises(UsageError, match="not a task of a Slurm array"):
        part_of_array({})
    assert parsed("3/64") == (2, 64)
    for wrong in ("0/3", "4/3", "3", "a/b", "-1/3"):
        with pytest.raises(UsageError, match="is not a part"):
            parsed(wrong)


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C of a terminal")
def test_ctrl_c_says_how_to_resume(pairs: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    for file in map(Path, pairs):  # so many shards that it is not done before it is stopped
        file.write_text(file.read_text(encoding="utf-8") * 100, encoding="utf-8")
    arguments = [*command(*pairs, "-o", str(out), "--workers", "2"), "data.shard_pairs=1"]
    process = subprocess.Popen(
        arguments,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell that runs the tests in the background has them ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while process.poll() is None and not list(out.glob("store/corpus-0/0*")):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers as well
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "Stopped; finished shards are kept. To resume:  dragoman prepare " in err
    assert "Traceback" not in err


def test_a_folder_with_a_run_is_refused(pairs: list[str], tmp_path: Path) -> None:
    (tmp_path / "out" / "model").mkdir(parents=True)
    said = drive("prepare", *pairs, "-o", str(tmp_path / "out"), *SETTINGS)
    assert said.code == 2
    assert "contains a run already" in said.err


def test_ray_that_is_not_installed_is_named(
    pairs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "dragoman.data.ray_executor", raising=False)
    said = drive("prepare", *pairs, "-o", str(tmp_path / "out"), "--executor", "ray", *SETTINGS)
    assert said.code == 2
    assert 'pip install "dragoman[scale]"' in said.err
