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
    assert "a.en is missing, but this run was started with it." in lost.err
    assert "where     deep/er/a.en" in lost.err
    command = lost.err.partition("now:  dragoman ")[2].replace("PATH/", "./")
    found = drive(*shlex.split(command), "--yes")
    assert found.code == 0, found.err
    assert Path("deep/er/run/model").is_dir()
