"""docs/extend.md, followed: a copy of the package with its changes trains, translates and scores."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.pages import ROOT, blocks

PAGE = ROOT / "docs" / "extend.md"
SMALL = [
    "training.updates=3",
    "training.batch_tokens=256",
    "training.validate_every=3",
    "training.threads=1",
    "search.max_length=8",
    "model.encoder.width=16",
    "model.decoder.width=16",
    "model.encoder.embedding=16",
    "model.decoder.embedding=16",
]


def add_files(source: Path) -> list[str]:
    """Write the new files of the page; return the names of those that are too long."""
    long = []
    for block in blocks(PAGE, "py"):
        name, _, body = block.body.partition("\n")
        (source.parent / name.removeprefix("# ")).write_text(body, encoding="utf-8")
        if body.count("\n") > 30:
            long.append(name)
    return long


def apply_changes(source: Path) -> None:
    for block in blocks(PAGE, "diff"):
        for file, hunks in re.findall(r"--- a/(\S+)\n\+\+\+ b/\S+\n((?:(?!--- a/).*\n)+)", block.body):
            path = source.parent / file
            text = path.read_text(encoding="utf-8")
            for hunk in filter(None, hunks.split("@@\n")):
                lines = hunk.split("\n")[:-1]
                old = "".join(line[1:] + "\n" for line in lines if line[0] in " -")
                new = "".join(line[1:] + "\n" for line in lines if line[0] in " +")
                assert text.count(old) == 1, f"{file} does not have this once:\n{old}"
                text = text.replace(old, new)
            path.write_text(text, encoding="utf-8")


@pytest.mark.slow
def test_the_page_is_followed(tmp_path: Path) -> None:
    source = tmp_path / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    assert not add_files(source)
    apply_changes(source)
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "dragoman", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stderr}"
        return done.stdout

    run("new", "dates")
    commands = [command.text for block in blocks(PAGE, "sh") for command in block.commands]
    shown = {text: run(*arguments(text)) for text in commands}
    assert len(shown) == 5
    assert all(output.strip() for text, output in shown.items() if " run " in text or " score " in text)
    assert "1st word" in shown[next(text for text in shown if " score " in text)]


def arguments(command: str) -> list[str]:
    words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', command)][1:]
    return words + (SMALL if words[0] == "train" else [])
