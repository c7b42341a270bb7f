"""Nothing of a model folder runs that was not checked: by `check`, by `run` and by `load`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dragoman
from dragoman.errors import ModelError
from hostile.refused import IN_EXPORT, NAMED, TRICKS, Trick, make_good, overlapping
from hostile.verbs import drive

LIMITED = """
import json, sys, time
import dragoman
from dragoman.errors import ModelError
from dragoman.cli.main import main
start = time.process_time()
for folder in sys.argv[1:]:
    assert main(["check", folder]) == 1
    assert main(["run", folder, "a cat"]) == 1
    try:
        dragoman.load(folder)
    except ModelError:
        continue
    raise AssertionError(folder)
spent = time.process_time() - start
status = dict(line.split(":", 1) for line in open("/proc/self/status"))  # ru_maxrss is the parent's at first
print(json.dumps({
    "torch": "torch" in sys.modules,
    "seconds": spent / len(sys.argv[1:]),
    "megabytes": int(status["VmHWM"].split()[0]) / 1024,
}))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("refused")
    make_good(home)
    return home


def played(home: Path, trick: Trick, folder: Path) -> Path:
    shutil.copytree(home / "good" / "model", folder / "model", symlinks=True)
    trick.play(folder / "model", home / "other" / "model")
    return folder


@pytest.mark.parametrize("trick", [*TRICKS, *IN_EXPORT], ids=lambda trick: trick.name)
def test_what_a_stranger_changed_is_refused_by_name(trick: Trick, home: Path, tmp_path: Path) -> None:
    folder = str(played(home, trick, tmp_path))
    driven = [
        drive("check", folder),
        drive("run", folder, "a cat"),
        *([drive("run", folder, "a cat", "--runtime", "torch")] if trick in TRICKS else []),
    ]
    for one in driven:
        assert one.code == 1, one
        assert all(word in one.err for word in trick.words), one.err
        assert "Traceback" not in one.err
        assert "bug in Dragoman" not in one.err
        assert not one.out
    with pytest.raises(ModelError) as refused:
        dragoman.load(folder)
    assert all(word in str(refused.value) for word in trick.words)


def test_it_takes_little_time_and_memory_and_no_torch(home: Path, tmp_path: Path) -> None:
    tricks = [trick for trick in [*TRICKS, *IN_EXPORT] if trick.name in NAMED]
    folders = [str(played(home, trick, tmp_path / trick.name)) for trick in tricks]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *folders], capture_output=True, timeout=100, check=False, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not found["torch"]
    assert found["seconds"] < 2, found
    assert found["megabytes"] < 300, found


def test_a_package_for_argos_may_be_in_the_folder(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(home / "good" / "model", folder)
    (folder / "translate-en_de-1_0.argosmodel").write_bytes(b"a package")
    assert drive("check", str(folder)).code == 0
    (folder / "translate-en_de-1_0.argosmodel.exe").write_bytes(b"not one")
    assert "Unexpected file translate-en_de-1_0.argosmodel.exe" in drive("check", str(folder)).err


def test_what_has_a_dot_in_front_is_nobodys_business(home: Path, tmp_path: Path) -> None:
    """Version control and the system put such things there, and an export that is being written has one."""
    folder = tmp_path / "model"
    shutil.copytree(home / "good" / "model", folder)
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("", encoding="utf-8")
    (folder / ".DS_Store").write_bytes(b"")
    assert drive("check", str(folder)).code == 0
    assert drive("run", str(folder), "a cat").code == 0


def test_an_archive_whose_members_overlap_is_refused(tmp_path: Path) -> None:
    (tmp_path / "opus").mkdir()
    overlapping(tmp_path / "opus" / "model.npz")
    assert (tmp_path / "opus" / "model.npz").stat().st_size < 500_000
    driven = drive("import", str(tmp_path / "opus"), "-o", str(tmp_path / "out"))
    assert driven.code == 1
    assert "model.npz" in driven.err
    assert "would unpack to" in driven.err
    overlapping(tmp_path / "opus" / "model.npz", members=2, size=10_000)
    driven = drive("import", str(tmp_path / "opus"), "-o", str(tmp_path / "out"))
    assert "members of this archive overlap" in driven.err
