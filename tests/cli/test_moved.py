"""A run that was moved without its data says what it was begun with, and the command that names it again."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from hostile.verbs import TINY, drive


def test_run_that_was_moved_alone_says_how_to_name_its_files_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.en", "a.de", "v.en", "v.de"):
        Path(name).write_text("".join(f"a b {n}\n" for n in range(60)), encoding="utf-8")
    begun = drive("train", "a.en", "a.de", "--valid", "v.en", "v.de", "-o", "run", "--yes", *TINY)
    assert begun.code == 0, begun.err
    shutil.rmtree("run/model")  # as where it was killed before its end
    Path("deep/er").mkdir(parents=True)
    Path("run").rename("deep/er/run")
    lost = drive("train", "-o", "deep/er/run", "--yes")
    assert lost.code == 3
    assert "v.en is missing, but this run was started with it." in lost.err  # the store has the others
    assert "where     deep/er/v.en" in lost.err
    command = lost.err.partition("now:  dragoman ")[2].replace("PATH/", "./")
    found = drive(*shlex.split(command), "--yes")
    assert found.code == 0, found.err
    assert Path("deep/er/run/model").is_dir()


def test_a_complete_store_is_trained_without_its_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.en", "a.de"):
        Path(name).write_text("".join(f"a b {n}\n" for n in range(60)), encoding="utf-8")
    prepared = drive("prepare", "a.en", "a.de", "-o", "run", "--workers", "1", *TINY)
    assert prepared.code == 0, prepared.err
    Path("node").mkdir()
    Path("run").rename("node/run")  # the folder is all that a machine needs
    trained = drive("train", "-o", "node/run", "--yes", "training.checkpoint_every=2")
    assert trained.code == 0, trained.err
    assert Path("node/run/model").is_dir()
    shutil.rmtree("node/run/model")
    for name in ("a.en", "a.de"):
        Path("node", name).write_text("".join(f"a b {n}\n" for n in range(1, 61)), encoding="utf-8")
    other = drive("train", "-o", "node/run", "--yes")
    assert other.code == 3
    assert "are not the files this run started with" in other.err
