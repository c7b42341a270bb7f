"""Folders are whole or absent, and every change to them is seen."""

import errno
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from dragoman.durable import new_folder, recover, verify_folder
from dragoman.errors import CheckpointError, ModelError
from dragoman.inference.find_model import find_model
from dragoman.manifest import MANIFEST, Manifest


def fill(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "a.bin").write_bytes(random.Random(1).randbytes(5000))
    (folder / "inner" / "b.txt").write_text("two", encoding="utf-8")


def test_what_was_written_verifies(tmp_path: Path) -> None:
    with new_folder(tmp_path / "one") as new:
        fill(new)
    assert verify_folder(tmp_path / "one") is None
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_every_flipped_bit_is_seen(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    with new_folder(folder) as new:
        fill(new)
    rng = random.Random(7)
    for path in [folder / "a.bin", folder / "inner" / "b.txt"]:
        good = path.read_bytes()
        for _ in range(200):
            bad = bytearray(good)
            bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
            path.write_bytes(bad)
            assert verify_folder(folder) is not None
        path.write_bytes(good)
    assert verify_folder(folder) is None


@pytest.mark.parametrize("damage", ["cut", "grown", "missing", "no manifest", "broken manifest"])
def test_damage_is_named(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "one"
    with new_folder(folder) as new:
        fill(new)
    file = folder / "a.bin"
    match damage:
        case "cut":
            file.write_bytes(file.read_bytes()[:-1])
        case "grown":
            file.write_bytes(file.read_bytes() + b"x")
        case "missing":
            file.unlink()
        case "no manifest":
            (folder / MANIFEST).unlink()
        case "broken manifest":
            (folder / MANIFEST).write_text("[" * 10)
    fault = verify_folder(folder)
    assert fault is not None
    assert ("MANIFEST" if "manifest" in damage else "a.bin") in fault


def test_a_second_write_takes_the_place_of_the_first(tmp_path: Path) -> None:
    with new_folder(tmp_path / "one") as new:
        fill(new)
    with new_folder(tmp_path / "one") as new:
        (new / "c").write_text("c")
    assert verify_folder(tmp_path / "one") is None
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [MANIFEST, "c"]


def test_a_disk_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CheckpointError) as caught, new_folder(tmp_path / "file" / "one") as new:
        fill(new)
    assert "could not be written" in caught.value.what
    assert caught.value.hint


SRC = str(Path(__file__).parents[1] / "src")
WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from dragoman.durable import new_folder
home, number = Path(sys.argv[1]), 0
print("ready", flush=True)
def fill(new):
    for k in range(8):
        (new / f"{k}.bin").write_bytes(bytes([k]) * 20000)
while True:
    number += 1
    with new_folder(home / f"step-{number % 3}") as new:
        fill(new)
"""


def test_killed_at_any_moment_every_folder_is_whole(tmp_path: Path) -> None:
    for round_ in range(12):
        home = tmp_path / str(round_)
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(home), SRC], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(random.Random(round_).uniform(0.0, 0.15))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        named = [path for path in home.iterdir() if not path.name.startswith(".")] if home.exists() else []
        assert all(verify_folder(path) is None for path in named)


# Writes a folder again, and is killed when it is about to rename, delete or sync for the n-th time.
KILLED = """
import ctypes, os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from dragoman import durable
folder, at, seen = Path(sys.argv[1]), int(sys.argv[3]), []
if sys.argv[4] == "plain renames" and hasattr(durable, "exchange"):
    durable.exchange = lambda one, other: False
def fill(new):
    (new / "a").write_text("new")
def strike(event, args):
    if event in ("os.rename", "os.rmdir", "os.remove", "ctypes.dlopen"):
        seen.append(event)
        if len(seen) == at:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(strike)
with durable.new_folder(folder) as new:
    fill(new)
"""


@pytest.mark.parametrize("system", ["exchange", "plain renames"])
def test_a_kill_between_two_renames_loses_nothing(tmp_path: Path, system: str) -> None:
    folder, struck = tmp_path / "run" / "model", 0
    for at in range(1, 20):
        shutil.rmtree(folder, ignore_errors=True)
        with new_folder(folder) as new:
            (new / "a").write_text("old")
        command = [sys.executable, "-c", KILLED, str(folder), SRC, str(at), system]
        code = subprocess.run(command, timeout=60, check=False).returncode
        left = os.listdir(folder.parent)
        recover(folder.parent)  # as the next training or export does
        assert find_model(tmp_path / "run") == folder, f"killed at call {at}: {left}"
        assert verify_folder(folder) is None
        assert (folder / "a").read_text() in ("old", "new")
        if code == 0:
            break
        assert code == -signal.SIGKILL
        struck += 1
    assert struck >= 3
    with new_folder(folder) as new:
        fill(new)
    assert os.listdir(folder.parent) == ["model"]  # what the killed ones left is gone


def test_what_only_reads_renames_nothing_and_what_writes_only_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = tmp_path / ".en-de.dragoman-00.old"
    with new_folder(planted) as new:
        (new / "weights.safetensors").write_text("theirs")
    with pytest.raises(ModelError, match="no such folder"):
        find_model(tmp_path / "en-de")
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    recover(tmp_path)
    assert planted.is_dir()
    monkeypatch.undo()
    recover(tmp_path)
    assert (tmp_path / "en-de").is_dir()


def test_two_processes_that_write_one_folder_do_not_disturb_each_other(tmp_path: Path) -> None:
    def outer(new: Path) -> None:
        (new / "a").write_text("outer")
        with new_folder(tmp_path / "one") as inner:
            (inner / "b").write_text("inner")
        assert (tmp_path / "one" / "b").is_file()
        assert verify_folder(tmp_path / "one") is None

    with new_folder(tmp_path / "one") as new:
        outer(new)
    assert (tmp_path / "one" / "a").is_file()
    assert verify_folder(tmp_path / "one") is None
    assert os.listdir(tmp_path) == ["one"]


@pytest.mark.parametrize("writer", ["python", "safetensors"])
def test_a_disk_that_takes_no_more_is_named_with_what_is_needed_and_free(tmp_path: Path, writer: str) -> None:
    def fill(new: Path) -> None:
        if writer == "python":
            (new / "a").write_bytes(bytes(100_000))
        else:
            save_file({"a": np.zeros(100_000, np.uint8)}, new / "a")

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with (
            pytest.raises(CheckpointError, match="step-7 could not be written") as caught,
            new_folder(tmp_path / "step-7") as new,
        ):
            fill(new)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert os.strerror(errno.EFBIG) in caught.value.what
    assert caught.value.where == str(tmp_path / "step-7")
    assert "MB free" in caught.value.expected
    assert os.listdir(tmp_path) == []


def test_a_disk_without_room_is_refused_before_the_first_byte(tmp_path: Path) -> None:
    with (
        pytest.raises(CheckpointError, match="No space left on device") as caught,
        new_folder(tmp_path / "step-7", size=10**18),
    ):
        pytest.fail("it was written")
    assert "1,000,000,000,000.0 MB needed" in caught.value.expected
    assert "Free some space" in caught.value.hint


def test_a_folder_with_a_manifest_of_its_own_may_come_and_go(tmp_path: Path) -> None:
    def fill(new: Path) -> None:
        (new / "a").write_text("a", encoding="utf-8")
        with new_folder(new / "inner") as inner:
            (inner / "b").write_text("b", encoding="utf-8")

    with new_folder(tmp_path / "outer") as new:
        fill(new)
    assert verify_folder(tmp_path / "outer") is None
    assert verify_folder(tmp_path / "outer" / "inner") is None
    assert list(Manifest(tmp_path / "outer").files) == ["a"]
    shutil.rmtree(tmp_path / "outer" / "inner")
    assert verify_folder(tmp_path / "outer") is None
