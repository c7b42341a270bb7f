"""What `check` says about examples whose sides are not two texts: labels, tags, running text, files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.config.load import load
from dragoman.data.build import CorpusReader
from dragoman.data.clean.check import check
from dragoman.data.clean.report import CheckReport
from dragoman.data.readers.bad_line import refuse
from dragoman.tasks.examples import build_examples
from support.signals import write_pictures

LONG = "a question that is far longer than any name of a class, and about nothing at all that matters"
TOPICS = ("card", "loan", "transfer_not_received_by_recipient", "pin")


def project(folder: Path, task: str, suffix: str, more: str = "", **parts: list[str]) -> Path:
    """A folder with settings and with a file for each part."""
    files = "".join(f'{name} = "{name}.{suffix}"\n' for name in parts)
    (folder / "dragoman.toml").write_text(f'task = "{task}"\n[data]\n{files}{more}', encoding="utf-8")
    for name, lines in parts.items():
        (folder / f"{name}.{suffix}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def questions(count: int, start: int = 0) -> list[str]:
    return [f"{LONG[: 10 + n * 7 % 80]} {n}\t{TOPICS[n // 3 % 4]}" for n in range(start, start + count)]


def checked(folder: Path, capsys: pytest.CaptureFixture[str], *, code: int = 0) -> str:
    assert main(["check", str(folder)]) == code
    return capsys.readouterr().out


def report_of(folder: Path, capsys: pytest.CaptureFixture[str], *, code: int = 0) -> dict[str, object]:
    assert main(["check", str(folder), "--json"]) == code
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_texts_and_labels_are_not_compared_by_their_lengths(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(tmp_path, "classify", "tsv", train=questions(1200), valid=questions(20, 5000))
    said = checked(tmp_path, capsys)
    assert "!" not in said
    assert "✗" not in said
    assert "kept 1,200" in said
    translated = check([tmp_path / "train.tsv"])  # what it says of the same file as a translation
    assert translated.lengths.count or translated.is_shuffled


def test_labels_are_counted_and_odd_ones_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = ["a b\tx", "c d\tx", "e f\tx", "g h\ty", "a b\ty", "a b\tx", "i j\tonly once"]
    project(tmp_path, "classify", "tsv", train=train, test=["k l\tz", "m n\tz", "o p\tx"])
    found = report_of(tmp_path, capsys)["labels"]
    assert isinstance(found, dict)
    assert found["counts"] == {"x": 4, "y": 2, "only once": 1}
    assert found["unseen"] == {"test": {"z": 2}}
    assert [pair["line"] for pair in found["conflicts"]["examples"]] == [5]  # line 6 repeats line 1
    said = checked(tmp_path, capsys)
    assert "3 labels, most frequent: x (57.1 % of 7)" in said
    assert '! 1 label occurs once: "only once"' in said
    assert "! 1 pair with a text that occurred before with another label" in said
    assert '! test has 1 label not in the training data: "z"' in said


def test_a_validation_label_that_training_refuses_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(tmp_path, "classify", "tsv", train=["a\tx", "b\ty"], valid=["c\tz"])
    assert '✗ valid has 1 label not in the training data; train refuses such labels: "z"' in checked(
        tmp_path, capsys, code=3
    )


def test_tags_are_counted_word_by_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = ["to\tO", "paris\tB-city", "", "to\tO", "rome\tB-city", "", "to\tO", "paris\tO"]
    project(tmp_path, "tag", "conll", train=train, valid=["in\tO", "may\tB-date"])
    found = report_of(tmp_path, capsys)["labels"]
    assert isinstance(found, dict)
    assert found["counts"] == {"O": 4, "B-city": 2}
    assert found["unseen"] == {"valid": {"B-date": 1}}
    assert found["conflicts"]["count"] == 1


@pytest.mark.parametrize("more", ["", "block_size = 16\n"], ids=["lines", "running text"])
def test_a_text_is_counted_and_its_validation_looked_for_in_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: str
) -> None:
    train = ["To be, or not to be", "", "that is the question", "To be, or not to be"]
    project(tmp_path, "lm", "txt", more, train=train, valid=["That is the question!", "or not"])
    said = checked(tmp_path, capsys)
    assert "4 lines, 58 characters" in said
    assert "2 different lines   1 duplicate, 1 empty" in said
    assert "! valid: 1 of 2 lines (50.0 %) is in training" in said
    assert said.count("!") == 1


def test_pictures_are_opened_and_broken_ones_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_pictures(tmp_path, ["ab", "a longer text", "cd"])
    lines = (tmp_path / "train.tsv").read_text(encoding="utf-8").split("\n")[:-1]
    source = 'source = { kind = "picture", height = 16 }\n'
    project(tmp_path, "transcribe", "tsv", source, train=lines)
    assert "kept 3   dropped: none" in checked(tmp_path, capsys)
    (tmp_path / "train" / "1.png").write_bytes(b"not a picture")
    said = checked(tmp_path, capsys, code=3)
    assert "1 line whose source cannot be read" in said
    assert "train.tsv:2" in said


def test_cleaning_drops_what_check_counts(tmp_path: Path) -> None:
    lines = [*questions(400), questions(1)[0], "\tx"]
    config = load(project(tmp_path, "classify", "tsv", "clean = true\n", train=lines) / "dragoman.toml")
    examples = build_examples(config)
    report = check(config.data.train[0].files, examples=examples)
    assert isinstance(report, CheckReport)
    assert (report.kept, report.duplicates.count, report.lengths.count) == (400, 1, 0)
    assert len(list(CorpusReader(config.data, examples, refuse).cleaned(config.data.train[0]))) == report.kept
