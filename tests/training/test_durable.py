"""Folders are whole or absent, and every change to them is seen."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.durable import MANIFEST, verify_folder, write_folder
from dragoman.errors import CheckpointError


def fill(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "a.bin").write_bytes(random.Random(1).randbytes(5000))
    (folder / "inner" / "b.txt").write_text("two", encoding="utf-8")


def test_what_was_written_verifies(tmp_path: Path) -> None:
    write_folder(tmp_path / "one", fill)
    assert verify_folder(tmp_path / "one") is None
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_every_flipped_bit_is_seen(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    write_folder(folder, fill)
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
    write_folder(folder, fill)
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
    write_folder(tmp_path / "one", fill)
    write_folder(tmp_path / "one", lambda new: (new / "c").write_text("c") and None)
    assert verify_folder(tmp_path / "one") is None
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [MANIFEST, "c"]


def test_a_disk_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CheckpointError) as caught:
        write_folder(tmp_path / "file" / "one", fill)
    assert "could not be written" in caught.value.what
    assert caught.value.hint


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from dragoman.durable import write_folder
home, number = Path(sys.argv[1]), 0
print("ready", flush=True)
def fill(new):
    for k in range(8):
        (new / f"{k}.bin").write_bytes(bytes([k]) * 20000)
while True:
    number += 1
    write_folder(home / f"step-{number % 3}", fill)
"""


def test_killed_at_any_moment_every_folder_is_whole(tmp_path: Path) -> None:
    src = str(Path(__file__).parents[2] / "src")
    for round_ in range(12):
        home = tmp_path / str(round_)
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(home), src], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(random.Random(round_).uniform(0.0, 0.15))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        named = [path for path in home.iterdir() if not path.name.startswith(".")] if home.exists() else []
        assert all(verify_folder(path) is None for path in named)


def test_a_folder_with_a_manifest_of_its_own_may_come_and_go(tmp_path: Path) -> None:
    def fill(new: Path) -> None:
        (new / "a").write_text("a", encoding="utf-8")
        write_folder(new / "inner", lambda inner: (inner / "b").write_text("b", encoding="utf-8") and None)

    write_folder(tmp_path / "outer", fill)
    assert verify_folder(tmp_path / "outer") is None
    assert verify_folder(tmp_path / "outer" / "inner", ["b"]) is None
    assert verify_folder(tmp_path / "outer", ["inner/b"]) == "inner/b is not in MANIFEST.json"
    shutil.rmtree(tmp_path / "outer" / "inner")
    assert verify_folder(tmp_path / "outer", ["a"]) is None


def test_some_files_can_be_verified_alone(tmp_path: Path) -> None:
    def fill(new: Path) -> None:
        for name in "ab":
            (new / name).write_text(name, encoding="utf-8")

    write_folder(tmp_path / "model", fill)
    (tmp_path / "model" / "b").write_text("c", encoding="utf-8")
    assert verify_folder(tmp_path / "model", only=["a", "absent"]) is None
    fault = verify_folder(tmp_path / "model", only=["b"])
    assert fault is not None
    assert fault.startswith("b is not the file")
