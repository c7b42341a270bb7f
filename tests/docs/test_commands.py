"""Every command on every page is run, in the order of the page, as a reader would type it.

`<!-- test: section.key=value … -->` above a block shortens its training; `<!-- test: exit=3 -->` says that
its last command fails. Output that is shown must be what is printed, where training was not shortened.
Above a block of Python, `<!-- test: this => that -->` replaces this by that. A block of TOML whose first line
is a comment with a file's name is written to that file.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from support.pages import PAGES, ROOT, Block, Command, blocks, name_of

NOT_RUN = ("pip ", "scripts/", "sbatch ", "kubectl ")  # only their form is checked
SAMPLE = ROOT / "docs" / "tatoeba"
PARTS = {"train": slice(0, 400), "val": slice(400, 450), "test": slice(450, 500)}


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language)]


class Reader:
    """Someone who follows a page, in a folder with some files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        programs = folder / ".bin"
        programs.mkdir()
        for name, module in {"dragoman": "dragoman", "torchrun": "torch.distributed.run"}.items():
            program = programs / name
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n', encoding="utf-8")
            program.chmod(0o755)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
        for language in ("en", "de"):
            lines = (SAMPLE / f"sample.{language}").read_text(encoding="utf-8").split("\n")[:-1]
            (folder / f"sample.{language}").write_text(
                "".join(f"{line}\n" for line in lines), encoding="utf-8"
            )
            for part, rows in PARTS.items():
                text = "".join(f"{line}\n" for line in lines[rows])
                (folder / f"{part}.{language}").write_text(text, encoding="utf-8")

    def follow(self, block: Block, *, in_full: bool = False) -> None:
        settings = "" if in_full else block.settings
        commands = block.commands
        for command in commands:
            if command.text.startswith(NOT_RUN):
                continue
            code = block.exit_code if command is commands[-1] else 0
            is_training = "dragoman train" in command.text
            text = f"{command.text} {settings}".rstrip() if is_training else command.text
            done = self.run(["sh", "-c", text])
            assert done.returncode == code, f"$ {text}\n{done.stdout}{done.stderr}"
            assert "Traceback" not in done.stderr, done.stderr
            if command.output and not settings:
                assert done.stdout == "".join(f"{line}\n" for line in command.output), f"$ {text}"

    def run(self, arguments: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            arguments,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            encoding="utf-8",
            timeout=1800,
            stdin=subprocess.DEVNULL,
        )


def follow(page: Path, folder: Path) -> None:
    reader = Reader(folder)
    for block in blocks(page, "console", "toml"):
        named = re.match(r"# (\w+\.toml)\n", block.body)
        if block.language == "console":
            reader.follow(block)
        elif named:
            (folder / named[1]).write_text(block.body, encoding="utf-8")


def test_commands_of_the_readme_run(tmp_path: Path) -> None:
    follow(ROOT / "README.md", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in pages_with("console") if page.name != "README.md"], ids=name_of
)
def test_commands_of_a_page_run(page: Path, tmp_path: Path) -> None:
    follow(page, tmp_path)


@pytest.mark.slow
def test_the_first_model_says_what_the_readme_shows(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    demo = [b for b in blocks(ROOT / "README.md", "console") if all(" dates" in c.text for c in b.commands)]
    assert len(demo) == 1
    reader.follow(demo[0], in_full=True)


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
def test_python_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    for block in blocks(page, "python"):
        this, _, that = block.directive.partition(" => ")
        assert not this or this in block.body, "what the test replaces is not there"
        done = reader.run([sys.executable, "-c", block.body.replace(this, that) if this else block.body])
        assert done.returncode == 0, done.stderr


def not_run() -> list[Command]:
    every = [c for page in pages_with("console") for b in blocks(page, "console") for c in b.commands]
    return [command for command in every if command.text.startswith(NOT_RUN)]


def test_installation_names_extras_that_exist() -> None:
    extras = set(
        tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    )
    lines = [command.text for command in not_run() if command.text.startswith("pip ")]
    assert lines
    for line in lines:
        form = re.fullmatch(r'pip install (?:"dragoman\[([a-z,]+)\]"|-e "\.\[([a-z,]+)\]")', line)
        assert form, line
        assert set((form[1] or form[2]).split(",")) <= extras, line


def test_scripts_that_are_named_can_be_run() -> None:
    scripts = [command.text.split()[0] for command in not_run() if command.text.startswith("scripts/")]
    assert scripts
    assert all(os.access(ROOT / script, os.X_OK) for script in scripts)


def test_launch_files_that_are_named_exist() -> None:
    """`tests/launch` runs them."""
    others = [command.text for command in not_run() if command.text.startswith(("sbatch ", "kubectl "))]
    named = [re.search(r"\blaunch/\S+", text) for text in others]
    assert named
    assert all(found and (ROOT / found[0]).exists() for found in named)


def test_directives_stand_above_blocks() -> None:
    """One that does not would be ignored."""
    for page in PAGES:
        written = page.read_text(encoding="utf-8").count("<!-- test: ")
        found = sum(bool(block.directive) for block in blocks(page, "console", "python", "toml"))
        assert written == found, name_of(page)
