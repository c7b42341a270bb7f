"""Files that take long show that they are alive, in a terminal and nowhere else."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.cli.counting import ProgressCount, Total, total_of_files
from dragoman.cli.main import main
from dragoman.cli.terminal import LiveLine
from support.pseudo_terminal import CODE, watched
from support.tiny_bundle import tiny_folder

LINES = 600
BATCH = "search.batch_sentences=16"
COUNTED = re.compile(r"([\d,]+) of 600 (?:line|unit)s   [\d,]+ (?:line|unit)s/s   \d+ s left")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("counting")
    tiny_folder(home / "model", max_length=6)
    text = "".join(f"{'a b c d '[: 2 + n % 7]}\n" for n in range(LINES))
    (home / "in.txt").write_text(text, encoding="utf-8")
    (home / "ref.txt").write_text(text, encoding="utf-8")
    (home / "in.po").write_text(
        "".join(f'msgid "a {n}"\nmsgstr ""\n\n' for n in range(LINES)), encoding="utf-8"
    )
    return home


def last_shown(seen: str) -> str:
    """What stays of the line when the command is done."""
    return seen.split("\x1b[K")[-1]


def test_lines_of_a_file_are_counted_and_the_count_goes(home: Path) -> None:
    piped = subprocess.run(
        [sys.executable, "-c", CODE, "run", str(home), str(home / "in.txt"), BATCH],
        capture_output=True,
        check=True,
    )
    assert b"\x1b" not in piped.stderr
    assert b" of 600" not in piped.stderr
    code, seen = watched("run", str(home), str(home / "in.txt"), BATCH, stdout=home / "out.txt")
    assert code == 0, seen
    assert f"Loading {home}" in seen
    counts = [int(number.replace(",", "")) for number in COUNTED.findall(seen)]
    assert len(counts) > 3
    assert counts == sorted(counts)
    assert not re.search(r"\d lines", last_shown(seen))
    assert (home / "out.txt").read_bytes() == piped.stdout


@pytest.mark.slow
def test_lines_of_a_pipe_are_counted_without_an_end(home: Path) -> None:
    code, seen = watched("run", str(home), BATCH, stdin=home / "in.txt", stdout=home / "out2.txt")
    assert code == 0, seen
    assert "600 lines   " in seen
    assert " left" not in seen


@pytest.mark.slow
def test_results_on_the_terminal_are_the_sign_of_life(home: Path) -> None:
    code, seen = watched("run", str(home), str(home / "in.txt"), BATCH)
    assert code == 0, seen
    assert not COUNTED.search(seen)


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["score", "document"])
def test_test_sets_and_documents_are_counted(home: Path, verb: str) -> None:
    words = {
        "score": ["score", str(home), str(home / "in.txt"), str(home / "ref.txt"), BATCH],
        "document": ["run", str(home), str(home / "in.po"), "-o", str(home / "out.po"), BATCH],
    }[verb]
    code, seen = watched(*words)
    assert code == 0, seen
    assert COUNTED.search(seen)
    assert not COUNTED.search(last_shown(seen))


def test_time_left_follows_the_characters() -> None:
    clock = iter([0.0, 10.0]).__next__
    count = ProgressCount(LiveLine(), Total(100, 1000), now=clock)
    count._lines, count._characters = 50, 200  # the short ones come first
    assert count.parts() == ["50 of 100 lines", "5 lines/s", "40 s left"]


def test_lines_of_files_are_known_before_they_are_read(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"a\nb")
    two.write_bytes(b"")
    assert total_of_files([one, two, "text"]) == Total(3, 7)
    assert total_of_files([]) is None
    assert total_of_files([tmp_path / "missing"]) is None


@pytest.mark.slow
def test_nothing_is_shown_where_nobody_watches(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(home), str(home / "in.txt"), str(home / "ref.txt"), BATCH]) == 0
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert "Loading" not in err
