"""Hostile memories and documents are refused with words, or read to the end; none makes the readers crash,
hang or tell what is in another file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from io import BytesIO
from itertools import chain
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.data.clean.check import MOST_FAULTS, check
from dragoman.data.readers.arrow import dataset_files
from dragoman.documents.build import read_document
from dragoman.documents.slots import Output
from dragoman.errors import DragomanError
from hostile.columns import column_cases
from hostile.documents import SECRET, Case, document_cases

SIZE = 3_000_000  # above every limit
CPU_SECONDS = 5


def shortened(sources: Sequence[str]) -> list[Output]:
    return [Output(source[:3].upper() or "x") for source in sources]


def checked(file: Path) -> tuple[str, str]:
    files = dataset_files(file) if file.is_dir() else []
    report = check(files or [file])
    faults = report.faults.errors
    if not all(fault.where and fault.hint for fault in faults):
        return "no words", repr(faults)
    return "read" if report.usable else "refuse", str(report)


def filled(file: Path) -> tuple[str, str]:
    out = BytesIO()
    read_document(file, ("en", "de")).fill(out, shortened)
    return "read", out.getvalue().decode()


def wrong(case: Case, verb: str) -> str | None:
    """What is wrong with how this case was taken, if anything."""
    start = time.process_time()
    try:
        verdict, said = (checked if verb == "check" else filled)(case.file)
    except DragomanError as error:
        verdict, said = "refuse" if error.where and error.hint else "no words", str(error)
    except Exception as error:
        verdict, said = f"{type(error).__name__}: {error}", ""
    seconds = time.process_time() - start
    if verdict != (case.check if verb == "check" else case.run):
        return f"{case.attack}, {case.file.name}, {verb}: {verdict:.200}"
    is_secret = any(line in said for line in SECRET.read_text().splitlines() if len(line) > 20)
    if is_secret or seconds > CPU_SECONDS or (verdict == "refuse" and len(said) > 5000):
        return f"{case.attack}, {case.file.name}, {verb}: {seconds:.1f} s, {len(said)} characters"
    return None


@pytest.mark.slow
def test_hostile_documents_are_read_or_refused_in_words(tmp_path: Path) -> None:
    faults, count = [], 0
    for case in chain(document_cases(tmp_path, SIZE), column_cases(tmp_path / "columns", SIZE)):
        count += 1
        faults.append(wrong(case, "check"))
        faults.append(wrong(case, "run") if case.run else None)
    assert [fault for fault in faults if fault] == []
    assert count >= 400


def test_a_document_is_refused_before_a_model_is_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.po").write_bytes(b'msgid "a\n')
    assert main(["run", str(tmp_path / "no-model"), str(tmp_path / "a.po")]) == 3
    assert "a.po:1" in capsys.readouterr().err


def test_check_stops_where_nearly_every_line_is_bad(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_bytes(b"a\tb\n" * 100 + b"x\n" * (2 * MOST_FAULTS))
    report = check([file])
    assert report.faults.counts == {"columns": MOST_FAULTS, "file": 1}
    assert report.pairs == 100
    file.write_bytes((b"a\tb\n" * 2 + b"x\n") * (2 * MOST_FAULTS))
    report = check([file])
    assert report.faults.counts == {"columns": 2 * MOST_FAULTS}
    assert report.pairs == 4 * MOST_FAULTS
