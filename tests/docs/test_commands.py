"""Every command on every page is run, in the order of the page, as a reader would type it.

`<!-- test: section.key=value … -->` above a block shortens its training; `<!-- test: exit=3 -->` says that
its last command fails. A command goes on after a backslash. Above a block of Python, `<!-- test: this => that
-->` replaces this by that. A block of TOML or `py` whose first line is a comment with a file's name is
written to it.

An output that is shown must be what is printed, on stdout and stderr, where training was not shortened; `…`
stands for anything. `varies=numbers` and `varies=lines` above a block say what else may differ, as
`tests/support/shown_output.py` defines it.

    pytest tests/docs/test_commands.py --write-outputs -k tutorial

runs what shows an output in full, and writes it into the page: with its `…` and the numbers of now, or all of
it if it does not agree, or if it is `…` so far.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from support.pages import PAGES, ROOT, Block, Command, blocks, name_of
from support.shown_output import agrees, refreshed

NOT_RUN = ("pip ", "scripts/", "sbatch ", "kubectl ")  # only their form is checked
SAMPLE = ROOT / "docs" / "tatoeba"
PARTS = {"train": slice(0, 400), "val": slice(400, 450), "test": slice(450, 500)}


@pytest.fixture
def write(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--write-outputs"))


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language)]


class Reader:
    """Someone who follows a page, in a folder with some files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        programs = folder / ".bin"
        programs.mkdir()
        modules = {"dragoman": "-m dragoman", "torchrun": "-m torch.distributed.run", "python": ""}
        for name, module in modules.items():
            program = programs / name
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n', encoding="utf-8")
            program.chmod(0o755)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
        self.environment.pop("MKL_CBWR", None)  # other bits, if a test before has run a model in this process
        self.environment["PYTHONUNBUFFERED"] = "1"  # stdout and stderr in the order of a terminal
        for language in ("en", "de"):
            lines = (SAMPLE / f"sample.{language}").read_text(encoding="utf-8").split("\n")[:-1]
            (folder / f"sample.{language}").write_text(
                "".join(f"{line}\n" for line in lines), encoding="utf-8"
            )
            for part, rows in PARTS.items():
                text = "".join(f"{line}\n" for line in lines[rows])
                (folder / f"{part}.{language}").write_text(text, encoding="utf-8")
        self.write_catalogues()

    def write_catalogues(self) -> None:
        """Two catalogues that are translated, and one with gaps."""
        sides = [
            (self.folder / f"sample.{one}").read_text(encoding="utf-8").split("\n") for one in ("en", "de")
        ]
        entries = [
            f"msgid {json.dumps(src)}\nmsgstr {json.dumps(tgt, ensure_ascii=False)}\n"
            for src, tgt in zip(*sides, strict=True)
            if src
        ]
        entries.append('msgid "Close"\nmsgstr ""\n')
        (self.folder / "earlier").mkdir()
        for name, rows in (
            ("earlier/app", slice(200)),
            ("earlier/menu", slice(200, 400)),
            ("admin", slice(480, None)),
        ):
            header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'
            (self.folder / f"{name}.po").write_text("\n".join([header, *entries[rows]]), encoding="utf-8")

    def follow(self, block: Block, *, in_full: bool = False, write: bool = False) -> str:
        """Type the commands; return the block with the outputs that were had, or compare them."""
        settings = "" if in_full else block.settings
        commands = block.commands
        body = ""
        for command in commands:
            body += command.typed
            if command.text.startswith(NOT_RUN):
                body += command.output
                continue
            code = block.exit_code if command is commands[-1] else 0
            is_training = "dragoman train" in command.text
            text = f"{command.text} {settings}".rstrip() if is_training else command.text
            done = self.run(["sh", "-c", text], stderr=subprocess.STDOUT)
            assert done.returncode == code, f"$ {text}\n{done.stdout}"
            assert "Traceback" not in done.stdout, done.stdout
            shown = not settings and command.output
            body += judged(command.output, done.stdout, block, write) if shown else command.output
        return body

    def evaluate(self, block: Block) -> None:
        this, _, that = block.directive.partition(" => ")
        assert not this or this in block.body, "what the test replaces is not there"
        code = block.body.replace(this, that) if this else block.body
        done = self.run([sys.executable, "-c", code], stderr=subprocess.PIPE)
        assert done.returncode == 0, done.stderr

    def run(self, arguments: list[str], stderr: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            arguments,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=stderr,
            encoding="utf-8",
            timeout=1800,
            stdin=subprocess.DEVNULL,
        )


def judged(shown: str, had: str, block: Block, write: bool) -> str:
    if write:
        return refreshed(shown, had, block.varies)
    assert agrees(shown, had, block.varies), f"{block.body}\nwas shown; now it prints\n{had}"
    return shown


def follow(page: Path, folder: Path, *, write: bool) -> None:
    reader = Reader(folder)
    for block in blocks(page, "console", "toml", "py"):
        named = re.match(r"# (\w+\.(?:toml|py))\n", block.body)
        if block.language == "console":
            shows = any(command.output for command in block.commands)
            body = reader.follow(block, in_full=write and shows, write=write)
            if body != block.body:
                text = page.read_text(encoding="utf-8")
                page.write_text(text.replace(block.body, body, 1), encoding="utf-8")
        elif named:
            (folder / named[1]).write_text(block.body, encoding="utf-8")


def test_commands_of_the_readme_run(tmp_path: Path, write: bool) -> None:
    follow(ROOT / "README.md", tmp_path, write=write)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in pages_with("console") if page.name != "README.md"], ids=name_of
)
def test_commands_of_a_page_run(page: Path, tmp_path: Path, write: bool) -> None:
    follow(page, tmp_path, write=write)


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
def test_python_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    for block in blocks(page, "python"):
        reader.evaluate(block)


@pytest.mark.slow
def test_the_first_model_says_what_the_readme_shows(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    demo = [
        b for b in blocks(ROOT / "README.md", "console") if any("new dates" in c.text for c in b.commands)
    ]
    assert len(demo) == 1
    reader.follow(demo[0], in_full=True)


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path, write: bool) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    file = ROOT / "docs" / "tutorial.ipynb"
    notebook = nbformat.read(file, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=1800, resources={"metadata": {"path": tmp_path}})
    client.execute(env=Reader(tmp_path).environment)
    if write:
        nbformat.write(notebook, file)


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
        form = re.fullmatch(
            r'pip install (?:"dragoman\[([a-z,]+)\]"|(?:-e )?"\.\[([a-z,]+)\]")(?: +#.+)?', line
        )
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
